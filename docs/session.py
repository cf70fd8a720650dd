#!/usr/bin/env python3
"""The terminal session of README.md: runs the commands, and draws what they print as docs/session.svg.

    docs/session.py target/release/hashmill
"""
import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

COLUMNS = 99
COLOURS = {"31": "#f28779", "32": "#a6cc70", "33": "#ffcc66", "36": "#5ccfe6", "1": "#ffffff", "2": "#8a9199"}

# What the session finds, made before it.
PREPARE = """
head -c 40000000 /dev/zero > a.iso; printf b > b.iso
hashmill sum *.iso > SUMS; printf c > b.iso
printf '{"title": "Shopping"}' | hashmill doc import - -o notes.amrg
hashmill doc put notes.amrg /body 'Milk' --text --actor aa
hashmill doc fork notes.amrg phone.amrg
hashmill doc splice notes.amrg /body 4 0 ' and honey' --actor aa
hashmill doc splice phone.amrg /body 0 4 'Oat milk' --actor bb
"""

SESSION = [
    "hashmill sum --check SUMS",
    "printf %s \"$password\" | hashmill password hash",
    "hashmill doc merge notes.amrg phone.amrg && hashmill doc get notes.amrg /body",
    "hashmill lab compare --runs 20 -- 'gzip -1 -kf a.iso' 'gzip -6 -kf a.iso' | grep -A 2 ^speed",
]


def output(command: str, folder: str, program: str) -> str:
    """What a command prints on a terminal, without the lines that it takes back."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    path = f"{os.path.dirname(os.path.abspath(program))}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": folder, "TERM": "xterm-256color", "password": "correct horse", "LANG": "C.UTF-8"}
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    printed = b""
    while True:
        try:
            read = os.read(ours, 65536)
        except OSError:
            break
        if not read:
            break
        printed += read
    process.wait()
    lines = []
    for line in printed.decode().replace("\r\n", "\n").split("\n"):
        lines.append(re.sub(r"\x1b\[[0-9?]*[A-Za-ln-z]", "", line.rsplit("\r", 1)[-1]))
    return "\n".join(lines).strip("\n")


def spans(line: str) -> str:
    """A line of a terminal as text of SVG."""
    parts = re.split(r"\x1b\[([0-9;]*)m", line)
    drawn, colour = html.escape(parts[0]), None
    for codes, text in zip(parts[1::2], parts[2::2]):
        chosen = [COLOURS[code] for code in codes.split(";") if code in COLOURS]
        colour = chosen[0] if chosen else None
        text = html.escape(text)
        drawn += f'<tspan fill="{colour}">{text}</tspan>' if colour and text else text
    return drawn


def main() -> None:
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        output(PREPARE, folder, program)
        rows = []
        for command in SESSION:
            rows.append(f'<tspan fill="#8a9199">$</tspan> <tspan fill="#ffffff">{html.escape(command)}</tspan>')
            rows += [spans(line) for line in output(command, folder, program).split("\n")] + [""]
    rows.pop()
    width, height = 20 + 8.43 * COLUMNS, 28 + 19 * len(rows)
    text = "\n".join(
        f'<text x="16" y="{32 + 19 * index}" xml:space="preserve">{row}</text>' for index, row in enumerate(rows) if row
    )
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}">\n'
        "<title>A terminal session with hashmill</title>\n"
        '<rect width="100%" height="100%" rx="8" fill="#1f2430"/>\n'
        '<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" fill="#cbccc6">\n'
        f"{text}\n</g>\n</svg>\n"
    )
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "session.svg"), "w", encoding="utf-8") as file:
        file.write(svg)


if __name__ == "__main__":
    main()
