"""What `hashmill.documents` is made of: its mappings and sequences are such once that is imported."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Self, SupportsIndex, TypeAlias, final, overload

from hashmill.documents.events import Event, Mark

_Hash: TypeAlias = str | bytes
_Heads: TypeAlias = Iterable[_Hash]
_Expand: TypeAlias = Literal["before", "after", "both", "none"]

class Map(MutableMapping[str, Any]):
    """A map in a document. For `json.dumps`, which takes no mappings but `dict`, there is `to_python()`; `to_json()` writes it at once."""
    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, value: Any, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def increment(self, key: str, by: int = 1) -> None:
        """Adds to a counter."""
    def conflicts(self, key: str) -> dict[str, Any]:
        """All values at a key if there are several, each by the id of the operation that wrote it: the last is what reading gives."""
    def assign(self, value: Mapping[str, Any]) -> None:
        """Makes the map equal to a mapping with few edits: what is equal stays as it is."""
    def to_python(self) -> dict[str, Any]:
        """The map and everything in it as dictionaries, lists, strings and numbers."""
    def to_json(self, *, tagged: bool = False, pretty: bool = False) -> str:
        """The map and everything in it as JSON. With `tagged` every kind of value is told apart, and can be read back; else it is
        what another program wants to read. With `pretty` each value has a line."""
    def blame(self) -> dict[str, str | None]:
        """The name of the change that put what is at each key. `Document.change_by_hash` says who made it."""
    @property
    def object_id(self) -> str:
        """The id of this object, the same in every copy of the document."""

@final
class List(MutableSequence[Any]):
    """A list in a document. For `json.dumps`, which takes no sequences but `list`, there is `to_python()`; `to_json()` writes it at once."""
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
        """Adds to a counter."""
    def conflicts(self, index: int) -> dict[str, Any]:
        """All values of an element if there are several, each by the id of the operation that wrote it: the last is what
        reading gives."""
    def assign(self, value: Sequence[Any]) -> None:
        """Makes the list equal to a sequence with few edits: what is equal stays as it is."""
    def to_python(self) -> list[Any]:
        """The list and everything in it as dictionaries, lists, strings and numbers."""
    def to_json(self, *, tagged: bool = False, pretty: bool = False) -> str:
        """The list and everything in it as JSON. With `tagged` every kind of value is told apart, and can be read back; else it is
        what another program wants to read. With `pretty` each value has a line."""
    def blame(self) -> list[tuple[int, int, str | None]]:
        """Start, end and name of the change that put each part of the list. `Document.change_by_hash` says who made it."""
    @property
    def object_id(self) -> str:
        """The id of this object, the same in every copy of the document."""

@final
class Text(Sequence[str]):
    """A text. `Text("…")` is one to be put into a document: read from there, it is edited, and says what it is now."""
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
        """Adds text at the end."""
    def splice(self, index: int, delete: int, text: str = "") -> None:
        """Deletes `delete` code points from `index` on and inserts text there."""
    def assign(self, text: str) -> None:
        """Turns the text into `text` with few edits, none of which divides what a reader takes for one character."""
    def mark(self, start: int, end: int, name: str, value: Any = None, *, expand: _Expand = "after") -> None:
        """Puts a mark on a range. `expand` says at which ends what is typed there will belong to it: "before", "after", "both"
        or "none"."""
    def unmark(self, start: int, end: int, name: str, *, expand: _Expand = "after") -> None:
        """Takes the marks of a name off a range."""
    def marks(self) -> list[Mark]:
        """All marks."""
    def marks_at(self, index: int) -> dict[str, Any]:
        """The marks that hold at an index: values by names."""
    def spans(self) -> list[tuple[str | dict[str, Any], dict[str, Any]]]:
        """The text in pieces with equal marks: pairs of a string and its marks, and for each block a pair of its map and none."""
    def update_spans(
        self,
        spans: Iterable[tuple[str | Text | Mapping[str, Any], Mapping[str, Any]]],
        *,
        expand: _Expand = "after",
        expands: dict[str, _Expand] | None = None,
    ) -> None:
        """Turns the text into `spans`, which are as `spans()` gives them, with few edits: characters stay, and blocks stay the same
        objects. `expand` is how new marks expand, and `expands` how those of single names do."""
    def blame(self) -> list[tuple[int, int, str | None]]:
        """Start, end and name of the change that put each part of the text. `Document.change_by_hash` says who made it."""
    def split_block(self, index: int) -> Map:
        """Puts a block, a new map, before an index: blocks divide a rich text into paragraphs and the like."""
    def join_block(self, index: int) -> None:
        """Deletes the block at an index."""
    def cursor(self, index: int, *, move: Literal["before", "after"] = "after") -> str:
        """A place that stays with the code point at an index, whatever is edited here or elsewhere, as text to be stored or
        sent. `move` says where it goes when that is deleted: "after" or "before". An index at the end stays at the end."""
    def position(self, cursor: str) -> int:
        """Where a cursor is now."""
    @property
    def object_id(self) -> str:
        """The id of this object, the same in every copy of the document."""

class Document(Map):
    """A document that several people edit at once, each at their own pace. It is the map at its root."""
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
        """Reads a saved document. `partial` keeps what can be read of a file whose end cannot. With `verify=False` hashes are
        compared when `verify()` asks for it."""
    @staticmethod
    def from_json(data: str | bytes, *, tagged: bool = False, actor: str | bytes | None = None) -> Document:
        """A new document with what stands in JSON. With `tagged` it is read as `to_json(tagged=True)` writes it. An integer
        that 64 bits do not hold becomes a float, which keeps about 16 digits."""
    def save(self, *, deflate: bool = True, retain_orphans: bool = True) -> bytes:
        """The whole document as bytes."""
    def save_incremental(self) -> bytes:
        """What came since the last save, to be added to a file or given to `load_incremental`."""
    def save_after(self, heads: _Heads) -> bytes:
        """The changes after some heads as bytes."""
    def load_incremental(self, data: bytes) -> int:
        """Takes over what is in saved bytes; gives how many operations are new."""
    def verify(self) -> None:
        """Compares the hashes of a document that was loaded without."""
    def change(
        self, message: str | None = None, *, time: int | None = None, author: bytes | None = None
    ) -> Edits:
        """Makes all edits inside one change, which is taken back if they end with an exception:
        `with doc.change("Add a card") as doc:`. `time` is in seconds since 1970."""
    def revert(
        self,
        changes: _Heads,
        message: str | None = None,
        *,
        time: int | None = None,
        author: bytes | None = None,
    ) -> str | None:
        """Makes a change that takes others back, whoever made them, as far as their effect is still to be seen; gives its name, or
        nothing if there is none. To take back that change does the others again."""
    @property
    def actor(self) -> str:
        """Who writes here."""
    @actor.setter
    def actor(self, actor: str | bytes) -> None: ...
    @property
    def heads(self) -> tuple[str, ...]:
        """The changes that no other change was made after. Inside a change, those it builds on."""
    def changes(self, since: _Heads | None = None) -> list[Change]:
        """All changes that are not among `since` and what came before them, each after those it depends on."""
    def change_by_hash(self, hash: _Hash) -> Change | None:
        """One change, if it is here."""
    def apply(self, changes: Iterable[Change]) -> None:
        """Takes over changes from elsewhere, in any order: all of them, or none if one of them is wrong."""
    def missing(self, heads: _Heads | None = None) -> tuple[str, ...]:
        """Changes that are missing here: those that others wait for, and those of `heads` that are not here."""
    def fork(self, heads: _Heads | None = None, *, actor: str | bytes | None = None) -> Document:
        """The same document with another actor, now or as it was at some heads: both are written from now on."""
    def at(self, heads: _Heads) -> Document:
        """The document as it was at some heads, to be read."""
    def merge(self, other: Document) -> tuple[str, ...]:
        """Takes over everything that `other` has and this document lacks; gives the new heads."""
    def diff(self, before: _Heads, after: _Heads | None = None) -> list[Event]:
        """What is different between two moments, as steps from `before` to `after`, or to now. No heads at all stand for the
        document before its first change."""
    def events(self, *, from_start: bool = False) -> Events:
        """Somebody who tells what is new: from now on, or with everything that is there already."""
    def generate_sync_message(self, state: SyncState) -> bytes | None:
        """The next message for the peer of `state`. Nothing when all is said, or while an answer is awaited."""
    def receive_sync_message(self, state: SyncState, message: bytes) -> dict[str, str]:
        """Takes a message of the peer of `state`. A change that breaks a rule is refused alone: gives the hash of each such
        change, and why."""
    def has_our_changes(self, state: SyncState) -> bool:
        """Whether the peer has all changes that are here, as far as is known."""
    def __copy__(self) -> Document: ...
    def __deepcopy__(self, memo: dict[int, Any], /) -> Document: ...

@final
class Edits:
    """Edits that are one change: `with doc.change("why"):`."""
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
    """What was done through it in a document, to be taken back and done again: `with undo.change("Add a card"):`, then
    `undo.undo()`. What others did meanwhile stays."""
    def __new__(cls, document: Document) -> Self: ...
    def change(
        self,
        message: str | None = None,
        *,
        time: int | None = None,
        author: bytes | None = None,
        join: bool = False,
    ) -> Edits:
        """As `Document.change`, for a change that can be taken back. With `join` it is a part of the last one, as when somebody goes
        on typing a word."""
    def undo(self) -> str | None:
        """Takes the last change back that still has an effect: the name of the change that does so, or nothing."""
    def redo(self) -> str | None:
        """Does again what was taken back last: the name of the change that does so, or nothing."""
    @property
    def can_undo(self) -> bool:
        """Whether there may be something to take back."""
    @property
    def can_redo(self) -> bool:
        """Whether there may be something to do again."""

@final
class Limits:
    """How much memory and work a file may ask for, and how large a document may become."""
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
        """Changes of a document, and changes that wait for others."""
    @property
    def steps(self) -> int:
        """Steps of work beyond what bytes pay for."""

@final
class Change:
    """A change: what one commit did, who made it, and on which changes it builds."""
    @staticmethod
    def from_bytes(data: bytes) -> Change:
        """Reads a change from its bytes."""
    @property
    def hash(self) -> str:
        """Its name."""
    @property
    def actor(self) -> str:
        """Who made it."""
    @property
    def seq(self) -> int:
        """Its number among the changes of its actor, from 1 on."""
    @property
    def deps(self) -> tuple[str, ...]:
        """The changes it builds on."""
    @property
    def message(self) -> str | None:
        """What its author says of it."""
    @property
    def time(self) -> datetime | Timestamp | None:
        """When it was made. Nothing if its author did not say."""
    @property
    def author(self) -> bytes | None:
        """Who stands behind the actor, if its first change says so."""
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
    """Tells what is new in a document, whatever brought it."""
    def news(self) -> list[Event]:
        """The steps since the last call, in the order in which they are to be taken."""

@final
class SyncState:
    """What is known of one peer. One of them serves one conversation at a time."""
    def __new__(cls, *, read_only: bool = False) -> Self: ...
    @staticmethod
    def decode(data: bytes, read_only: bool = False) -> SyncState:
        """Reads what [`Self::encode`] wrote, which is not whether it is read-only."""
    def encode(self) -> bytes:
        """What is worth keeping for the next conversation with this peer."""
    @property
    def shared_heads(self) -> tuple[str, ...]:
        """Heads of what both have, as far as is known."""
    @property
    def their_heads(self) -> tuple[str, ...] | None:
        """The heads that the peer named last."""
    @property
    def read_only(self) -> bool:
        """Whether changes of the peer are left alone."""

@final
class Counter:
    """A number to which concurrent increments add up. `Counter(3)` is put into a document as a new counter; one that was read
    and grew by `+=` or `-=` is put back to where it is as an increment, and elsewhere as a new counter."""
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
    """A moment that `datetime` cannot hold, in milliseconds since 1970."""
    def __new__(cls, milliseconds: int) -> Self: ...
    @property
    def milliseconds(self) -> int:
        """Since 1970."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Unknown:
    """A value of a type from a later version of the format, kept as it came."""
    def __new__(cls, type_code: int, data: bytes) -> Self: ...
    @property
    def type_code(self) -> int:
        """Its number, 10 to 15."""
    @property
    def data(self) -> bytes:
        """Its bytes."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
