"""Documents that several people edit concurrently: mappings, sequences and texts.

>>> from hashmill.documents import Document, Text
>>> doc = Document({"title": "Groceries", "items": ["milk"]})
>>> with doc.change("More"):
...     doc["items"].append("bread")
...     doc["note"] = Text("Hello")
>>> other = doc.fork()
>>> other["note"].insert(5, " you")
>>> _ = doc.merge(other)
>>> str(doc["note"]), list(doc["items"])
('Hello you', ['milk', 'bread'])
"""

from collections.abc import MutableMapping, MutableSequence, Sequence
from typing import Any

from hashmill._hashmill.documents import (
    Change,
    Counter,
    Document,
    Edits,
    Events,
    Limits,
    List,
    Map,
    SyncState,
    Text,
    Timestamp,
    Undo,
    Unknown,
)

from .errors import (
    ApplyError,
    ChangeOpenError,
    DocumentError,
    FormatError,
    LimitError,
    ReadOnlyError,
    StaleError,
    UnknownChangeError,
)

__all__ = [
    "ApplyError",
    "Change",
    "ChangeOpenError",
    "Counter",
    "Document",
    "DocumentError",
    "Edits",
    "Events",
    "FormatError",
    "LimitError",
    "Limits",
    "List",
    "Map",
    "ReadOnlyError",
    "StaleError",
    "SyncState",
    "Text",
    "Timestamp",
    "Undo",
    "Unknown",
    "UnknownChangeError",
]


_NONE = object()


def _pop(self: Map, key: str, default: object = _NONE) -> Any:
    """Deletes a key and returns its value, or `default` if there is no such key."""
    try:
        value = self[key]
    except KeyError:
        if default is _NONE:
            raise
        return default
    del self[key]
    return value


def _same_elements(self: List, other: object) -> Any:
    if isinstance(other, (str, bytes, Text)) or not isinstance(other, Sequence):
        return NotImplemented
    return list(self) == list(other)


# The other methods of Python's mappings and sequences follow from those of the Rust classes.
for _name in ("keys", "items", "values", "popitem", "setdefault", "__eq__"):
    setattr(Map, _name, getattr(MutableMapping, _name))
for _name in ("append", "pop", "remove", "reverse", "index", "count", "__contains__", "__reversed__", "__iadd__"):
    setattr(List, _name, getattr(MutableSequence, _name))
setattr(Map, "pop", _pop)
setattr(List, "__eq__", _same_elements)
for _kind in (Map, List, Text):
    setattr(_kind, "__hash__", None)
MutableMapping.register(Map)
MutableSequence.register(List)
Sequence.register(Text)
