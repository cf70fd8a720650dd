"""Undo and redo, and the change that made each part."""

import threading
from typing import Any

import pytest

from hashmill.documents import (
    ChangeOpenError,
    Counter,
    Document,
    ReadOnlyError,
    StaleError,
    Text,
    Undo,
    UnknownChangeError,
)


def test_undo_and_redo_keep_edits_of_others() -> None:
    doc = Document({"title": "Groceries", "list": ["milk"], "votes": Counter(1)})
    undo = Undo(doc)
    assert (undo.can_undo, undo.can_redo, undo.undo(), undo.redo()) == (False, False, None, None)
    with undo.change("Rename", time=5) as same:
        assert same is doc
        doc["title"] = "Shopping"
    change = doc.changes()[-1]
    assert change.message == "Rename" and change.time is not None
    with undo.change():
        doc["list"].append("bread")
        doc["votes"] += 2
    other = doc.fork()
    other["list"].insert(0, "tea")
    doc.merge(other)
    name = undo.undo()
    assert doc.heads == (name,) and doc["list"] == ["tea", "milk"] and doc["votes"] == 1
    assert undo.can_undo and undo.can_redo
    assert undo.undo() is not None and doc["title"] == "Groceries"
    assert undo.undo() is None and not undo.can_undo
    assert undo.redo() and undo.redo() and undo.redo() is None
    assert doc.to_python() == {"title": "Shopping", "list": ["tea", "milk", "bread"], "votes": 3}
    with undo.change():
        doc["title"] = "New"
    assert undo.redo() is None
    assert undo.undo() and doc["title"] == "Shopping"


def test_joined_changes_are_undone_together() -> None:
    doc = Document({"note": Text("")})
    undo = Undo(doc)
    for number, part in enumerate(("wo", "rd")):
        with undo.change(join=number > 0):
            doc["note"].append(part)
    assert undo.undo() and doc["note"] == ""
    assert undo.redo() and doc["note"] == "word"


def test_rolled_back_change_is_no_undo_step() -> None:
    doc = Document({"a": 1})
    undo = Undo(doc)
    with pytest.raises(ZeroDivisionError):
        with undo.change():
            doc["a"] = 1 // 0
    with undo.change():
        pass
    assert undo.undo() is None and doc["a"] == 1
    with doc.change(), pytest.raises(ChangeOpenError):
        undo.undo()
    entered = undo.change()
    entered.__enter__()
    doc["b"] = {}
    made = doc["b"]
    del entered
    with pytest.raises(StaleError):
        len(made)
    assert not undo.can_undo
    with pytest.raises(ReadOnlyError):
        Undo(doc.at(doc.heads)).undo()
    with pytest.raises(TypeError):
        Undo({"a": 1})  # type: ignore[arg-type]


def test_eight_threads_undo_in_one_document() -> None:
    doc = Document({str(number): 0 for number in range(8)})
    undo, wrong = Undo(doc), list[BaseException]()

    def work(number: int) -> None:
        try:
            own = Undo(doc)
            for each in range(20):
                with own.change():
                    doc[str(number)] = each + 1
                with undo.change():
                    doc[f"shared {number}"] = each
                assert own.undo() and doc[str(number)] == each
                assert own.redo() and undo.can_undo
                undo.undo()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and [doc[str(number)] for number in range(8)] == [20] * 8


def test_revert_changes_of_any_author() -> None:
    doc = Document({"a": 1, "b": 1})
    other = doc.fork()
    other["a"] = 2
    doc["b"] = 2
    doc.merge(other)
    theirs = other.heads
    name = doc.revert(theirs, "Take it back", time=7)
    assert doc.to_python() == {"a": 1, "b": 2} and doc.heads == (name,)
    assert doc.changes()[-1].message == "Take it back"
    assert doc.revert(theirs) is None
    assert doc.revert([name]) and doc["a"] == 2  # type: ignore[list-item]
    with pytest.raises(UnknownChangeError):
        doc.revert(["00" * 32])
    with pytest.raises(TypeError):
        doc.revert(name)  # type: ignore[arg-type]


def test_blame() -> None:
    doc = Document({"note": Text("one two"), "list": [1]})
    first = doc.heads[0]
    other = doc.fork(actor="ff")
    with other.change("Theirs", author=b"them"):
        other["note"].insert(3, " and")
        other["list"].append(2)
    second = other.heads[0]
    doc.merge(other)
    assert doc["note"].blame() == [(0, 3, first), (3, 7, second), (7, 11, first)]
    assert doc["list"].blame() == [(0, 1, first), (1, 2, second)]
    assert doc.blame() == {"list": first, "note": first}
    change: Any = doc.change_by_hash(doc["note"].blame()[1][2])
    assert (change.actor, change.message, change.author) == ("ff", "Theirs", b"them")
    with doc.change():
        doc["note"].append("\U0001f600")
        assert doc["note"].blame()[-1] == (11, 12, None)
    assert doc.at([first])["note"].blame() == [(0, 7, first)]
    with pytest.raises(TypeError):
        Text("x").blame()
