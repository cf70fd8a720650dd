"""`python -m hashmill.inventory --shard i/n INVENTORY... -o FOLDER`: processes a shard, for any scheduler.

Ends with 0 if each row has a digest, and no digest differs from the listed one; with 1 if not; with 2 if there was no run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections import deque

from .. import __version__
from . import AUTO, PART_ROWS, Progress, hash, verify


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: NAME=VALUE is needed")
    return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 on is needed")
    return int(text)


class _ProgressLine:
    """A progress line on standard error, if that is a terminal and the work takes long. It has no colours, so NO_COLOR has no effect."""

    PATIENCE, TICK, WINDOW = 1.0, 0.1, 5.0
    """Seconds: time before the first line, time between updates, and the window of the rate."""

    def __init__(self) -> None:
        self.is_wanted = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self.is_shown = False
        now = time.monotonic()
        self.next = now + self.PATIENCE
        self.read = deque([(now, 0)])

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + self.TICK
        self.read.append((now, progress.bytes))
        while now - self.read[0][0] > self.WINDOW and len(self.read) > 2:
            self.read.popleft()
        then, bytes = self.read[0]
        words = f"{progress.done:,} of {progress.rows:,} rows, {_size(progress.bytes)}, {_size((progress.bytes - bytes) / (now - then))}/s"
        if progress.failed:
            words += f", {progress.failed:,} failed"
        # Set before the write, because a signal may interrupt it.
        self.is_shown = True
        # A line that is too long would wrap, and the next update would not overwrite it.
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except OSError:
            columns = 80
        self._write("\r" + words[: columns - 1] + "\x1b[K")

    def clear(self) -> None:
        if self.is_shown:
            self._write("\r\x1b[K")

    def _write(self, words: str) -> None:
        # A terminal may hang up. The work continues without it.
        try:
            print(words, end="", file=sys.stderr, flush=True)
        except OSError:
            self.next = float("inf")


def _size(bytes: float) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while bytes >= 1024 and len(units) > 1:
        bytes /= 1024
        units.pop(0)
    return f"{bytes:.0f} B" if units[0] == "B" else f"{bytes:.1f} {units[0]}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hashmill.inventory", description="Hash or verify the objects of Parquet inventories."
    )
    parser.add_argument("inventory", nargs="+", help="a Parquet file, or a folder of them, on a disk or in a store: s3://BUCKET/KEY")
    parser.add_argument("-o", "--out", required=True, help="the output folder, on a disk or in a store")
    parser.add_argument("--shard", default="0/1", help="the shard: i/n, from 0/n to (n-1)/n [0/1]")
    parser.add_argument("--verify", action="store_true", help="the inventory must list digests")
    parser.add_argument("--column", action="append", default=[], type=_pair, metavar="MEANING=NAME", help="the name of a column, for example url=address")
    parser.add_argument("--store", action="append", default=[], type=_pair, metavar="OPTION=VALUE", help="an option of the store client, for example aws_endpoint=URL")
    parser.add_argument("--only", action="append", metavar="NAME", help="allow-list for rows: s3://BUCKET, https://HOST, file:///FOLDER, https and so on; may be repeated [all stores and public addresses; also files, if the inventory is a file]")
    parser.add_argument("--part-rows", type=_count, default=PART_ROWS, metavar="N", help="rows of an output file [%(default)s]")
    parser.add_argument("--connections", type=_count, default=64, metavar="N", help="concurrent requests [%(default)s]")
    parser.add_argument("--max-threads", type=int, default=AUTO, metavar="N", help="threads that hash [all processors]")
    parser.add_argument("--retries", type=int, choices=range(1001), default=5, metavar="N", help="retries of a request [%(default)s]")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="maximum silence of a store [%(default)g]")
    parser.add_argument("--split", type=_count, default=64 << 20, metavar="BYTES", help="objects of at least this size are read in parallel parts [%(default)s]")
    parser.add_argument("--version", action="version", version=__version__)
    args = parser.parse_args(arguments)
    work = verify if args.verify else hash
    line = _ProgressLine()
    try:
        try:
            summary = work(
                args.inventory,
                args.out,
                shard=args.shard,
                part_rows=args.part_rows,
                columns=dict(args.column),
                store=dict(args.store),
                only=args.only,
                connections=args.connections,
                max_threads=args.max_threads,
                retries=args.retries,
                timeout=args.timeout,
                split=args.split,
                progress=line if line.is_wanted else None,
            )
        finally:
            line.clear()
    except (OSError, ValueError) as error:
        print(f"hashmill.inventory: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hashmill.inventory: interrupted: run the same command again to continue", file=sys.stderr)
        return 130
    try:
        print(json.dumps(dataclasses.asdict(summary) | {"failed": summary.failed}), flush=True)
    except OSError as error:
        # Python would try again at exit, and fail.
        sys.stdout = None
        print(f"hashmill.inventory: standard output: {error}", file=sys.stderr)
        return 2
    if summary.skipped and not summary.parts:
        print(f"hashmill.inventory: nothing was read: all {summary.skipped} parts exist", file=sys.stderr)
    return 0 if summary.ok else 1


if __name__ == "__main__":
    sys.exit(main())
