"""Documents as mappings, sequences and texts; changes; refused values."""

import copy
import gc
import math
import pickle
import weakref
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hashmill.documents import (
    ChangeOpenError,
    Counter,
    Document,
    List,
    Map,
    ReadOnlyError,
    StaleError,
    Text,
    Timestamp,
    Unknown,
)


def test_values_round_trip() -> None:
    moment = datetime(2026, 11, 26, 12, 0, 0, 123000, tzinfo=timezone.utc)
    values: dict[str, Any] = {
        "none": None,
        "true": True,
        "zero": 0,
        "least": -(2**63),
        "most": 2**64 - 1,
        "float": 1.5,
        "infinite": math.inf,
        "string": "é\0🌍",
        "bytes": b"\0\xff",
        "moment": moment,
        "far": Timestamp(10**17),
        "unknown": Unknown(12, b"x"),
        "map": {"": {}},
        "list": [[], [1]],
    }
    doc = Document(values)
    assert doc == values and doc.to_python() == values
    assert {key: type(doc[key]) for key in ("true", "zero", "float")} == {"true": bool, "zero": int, "float": float}
    doc["nan"] = math.nan
    assert math.isnan(doc["nan"])
    doc["tuple"], doc["view"], doc["array"] = (1, 2), memoryview(b"ab"), bytearray(b"cd")
    assert (doc["tuple"], doc["view"], doc["array"]) == ([1, 2], b"ab", b"cd")
    again = Document.load(doc.save())
    del doc["nan"], again["nan"]
    assert again == doc


def test_datetime_keeps_milliseconds_in_any_zone() -> None:
    doc = Document()
    zone = timezone(timedelta(hours=-5, minutes=30))
    doc["at"] = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=zone)
    assert doc["at"] == datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=zone)
    for moment in (datetime.min, datetime.max):
        doc["at"] = moment.replace(tzinfo=timezone.utc)
        assert doc["at"].replace(tzinfo=None) == moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    with pytest.raises(ValueError, match="time zone"):
        doc["at"] = datetime(2026, 1, 1)


@pytest.mark.parametrize("value", [object(), {1, 2}, 1j, [object()], {"a": {"b": {1}}}, Document])
def test_unsupported_values_are_refused(value: object) -> None:
    doc = Document({"a": 1})
    heads = doc.heads
    with pytest.raises(TypeError, match="cannot hold"):
        doc["b"] = value
    assert doc.heads == heads


def test_strings_that_are_not_unicode_and_integers_that_are_too_large() -> None:
    doc = Document({"t": Text("abc"), "l": [1]})
    heads = doc.heads
    for bad in ("\ud800", ["\udfff"], {"\ud800": 1}):
        with pytest.raises(UnicodeEncodeError):
            doc["a"] = bad
    with pytest.raises(UnicodeEncodeError):
        doc["\ud800"] = 1
    with pytest.raises(UnicodeEncodeError):
        doc["t"].insert(0, "\ud800")
    with pytest.raises(KeyError):
        doc["\ud800"]
    assert "\ud800" not in doc and 5 not in doc and doc.get("\ud800", 7) == 7
    for number in (2**64, -(2**63) - 1, 10**50):
        with pytest.raises(OverflowError, match="2\\*\\*64"):
            doc["l"].append(number)
    with pytest.raises(IndexError):
        doc["l"][10**50]
    assert doc["l"][-(10**50) : 10**50] == [1]
    with pytest.raises(TypeError, match="keys"):
        doc["a"] = {1: 2}
    with pytest.raises(TypeError, match="keys"):
        doc[1] = 2  # type: ignore[index]
    with pytest.raises(TypeError, match="mapping"):
        Document([1])  # type: ignore[arg-type]
    assert doc.heads == heads


def test_recursive_and_very_deep_values() -> None:
    doc = Document()
    ring: list[Any] = []
    ring.extend([ring, ring])
    loop: dict[str, Any] = {}
    loop["loop"] = loop
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for value in (ring, loop, deep):
        with pytest.raises(RecursionError):
            doc["a"] = value
    assert not doc
    while deep:
        deep = deep.pop()


def test_very_many_values_at_once() -> None:
    doc = Document({"l": [1]})
    for many in ([None] * (2**22 + 1), [1, [2, (None,) * 2**22]]):
        with pytest.raises(ValueError, match="more than 4194304 values at once"):
            doc["many"] = many
        with pytest.raises(ValueError, match="at once"):
            doc["l"].append(many)
    assert doc == {"l": [1]}


