"""Pydantic models in documents, and documents as models.

Only this module needs pydantic.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any, TypeVar

from pydantic import BaseModel

from . import Map

Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], place: Map) -> Model:
    """A map of a document as a model, validated by it."""
    return model.model_validate(place.to_python())


def write(place: MutableMapping[str, Any], key: str, model: BaseModel) -> None:
    """Puts a model at a key: into the existing map, with few edits, or as a new one."""
    entries = model.model_dump(mode="python")
    there = place.get(key)
    if isinstance(there, Map):
        there.assign(entries)
    else:
        place[key] = entries
