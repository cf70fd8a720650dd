"""Documents as JSON: plain for other programs, and tagged for reading back."""

import json
import threading
from datetime import datetime, timezone
from typing import Any

import pytest

from hashmill.documents import Counter, Document, FormatError, Text, Unknown

EVERYTHING: dict[str, Any] = {
    "none": None,
    "bool": True,
    "int": -(2**63),
    "uint": 2**64 - 1,
    "float": 1.5,
    "nan": float("nan"),
    "text": Text("é\U0001f600"),
    "str": 'quotes " and \\',
    "bytes": b"\0\xff",
    "counter": Counter(7),
    "time": datetime(2020, 1, 1, tzinfo=timezone.utc),
    "unknown": Unknown(12, b"x"),
    "list": [1, [], {}],
    "__type": "map",
}


def test_tagged_json_round_trips() -> None:
    doc = Document(EVERYTHING)
    said = doc.to_json(tagged=True)
    again = Document.from_json(said, tagged=True, actor="ab")
    assert again.actor == "ab" and again.to_json(tagged=True) == said
    assert isinstance(again["text"], Text) and isinstance(again["counter"], Counter)
    assert json.loads(said)["value"]["counter"] == {"__type": "counter", "value": 7}


def test_plain_json() -> None:
    doc = Document(EVERYTHING)
    plain = json.loads(doc.to_json())
    assert plain["counter"] == 7 and plain["text"] == "é\U0001f600" and plain["nan"] is None
    assert plain["bytes"] == [0, 255] and plain["uint"] == 2**64 - 1
    assert json.loads(doc["list"].to_json()) == [1, [], {}] and doc["list"].to_json(pretty=True).count("\n") > 2
    assert Document.from_json('{"a": [1, {"b": "c"}]}').to_python() == {"a": [1, {"b": "c"}]}
    assert Document.from_json(b"{}").to_json() == "{}"
    before = doc.heads
    doc["list"].append(2)
    assert json.loads(doc.at(before).to_json())["list"] == [1, [], {}]


def test_integer_of_more_than_64_bits_becomes_a_float() -> None:
    kept = Document.from_json('{"a": 18446744073709551615, "b": 12345678901234567890123}').to_python()
    assert kept == {"a": 2**64 - 1, "b": 1.2345678901234568e22} and type(kept["b"]) is float


@pytest.mark.parametrize(
    "bad",
    ["", "{", "[" * 200, b"\xff", b'{"a": "\xed\xa0\x80"}', '{"a": 1e999}', '{"a": 1} x', "{'a': 1}"],
)
def test_invalid_json(bad: str | bytes) -> None:
    with pytest.raises(FormatError):
        Document.from_json(bad)


def test_json_that_is_not_a_document() -> None:
    for other in ("[1]", "1", "null", '"text"'):
        with pytest.raises(TypeError, match="mapping"):
            Document.from_json(other)
    with pytest.raises(FormatError):
        Document.from_json('{"a": {"__type": "counter", "value": "x"}}', tagged=True)
    assert Document.from_json('{"a": {"__type": "counter"}}')["a"] == {"__type": "counter"}
    for wrong in (5, None, bytearray(b"{}")):
        with pytest.raises(TypeError):
            Document.from_json(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        Document.from_json('{"\udc80": 1}')


def test_json_of_a_deeply_nested_document() -> None:
    doc = Document({"l": []})
    inner = doc["l"]
    with doc.change():
        for _ in range(5000):
            inner.append([])
            inner = inner[0]
    assert doc.to_json() == '{"l":' + "[" * 5001 + "]" * 5001 + "}"


def test_other_threads_run_during_json_conversion() -> None:
    doc = Document({"l": [{"key": number, "text": "x" * 10} for number in range(100_000)]})
    counted, done = 0, threading.Event()

    def work() -> None:
        assert Document.from_json(doc.to_json()).to_python() == doc.to_python()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        counted += 1
    thread.join()
    assert done.is_set() and counted > 100
