"""`python -m hashmill.argon2`: measures the time of a password check on this machine."""

from __future__ import annotations

import argparse
import sys
import time

from . import (
    DEFAULT_HASH_LENGTH,
    DEFAULT_MEMORY_COST,
    DEFAULT_PARALLELISM,
    DEFAULT_TIME_COST,
    PasswordHasher,
    profiles,
)


def main(argv: list[str]) -> None:
    """Measures the parameters from the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m hashmill.argon2",
        description="Measures Argon2id.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("-n", type=int, default=100, help="how many checks are measured")
    parser.add_argument("-t", type=int, default=DEFAULT_TIME_COST, help="time_cost")
    parser.add_argument("-m", type=int, default=DEFAULT_MEMORY_COST, help="memory_cost in KiB")
    parser.add_argument("-p", type=int, default=DEFAULT_PARALLELISM, help="parallelism")
    parser.add_argument("-l", type=int, default=DEFAULT_HASH_LENGTH, help="hash_len in bytes")
    names = [name for name in profiles.__all__ if name.isupper()]
    parser.add_argument("--profile", type=str.upper, choices=names, help="a profile, instead of all these")
    args = parser.parse_args(argv)
    if args.n < 1:
        parser.error("-n: at least 1")
    if args.profile:
        hasher = PasswordHasher.from_parameters(getattr(profiles, args.profile))
    else:
        hasher = PasswordHasher(args.t, args.m, args.p, args.l)
    hash = hasher.hash(b"secret")
    print(f"Running Argon2id {args.n} times with:")
    print(f"hash_len: {hasher.hash_len} bytes")
    print(f"memory_cost: {hasher.memory_cost} KiB")
    print(f"parallelism: {hasher.parallelism} threads")
    print(f"time_cost: {hasher.time_cost} iterations")
    print("\nMeasuring...")
    start = time.perf_counter()
    for _ in range(args.n):
        hasher.verify(hash, b"secret")
    each = (time.perf_counter() - start) / args.n
    print(f"\n{each * 1000:.1f}ms per password verification")


if __name__ == "__main__":
    main(sys.argv[1:])
