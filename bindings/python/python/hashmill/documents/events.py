"""Steps from one state of a document to another.

A path leads from the root to a place: keys of maps and indexes of lists and texts. Steps must be applied in order: each assumes those
before it. Maps, lists and texts are created empty; steps for their contents follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked range of a text. The value ``None`` means that a mark was removed."""

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
    """Elements were inserted into a list, or a block into a text."""

    path: Path
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Splice:
    """Characters were inserted into a text."""

    path: Path
    text: str
    marks: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Increment:
    """A counter was incremented."""

    path: Path
    by: int


@dataclass(frozen=True, slots=True)
class Conflict:
    """The value of a key or element stays, but now has conflicting values."""

    path: Path


@dataclass(frozen=True, slots=True)
class Delete:
    """A key, elements or characters were deleted."""

    path: Path
    length: int


@dataclass(frozen=True, slots=True)
class Marked:
    """The marks on characters of the text at ``path`` changed."""

    path: Path
    marks: tuple[Mark, ...]


Event = Put | Insert | Splice | Increment | Conflict | Delete | Marked
