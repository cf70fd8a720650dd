"""What `hashmill.documents.automerge.core` is made of."""

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
    """At which ends what is typed there belongs to a mark."""
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
        """The hashes of the changes that no other change was made after."""
    def object_type(self, obj_id: bytes) -> ObjType:
        """The kind of an object."""
    def get(self, obj_id: bytes, prop: str | int, heads: _Heads = None) -> tuple[Value, bytes] | None:
        """The value at a place of an object and its id, now or at some heads; nothing if there is none."""
    def keys(self, obj_id: bytes, heads: _Heads = None) -> list[str]:
        """The keys of a map, now or at some heads."""
    def values(self, obj_id: bytes, heads: _Heads = None) -> list[tuple[Value, bytes]]:
        """All values of an object and their ids, now or at some heads."""
    def length(self, obj_id: bytes, heads: _Heads = None) -> int:
        """How many keys, elements or code points an object has, now or at some heads."""
    def text(self, obj_id: bytes, heads: _Heads = None) -> str:
        """What a text says, now or at some heads."""
    def marks(self, obj_id: bytes, heads: _Heads = None) -> list[Mark]:
        """All marks of a text, now or at some heads."""

@final
class Document(_Reads):
    """A document."""
    def __new__(cls, actor_id: bytes | None = None) -> Self: ...
    def get_actor(self) -> bytes:
        """Who writes here."""
    def set_actor(self, actor_id: bytes) -> None:
        """Says who writes from now on."""
    def transaction(self) -> Transaction:
        """Opens the one transaction that there can be at a time."""
    def save(self) -> bytes:
        """The whole document as bytes."""
    @staticmethod
    def load(data: bytes) -> Document:
        """Reads a saved document."""
    def fork(self, heads: _Heads = None) -> Document:
        """The same document with another actor, now or as it was at some heads."""
    def merge(self, other: Document) -> list[bytes]:
        """Takes over what another document has and this one lacks; gives the new heads."""
    def diff(self, before_heads: list[bytes], after_heads: list[bytes]) -> list[Patch]:
        """What is different between two moments."""
    def generate_sync_message(self, state: SyncState) -> Message | None:
        """What to tell a peer next; nothing if there is nothing."""
    def receive_sync_message(self, state: SyncState, message: Message) -> None:
        """Takes what a peer tells."""
    def get_last_local_change(self) -> Change | None:
        """The last change that was made here, if there is one."""
    def get_changes(self, have_deps: list[bytes]) -> list[Change]:
        """All changes but those that are named and what came before them."""

@final
class Transaction(_Reads):
    """A change in the making: committed at the end of its `with`, taken back if that is an exception."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def put(self, obj_id: bytes, prop: str | int, scalar_type: ScalarType, value: ScalarValue) -> None:
        """Puts a value of a type at a place."""
    def put_object(self, obj_id: bytes, prop: str | int, obj_type: ObjType) -> bytes:
        """Puts a new object at a place, and gives its id."""
    def insert(self, obj_id: bytes, index: int, scalar_type: ScalarType, value: ScalarValue) -> None:
        """Inserts a value of a type before an index."""
    def insert_object(self, obj_id: bytes, index: int, obj_type: ObjType) -> bytes:
        """Inserts a new object before an index, and gives its id."""
    def increment(self, obj_id: bytes, prop: str | int, amount: int) -> None:
        """Adds to a counter."""
    def delete(self, obj_id: bytes, prop: str | int) -> None:
        """Deletes what is at a place."""
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
        """Puts a mark on a range of a text."""
    def unmark(self, obj_id: bytes, start: int, end: int, name: str, expand: ExpandMark = ...) -> None:
        """Takes the marks of a name off a range of a text."""
    def splice_text(self, obj_id: bytes, pos: int, delete_count: int, text: str) -> None:
        """Deletes some code points of a text and inserts others."""

@final
class Message:
    """A message of a sync."""
    @staticmethod
    def decode(data: bytes) -> Message:
        """Reads a message."""
    def encode(self) -> bytes:
        """The message as bytes."""

@final
class Change:
    """A change of the history."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    @property
    def actor_id(self) -> bytes:
        """Who made it."""
    @property
    def other_actor_ids(self) -> list[bytes]:
        """Other actors whose operations it names."""
    @property
    def max_op(self) -> int:
        """The counter of the last operation."""
    @property
    def start_op(self) -> int:
        """The counter of the first operation."""
    @property
    def message(self) -> str | None:
        """What its author says of it."""
    @property
    def deps(self) -> list[bytes]:
        """The changes it builds on."""
    @property
    def hash(self) -> bytes:
        """Its name, 32 bytes."""
    @property
    def seq(self) -> int:
        """Its number among the changes of its actor, from 1 on."""
    @property
    def timestamp(self) -> datetime:
        """In local time."""
    @property
    def raw_bytes(self) -> bytes:
        """The change as it is stored."""
    @property
    def extra_bytes(self) -> bytes:
        """What a later version of the format may add."""
    @property
    def bytes(self) -> bytes:
        """The change as it is stored, not deflated."""

@final
class Mark:
    """A mark on a range of a text."""
    @property
    def start(self) -> int:
        """Where it begins."""
    @property
    def end(self) -> int:
        """Where it ends."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def value(self) -> tuple[ScalarType, ScalarValue]:
        """Its value, with its type."""

@final
class Patch:
    """A step of a difference, to be looked at."""

def random_actor_id() -> bytes:
    """A random actor."""
