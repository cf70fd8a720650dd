"""Checks that the types in the stubs match the module."""

import os
import subprocess
import sys
from pathlib import Path

import hashmill
import pytest

from hashmill.documents import Document, Map

PROGRAM = """
from hashmill.documents import Counter, Document, List, Map, Text
from hashmill.documents.events import Put, Splice
from hashmill.documents.presence import Presence, Updated

doc: Document = Document({"a": 1}, actor="ab")
with doc.change("why", time=1) as same:
    reveal_type(same)
text: Text = doc["t"]
part: str = text[1:2] + text[0]
text += "x"
for event in doc.diff([]):
    match event:
        case Put(path=path):
            reveal_type(path)
        case Splice(text=added):
            reveal_type(added)
cards: List = doc["cards"]
rest: list[object] = cards[1:]
message: bytes | None = doc.generate_sync_message(1)  # type: ignore[arg-type]
doc.at("abc")
doc.save(deflate="no")  # type: ignore[arg-type]
text.mark(0, 1, "x", expand="up")  # type: ignore[arg-type]
cards[0] = Counter(1) + 2
users = Presence({"cursor": 1}, heartbeat=5)
payload: bytes | None = users.next_payload(0)
match users.receive("peer", b"", 1.5):
    case Updated(channels=channels):
        reveal_type(channels)
users.receive(1, b"", 0)  # type: ignore[arg-type]
if peer := users.peer("peer"):
    reveal_type(peer.last_seen)
"""


def mypy(*arguments: str, where: Path) -> subprocess.CompletedProcess[str]:
    """If the package is not installed, it is in the folder of the import."""
    package = Path(hashmill.__file__).absolute().parent.parent
    where_it_is = dict.fromkeys(("MYPYPATH", "PYTHONPATH"), str(package))
    path = {} if "site-packages" in package.parts else where_it_is
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=where, env=os.environ | path)


def test_mypy_checks_a_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = mypy("mypy", "--strict", "--no-error-summary", str(program), where=tmp_path)
    said = [line.split("note: ", 1)[1] for line in done.stdout.splitlines() if "note: Revealed" in line]
    assert done.returncode == 0, done.stdout + done.stderr
    assert said == [
        'Revealed type is "hashmill._hashmill.documents.Document"',
        'Revealed type is "tuple[str | int, ...]"',
        'Revealed type is "str"',
        'Revealed type is "tuple[str, ...]"',
        'Revealed type is "float"',
    ]


def test_stubs_match_the_module(tmp_path: Path) -> None:
    # Names of Python's typing, and additional names of the compiled module.
    besides = tmp_path / "allowed"
    besides.write_text(
        r"""
hashmill\._hashmill\.documents\.(automerge\.)?__all__
hashmill\._hashmill\.documents\.automerge(\.ScalarValue|\.Value)?
hashmill\._hashmill\.documents\.(Counter|Text)\.__r(add|sub)__
hashmill\._hashmill\.documents\.Map\.(get|update|pop)
"""
    )
    flags = ["--concise", "--ignore-disjoint-bases", "--allowlist", str(besides)]
    done = mypy("mypy.stubtest", *flags, "hashmill._hashmill.documents", where=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_models_of_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic", reason="needs pydantic")
    from hashmill.documents.pydantic import read, write

    class Card(pydantic.BaseModel):  # type: ignore[name-defined, misc]
        title: str
        tags: list[str] = []
        size: dict[str, int] = {}

    doc = Document({"cards": {}})
    write(doc["cards"], "one", Card(title="First", tags=["a", "b"]))
    assert isinstance(doc["cards"]["one"], Map) and read(Card, doc["cards"]["one"]) == Card(title="First", tags=["a", "b"])
    other = doc.fork()
    write(doc["cards"], "one", Card(title="First", tags=["a", "b", "c"]))
    write(other["cards"], "one", Card(title="Second", tags=["b"]))
    doc.merge(other)
    assert read(Card, doc["cards"]["one"]) == Card(title="Second", tags=["b", "c"])
    heads = doc.heads
    write(doc["cards"], "one", Card(title="Second", tags=["b", "c"]))
    assert doc.heads == heads, "what is equal stays as it is"
    doc["cards"]["one"]["title"] = 5
    with pytest.raises(pydantic.ValidationError):
        read(Card, doc["cards"]["one"])


def test_pydantic_is_not_imported_by_the_package() -> None:
    program = "import sys, hashmill.documents, hashmill.documents.automerge; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_package_example() -> None:
    import doctest

    import hashmill.documents
    import hashmill.documents.presence

    for module in (hashmill.documents, hashmill.documents.presence):
        done = doctest.testmod(module)
        assert done.attempted > 0 and done.failed == 0
