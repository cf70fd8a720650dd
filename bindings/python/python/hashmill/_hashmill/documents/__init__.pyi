"""The native part of `hashmill.documents`: its classes become mappings and sequences when that is imported."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self, SupportsIndex, TypeAlias, final, overload

from hashmill.documents.events import Event, Mark
from hashmill.documents.presence import Peer, Received

_Hash: TypeAlias = str | bytes
_Heads: TypeAlias = Iterable[_Hash]
_Expand: TypeAlias = Literal["before", "after", "both", "none"]

class Map(MutableMapping[str, Any]):
    """A map in a document. `json.dumps` accepts only `dict`, so pass `to_python()`, or call `to_json()`."""
    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def increment(self, key: str, by: int = 1) -> None:
        """Increments a counter."""
    def conflicts(self, key: str) -> dict[str, Any]:
        """All values at a key if there are several, by the id of the operation that wrote each: reads return the last one."""
    def assign(self, value: Mapping[str, Any]) -> None:
        """Makes the map equal to a mapping with few edits: equal parts stay unchanged."""
    def to_python(self) -> dict[str, Any]:
        """The map with its contents as dictionaries, lists, strings and numbers."""
    def to_json(self, *, tagged: bool = False, pretty: bool = False) -> str:
        """The map with its contents as JSON. With `tagged` the kinds of values are marked, so that it can be read back; otherwise it
        is plain JSON for other programs. With `pretty` each value has its own line."""
    def blame(self) -> dict[str, str | None]:
        """The hash of the change that wrote the value at each key. `Document.change_by_hash` gives the actor."""
    @property
    def object_id(self) -> str:
        """The id of this object, the same in every copy of the document."""

@final
class List(MutableSequence[Any]):
    """A list in a document. `json.dumps` accepts only `list`, so pass `to_python()`, or call `to_json()`."""
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[Any]: ...
    @overload
    def __setitem__(self, key: SupportsIndex, value: Any, /) -> None: ...
    @overload
    def __setitem__(self, key: slice, value: Iterable[Any], /) -> None: ...
    def __delitem__(self, key: SupportsIndex | slice, /) -> None: ...
    def __len__(self) -> int: ...
    def insert(self, index: int, value: Any) -> None:
        """Inserts a value before an index."""
    def increment(self, index: int, by: int = 1) -> None:
        """Increments a counter."""
    def conflicts(self, index: int) -> dict[str, Any]:
        """All values of an element if there are several, by the id of the operation that wrote each: reads return the last one."""
    def assign(self, value: Sequence[Any]) -> None:
        """Makes the list equal to a sequence with few edits: equal parts stay unchanged."""
    def to_python(self) -> list[Any]:
        """The list with its contents as dictionaries, lists, strings and numbers."""
    def to_json(self, *, tagged: bool = False, pretty: bool = False) -> str:
        """The list with its contents as JSON. With `tagged` the kinds of values are marked, so that it can be read back; otherwise
        it is plain JSON for other programs. With `pretty` each value has its own line."""
    def blame(self) -> list[tuple[int, int, str | None]]:
        """Start, end and change hash of each part of the list. `Document.change_by_hash` gives the actor."""
    @property
    def object_id(self) -> str:
        """The id of this object, the same in every copy of the document."""

@final
class Text(Sequence[str]):
    """A text. `Text("…")` is a new one for a document. A text that was read from a document can be edited and shows the current
    contents."""
    def __new__(cls, value: str = "", /) -> Self: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> str: ...
    @overload
    def __getitem__(self, key: slice, /) -> str: ...
    def __setitem__(self, key: SupportsIndex | slice, value: str, /) -> None: ...
    def __delitem__(self, key: SupportsIndex | slice, /) -> None: ...
    def __len__(self) -> int: ...
    def __lt__(self, other: str | Text, /) -> bool: ...
    def __le__(self, other: str | Text, /) -> bool: ...
    def __gt__(self, other: str | Text, /) -> bool: ...
    def __ge__(self, other: str | Text, /) -> bool: ...
    def __add__(self, text: str, /) -> str: ...
    def __iadd__(self, text: str, /) -> Self: ...
    def insert(self, index: int, text: str) -> None:
        """Inserts text before an index."""
    def append(self, text: str) -> None:
        """Appends text."""
    def splice(self, index: int, delete: int, text: str = "") -> None:
        """Deletes `delete` code points from `index` on and inserts text there."""
    def assign(self, text: str) -> None:
        """Changes the text to `text` with few edits, none of which divides a grapheme cluster."""
    def mark(self, start: int, end: int, name: str, value: Any = None, *, expand: _Expand = "after") -> None:
        """Marks a range. `expand` selects the ends at which typed text will belong to the mark: "before", "after", "both" or "none"."""
    def unmark(self, start: int, end: int, name: str, *, expand: _Expand = "after") -> None:
        """Removes the marks with a name from a range."""
    def marks(self) -> list[Mark]:
        """All marks."""
    def marks_at(self, index: int) -> dict[str, Any]:
        """The marks at an index: values by name."""
    def spans(self) -> list[tuple[str | dict[str, Any], dict[str, Any]]]:
        """The text in pieces with equal marks: pairs of a string and its marks, and for each block a pair of its map and `None`."""
    def update_spans(
        self,
        spans: Iterable[tuple[str | Text | Mapping[str, Any], Mapping[str, Any]]],
        *,
        expand: _Expand = "after",
        expands: dict[str, _Expand] | None = None,
    ) -> None:
        """Changes the text to `spans`, in the form of `spans()`, with few edits: characters stay, and blocks stay the same objects.
        `expand` is how new marks expand, and `expands` overrides it by name."""
    def blame(self) -> list[tuple[int, int, str | None]]:
        """Start, end and change hash of each part of the text. `Document.change_by_hash` gives the actor."""
    def split_block(self, index: int) -> Map:
        """Inserts a block, a new map, before an index: blocks divide a rich text into paragraphs and similar parts."""
    def join_block(self, index: int) -> None:
        """Deletes the block at an index."""
    def cursor(self, index: int, *, move: Literal["before", "after"] = "after") -> str:
        """A cursor that stays with the code point at an index during all edits, as text to be stored or sent. `move` is its
        direction when the code point is deleted: "after" or "before". An index at the end stays at the end."""
    def position(self, cursor: str) -> int:
        """The current index of a cursor."""
    @property
    def object_id(self) -> str:
        """The id of this object, the same in every copy of the document."""

class Document(Map):
    """A document that several people edit concurrently. It is the map at its root."""
    def __new__(cls, contents: Mapping[str, Any] | None = None, *, actor: str | bytes | None = None) -> Self: ...
    @staticmethod
    def load(
        data: bytes,
        *,
        actor: str | bytes | None = None,
        limits: Limits | None = None,
        partial: bool = False,
        verify: bool = True,
    ) -> Document:
        """Loads a saved document. With `partial`, the readable beginning of a damaged file is kept. With `verify=False` hashes are
        compared only by `verify()`."""
    @staticmethod
    def from_json(data: str | bytes, *, tagged: bool = False, actor: str | bytes | None = None) -> Document:
        """A new document from JSON. With `tagged` the form is that of `to_json(tagged=True)`. An integer that does not fit into 64
        bits becomes a float, which keeps about 16 digits."""
    def save(self, *, deflate: bool = True, retain_orphans: bool = True) -> bytes:
        """The whole document as bytes."""
    def save_incremental(self) -> bytes:
        """The changes since the last save, to be appended to a file or passed to `load_incremental`."""
    def save_after(self, heads: _Heads) -> bytes:
        """The changes after some heads as bytes."""
    def load_incremental(self, data: bytes) -> int:
        """Applies saved bytes; returns the number of new operations."""
    def verify(self) -> None:
        """Compares the hashes of a document that was loaded with `verify=False`."""
    def change(
        self, message: str | None = None, *, time: int | None = None, author: bytes | None = None
    ) -> Edits:
        """Combines all edits inside into one change, which is rolled back after an exception:
        `with doc.change("Add a card") as doc:`. `time` is in seconds since 1970."""
    def revert(
        self,
        changes: _Heads,
        message: str | None = None,
        *,
        time: int | None = None,
        author: bytes | None = None,
    ) -> str | None:
        """Makes a change that undoes others, of any author, as far as their effect is still visible; returns its hash, or `None` if
        nothing was left to undo. Reverting that change restores the others."""
    @property
    def actor(self) -> str:
        """The actor that writes."""
    @actor.setter
    def actor(self, actor: str | bytes) -> None: ...
    @property
    def heads(self) -> tuple[str, ...]:
        """The heads: changes without successors. Inside a change, those that it depends on."""
    def changes(self, since: _Heads | None = None) -> list[Change]:
        """All changes except `since` and their ancestors, each after its dependencies."""
    def change_by_hash(self, hash: _Hash) -> Change | None:
        """The change with this hash, or `None`."""
    def apply(self, changes: Iterable[Change]) -> None:
        """Applies changes from other replicas, in any order: all of them, or none if one of them is invalid."""
    def missing(self, heads: _Heads | None = None) -> tuple[str, ...]:
        """Hashes of missing changes: those that others wait for, and those of `heads` that are not here."""
    def fork(self, heads: _Heads | None = None, *, actor: str | bytes | None = None) -> Document:
        """A copy of the document with another actor, now or at some heads: both can be edited."""
    def at(self, heads: _Heads) -> Document:
        """The document at some heads, for reading."""
    def merge(self, other: Document) -> tuple[str, ...]:
        """Merges the changes of `other` into this document; returns the new heads."""
    def diff(self, before: _Heads, after: _Heads | None = None) -> list[Event]:
        """The differences between two points of the history, as steps from `before` to `after`, or to now. An empty list of heads is
        the document before its first change."""
    def events(self, *, from_start: bool = False) -> Events:
        """An observer of later changes; optionally it starts with the current contents."""
    def generate_sync_message(self, state: SyncState) -> bytes | None:
        """The next message for the peer of `state`. `None` if both have the same heads, or while an answer is awaited."""
    def receive_sync_message(self, state: SyncState, message: bytes) -> dict[str, str]:
        """Processes a message of the peer of `state`. A change that breaks a rule is refused alone: returns the hash of each such
        change, with the reason."""
    def has_our_changes(self, state: SyncState) -> bool:
        """Whether the peer is known to have all changes of this document."""
    def __copy__(self) -> Document: ...
    def __deepcopy__(self, memo: dict[int, Any], /) -> Document: ...

@final
class Edits:
    """Edits that form one change: `with doc.change("why"):`."""
    def __enter__(self) -> Document: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> Literal[False]: ...

@final
class Undo:
    """The undo history of changes made through it: `with undo.change("Add a card"):`, then `undo.undo()`. Concurrent edits by others
    stay."""
    def __new__(cls, document: Document) -> Self: ...
    def change(
        self,
        message: str | None = None,
        *,
        time: int | None = None,
        author: bytes | None = None,
        join: bool = False,
    ) -> Edits:
        """As `Document.change`, for a change that can be undone. With `join` it becomes a part of the last one, for instance while a
        user types a word."""
    def undo(self) -> str | None:
        """Undoes the last change that still has an effect; returns the hash of the new change, or `None`."""
    def redo(self) -> str | None:
        """Redoes the last undone change; returns the hash of the new change, or `None`."""
    @property
    def can_undo(self) -> bool:
        """Whether there may be something to undo."""
    @property
    def can_redo(self) -> bool:
        """Whether there may be something to redo."""

@final
class Limits:
    """Limits of the memory and work that a file may request, and of the size of a document."""
    def __new__(
        cls,
        *,
        inflated_bytes: int | None = None,
        operations: int | None = None,
        total: int | None = None,
        changes: int | None = None,
        steps: int | None = None,
    ) -> Self: ...
    @property
    def inflated_bytes(self) -> int:
        """Bytes that one part of a file may inflate to."""
    @property
    def operations(self) -> int:
        """Operations in one change."""
    @property
    def total(self) -> int:
        """Operations of a document."""
    @property
    def changes(self) -> int:
        """Changes of a document, and changes that wait for their dependencies."""
    @property
    def steps(self) -> int:
        """Steps of work beyond those that bytes pay for."""

@final
class Change:
    """A change: the operations of one commit, with its actor and dependencies."""
    @staticmethod
    def from_bytes(data: bytes) -> Change:
        """Decodes a change from its bytes."""
    @property
    def hash(self) -> str:
        """Its hash."""
    @property
    def actor(self) -> str:
        """Its actor."""
    @property
    def seq(self) -> int:
        """Its number among the changes of its actor, from 1 on."""
    @property
    def deps(self) -> tuple[str, ...]:
        """The changes that it depends on."""
    @property
    def message(self) -> str | None:
        """Its message."""
    @property
    def time(self) -> datetime | Timestamp | None:
        """Its time, or `None`."""
    @property
    def author(self) -> bytes | None:
        """The author of the actor, if its first change records one."""
    @property
    def start_op(self) -> int:
        """The counter of its first operation."""
    @property
    def max_op(self) -> int:
        """The counter of its last operation."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __bytes__(self) -> bytes: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Events:
    """Reports new changes of a document, from any source."""
    def news(self) -> list[Event]:
        """The steps since the last call, in the order in which they must be applied."""

