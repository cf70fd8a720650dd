"""What a Parquet inventory lists, hashed and verified: in S3, Google's and Azure's stores, on web servers, on disks.

`hash` and `verify` work on a whole inventory, or on a shard of it, and go on where a run before them ended. A `Hasher` takes
batches of Arrow and gives batches: what Ray's `map_batches` and Spark's `mapInArrow` call. `python -m hashmill.manifest` is the
same for shells. Each row in is one row out, and what is wrong with a row stands in that row.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

from .._elements import elements
from .._hashmill import manifest as _native
from ..blake3 import AUTO

if TYPE_CHECKING:
    import pyarrow

    Path = str | os.PathLike[str]

__all__ = ["AUTO", "PART_ROWS", "SPARK_SCHEMA", "Hasher", "Options", "Progress", "Summary", "Verified", "hash", "verify"]

PART_ROWS = _native.PART_ROWS

SPARK_SCHEMA = (
    "url string, size long, blake3 binary, status string, error string, matches boolean, etag string, version string"
)
"""What `DataFrame.mapInArrow` must be told of a `Hasher`."""

_OF_STORES = ("AWS_", "AZURE_", "GOOGLE_")


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


@dataclass(frozen=True)
class Summary:
    """How many rows had which answer, of all parts of a shard."""

    rows: int
    hashed: int
    """Rows that have a digest, and `bytes` of these."""
    bytes: int
    matched: int
    """Rows whose digest is the listed one."""
    mismatched: int
    without_digest: dict[str, int]
    """Rows without a digest, by what stands in `status`."""
    parts: int
    """Parts that this run wrote; `skipped` were there."""
    skipped: int

    @property
    def failed(self) -> int:
        """Rows without a digest or with another one than the listed, as in `Progress`."""
        return self.rows - self.hashed + self.mismatched

    @property
    def ok(self) -> bool:
        """Whether each row has a digest, and none another than the listed one."""
        return self.hashed == self.rows and self.mismatched == 0


@dataclass(frozen=True)
class Verified(Summary):
    """The same of `verify`."""

    @property
    def ok(self) -> bool:
        """Whether each row has the listed digest. A row that lists none has nothing to be right about."""
        return self.matched == self.rows


@dataclass(frozen=True)
class Progress:
    """How far a run is."""

    rows: int
    """Rows of the shard: 0 until the inventory was opened."""
    done: int
    """Rows that are answered, by this run or one before it. A part is counted when it is whole."""
    failed: int
    """Of these, rows without a digest or with another one than the listed."""
    bytes: int
    """Bytes that this run has read: those of objects under way, too."""


class Options(TypedDict, total=False):
    """What may be said of how the work is done. None of it changes a digest."""

    columns: Mapping[str, str] | None
    """Which columns mean `url`, or `bucket` and `key` after `scheme` (`"s3"`), and `size`, `etag`, `version`, `blake3`, where they
    have other names than S3 Inventory or answers give them."""
    store: Mapping[str, str] | None
    """Options of clients of stores, by the names of the crate `object_store`. The environment's `AWS_…`, `GOOGLE_…` and `AZURE_…` are
    known too."""
    only: Iterable[str] | None
    """What rows may name: `"s3"`, `"gs"`, `"az"`, `"http"`, `"https"`, `"file"`, or one place of these, such as `"s3://bucket"`,
    `"https://host:8443"`, `"file:///folder"`. Servers lead to others that are listed alone, and to addresses that are not public
    only if they are listed by their names. Without a list: all stores and public addresses, and files of this machine where the
    inventory is one or a batch."""
    connections: int
    """Requests that are under way at once: 64."""
    max_threads: int
    """Threads that hash: all processors for `hash` and `verify`, 1 for a `Hasher`."""
    retries: int
    """How often a request is tried again: 5 times."""
    timeout: float
    """How long a store may be silent: 30 seconds."""
    split: int
    """Objects that are listed with at least so many bytes, 64 MiB, come in several parts at once."""


class Hasher:
    """Hashes what rows name: for a batch of Arrow there is a `pyarrow.RecordBatch`, for a table a `pyarrow.Table`, for an iterator
    of batches an iterator of batches, with as many rows in the same order. In the latter, which are for Spark, digests are
    `binary`, as `SPARK_SCHEMA` says; elsewhere they are of 32 bytes by their type.

    It can be pickled, and starts threads with its first batch only, so it may be sent to workers. Options are those of `hash`;
    `max_threads` is 1, as schedulers start a worker for each processor.
    """

    def __init__(
        self,
        *,
        columns: Mapping[str, str] | None = None,
        store: Mapping[str, str] | None = None,
        only: Iterable[str] | None = None,
        connections: int = 64,
        max_threads: int = 1,
        retries: int = 5,
        timeout: float = 30.0,
        split: int = 64 << 20,
    ) -> None:
        self._columns = dict(columns or {})
        self._store = dict(store or {})
        self._only = None if only is None else elements(only, "only")
        self._limits = {
            "connections": connections,
            "max_threads": max_threads,
            "retries": retries,
            "timeout": timeout,
            "split": split,
        }
        self._engine = self._start()

    def _start(self) -> _native.Engine:
        # The environment is that of the process that asks, not of the one that pickled.
        environment = {
            name.lower(): value
            for name, value in os.environ.items()
            if name.startswith(_OF_STORES) and _native.knows(name)
        }
        given = {name.lower(): value for name, value in self._store.items()}
        return _native.Engine(self._columns, environment | given, self._only, **self._limits)  # type: ignore[arg-type]

    @overload
    def __call__(self, batch: _ArrowArray) -> pyarrow.RecordBatch: ...
    @overload
    def __call__(self, batch: _ArrowStream) -> pyarrow.Table: ...
    @overload
    def __call__(self, batch: Iterable[_ArrowArray]) -> Iterator[pyarrow.RecordBatch]: ...
    def __call__(self, batch: Any) -> Any:
        """The answers to a batch, to a table, or to each of an iterator's batches."""
        is_batch = hasattr(batch, "__arrow_c_array__")
        if not is_batch and not hasattr(batch, "__arrow_c_stream__"):
            # Ray gives a dict of arrays where it was not told otherwise.
            remedy = ': map_batches(hasher, batch_format="pyarrow")' if isinstance(batch, Mapping) else ""
            if isinstance(batch, (str, bytes, bytearray, memoryview, Mapping)):
                given = type(batch).__name__
                raise TypeError(f"a batch, a table or an iterator of batches of Arrow is needed, not {given}{remedy}")
            return map(self._variable, batch)
        import pyarrow

        answers = pyarrow.record_batch(self._engine.answer(batch))
        return answers if is_batch else pyarrow.Table.from_batches([answers])

    def _variable(self, batch: _ArrowArray) -> pyarrow.RecordBatch:
        """Digests as binary of any length: Spark knows no other."""
        import pyarrow

        answers = self(batch)
        index = answers.schema.get_field_index("blake3")
        return answers.set_column(index, "blake3", answers.column(index).cast(pyarrow.binary()))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._engine = self._start()

    def __repr__(self) -> str:
        # Options of stores may be secrets.
        return f"Hasher(connections={self._limits['connections']}, max_threads={self._limits['max_threads']})"

    def _run(
        self,
        inventory: Path | Iterable[Path],
        out: Path,
        shard: tuple[int, int] | str,
        part_rows: int,
        progress: Callable[[Progress], object] | None,
        *,
        verify: bool,
    ) -> dict[str, Any]:
        paths = [inventory] if isinstance(inventory, (str, os.PathLike)) else elements(inventory, "inventory")
        tell = None if progress is None else lambda *numbers: progress(Progress(*numbers))
        return dict(self._engine.run(paths, out, _shard(shard), part_rows, verify, tell))


