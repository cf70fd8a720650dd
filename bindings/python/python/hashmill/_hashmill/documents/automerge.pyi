"""The native part of `hashmill.documents.automerge.core`."""

from datetime import datetime
from types import TracebackType
from typing import Self, TypeAlias, Union, final

from . import SyncState as SyncState

ROOT: bytes

@final
class ObjType:
    """The kinds of object."""
    Map: ObjType
    List: ObjType
    Text: ObjType
    def __int__(self) -> int: ...

@final
class ScalarType:
    """The types of scalar."""
    Bytes: ScalarType
    Str: ScalarType
    Int: ScalarType
    Uint: ScalarType
    F64: ScalarType
    Counter: ScalarType
    Timestamp: ScalarType
    Boolean: ScalarType
    Unknown: ScalarType
    Null: ScalarType
    def __int__(self) -> int: ...

@final
class ExpandMark:
    """The ends of a mark at which typed text belongs to it."""
    Before: ExpandMark
    After: ExpandMark
    Both: ExpandMark
    Neither: ExpandMark
    def __int__(self) -> int: ...

ScalarValue: TypeAlias = Union[str, bytes, int, float, bool, datetime, None]
Value: TypeAlias = Union[ObjType, tuple[ScalarType, ScalarValue]]

_Heads: TypeAlias = list[bytes] | None

class _Reads:
    def get_heads(self) -> list[bytes]:
        """The heads: hashes of the changes without successors."""
    def object_type(self, obj_id: bytes) -> ObjType:
        """The kind of an object."""
    def get(self, obj_id: bytes, prop: str | int, heads: _Heads = None) -> tuple[Value, bytes] | None:
        """The value at a key or index of an object and its id, now or at some heads; `None` if there is none."""
    def keys(self, obj_id: bytes, heads: _Heads = None) -> list[str]:
        """The keys of a map, now or at some heads."""
    def values(self, obj_id: bytes, heads: _Heads = None) -> list[tuple[Value, bytes]]:
        """All values of an object and their ids, now or at some heads."""
    def length(self, obj_id: bytes, heads: _Heads = None) -> int:
        """The number of keys, elements or code points of an object, now or at some heads."""
    def text(self, obj_id: bytes, heads: _Heads = None) -> str:
        """The contents of a text, now or at some heads."""
    def marks(self, obj_id: bytes, heads: _Heads = None) -> list[Mark]:
        """All marks of a text, now or at some heads."""

@final
class Document(_Reads):
    """A document."""
    def __new__(cls, actor_id: bytes | None = None) -> Self: ...
    def get_actor(self) -> bytes:
        """The actor that writes."""
    def set_actor(self, actor_id: bytes) -> None:
        """Sets the actor of later changes."""
    def transaction(self) -> Transaction:
        """Opens a transaction; there can be only one at a time."""
    def save(self) -> bytes:
        """The whole document as bytes."""
    @staticmethod
    def load(data: bytes) -> Document:
        """Loads a saved document."""
    def fork(self, heads: _Heads = None) -> Document:
        """A copy of the document with another actor, now or at some heads."""
    def merge(self, other: Document) -> list[bytes]:
        """Merges the changes of another document; returns the new heads."""
    def diff(self, before_heads: list[bytes], after_heads: list[bytes]) -> list[Patch]:
        """The patches between two points of the history."""
    def generate_sync_message(self, state: SyncState) -> Message | None:
        """The next message for a peer, or `None`."""
    def receive_sync_message(self, state: SyncState, message: Message) -> None:
        """Processes a message of a peer."""
    def get_last_local_change(self) -> Change | None:
        """The last change that was made here, or `None`."""
    def get_changes(self, have_deps: list[bytes]) -> list[Change]:
        """All changes except the given ones and their ancestors."""

@final
class Transaction(_Reads):
    """An open change: committed at the end of its `with`, rolled back after an exception."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def put(self, obj_id: bytes, prop: str | int, scalar_type: ScalarType, value: ScalarValue) -> None:
        """Puts a value with a type at a key or index."""
    def put_object(self, obj_id: bytes, prop: str | int, obj_type: ObjType) -> bytes:
        """Puts a new object at a key or index, and returns its id."""
    def insert(self, obj_id: bytes, index: int, scalar_type: ScalarType, value: ScalarValue) -> None:
        """Inserts a value with a type before an index."""
    def insert_object(self, obj_id: bytes, index: int, obj_type: ObjType) -> bytes:
        """Inserts a new object before an index, and returns its id."""
    def increment(self, obj_id: bytes, prop: str | int, amount: int) -> None:
        """Increments a counter."""
    def delete(self, obj_id: bytes, prop: str | int) -> None:
        """Deletes the value at a key or index."""
    def mark(
        self,
        obj_id: bytes,
        start: int,
        end: int,
        name: str,
        scalar_type: ScalarType,
        value: ScalarValue,
        expand: ExpandMark,
    ) -> None:
        """Marks a range of a text."""
    def unmark(self, obj_id: bytes, start: int, end: int, name: str, expand: ExpandMark = ...) -> None:
        """Removes the marks with a name from a range of a text."""
    def splice_text(self, obj_id: bytes, pos: int, delete_count: int, text: str) -> None:
        """Deletes some code points of a text and inserts others."""

@final
class Message:
    """A sync message."""
    @staticmethod
    def decode(data: bytes) -> Message:
        """Decodes a message."""
    def encode(self) -> bytes:
        """The message as bytes."""

@final
class Change:
    """A change of the history."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    @property
    def actor_id(self) -> bytes:
        """Its actor."""
    @property
    def other_actor_ids(self) -> list[bytes]:
        """Other actors whose operations it refers to."""
    @property
    def max_op(self) -> int:
        """The counter of the last operation."""
    @property
    def start_op(self) -> int:
        """The counter of the first operation."""
    @property
    def message(self) -> str | None:
        """Its message."""
    @property
    def deps(self) -> list[bytes]:
        """The changes that it depends on."""
    @property
    def hash(self) -> bytes:
        """Its hash, 32 bytes."""
    @property
    def seq(self) -> int:
        """Its number among the changes of its actor, from 1 on."""
    @property
    def timestamp(self) -> datetime:
        """Its time, in local time."""
    @property
    def raw_bytes(self) -> bytes:
        """The encoded change."""
    @property
    def extra_bytes(self) -> bytes:
        """Extra bytes, which later versions of the format may use."""
    @property
    def bytes(self) -> bytes:
        """The encoded change, not deflated."""

@final
class Mark:
    """A mark on a range of a text."""
    @property
    def start(self) -> int:
        """Its start."""
    @property
    def end(self) -> int:
        """Its end."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def value(self) -> tuple[ScalarType, ScalarValue]:
        """Its value, with its type."""

@final
class Patch:
    """A patch, for inspection."""

def random_actor_id() -> bytes:
    """A random actor."""