def test_deeply_nested_document_can_be_traversed() -> None:
    doc = Document({"a": {}})
    place = doc["a"]
    with doc.change():
        for _ in range(600):
            place["a"] = {}
            place = place["a"]
    with pytest.raises(RecursionError):
        doc.to_python()
    assert len(Document.load(doc.save())["a"]["a"]) == 1


def test_containers_that_change_during_conversion() -> None:
    grows: dict[str, Any] = {}

    class Nasty(Sequence[int]):
        def __len__(self) -> int:
            return 1

        def __getitem__(self, index: Any) -> Any:
            grows[f"more{len(grows)}"] = 1
            if index:
                raise IndexError
            return 7

    grows.update(a=Nasty(), b=Nasty())
    doc = Document()
    doc["grows"] = grows
    assert doc["grows"] == {"a": [7], "b": [7]}

    class Failing(Mapping[str, int]):
        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Any:
            raise ZeroDivisionError

        def __getitem__(self, key: str) -> int:
            return 1

    with pytest.raises(ZeroDivisionError):
        doc["a"] = [1, Failing()]
    assert "a" not in doc


def test_classes_are_mappings_and_sequences() -> None:
    doc = Document({"m": {"a": 1}, "l": [1], "t": Text("x")})
    assert isinstance(doc, MutableMapping) and isinstance(doc, Map) and isinstance(doc["m"], Map)
    assert isinstance(doc["l"], MutableSequence) and isinstance(doc["l"], List)
    assert isinstance(doc["t"], Sequence) and not isinstance(doc["t"], str)
    match doc:
        case {"m": {"a": found}, "l": [first]}:
            assert (found, first) == (1, 1)
        case _:
            raise AssertionError
    assert [*doc] == list(doc.keys()) == ["l", "m", "t"] and {**doc["m"]} == {"a": 1}
    for value in (doc, doc["m"], doc["l"], doc["t"]):
        with pytest.raises(TypeError):
            hash(value)
    assert repr(doc) == "Document({'l': [1], 'm': {'a': 1}, 't': 'x'})" and repr(doc["t"]) == "Text('x')"
    assert doc["l"] != "1" and doc["l"] != 1 and doc["m"] != 1 and doc["t"] != 1


def test_repr_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = {"a": [deep]}
    documents = [
        {"numbers": list(range(100_000)), "text": Text("y" * 1_000_000), "plain": "z" * 1_000_000, "bytes": bytes(1_000_000)},
        {f"{index:01000}": "w" * 1000 for index in range(1000)},
        {"deep": deep},
        {"escapes": ["\U0010ffff" * 10_000] * 1000},
        {"lists": [[[] for _ in range(100)] for _ in range(100)]},
    ]
    for contents in documents:
        doc = Document(contents)
        for value in (doc, *(value for value in doc.values() if isinstance(value, (Map, List, Text)))):
            assert len(repr(value)) < 25_000
    doc = Document(documents[0])
    assert " more]" in repr(doc) and repr(doc).endswith("'...})")
    assert repr(doc["numbers"]).startswith("List([0, 1, 2, ") and repr(doc["numbers"]).endswith(", 99, ... 99900 more])")
    assert repr(doc["text"]) == f"Text({'y' * 200!r}...)"
    # Small values look like those of plain Python.
    small = {"a": [1, -2.5, None, True, {"b": b"x\0", "c": "it's"}], "n": Counter(3), "t": Text("x"), "z": {}, "l": []}
    small["d"] = datetime(2026, 11, 28, tzinfo=timezone.utc)
    doc = Document(small)
    assert repr(doc) == f"Document({doc.to_python()!r})"
    assert repr(doc["a"]) == f"List({doc['a'].to_python()!r})"


def test_copies_of_objects() -> None:
    doc = Document({"m": {"a": [1, {"t": Text("x")}]}})
    doc["copy"] = doc["m"]
    doc["m"]["a"][1]["t"].append("y")
    assert doc.to_python() == {"m": {"a": [1, {"t": "xy"}]}, "copy": {"a": [1, {"t": "x"}]}}
    assert isinstance(doc["copy"]["a"][1]["t"], Text)
    other = Document()
    other.update(doc, more=doc["m"]["a"][1]["t"])
    assert other["more"] == "xy" and other["copy"] == doc["copy"]
    before = doc.heads
    doc["m"] = doc["m"]
    doc["m"]["a"][1] = doc["m"]["a"][1]
    assert doc.heads == before, "what is there already is not put again"


