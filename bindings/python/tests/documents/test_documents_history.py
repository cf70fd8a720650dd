"""History, files, merges, syncs, marks, cursors and events."""

import copy
import pickle
from typing import Any

import pytest

from hashmill.documents import (
    ApplyError,
    Change,
    Document,
    FormatError,
    LimitError,
    Limits,
    SyncState,
    Text,
    UnknownChangeError,
    events,
)


def typed(actor: str = "aa") -> Document:
    doc = Document(actor=actor)
    with doc.change("Begin", time=1):
        doc["t"] = Text("Hello")
        doc["l"] = [1, 2]
    return doc


def test_equal_edits_make_equal_bytes() -> None:
    """The hashes of the crate, as in its counterpart `crates/doc/tests/it/api/bindings.rs`."""
    first, second = typed(), typed()
    assert first.save() == second.save() and first.heads == second.heads
    assert first.heads == ("f712dff6e9a506a814c6b8f486d50e553bbb056450900a29c14340d408991ddd",)


def test_files() -> None:
    doc = typed()
    saved = doc.save()
    assert Document.load(saved).save() == saved and Document.load(saved, actor="bb").actor == "bb"
    assert len(doc.save_incremental()) == 0
    heads = doc.heads
    doc["a"] = 1
    rest = doc.save_incremental()
    assert rest == doc.save_after(heads) and Document.load(saved + rest) == doc
    other = Document.load(saved)
    assert other.load_incremental(rest) == 1 and other.load_incremental(rest) == 0 and other.heads == doc.heads
    assert len(doc.save(deflate=False)) >= len(doc.save())
    lazy = Document.load(doc.save(), verify=False)
    lazy.verify()
    assert lazy == doc


def test_invalid_files() -> None:
    saved = typed().save()
    for bad in (b"\0", b"x" * 100, saved[:-1], saved[:50] + bytes([saved[50] ^ 1]) + saved[51:]):
        with pytest.raises(FormatError):
            Document.load(bad)
    assert Document.load(saved + b"rubbish", partial=True).heads == typed().heads
    assert Document.load(b"") == {}
    with pytest.raises(LimitError, match="limit"):
        Document.load(saved, limits=Limits(total=3))
    assert Limits().total > 2**20 and Limits(total=3).total == 3 and "total=3" in repr(Limits(total=3))
    with pytest.raises(OverflowError):
        Limits(total=-1)
    tight = Document.load(saved, limits=Limits(total=10))
    with pytest.raises(LimitError):
        tight["l"].extend(range(100))
    assert tight["l"] == [1, 2]


def test_apply_changes_between_documents() -> None:
    doc = typed()
    then = doc.heads
    doc["a"] = 1
    changes = doc.changes(since=then)
    assert [change.deps for change in changes] == [then] and changes[0].hash == doc.heads[0]
    assert len(doc.changes()) == 2 and doc.change_by_hash(then[0]) == doc.changes()[0]
    assert doc.change_by_hash(bytes.fromhex(then[0])) is not None and doc.change_by_hash("00" * 32) is None
    other = Document()
    other.apply([Change.from_bytes(bytes(changes[0]))])
    assert other == {} and other.missing() == then
    other.apply(doc.changes())
    assert other == doc and other.missing(["00" * 32]) == ("00" * 32,)
    first = doc.changes()[0]
    assert (first.actor, first.seq, first.message, first.start_op) == ("aa", 1, "Begin", 1)
    assert first.max_op == len(first) == 9 and changes[0].time is None and changes[0].author is None
    assert {first: 1}[pickle.loads(pickle.dumps(first))] == 1 and first != changes[0] and first.hash in repr(first)
    clash = typed()
    clash["other"] = 2
    with pytest.raises(ApplyError, match="repeats sequence number 2"):
        doc.apply(clash.changes())
    with pytest.raises(FormatError):
        Change.from_bytes(b"abc")
    with pytest.raises(TypeError):
        doc.apply([b"abc"])  # type: ignore[list-item]


def test_invalid_hashes_and_actors() -> None:
    doc = typed()
    for wrong in ("xyz", "00", b"abc"):
        with pytest.raises(ValueError):
            doc.at([wrong])
    with pytest.raises(TypeError, match="a list is needed"):
        doc.at(doc.heads[0])
    with pytest.raises(TypeError):
        doc.at([1])  # type: ignore[list-item]
    with pytest.raises(UnknownChangeError):
        doc.fork(["00" * 32])
    with pytest.raises(ValueError, match="actor"):
        doc.actor = "not hex"
    doc.actor = b"\xbb"
    assert doc.actor == "bb"


