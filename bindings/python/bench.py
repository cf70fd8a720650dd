"""Benchmark of this package against those that it replaces, in one process and alternately.

    target/python/venv/bin/pip install --force-reinstall --no-deps WHEEL    # built by `maturin build --release`
    target/python/venv/bin/python bindings/python/bench.py [SESSIONS]

A session measures every row once: both sides alternately, each turn some milliseconds. A ratio is the median of the sessions' ratios of
medians; beside it are the minimum and the maximum.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import argon2 as argon2_cffi
import blake3 as blake3_theirs
import pyarrow
from hashmill import argon2, blake3

TURNS = 15
TURN_SECONDS = 0.004

Call = Callable[[], Any]


def calls_of(call: Call) -> int:
    """The number of calls in a turn."""
    start = time.perf_counter()
    call()
    return max(1, int(TURN_SECONDS / (time.perf_counter() - start + 1e-9)))


def seconds(call: Call, count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def compare(ours: Call, theirs: Call) -> tuple[float, float]:
    """The times of both: medians of turns."""
    calls = (ours, theirs)
    counts = [calls_of(call) for call in calls for _ in range(2)][1::2]
    turns = min(TURNS, max(3, int(2 / sum(count * seconds(call, 1) for call, count in zip(calls, counts, strict=True)))))
    taken: list[list[float]] = [[], []]
    for turn in range(turns):
        for side in (0, 1) if turn % 2 else (1, 0):
            taken[side].append(seconds(calls[side], counts[side]))
    return statistics.median(taken[0]), statistics.median(taken[1])


def rows() -> list[tuple[str, float, Call, Call]]:
    """The measured rows, and the required speed ratios."""
    kib, mib = bytes(1 << 10), bytes(1 << 20)
    small = [bytes([number % 251]) * 64 for number in range(10_000)]
    kibs = [bytes([number % 251]) * 1024 for number in range(10_000)]
    names = [f"key-{number}" for number in range(1_000_000)]
    column, encoded = pyarrow.array(names), [name.encode() for name in names]
    one, other = argon2.PasswordHasher(), argon2_cffi.PasswordHasher()
    hash = other.hash("correct horse")
    logins = [(hash, "correct horse")] * 4
    many = argon2.Passwords("rfc9106-second")
    ours_hasher, their_hasher = blake3.blake3(), blake3_theirs.blake3()
    assert blake3.blake3(mib).digest() == blake3_theirs.blake3(mib).digest()
    their = blake3_theirs.blake3
    auto = blake3.AUTO
    return [
        ("blake3(1 KiB).digest()", 1.0, lambda: blake3.blake3(kib).digest(), lambda: their(kib).digest()),
        ("update(1 KiB)", 1.0, lambda: ours_hasher.update(kib), lambda: their_hasher.update(kib)),
        ("blake3(1 MiB).digest()", 1.2, lambda: blake3.blake3(mib).digest(), lambda: their(mib).digest()),
        (
            "the same, max_threads=AUTO",
            1.2,
            lambda: blake3.blake3(mib, max_threads=auto).digest(),
            lambda: their(mib, max_threads=auto).digest(),
        ),
        (
            "10,000 buffers of 64 B: hash_many / a loop",
            5.0,
            lambda: blake3.hash_many(small),
            lambda: [their(one).digest() for one in small],
        ),
        (
            "10,000 buffers of 1 KiB: hash_many / a loop",
            0.0,
            lambda: blake3.hash_many(kibs),
            lambda: [their(one).digest() for one in kibs],
        ),
        (
            "column of 1,000,000 names: hash_arrow / a loop over bytes that are there",
            10.0,
            lambda: blake3.hash_arrow(column),
            lambda: [their(one).digest() for one in encoded],
        ),
        (
            "the same, max_threads=AUTO / a loop over the column",
            10.0,
            lambda: blake3.hash_arrow(column, max_threads=auto),
            lambda: [their(one.as_buffer()).digest() for one in column],
        ),
        (
            "PasswordHasher().verify (64 MiB, t 3, p 4)",
            2.0,
            lambda: one.verify(hash, "correct horse"),
            lambda: other.verify(hash, "correct horse"),
        ),
        (
            "four of these: verify_many / a loop",
            2.0,
            lambda: many.verify_many(logins),
            lambda: [other.verify(*login) for login in logins],
        ),
    ]


def format_time(value: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    raise AssertionError


def main() -> None:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = rows()
    found: list[list[tuple[float, float]]] = [[] for _ in table]
    for _ in range(sessions):
        for row, (_, _, ours, theirs) in enumerate(table):
            found[row].append(compare(ours, theirs))
    print("| | replaced package | this package | ratio | required |\n|---|--:|--:|--:|---|")
    for (name, minimum, _, _), measured in zip(table, found, strict=True):
        ours = statistics.median(ours for ours, _ in measured)
        theirs = statistics.median(theirs for _, theirs in measured)
        ratios = sorted(theirs / ours for ours, theirs in measured)
        ratio = statistics.median(ratios)
        required = "nothing" if minimum == 0 else f"{minimum:g} {'reached' if ratio >= minimum else 'missed'}"
        print(f"| {name} | {format_time(theirs)} | {format_time(ours)} | {ratio:.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}] | {required} |")


if __name__ == "__main__":
    main()