def _shard(shard: tuple[int, int] | str) -> tuple[int, int]:
    if isinstance(shard, str):
        index, slash, count = shard.partition("/")
        if not (slash and index.isdecimal() and count.isdecimal()):
            raise ValueError(f"{shard!r}: a shard is written i/n, from 0/n to (n-1)/n")
        shard = int(index), int(count)
    return shard


def hash(
    inventory: Path | Iterable[Path],
    out: Path,
    *,
    shard: tuple[int, int] | str = (0, 1),
    part_rows: int = PART_ROWS,
    progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Summary:
    """Hashes what the rows of Parquet files, or of folders of them, name. Answers are Parquet files in the folder `out`. Files and
    folders lie on a disk, or in a store: `"s3://bucket/inventory.parquet"`.

    `shard` is `(i, n)` or `"i/n"`, from 0 to n-1. Parts of `part_rows` rows are written whole or not at all, and a run that
    finds some goes on with the others; one that finds those of another inventory raises `ValueError`.

    `progress` is called in this thread, some times a second and at the end. What it raises stops the run and is raised here.
    `options` are those of `Options`.
    """
    hasher = Hasher(**_all_processors(options))
    return Summary(**hasher._run(inventory, out, shard, part_rows, progress, verify=False))


def verify(
    inventory: Path | Iterable[Path],
    out: Path,
    *,
    shard: tuple[int, int] | str = (0, 1),
    part_rows: int = PART_ROWS,
    progress: Callable[[Progress], object] | None = None,
    **options: Unpack[Options],
) -> Verified:
    """As `hash`, for inventories that list digests: the column `matches` says whether they are right, and `ok` whether each row has
    the listed one.

    What `hash` wrote is such an inventory. A part that is in `out` is not read again: who verifies anew takes a new folder.
    """
    hasher = Hasher(**_all_processors(options))
    return Verified(**hasher._run(inventory, out, shard, part_rows, progress, verify=True))


def _all_processors(options: Options) -> Options:
    return {"max_threads": AUTO, **options}
