"""The names of ``automerge.document``: a document as a read-only mapping, writable inside ``with doc.change()``.

A string becomes a text, an :class:`ImmutableString` a string that is replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from . import core

Heads = list[bytes] | None
Reader = TypeVar("Reader", core.Document, core.Transaction)


@dataclass(frozen=True)
class ActorId:
    """The id of an actor."""

    id: bytes

    @staticmethod
    def random() -> ActorId:
        """A random actor."""
        return ActorId(core.random_actor_id())


@dataclass(frozen=True)
class ObjectId:
    """An object of a document."""

    id: bytes


@dataclass(frozen=True)
class ChangeHash:
    """The hash of a change."""

    hash: bytes


class ImmutableString(str):
    """A string that is replaced as a whole; a plain string would become a text."""


class _ObjectAtHeads(Generic[Reader]):
    """An object of a document or of a transaction, now or at some heads."""

    def __init__(self, source: Reader, obj_id: bytes, heads: Heads) -> None:
        self._source: Any = source
        self._obj_id = obj_id
        self._heads = heads

    def __len__(self) -> int:
        return int(self._source.length(self._obj_id, self._heads))

    def _get(self, prop: str | int) -> Any:
        """The value at a key or index, as a list with one entry, or an empty list."""
        found = self._source.get(self._obj_id, prop, self._heads)
        if found is None:
            return None
        value, obj_id = found
        if isinstance(value, core.ObjType):
            return [self._kinds()[value](self._source, obj_id, self._heads)]
        return [value[1]]

    def _kinds(self) -> Any:
        raise NotImplementedError


class ReadProxy(_ObjectAtHeads[core.Document]):
    """A read-only object."""

    def to_py(self) -> core.Thing:
        """Its contents as dictionaries, lists, strings and numbers."""
        return core.extract(self._source, self._obj_id)

    def _kinds(self) -> Any:
        return {core.ObjType.Map: MapReadProxy, core.ObjType.List: ListReadProxy, core.ObjType.Text: Text}


class MapReadProxy(ReadProxy, Mapping[str, Any]):
    """A read-only map."""

    def __getitem__(self, key: str) -> Any:
        found = self._get(key)
        if found is None:
            raise KeyError(key)
        return found[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.keys(self._obj_id, self._heads))


class ListReadProxy(ReadProxy, Sequence[Any]):
    """A read-only list."""

    def __getitem__(self, key: Any) -> Any:
        return _element(self, key)


def _element(of: Any, key: Any) -> Any:
    if isinstance(key, slice):
        return [of[index] for index in range(*key.indices(len(of)))]
    found = of._get(key + len(of) if key < 0 else key)
    if found is None:
        raise IndexError("index out of range")
    return found[0]


class _Text:
    """Common base of read-only and writable texts."""

    _source: Any
    _obj_id: bytes
    _heads: Heads

    def __str__(self) -> str:
        return str(self._source.text(self._obj_id, self._heads))

    def __len__(self) -> int:
        return int(self._source.length(self._obj_id, self._heads))

    def __getitem__(self, key: int | slice) -> str:
        return str(self)[key]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (str, _Text)):
            return str(self) == str(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class Text(_Text, ReadProxy):
    """A read-only text."""


class WriteProxy(_ObjectAtHeads[core.Transaction]):
    """A writable object."""

    def _kinds(self) -> Any:
        return {core.ObjType.Map: MapWriteProxy, core.ObjType.List: ListWriteProxy, core.ObjType.Text: MutableText}

    def _put(self, prop: str | int, value: Any, insert: bool) -> None:
        tx, obj_id = self._source, self._obj_id
        kind = _kind(value)
        if kind is None:
            scalar = self._type_at(prop, value, insert)
            (tx.insert if insert else tx.put)(obj_id, prop, scalar, value)
            return
        made = (tx.insert_object if insert else tx.put_object)(obj_id, prop, kind)
        if kind == core.ObjType.Text:
            tx.splice_text(made, 0, 0, str(value))
        elif kind == core.ObjType.Map:
            into = MapWriteProxy(tx, made, None)
            for key in list(value):
                into[key] = value[key]
        else:
            for index, element in enumerate(list(value)):
                ListWriteProxy(tx, made, None).insert(index, element)

    def _type_at(self, prop: str | int, value: Any, insert: bool) -> core.ScalarType:
        """A number keeps the type of the existing value, if possible."""
        own = _type(value)
        found = None if insert else self._source.get(self._obj_id, prop, self._heads)
        if found is None or isinstance(found[0], core.ObjType):
            return own
        there = found[0][0]
        fits = own == core.ScalarType.Int and (
            there == core.ScalarType.Counter or there == core.ScalarType.Uint and value >= 0
        )
        return there if fits else own


def _kind(value: Any) -> core.ObjType | None:
    if isinstance(value, _Text):
        return core.ObjType.Text
    if isinstance(value, (ImmutableString, bytes)):
        return None
    if isinstance(value, str):
        return core.ObjType.Text
    if isinstance(value, Mapping):
        return core.ObjType.Map
    if isinstance(value, Sequence):
        return core.ObjType.List
    return None


def _type(value: Any) -> core.ScalarType:
    types: list[tuple[type, core.ScalarType]] = [
        (str, core.ScalarType.Str),
        (bytes, core.ScalarType.Bytes),
        (bool, core.ScalarType.Boolean),
        (int, core.ScalarType.Int),
        (float, core.ScalarType.F64),
        (datetime, core.ScalarType.Timestamp),
        (type(None), core.ScalarType.Null),
    ]
    for kind, scalar in types:
        if isinstance(value, kind):
            return scalar
    raise ValueError(f"a document cannot hold a value of type {type(value).__name__}")


class MapWriteProxy(WriteProxy, MutableMapping[str, Any]):
    """A writable map. A missing key gives ``None``."""

    def __getitem__(self, key: str) -> Any:
        found = self._get(key)
        return None if found is None else found[0]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._get(key) is not None

    def __setitem__(self, key: str, value: Any) -> None:
        self._put(key, value, insert=False)

    def __delitem__(self, key: str) -> None:
        self._source.delete(self._obj_id, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._source.keys(self._obj_id, self._heads))


class ListWriteProxy(WriteProxy, MutableSequence[Any]):
    """A writable list. Putting a value at its end appends it."""

    def __getitem__(self, key: Any) -> Any:
        return _element(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, slice):
            raise TypeError("slices of a list are not written under these names")
        self._put(key, value, insert=key >= len(self))

    def __delitem__(self, key: Any) -> None:
        if isinstance(key, slice):
            raise TypeError("slices of a list are not written under these names")
        self._source.delete(self._obj_id, key)

    def insert(self, index: int, value: Any) -> None:
        """Inserts a value before an index."""
        self._put(index, value, insert=True)


class MutableText(Text, WriteProxy):
    """A writable text."""

    def splice(self, pos: int, delete_count: int, insert: str) -> None:
        """Deletes some code points and inserts others."""
        self._source.splice_text(self._obj_id, pos, delete_count, insert)

    def insert(self, pos: int, text: str) -> None:
        """Inserts text before an index."""
        self.splice(pos, 0, text)

    def delete(self, pos: int, count: int) -> None:
        """Deletes some code points."""
        self.splice(pos, count, "")


class Document(MapReadProxy):
    """A document as a read-only mapping."""

    def __init__(self, actor_id: ActorId | None = None) -> None:
        self._doc = core.Document(actor_id.id if actor_id else None)
        super().__init__(self._doc, core.ROOT, None)

    @contextmanager
    def change(self) -> Iterator[MapWriteProxy]:
        """Combines all edits inside into one change, which is rolled back after an exception."""
        with self._doc.transaction() as tx:
            yield MapWriteProxy(tx, core.ROOT, None)
