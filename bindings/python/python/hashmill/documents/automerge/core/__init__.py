"""The names of ``automerge.core`` 1.0.0rc1: documents and transactions that take ids of objects."""

from datetime import datetime
from typing import TypeAlias, Union

from hashmill._hashmill.documents.automerge import (
    ROOT,
    Change,
    Document,
    ExpandMark,
    Mark,
    Message,
    ObjType,
    Patch,
    ScalarType,
    SyncState,
    Transaction,
    random_actor_id,
)

__all__ = [
    "ROOT",
    "Change",
    "Document",
    "ExpandMark",
    "Mark",
    "Message",
    "ObjType",
    "Patch",
    "ScalarType",
    "ScalarValue",
    "SyncState",
    "Thing",
    "Transaction",
    "Value",
    "extract",
    "random_actor_id",
]

ScalarValue: TypeAlias = Union[str, bytes, int, float, bool, datetime, None]
Thing: TypeAlias = Union[dict[str, "Thing"], list["Thing"], ScalarValue]
Value: TypeAlias = Union[ObjType, tuple[ScalarType, ScalarValue]]


def extract(doc: Document | Transaction, obj_id: bytes = ROOT) -> Thing:
    """An object with its contents as dictionaries, lists and strings."""
    kind = doc.object_type(obj_id)
    if kind == ObjType.Text:
        return doc.text(obj_id)
    things = [extract(doc, at) if isinstance(value, ObjType) else value[1] for value, at in doc.values(obj_id)]
    return things if kind == ObjType.List else dict(zip(doc.keys(obj_id), things, strict=True))
