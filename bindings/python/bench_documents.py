"""Benchmark of documents against the package automerge 1.0.0rc1, in one process and alternately.

    target/python/venv/bin/pip install --force-reinstall --no-deps WHEEL    # built by `maturin build --release`
    target/python/venv/bin/python bindings/python/bench_documents.py RECORDING [SESSIONS]

RECORDING is `automerge-paper.json.gz` of https://github.com/josephg/editing-traces: a paper as it was typed, 259,778 edits. A session
measures every row once on both sides, in alternating order. A ratio is the median over the sessions; beside it are the minimum and the maximum.
"""

from __future__ import annotations

import gc
import gzip
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import automerge.core as theirs
from hashmill.documents import Document, Text
from hashmill.documents.automerge import core as names

Edits = list[tuple[int, int, str]]


def recording(path: str) -> tuple[Edits, str]:
    """The edits, and the final text."""
    with gzip.open(path) as file:
        content = json.load(file)
    edits = [(at, deleted, text) for txn in content["txns"] for at, deleted, text in txn["patches"]]
    return edits, content["endContent"]


def typed(edits: Edits) -> str:
    doc = Document({"text": Text()})
    with doc.change():
        splice = doc["text"].splice
        for at, deleted, text in edits:
            splice(at, deleted, text)
    return str(doc["text"])


def typed_by(of: Any, edits: Edits) -> Any:
    """With the functions of automerge 1.0.0rc1: one character at a time."""
    doc = of.Document()
    with doc.transaction() as tx:
        made = tx.put_object(of.ROOT, "text", of.ObjType.Text)
        insert, delete, kind = tx.insert, tx.delete, of.ScalarType.Str
        for at, deleted, text in edits:
            for _ in range(deleted):
                delete(made, at)
            for character in text:
                insert(made, at, kind, character)
                at += 1
    return doc, made


def text_by(of: Any, edits: Edits) -> str:
    doc, made = typed_by(of, edits)
    return str(doc.text(made))


def reads(of: Any) -> Callable[[], int]:
    doc = of.Document()
    with doc.transaction() as tx:
        for number in range(1000):
            tx.put(of.ROOT, f"key {number}", of.ScalarType.Int, number)
    get, root = doc.get, of.ROOT

    def read() -> int:
        for _ in range(100_000):
            get(root, "key 500")
        return 100_000

    return read


def read_map() -> Callable[[], int]:
    doc = Document({f"key {number}": number for number in range(1000)})

    def read() -> int:
        for _ in range(100_000):
            doc["key 500"]
        return 100_000

    return read


def rows(edits: Edits, end: str) -> list[tuple[str, float | None, Callable[[], object], Callable[[], object]]]:
    """The measured rows, and the required speed ratios."""
    saved = typed_by(theirs, edits)[0].save()
    loaded = {of: of.Document.load(saved) for of in (names, theirs)}
    assert typed(edits) == text_by(names, edits) == text_by(theirs, edits) == end
    return [
        ("paper typed: `text.splice`, `tx.insert` and `tx.delete`", 20, lambda: typed(edits), lambda: text_by(theirs, edits)),
        ("the same by the same calls", None, lambda: text_by(names, edits), lambda: text_by(theirs, edits)),
        ("paper loaded", None, lambda: Document.load(saved), lambda: theirs.Document.load(saved)),
        ("paper saved", None, loaded[names].save, loaded[theirs].save),
        ("100,000 reads of a key: `doc[key]`, `doc.get(ROOT, key)`", None, read_map(), reads(theirs)),
        ("the same by the same call", None, reads(names), reads(theirs)),
    ]


def seconds(call: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main(path: str, sessions: int) -> None:
    measured = rows(*recording(path))
    taken: list[tuple[list[float], list[float]]] = [([], []) for _ in measured]
    for session in range(sessions):
        for (_, _, *calls), both in zip(measured, taken, strict=True):
            for side in (0, 1) if session % 2 else (1, 0):
                both[side].append(seconds(calls[side]))
    print("| | automerge | this package | ratio | required |\n|---|--:|--:|--:|---|")
    for (name, required, *_), (ours, others) in zip(measured, taken, strict=True):
        ratios = sorted(other / own for own, other in zip(ours, others, strict=True))
        ratio = statistics.median(ratios)
        goal = "" if required is None else f"{required} {'reached' if ratio >= required else 'missed'}"
        times = f"{statistics.median(others) * 1e3:.1f} ms | {statistics.median(ours) * 1e3:.1f} ms"
        print(f"| {name} | {times} | {ratio:.1f} [{ratios[0]:.1f}, {ratios[-1]:.1f}] | {goal} |")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7)
