"""`python -m hashmill.manifest --shard i/n INVENTORY... -o FOLDER`: a shard, as any scheduler runs it.

Ends with 0 if each row has a digest, and none another than the listed one; with 1 if not; with 2 if there was no run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from .. import __version__
from . import AUTO, PART_ROWS, hash, verify


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: NAME=VALUE is needed")
    return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"{text}: a number from 1 on is needed")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m hashmill.manifest", description="Hash or verify what Parquet inventories list."
    )
    parser.add_argument("inventory", nargs="+", help="a Parquet file, or a folder of them")
    parser.add_argument("-o", "--out", required=True, help="the folder of the answers")
    parser.add_argument("--shard", default="0/1", help="i/n, from 0/n to (n-1)/n")
    parser.add_argument("--verify", action="store_true", help="the inventory must list digests")
    parser.add_argument("--column", action="append", default=[], type=_pair, metavar="MEANING=NAME")
    parser.add_argument("--store", action="append", default=[], type=_pair, metavar="OPTION=VALUE")
    parser.add_argument("--part-rows", type=_count, default=PART_ROWS)
    parser.add_argument("--connections", type=_count, default=64)
    parser.add_argument("--max-threads", type=int, default=AUTO)
    parser.add_argument("--retries", type=int, choices=range(1001), default=5, metavar="N")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds that a store may be silent")
    parser.add_argument("--version", action="version", version=__version__)
    args = parser.parse_args(arguments)
    work = verify if args.verify else hash
    try:
        summary = work(
            args.inventory,
            args.out,
            shard=args.shard,
            part_rows=args.part_rows,
            columns=dict(args.column),
            store=dict(args.store),
            connections=args.connections,
            max_threads=args.max_threads,
            retries=args.retries,
            timeout=args.timeout,
        )
    except (OSError, ValueError) as error:
        print(f"hashmill.manifest: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hashmill.manifest: interrupted: the same command goes on where this one ended", file=sys.stderr)
        return 130
    print(json.dumps(dataclasses.asdict(summary)))
    if summary.skipped and not summary.parts:
        print(f"hashmill.manifest: nothing was read: all {summary.skipped} parts were there", file=sys.stderr)
    return 0 if summary.ok else 1


if __name__ == "__main__":
    sys.exit(main())
