"""A single value is not a list: every function that takes a list refuses strings, bytes and mappings."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hashmill import blake3, inventory
from hashmill.argon2 import Passwords
from hashmill.argon2.low_level import Type
from hashmill.argon2 import Parameters
from hashmill.documents import Document, Text

SOURCE = Path(__file__).parents[2] / "python" / "hashmill"

ONE_VALUE: list[Any] = ["", "ab", b"", b"ab", bytearray(b"ab"), memoryview(b"ab"), {}, {"a": 1}]

CHEAP = Passwords(Parameters(Type.ID, 19, 16, 32, 1, 8, 1))


def rich() -> Text:
    doc = Document({"t": Text("ab")})
    text: Text = doc["t"]
    return text



# By class and function, and by the list argument.
CALLS: dict[str, Callable[[Any], object]] = {
    "hash_many(inputs)": blake3.hash_many,
    "Passwords.hash_many(passwords)": CHEAP.hash_many,
    "Passwords.verify_many(logins)": CHEAP.verify_many,
    "Passwords.hash_many_async(passwords)": lambda value: asyncio.run(CHEAP.hash_many_async(value)),
    "Passwords.verify_many_async(logins)": lambda value: asyncio.run(CHEAP.verify_many_async(value)),
    "Hasher.__call__(batch)": lambda value: inventory.Hasher()(value),
    "Hasher.__init__(only)": lambda value: inventory.Hasher(only=value),
    "Document.save_after(heads)": lambda value: Document().save_after(value),
    "Document.revert(changes)": lambda value: Document({"a": 1}).revert(value),
    "Document.changes(since)": lambda value: Document().changes(value),
    "Document.apply(changes)": lambda value: Document().apply(value),
    "Document.missing(heads)": lambda value: Document().missing(value),
    "Document.at(heads)": lambda value: Document().at(value),
    "Document.fork(heads)": lambda value: Document().fork(value),
    "Document.diff(before)": lambda value: Document().diff(value),
    "Document.diff(after)": lambda value: Document().diff([], value),
    "Text.update_spans(spans)": lambda value: rich().update_spans(value),
    "List.assign(value)": lambda value: Document({"l": [1]})["l"].assign(value),
}

# Here a string is allowed as a path: one file, or a folder. Any other single value is refused.
PATHS: dict[str, Callable[[Any], object]] = {
    "hash(inventory)": lambda value: inventory.hash(value, "nowhere"),
    "verify(inventory)": lambda value: inventory.verify(value, "nowhere"),
}

# As with `list`: a string is its characters.
OF_LISTS = {"List.__setitem__(value)", "List.extend(values)", "List.__iadd__(values)"}

# Names of the package `automerge`: a value that is not a hash of 32 bytes is refused, and an empty one is a hash.
OF_AUTOMERGE = "documents/automerge"

NEEDS_LIST = ("Iterable[", "Sequence[", "list[", "_Heads")


def functions() -> Iterator[tuple[str, str]]:
    """List arguments of all public functions in the sources and stubs: the place, and `Class.function(argument)`."""
    for path in sorted([*SOURCE.rglob("*.py"), *SOURCE.rglob("*.pyi")]):
        where = path.relative_to(SOURCE).as_posix()
        is_native = where.startswith("_hashmill/") and not where.startswith("_hashmill/documents/")
        if is_native or path.name in ("_elements.py", "__main__.py"):
            continue
        for owner in ast.walk(ast.parse(path.read_text())):
            if not isinstance(owner, (ast.Module, ast.ClassDef)):
                continue
            for function in owner.body:
                if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                is_private = function.name.startswith("_") and not function.name.startswith("__")
                if is_private or (isinstance(owner, ast.ClassDef) and owner.name.startswith("_")):
                    continue
                prefix = f"{owner.name}." if isinstance(owner, ast.ClassDef) else ""
                for argument in [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]:
                    kind = ast.unparse(argument.annotation) if argument.annotation else ""
                    if any(kind.startswith(start) or f"| {start}" in kind for start in NEEDS_LIST):
                        yield where, f"{prefix}{function.name}({argument.arg})"


def test_all_list_arguments_are_covered() -> None:
    found = {name for where, name in functions() if OF_AUTOMERGE not in where}
    assert found - CALLS.keys() - PATHS.keys() - OF_LISTS == set()
    assert len(found) > 12


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", ONE_VALUE, ids=repr)
def test_single_value_is_not_a_list(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[name](value)
    assert "a list" in str(caught.value) or "iterator" in str(caught.value) or name == "List.assign(value)"


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("value", [value for value in ONE_VALUE if not isinstance(value, str)], ids=repr)
def test_single_value_is_not_a_list_of_paths(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match="a list is needed"):
        PATHS[name](value)
    assert not Path("nowhere").exists()


def test_any_iterable_is_a_list() -> None:
    for inputs in ([b"a", b"b"], (b"a", b"b"), iter([b"a", b"b"]), {b"a": 1, b"b": 2}.keys()):
        assert len(blake3.hash_many(inputs)) == 2
    assert CHEAP.hash_many([]) == [] and CHEAP.verify_many(iter([])) == []


def test_error_names_the_missing_ray_option() -> None:
    """By default Ray's `map_batches` passes a dict of arrays."""
    with pytest.raises(TypeError, match='batch_format="pyarrow"'):
        inventory.Hasher()({"url": ["/etc/hosts"]})  # type: ignore[call-overload]