@final
class SyncState:
    """The sync state of one peer. It serves one connection at a time."""
    def __new__(cls, *, read_only: bool = False) -> Self: ...
    @staticmethod
    def decode(data: bytes, read_only: bool = False) -> SyncState:
        """Decodes the output of [`Self::encode`], which does not include whether it is read-only."""
    def encode(self) -> bytes:
        """The part of the state that is useful for the next connection to this peer."""
    @property
    def shared_heads(self) -> tuple[str, ...]:
        """The heads of the changes that both are known to have."""
    @property
    def their_heads(self) -> tuple[str, ...] | None:
        """The heads in the last message of the peer."""
    @property
    def read_only(self) -> bool:
        """Whether changes of the peer are ignored."""

@final
class Presence:
    """What each user of a document shows the others, such as a cursor: a map from channels to values, never stored. Exchanges the
    payloads of automerge-repo's `Presence`, with programs in every language.

    The program sends and receives the payloads, and passes the time: seconds since any fixed start, as of `time.monotonic()`.
    Times that go back count as the latest one. After `heartbeat` seconds without another payload a heartbeat is sent, and after
    `expiry` seconds without one a user is forgotten.

    Values are those of documents. They arrive as plain Python: a counter as its number, a whole float as an `int`. Of others, at
    most 4096 users and 16 MiB are remembered, of which the channels of a user take at most 64 KiB."""
    def __new__(cls, channels: Mapping[str, Any] | None = None, *, heartbeat: float = 15.0, expiry: float = 45.0) -> Self: ...
    def set(self, channel: str, value: Any) -> None:
        """Sets a channel of this user. Until it is sent, a later value replaces it."""
    @property
    def ours(self) -> dict[str, Any]:
        """The channels of this user, as others see them."""
    def next_payload(self, now: float) -> bytes | None:
        """The next payload to send to all users of the document. To be called until it is `None`: after `set`, `receive`, `leave`
        and `reconnect`, and at `next_deadline()`."""
    def receive(self, sender: str, payload: bytes, now: float) -> Received | None:
        """Processes a payload of another user. Returns `Updated` or `Left`, `OtherPayload` for a message of the program, and `None` for
        presence that changes nothing, such as a heartbeat. A payload that cannot be read is a `FormatError`, and one beyond a limit
        a `LimitError`; both change nothing."""
    def expire(self, now: float) -> list[str]:
        """Forgets the users of whom nothing was heard for too long, and returns their ids."""
    def next_deadline(self, *, connected: bool = True) -> float | None:
        """When `expire` or, on an open connection, `next_payload` has something to do. `None`: not before another call."""
    def peers(self) -> list[str]:
        """The ids of the other users."""
    def peer(self, id: str) -> Peer | None:
        """The presence of another user, if it is known."""
    def reconnect(self) -> None:
        """Prepares for a new connection: the others are told to forget this user and then of all channels, and answer with theirs."""
    def leave(self) -> None:
        """Tells the others that this user leaves. Nothing is sent after that."""
    @property
    def has_left(self) -> bool:
        """Whether the last payload of this user was sent."""

@final
class Counter:
    """A number that adds up concurrent increments. Putting `Counter(3)` into a document creates a counter. A counter that was read
    and changed by `+=` or `-=` becomes an increment if it is put back at the same key or index, and a new counter elsewhere."""
    def __new__(cls, value: int = 0) -> Self: ...
    @property
    def value(self) -> int:
        """The number."""
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __lt__(self, other: int | Counter, /) -> bool: ...
    def __le__(self, other: int | Counter, /) -> bool: ...
    def __gt__(self, other: int | Counter, /) -> bool: ...
    def __ge__(self, other: int | Counter, /) -> bool: ...
    def __add__(self, by: int, /) -> Counter: ...
    def __sub__(self, by: int, /) -> Counter: ...

@final
class Timestamp:
    """A time outside of the range of `datetime`, in milliseconds since 1970."""
    def __new__(cls, milliseconds: int) -> Self: ...
    @property
    def milliseconds(self) -> int:
        """Milliseconds since 1970."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Unknown:
    """A value of a type from a later version of the format, kept unchanged."""
    def __new__(cls, type_code: int, data: bytes) -> Self: ...
    @property
    def type_code(self) -> int:
        """Its number, 10 to 15."""
    @property
    def data(self) -> bytes:
        """Its bytes."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
