"""Hashes and verifies the objects of a Parquet inventory: in S3, Google's and Azure's stores, on web servers, on disks.

`hash` and `verify` process a whole inventory, or a shard of it, and continue an earlier run. A `Hasher` maps Arrow batches to batches,
for Ray's `map_batches` and Spark's `mapInArrow`. `python -m hashmill.inventory` is the command for shells. Each input row gives one output
row, which contains its error, if any.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, Unpack, overload

from .._elements import elements
from .._hashmill import inventory as _native
from ..blake3 import AUTO

if TYPE_CHECKING:
    import pyarrow

    Path = str | os.PathLike[str]

__all__ = ["AUTO", "PART_ROWS", "SPARK_SCHEMA", "Hasher", "Options", "Progress", "Summary", "Verified", "hash", "verify"]

PART_ROWS = _native.PART_ROWS

SPARK_SCHEMA = (
    "url string, size long, blake3 binary, status string, error string, matches boolean, etag string, version string"
)
"""The schema of a `Hasher` for `DataFrame.mapInArrow`."""

_OF_STORES = ("AWS_", "AZURE_", "GOOGLE_")


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


@dataclass(frozen=True)
class Summary:
    """The number of rows per kind of result, over all parts of a shard."""

    rows: int
    hashed: int
    """Rows that have a digest, and `bytes` of these."""
    bytes: int
    matched: int
    """Rows whose digest is the listed one."""
    mismatched: int
    without_digest: dict[str, int]
    """Rows without a digest, by their `status`."""
    parts: int
    """Parts that this run wrote; `skipped` existed before."""
    skipped: int

    @property
    def failed(self) -> int:
        """Rows without a digest or with one that differs from the listed one, as in `Progress`."""
        return self.rows - self.hashed + self.mismatched

    @property
    def ok(self) -> bool:
        """Whether each row has a digest, and no digest differs from the listed one."""
        return self.hashed == self.rows and self.mismatched == 0


@dataclass(frozen=True)
class Verified(Summary):
    """The summary of `verify`."""

    @property
    def ok(self) -> bool:
        """Whether each row has the listed digest. A row without a listed digest counts as wrong."""
        return self.matched == self.rows


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    rows: int
    """Rows of the shard: 0 until the inventory is opened."""
    done: int
    """Finished rows, by this run or an earlier one. A part is counted when it is complete."""
    failed: int
    """Of these, rows without a digest or with one that differs from the listed one."""
    bytes: int
    """Bytes that this run has read, including those of unfinished objects."""


class Options(TypedDict, total=False):
    """Options of a run. None of them changes a digest."""

    columns: Mapping[str, str] | None
    """Names of the columns `url`, or `bucket` and `key` after `scheme` (`"s3"`), and `size`, `etag`, `version`, `blake3`, if they differ
    from those of S3 Inventory or of the output of a run."""
    store: Mapping[str, str] | None
    """Options of store clients, with the names of the crate `object_store`. The environment's `AWS_…`, `GOOGLE_…` and `AZURE_…` are read."""
    only: Iterable[str] | None
    """Allow-list for rows: `"s3"`, `"gs"`, `"az"`, `"http"`, `"https"`, `"file"`, or a location in one of these, such as `"s3://bucket"`,
    `"https://host:8443"`, `"file:///folder"`. Redirects may only lead to listed servers, and to addresses that are not public only if the
    server is listed by name. Default: all stores and public addresses, and files of this machine if the inventory is a local file or a
    batch."""
    connections: int
    """Maximum number of concurrent requests: 64."""
    max_threads: int
    """Threads that hash: all processors for `hash` and `verify`, 1 for a `Hasher`."""
    retries: int
    """Number of retries of a request: 5."""
    timeout: float
    """Maximum silence of a store: 30 seconds."""
    split: int
    """Objects with at least this listed size, 64 MiB, are read in several parts at the same time."""


class Hasher:
    """Hashes the objects of rows. An Arrow batch gives a `pyarrow.RecordBatch`, a table a `pyarrow.Table`, an iterator of batches an
    iterator of batches, with the same number and order of rows. In the latter, which are for Spark, digests are `binary`, as in
    `SPARK_SCHEMA`; otherwise their type has a fixed size of 32 bytes.

    It can be pickled, and starts threads only with its first batch, so it may be sent to workers. Options are those of `hash`;
    `max_threads` is 1, because schedulers start a worker for each processor.
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
        # The environment is that of the calling process, not of the one that pickled.
        environment = {
            name.lower(): value
            for name, value in os.environ.items()
            if name.startswith(_OF_STORES) and _native.is_known_option(name)
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
        """The results of a batch, to a table, or to each of an iterator's batches."""
        is_batch = hasattr(batch, "__arrow_c_array__")
        if not is_batch and not hasattr(batch, "__arrow_c_stream__"):
            # Ray passes a dict of arrays by default.
            remedy = ': map_batches(hasher, batch_format="pyarrow")' if isinstance(batch, Mapping) else ""
            if isinstance(batch, (str, bytes, bytearray, memoryview, Mapping)):
                given = type(batch).__name__
                raise TypeError(f"a batch, a table or an iterator of batches of Arrow is needed, not {given}{remedy}")
            return map(self._variable, batch)
        import pyarrow

        results = pyarrow.record_batch(self._engine.hash_rows(batch))
        return results if is_batch else pyarrow.Table.from_batches([results])

    def _variable(self, batch: _ArrowArray) -> pyarrow.RecordBatch:
        """Digests as binary of any length, the only binary type of Spark."""
        import pyarrow

        results = self(batch)
        index = results.schema.get_field_index("blake3")
        return results.set_column(index, "blake3", results.column(index).cast(pyarrow.binary()))

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
    """Hashes the objects that the rows of Parquet files, or of folders of them, list. Results are Parquet files in the folder `out`.
    Files and folders are on a disk, or in a store: `"s3://bucket/inventory.parquet"`.

    `shard` is `(i, n)` or `"i/n"`, from 0 to n-1. Parts of `part_rows` rows are written atomically, and a run continues with the missing
    ones; if the folder has parts of another inventory, it raises `ValueError`.

    `progress` is called in this thread, several times a second and at the end. An exception from it stops the run and is raised here.
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
    """As `hash`, for inventories that list digests: the column `matches` says whether each digest is the listed one, and `ok` whether all
    are.

    The output of `hash` is such an inventory. A part that exists in `out` is not read again: use a new folder for each verification.
    """
    hasher = Hasher(**_all_processors(options))
    return Verified(**hasher._run(inventory, out, shard, part_rows, progress, verify=True))


def _all_processors(options: Options) -> Options:
    return {"max_threads": AUTO, **options}