def test_merges_and_conflicts() -> None:
    ours = typed("aa")
    theirs = ours.fork(actor="bb")
    ours["k"], theirs["k"] = 1, {"x": [2]}
    ours["l"][0], theirs["l"][0] = "a", "b"
    heads = ours.merge(theirs)
    assert heads == ours.heads and len(heads) == 2 and ours.merge(ours) == heads
    found = ours.conflicts("k")
    assert list(found.values()) == [1, {"x": [2]}] and [name.split("@")[1] for name in found] == ["aa", "bb"]
    assert list(ours["l"].conflicts(-2).values()) == ["a", "b"] and ours["l"][0] == "b"
    assert ours.conflicts("t") == {} == ours.conflicts("nothing")
    found[list(found)[1]]["x"].append(3)
    assert ours["k"] == {"x": [2, 3]}
    ours["k"] = 3
    assert ours.conflicts("k") == {}
    back = ours.fork(theirs.heads)
    assert back == theirs and back.heads == theirs.heads
    assert ours.at([]) == {}


def talk(one: Document, of_other: SyncState, other: Document, of_one: SyncState) -> int:
    said = 0
    while True:
        there, back = one.generate_sync_message(of_other), None
        if there is not None:
            assert other.receive_sync_message(of_one, there) == {}
        back = other.generate_sync_message(of_one)
        if back is not None:
            assert one.receive_sync_message(of_other, back) == {}
        if there is back is None:
            return said
        said += 1


def test_syncs() -> None:
    one, other = typed("aa"), Document(actor="bb")
    of_other, of_one = SyncState(), SyncState()
    other["o"] = 1
    assert talk(one, of_other, other, of_one) > 0
    assert one == other and one.heads == other.heads and one.has_our_changes(of_other)
    assert of_other.shared_heads == one.heads == of_other.their_heads
    kept = pickle.loads(pickle.dumps(of_other))
    assert kept.shared_heads == one.heads and kept.encode() == of_other.encode()
    one["more"] = 1
    assert not one.has_our_changes(kept)
    with pytest.raises(FormatError):
        one.receive_sync_message(of_other, b"abc")
    with pytest.raises(FormatError):
        SyncState.decode(b"abc")
    assert talk(one, kept, other, SyncState()) > 0 and other["more"] == 1
    reader = SyncState(read_only=True)
    assert reader.read_only and not kept.read_only
    assert pickle.loads(pickle.dumps(reader)).read_only and copy.copy(reader).read_only and copy.deepcopy(reader).read_only


def test_marks_and_spans() -> None:
    doc = typed()
    text = doc["t"]
    text.mark(0, 4, "bold")
    text.mark(1, 3, "link", "https://x", expand="none")
    text.unmark(3, 4, "bold")
    assert text.marks() == [events.Mark(0, 3, "bold", True), events.Mark(1, 3, "link", "https://x")]
    assert text.marks_at(-5) == {"bold": True} and text.marks_at(1) == {"bold": True, "link": "https://x"}
    block = text.split_block(5)
    block["kind"] = "paragraph"
    text.append("you")
    assert text.spans() == [
        ("H", {"bold": True}),
        ("el", {"bold": True, "link": "https://x"}),
        ("lo", {}),
        ({"kind": "paragraph"}, {}),
        ("you", {}),
    ]
    assert text[5] == "\ufffc" and len(text) == 9
    text.join_block(5)
    assert str(text) == "Helloyou"
    for wrong in (lambda: text.mark(3, 2, "x"), lambda: text.mark(0, 1, "x", expand="up")):  # type: ignore[arg-type]
        with pytest.raises(ValueError):
            wrong()
    for wrong in (lambda: text.mark(0, 1, "x", []), lambda: text.join_block(0)):
        with pytest.raises((TypeError, ValueError)):
            wrong()


