"""Conversion of arguments that are lists of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_T = TypeVar("_T")


def elements(values: Iterable[_T], what: str, remedy: str = "") -> list[_T]:
    """The values as a list. A string, bytes or a mapping is one value: as a list it would be its characters, numbers or keys."""
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)):
        given = type(values).__name__
        raise TypeError(f"{what}: a list is needed, and {given} is one value{remedy}")
    return list(values)
