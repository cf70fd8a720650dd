"""Arguments that are lists of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_T = TypeVar("_T")


def elements(values: Iterable[_T], what: str, remedy: str = "") -> list[_T]:
    """The values as a list. A text, bytes and a mapping are one value: taken for a list, they would be their letters, numbers or keys."""
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)):
        given = type(values).__name__
        raise TypeError(f"{what}: a list is needed, and {given} is one value{remedy}")
    return list(values)
