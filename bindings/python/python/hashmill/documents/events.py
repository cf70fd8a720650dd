"""Steps from what a document was to what it is.

A path leads from the root to a place: keys of maps and indexes of lists and texts. Steps are to be taken in their
order: each counts on those before it. Maps, lists and texts come empty; what is in them follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A range of a text that is marked. ``None`` as a value says that a mark was taken off."""

    start: int
    end: int
    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Put:
    """A key or an element has another value."""

    path: Path
    value: Any
    conflict: bool


@dataclass(frozen=True, slots=True)
class Insert:
    """Elements came to a list, or a block to a text."""

    path: Path
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Splice:
    """Characters came to a text."""

    path: Path
    text: str
    marks: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Increment:
    """A counter grew."""

    path: Path
    by: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """What stands at a place stays, but others are there now, too."""

    path: Path


@dataclass(frozen=True, slots=True)
class Delete:
    """A key, elements or characters went."""

    path: Path
    length: int


@dataclass(frozen=True, slots=True)
class Marked:
    """Characters of the text at ``path`` are marked otherwise than before."""

    path: Path
    marks: tuple[Mark, ...]


Event = Put | Insert | Splice | Increment | Conflict | Delete | Marked
