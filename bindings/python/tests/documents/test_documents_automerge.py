"""The names of the package `automerge`, compared with that package if it is installed."""

import gc
import importlib
import os
import subprocess
import sys
import textwrap
from datetime import datetime
from typing import Any

import pytest

import hashmill.documents as hashmill
from hashmill.documents.automerge import Document, ImmutableString, MutableText, Text, core
from hashmill.documents.automerge.core import ROOT, ExpandMark, ObjType, ScalarType, SyncState

S = ScalarType
WANTED = "needs the package automerge 1.0.0rc1, which is asked for on Linux with Python 3.11"


def play(of: Any, actor: bytes = b"\xaa") -> tuple[Any, Any]:
    """Edits of every kind that both packages support, by the engine `of`."""
    doc = of.Document(actor)
    kinds, types = of.ObjType, of.ScalarType
    with doc.transaction() as tx:
        text = tx.put_object(of.ROOT, "text", kinds.Text)
        for index, character in enumerate("Hé 🌍!"):
            tx.insert(text, index, types.Str, character)
        things = tx.put_object(of.ROOT, "list", kinds.List)
        tx.insert(things, 0, types.Int, -5)
        tx.insert(things, 1, types.Uint, 2**63)
        tx.insert(things, 0, types.F64, 0.5)
        inner = tx.insert_object(things, 2, kinds.Map)
        tx.put(inner, "bytes", types.Bytes, b"\0\1")
        tx.put(inner, "null", types.Null, None)
    with doc.transaction() as tx:
        tx.delete(text, 1)
        tx.mark(text, 0, 2, "bold", types.Boolean, True, of.ExpandMark.After)
        tx.put(things, 0, types.Str, "instead")
        tx.delete(inner, "null")
    return doc, (text, things, inner)


def listed(thing: Any) -> Any:
    """Bytes as lists of numbers, as that version returns them."""
    if isinstance(thing, bytes):
        return list(thing)
    if isinstance(thing, list):
        return [listed(element) for element in thing]
    return {key: listed(value) for key, value in thing.items()} if isinstance(thing, dict) else thing


def test_equal_calls_make_equal_changes() -> None:
    theirs: Any = pytest.importorskip("automerge.core", reason=WANTED)
    ours_doc, _ = play(core)
    their_doc, _ = play(theirs)
    assert ours_doc.get_heads() == their_doc.get_heads()
    assert [change.bytes for change in ours_doc.get_changes([])] == [
        bytes(change.bytes) for change in their_doc.get_changes([])
    ]
    assert listed(core.extract(ours_doc)) == theirs.extract(their_doc)


def test_documents_of_automerge_load_merge_and_sync() -> None:
    theirs: Any = pytest.importorskip("automerge.core", reason=WANTED)
    their_doc, (text, things, _) = play(theirs)
    ours = core.Document.load(their_doc.save())
    native = hashmill.Document.load(their_doc.save())
    assert listed(core.extract(ours)) == theirs.extract(their_doc) == listed(native.to_python())
    native["text"].append(" and we")
    with their_doc.transaction() as tx:
        tx.insert(things, 0, theirs.ScalarType.Str, "theirs")
    merged = theirs.Document.load(native.save())
    merged.merge(their_doc)
    native.merge(hashmill.Document.load(their_doc.save()))
    assert listed(native.to_python()) == theirs.extract(merged)
    assert [bytes.fromhex(head) for head in native.heads] == merged.get_heads()
    of_us, of_them, other = theirs.SyncState(), hashmill.SyncState(), theirs.Document()
    while True:
        message = native.generate_sync_message(of_them)
        if message is not None:
            other.receive_sync_message(of_us, theirs.Message.decode(message))
        answer = other.generate_sync_message(of_us)
        if answer is not None:
            native.receive_sync_message(of_them, answer.encode())
        if message is answer is None:
            break
    assert other.get_heads() == merged.get_heads()