def test_update_spans() -> None:
    doc = Document({"t": Text("hello world")})
    text = doc["t"]
    text.update_spans([("hello ", {}), ("world", {"bold": True}), ("!", {})], expand="none")
    assert text.spans() == [("hello ", {}), ("world", {"bold": True}), ("!", {})]
    text.insert(11, "s")
    assert text.spans()[1] == ("world", {"bold": True}), "it does not expand"
    block = {"type": "heading", "depth": 2}
    text.update_spans([(block, {}), (Text("hello"), {"link": "x"})], expands={"link": "both"})
    assert text.spans() == [(block, {}), ("hello", {"link": "x"})]
    text.insert(1, "oh ")
    assert text.spans()[1] == ("oh hello", {"link": "x"})
    again = doc.fork()["t"]
    again.update_spans(text.spans())
    assert again.spans() == text.spans()
    heads = doc.heads
    text.update_spans(text.spans())
    assert doc.heads == heads, "what is there already is no change"
    wrong: list[Any] = ["text", [5], [("a",)], [(5, {})], [("a", {"b": []})], [(block, {"a": 1})], [("a", 5)], 5]
    for spans in wrong:
        with pytest.raises((TypeError, ValueError)):
            text.update_spans(spans)
    with pytest.raises(ValueError, match="expands"):
        text.update_spans([], expands={"bold": "up"})
    assert doc.heads == heads
    text.update_spans([])
    assert text == ""


def test_cursors() -> None:
    doc = typed()
    text = doc["t"]
    at, end, before = text.cursor(2), text.cursor(5), text.cursor(2, move="before")
    other = doc.fork()
    other["t"].insert(0, "Oh ")
    doc.merge(other)
    assert (text.position(at), text.position(end)) == (5, 8)
    del text[5]
    text.append("!")
    assert (text.position(at), text.position(before), text.position(end)) == (5, 4, 8)
    assert other["t"].position(at) == 5
    with pytest.raises(ValueError, match="cursor"):
        text.position("nonsense")
    with pytest.raises(ValueError):
        text.position("99@ffff")
    with pytest.raises(IndexError):
        text.cursor(100)


def test_events() -> None:
    doc = typed()
    news = doc.events()
    everything = doc.events(from_start=True)
    assert news.news() == []
    other = doc.fork(actor="bb")
    other["t"].insert(5, " you")
    other["l"][0:1] = [{"x": Text("y")}]
    other["n"] = None
    other["t"].mark(0, 5, "bold")
    doc["n"] = 1
    doc.merge(other)
    told = news.news()
    assert events.Splice(("t", 5), " you", {}) in told and events.Delete(("l", 1), 1) in told
    assert events.Insert(("l", 0), ({},)) in told and events.Put(("l", 0, "x"), Text(""), False) in told
    assert events.Splice(("l", 0, "x", 0), "y", {}) in told
    assert events.Marked(("t",), (events.Mark(0, 5, "bold", True),)) in told
    assert any(isinstance(event, events.Put) and event.path == ("n",) and event.conflict for event in told)
    assert news.news() == [] and events.Put(("t",), Text(""), False) in everything.news()
    with pytest.raises(ZeroDivisionError):
        with doc.change():
            doc["gone"] = 1
            1 / 0
    assert news.news() == []
    del doc["n"]
    assert news.news() == [events.Delete(("n",), 1)]
    assert doc.diff(doc.heads, []) == [events.Delete((key,), 1) for key in ("l", "t")]


def test_events_reconstruct_the_document() -> None:
    doc = Document(actor="aa")
    shown: dict[str, Any] = {}
    news = doc.events(from_start=True)

    def place(path: events.Path) -> tuple[Any, Any]:
        at: Any = shown
        for step in path[:-1]:
            at = at[step]
        return at, path[-1]

    def show() -> None:
        for event in news.news():
            match event:
                case events.Put(path, value, _):
                    at, last = place(path)
                    at[last] = value
                case events.Insert(path, values):
                    at, last = place(path)
                    at[last:last] = values
                case events.Delete(path, length):
                    at, last = place(path)
                    if isinstance(at, dict):
                        del at[last]
                    else:
                        del at[last : last + length]
                case events.Increment(path, by):
                    at, last = place(path)
                    at[last] = at[last] + by
                case _:
                    raise AssertionError(event)

    from hashmill.documents import Counter

    for edit in (
        lambda: doc.update(a=1, l=[1, 2, 3], m={"x": {"y": [4]}}, c=Counter(1)),
        lambda: doc["l"].insert(1, {"z": []}),
        lambda: doc["l"].__delitem__(slice(2, 4)),
        lambda: doc["m"]["x"]["y"].append(5),
        lambda: doc.increment("c", 5),
        lambda: doc.pop("a"),
    ):
        edit()
        show()
        assert shown == doc.to_python()
