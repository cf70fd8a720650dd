#!/usr/bin/env python3
"""Benchmark of programs that link libargon2, with the system's library and with ours, alternately.

    bindings/c/bench.py PREFIX SOURCES [SESSIONS]    PREFIX is the one of `install`; SOURCES are the reference implementation's, in
                                                     cargo's copy: registry/src/*/argon2-sys-0.1.0/argon2

Needs cc and Debian's libargon2-1 and python3-argon2. Debian's own program contains its library, so a program is built here, once.

A session runs each program once with either library, in alternating order. The output has the median time of each, and the median of the
sessions' ratios with its 99 % interval (bootstrap).
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

CFFI = """
import argon2
hasher = argon2.PasswordHasher(time_cost=3, memory_cost=65536, parallelism=4)
stored = hasher.hash("password")
for _ in range(10):
    hasher.verify(stored, "password")
"""
PROGRAMS = [
    ("argon2 -id -t 3 -m 16 -p 4", ["./argon2", "somesalt", "-id", "-t", "3", "-m", "16", "-p", "4"]),
    ("argon2 -id -t 2 -k 19456", ["./argon2", "somesalt", "-id", "-t", "2", "-k", "19456"]),
    ("argon2, no flags", ["./argon2", "somesalt"]),
    ("argon2-cffi, ten verifications", ["/usr/bin/python3", "-c", CFFI]),
]


def build(prefix: str, sources: str, folder: str) -> None:
    wipe = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tests/c/argon2/wipe.c")
    inputs = [f"{sources}/src/run.c", wipe, f"-I{sources}/include", f"{prefix}/lib/libargon2.so.1"]
    subprocess.run(["cc", "-O2", "-o", f"{folder}/argon2", *inputs], check=True)


def seconds(command: list[str], library: str | None) -> float:
    environment = os.environ | ({"LD_LIBRARY_PATH": library} if library else {})
    begin = time.perf_counter()
    subprocess.run(command, input=b"password", stdout=subprocess.DEVNULL, check=True, env=environment)
    return time.perf_counter() - begin


def interval(ratios: list[float]) -> tuple[float, float]:
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(2000))
    return medians[10], medians[-11]


def main() -> None:
    prefix, sources = (os.path.abspath(path) for path in sys.argv[1:3])
    ours, sessions = os.path.join(prefix, "lib"), int((sys.argv[3:] or ["40"])[0])
    folder = tempfile.mkdtemp()
    build(prefix, sources, folder)
    os.chdir(folder)
    for name, command in PROGRAMS:
        times: list[tuple[float, float]] = []
        for session in range(sessions + 1):
            both = {library: seconds(command, library) for library in [(None, ours), (ours, None)][session % 2]}
            times.append((both[None], both[ours]))
        times = times[1:]  # The first one reads programs from disk.
        ratios = [theirs / mine for theirs, mine in times]
        low, high = interval(ratios)
        theirs, mine = (statistics.median(column) for column in zip(*times))
        print(f"{name}: {theirs * 1e3:.1f} ms, {mine * 1e3:.1f} ms, {statistics.median(ratios):.2f} [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