def test_suite_of_automerge() -> None:
    """Their 59 tests, unchanged: `cargo xtask python` fetches them, and passes the folder or the reason why there are none."""
    tests = os.environ.get("AUTOMERGE_PY_TESTS")
    if tests is None:
        pytest.skip(os.environ.get("AUTOMERGE_PY_MISSING", "needs the tests of automerge/automerge-py in AUTOMERGE_PY_TESTS"))
    alias = textwrap.dedent(
        """
        import sys, pytest
        import hashmill.documents.automerge as ours
        import hashmill.documents.automerge.core, hashmill.documents.automerge.document
        sys.modules.update({"automerge": ours, "automerge.core": ours.core, "automerge.document": ours.document})
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", "/dev/null", sys.argv[1]]))
        """
    )
    done = subprocess.run([sys.executable, "-c", alias, tests], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "59 passed" in done.stdout, done.stdout


def test_every_type_of_scalar() -> None:
    doc = core.Document()
    moment = datetime(2026, 11, 26, 1, 2, 3, 4000)
    values: list[tuple[ScalarType, Any]] = [
        (S.Bytes, b"\0"),
        (S.Str, "é"),
        (S.Int, -1),
        (S.Uint, 2**64 - 1),
        (S.F64, 0.25),
        (S.Counter, 3),
        (S.Timestamp, moment),
        (S.Boolean, False),
        (S.Null, None),
    ]
    with doc.transaction() as tx:
        for index, (kind, value) in enumerate(values):
            tx.put(ROOT, str(index), kind, value)
        tx.increment(ROOT, "5", 4)
        for kind, value in ((S.Int, 2**63), (S.Uint, -1), (S.Str, b""), (S.Bytes, ""), (S.Unknown, b""), (S.F64, "x")):
            with pytest.raises((TypeError, ValueError, OverflowError)):
                tx.put(ROOT, "bad", kind, value)
        with pytest.raises(UnicodeEncodeError):
            tx.put(ROOT, "\ud800", S.Null, None)
    values[5] = (S.Counter, 7)
    assert [value for value, _ in doc.values(ROOT)] == values
    unknown = hashmill.Document({"u": hashmill.Unknown(12, b"x")})
    assert core.Document.load(unknown.save()).get(ROOT, "u")[0] == (S.Unknown, b"x")  # type: ignore[index]


def test_transaction_ends_once() -> None:
    doc = core.Document()
    with doc.transaction() as tx:
        made = tx.put_object(ROOT, "m", ObjType.Map)
        assert tx.keys(ROOT) == ["m"] and tx.get_heads() == []
        for call in (doc.transaction, doc.save, doc.fork, lambda: doc.get_changes([]), doc.get_actor):
            with pytest.raises(hashmill.ChangeOpenError):
                call()
    for use in (
        lambda: tx.put(made, "a", S.Int, 1),
        lambda: tx.keys(ROOT),
        lambda: tx.__exit__(None, None, None),
    ):
        with pytest.raises(hashmill.StaleError):
            use()
    forgotten = doc.transaction()
    forgotten.put(ROOT, "gone", S.Int, 1)
    del forgotten
    gc.collect()
    assert doc.keys(ROOT) == ["m"] and doc.get(made, "a") is None


def test_invalid_ids_and_hashes() -> None:
    doc, (text, things, _) = play(core)
    for wrong in (b"", b"\1", b"\2abc", b"\0\0"):
        with pytest.raises(ValueError):
            doc.keys(wrong)
    for absent in (b"\1" + bytes(12) + b"zz", things[:-1] + b"\xbb"):
        with pytest.raises(hashmill.StaleError):
            doc.get(absent, "x")
    with pytest.raises(hashmill.UnknownChangeError):
        doc.text(text, [bytes(32)])
    with pytest.raises(TypeError):
        doc.get(text, "x")
    assert doc.get(things, 99) is None and doc.get(ROOT, "nothing") is None and doc.length(ROOT) == 2
    with pytest.raises(OverflowError):
        doc.get(things, -1)


def test_changes_patches_and_marks() -> None:
    doc, (text, *_) = play(core)
    first, second = doc.get_changes([])
    assert (first.seq, second.seq, len(first), second.deps) == (1, 2, 13, [first.hash])
    assert (first.actor_id, first.other_actor_ids, first.message) == (b"\xaa", [], None)
    last = doc.get_last_local_change()
    assert last is not None and last.hash == second.hash and second.max_op == second.start_op + len(second) - 1
    assert first.bytes and first.raw_bytes and first.extra_bytes == b"" and isinstance(first.timestamp, datetime)
    assert "SpliceText" in "".join(map(repr, doc.diff([], doc.get_heads())))
    (mark,) = doc.marks(text)
    assert (mark.start, mark.end, mark.name, mark.value) == (0, 2, "bold", (S.Boolean, True)) and "bold" in repr(mark)
    with doc.transaction() as tx:
        tx.unmark(text, 0, 2, "bold")
        tx.mark(text, 1, 3, "link", S.Str, "x", ExpandMark.Neither)
        tx.splice_text(text, 0, 1, "Oh, h")
    assert [mark.name for mark in doc.marks(text)] == ["link"] and doc.text(text) == "Oh, h 🌍!"
    assert doc.text(text, [first.hash]) == "Hé 🌍!" and doc.fork([first.hash]).text(text) == "Hé 🌍!"


def test_document_proxies_are_writable_in_changes() -> None:
    doc = Document()
    with doc.change() as d:
        d["text"], d["name"], d["n"] = "Hello", ImmutableString("x"), 5
        d["list"] = [1, {"a": [b"x", None, True, 0.5]}]
        d["list"].append("end")
        d["list"][-1].insert(3, "!")
        assert "text" in d and "nothing" not in d and d["nothing"] is None and sorted(d) == ["list", "n", "name", "text"]
        d["n"] = True
        del d["list"][0]
    assert doc.to_py() == {"text": "Hello", "name": "x", "n": True, "list": [{"a": [b"x", None, True, 0.5]}, "end!"]}
    assert isinstance(doc["text"], Text) and not isinstance(doc["text"], MutableText) and doc["text"] != 5
    assert doc["list"][0:1][0]["a"][3] == 0.5 and doc["list"][-1] == "end!"
    with pytest.raises(KeyError):
        doc["nothing"]
    with pytest.raises(IndexError):
        doc["list"][7]
    with pytest.raises(ZeroDivisionError):
        with doc.change() as d:
            d["gone"] = {"a": 1}
            1 / 0
    assert "gone" not in doc
    with pytest.raises(ValueError, match="cannot hold"):
        with doc.change() as d:
            d["bad"] = object()
    with pytest.raises(TypeError, match="slices"):
        with doc.change() as d:
            d["list"][0:1] = []


def test_sync_state_works_with_both_packages() -> None:
    assert SyncState is hashmill.SyncState and importlib.import_module("hashmill.documents.automerge.document")