def test_a_map_that_changes_size_during_iteration() -> None:
    doc = Document({"a": 1, "b": 2, "c": 3})
    with pytest.raises(RuntimeError, match="size"):
        for key in doc:
            doc[key + key] = 1
    for key in doc:
        doc[key] = 5
    assert set(doc.values()) == {5}
    numbers = Document({"l": [1, 2, 3]})["l"]
    assert [numbers.append(number) or number for number in numbers if len(numbers) < 6] == [1, 2, 3]


def test_text_counts_code_points() -> None:
    doc = Document({"t": Text("e\u0301🌍世")})
    text = doc["t"]
    assert (len(text), text[2], text[-1], text[1:3], text[::-1]) == (4, "🌍", "世", "\u0301🌍", "世🌍\u0301e")
    text[2] = "XY"
    text[:2] = ""
    text += "!"
    doc["t"] += "?"
    assert str(text) == "XY世!?" and "Y世" in text and list(text) == list("XY世!?") and text + "z" == "XY世!?z"
    assert text < "Z" and text == doc["t"] and text != "" and not text == 5
    with pytest.raises(ValueError, match="step"):
        text[::2] = "a"
    with pytest.raises(IndexError):
        text[5]
    del text[-1], text[1:]
    text.assign("X and more")
    text.splice(2, 3, "or")
    assert str(text) == "X or more"
    with pytest.raises(IndexError):
        text.splice(100, 0, "x")


def test_text_outside_a_document() -> None:
    text = Text("abc")
    assert (str(text), len(text), text[1], text[1:]) == ("abc", 3, "b", "bc") and text == "abc"
    for edit in (lambda: text.insert(0, "x"), lambda: text.marks(), lambda: text.object_id):
        with pytest.raises(TypeError, match="not in a document"):
            edit()


def test_counters_add_up() -> None:
    doc = Document({"n": Counter(1), "l": [Counter(5)]})
    other = doc.fork()
    doc["n"] += 2
    other["n"] -= 10
    other["l"][0] += 1
    other.increment("n")
    doc["l"].increment(0, 3)
    doc.merge(other)
    assert (doc["n"].value, doc["l"][0]) == (-6, 9) and doc["n"] < 0 and int(doc["n"]) == -6
    doc["copy"] = doc["n"]
    assert doc["copy"] == -6 and hash(doc["copy"]) == hash(-6) and list(range(9))[doc["l"][0] - 1] == 8
    with pytest.raises(TypeError, match="counter"):
        doc.increment("nothing")
    with pytest.raises(OverflowError):
        Counter(2**63 - 1) + 1
    with pytest.raises(OverflowError):
        Counter(0) - -(2**63)


def test_counter_increments_only_at_its_own_key() -> None:
    doc = Document({"votes": Counter(3), "total": Counter(10), "l": [Counter(1), Counter(20)]})
    doc["total"] = doc["votes"] + 5
    doc["l"][1] = doc["l"][0] + 1
    doc.update(new=doc["votes"] - 1)
    assert (doc["votes"], doc["total"], doc["l"][1], doc["new"]) == (3, 8, 2, 2)
    other = doc.fork()
    other["votes"] = doc["votes"] + 1
    old = doc["votes"] + 1
    doc["votes"] = Counter(100)
    doc["votes"] = old
    assert other["votes"] == doc["votes"] == 4
    with doc.change():
        heads = doc.heads
        doc["votes"] += 0
    assert doc.heads == heads, "nothing was added, so nothing was written"


def test_change_is_committed_or_rolled_back_as_a_whole() -> None:
    doc = Document({"l": [1]})
    with doc.change("Two things", time=1_700_000_000, author=b"me") as edited:
        assert edited is doc
        doc["l"].append(2)
        doc["a"] = {"b": []}
        inside = doc["a"]
    change = doc.changes()[-1]
    assert (change.message, change.author, len(change)) == ("Two things", None, 3)
    assert change.time == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    inside["c"] = 1
    heads = doc.heads
    with pytest.raises(ZeroDivisionError):
        with doc.change():
            doc["l"].append(3)
            doc["new"] = {"deep": [[Text("x")]]}
            gone = [doc["new"], doc["new"]["deep"], doc["new"]["deep"][0], doc["new"]["deep"][0][0]]
            stays = doc["l"]
            1 / 0
    assert doc.heads == heads and stays == [1, 2]
    doc["other"] = {"deep": [[Text("y")]]}
    for stale in gone:
        for use in (len, str, lambda it: it.object_id and doc.update(x=it)):
            with pytest.raises(StaleError, match="rolled back"):
                use(stale)
    assert inside == {"b": [], "c": 1} and len(doc.changes()) == 4
    with doc.change("Nothing"):
        pass
    assert len(doc.changes()) == 4


