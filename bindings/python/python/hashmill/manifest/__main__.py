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
    parser.add_argument("--shard", default="0/1", help="which part of the work: i/n, from 0/n to (n-1)/n [0/1]")
    parser.add_argument("--verify", action="store_true", help="the inventory must list digests")
    parser.add_argument("--column", action="append", default=[], type=_pair, metavar="MEANING=NAME", help="a column by another name, as url=address")
    parser.add_argument("--store", action="append", default=[], type=_pair, metavar="OPTION=VALUE", help="of a store's client, as aws_endpoint=URL")
    parser.add_argument("--part-rows", type=_count, default=PART_ROWS, metavar="N", help="rows of a file of answers [%(default)s]")
    parser.add_argument("--connections", type=_count, default=64, metavar="N", help="requests at a time [%(default)s]")
    parser.add_argument("--max-threads", type=int, default=AUTO, metavar="N", help="that hash [all processors]")
    parser.add_argument("--retries", type=int, choices=range(1001), default=5, metavar="N", help="of a request [%(default)s]")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="how long a store may be silent [%(default)g]")
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
    try:
        print(json.dumps(dataclasses.asdict(summary)), flush=True)
    except OSError as error:
        # Python would try again at its end, and fail.
        sys.stdout = None
        print(f"hashmill.manifest: standard output: {error}", file=sys.stderr)
        return 2
    if summary.skipped and not summary.parts:
        print(f"hashmill.manifest: nothing was read: all {summary.skipped} parts were there", file=sys.stderr)
    return 0 if summary.ok else 1


if __name__ == "__main__":
    sys.exit(main())