def test_failed_edit_changes_nothing() -> None:
    doc = Document({"l": [1, 2, 3, 4], "m": {"a": Counter(1)}})
    heads = doc.heads
    with pytest.raises(TypeError):
        doc.update({"b": 1, "m": Counter(0)}, c=object())
    with pytest.raises(ValueError, match="3 values for an extended slice of 2"):
        doc["l"][::2] = [0, 0, 0]
    assert doc.heads == heads and "b" not in doc


def test_changes_cannot_be_nested() -> None:
    doc = Document()
    with doc.change():
        doc["a"] = 1
        for work in (doc.save, doc.fork, doc.changes, doc.change().__enter__, lambda: doc.merge(Document())):
            with pytest.raises(ChangeOpenError):
                work()
        assert doc.heads == ()
    assert len(doc.heads) == 1
    with pytest.raises(RuntimeError, match="not entered"):
        doc.change().__exit__(None, None, None)
    change = doc.change()
    change.__enter__()
    doc["b"] = 2
    del change
    gc.collect()
    assert "b" not in doc and doc.save()


def test_history_view_is_read_only() -> None:
    doc = Document({"a": [1], "t": Text("x")})
    then = doc.at(doc.heads)
    doc["a"].append(2)
    assert then["a"] == [1] and then.heads != doc.heads
    for edit in (
        lambda: then.update(a=1),
        lambda: then["a"].append(1),
        lambda: then["t"].append("y"),
        lambda: then.merge(doc),
        then.change().__enter__,
    ):
        with pytest.raises(ReadOnlyError):
            edit()
    fork = then.fork()
    fork["b"] = 1
    assert set(fork) == {"a", "b", "t"} and set(then) == {"a", "t"}


def test_copies_and_pickles() -> None:
    doc = Document({"a": [1], "n": Counter(1)}, actor="ab01")
    for again in (copy.copy(doc), copy.deepcopy(doc), pickle.loads(pickle.dumps(doc))):
        assert again == doc and again.heads == doc.heads and again.actor != doc.actor == "ab01"
        again["a"].append(2)
        assert doc["a"] == [1]
    for value in (Counter(3), Timestamp(5), Unknown(11, b"x"), doc.changes()[0]):
        assert pickle.loads(pickle.dumps(value)) == value
    for proxy in (doc["a"],):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(proxy)


def test_objects_keep_their_document() -> None:
    doc = Document({"a": {"b": [1]}})
    inner = doc["a"]["b"]
    del doc
    gc.collect()
    inner.append(2)
    assert inner == [1, 2]


def test_destructor_may_use_the_document() -> None:
    doc = Document({"n": Counter(0), "l": list(range(50))})

    class Ring:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            doc.increment("n")
            len(doc["l"])

    gc.collect()
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            Ring()
            doc["l"][:], doc.to_python(), doc["l"].append({"a": [1]}), list(doc.items()), doc.heads
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    assert doc["n"] == 200


def test_no_memory_leaks() -> None:
    import tracemalloc

    doc = Document({"a": {"b": [1, "x"]}, "t": Text("hello")})

    def work() -> None:
        for _ in range(1000):
            doc["a"]["b"][0], doc["t"][1:3], list(doc), doc.to_python(), doc.heads, doc.diff([])
            for wrong in ((lambda: doc["nothing"]), (lambda: doc.update(a=object()))):
                try:
                    wrong()
                except (KeyError, TypeError):
                    pass
            with doc.change():
                pass

    work()
    grown = []
    tracemalloc.start()
    try:
        for _ in range(5):
            before = tracemalloc.get_traced_memory()[0]
            work()
            gc.collect()
            grown.append(tracemalloc.get_traced_memory()[0] - before)
    finally:
        tracemalloc.stop()
    assert min(grown) < 8_000, "half of the smallest object for each of a thousand rounds; free lists come and go"


def test_weak_references_and_subclasses() -> None:
    class Notes(Document):
        def titles(self) -> list[str]:
            return [note["title"] for note in self["notes"]]

    notes = Notes({"notes": [{"title": "One"}]})
    assert notes.titles() == ["One"] and isinstance(notes, Document)
    alive = weakref.ref(notes)
    del notes
    gc.collect()
    assert alive() is None
