"""BLAKE3: the names of the package `blake3`, and functions for many inputs, files, directories and Arrow columns.

Every function takes `key` (32 bytes) or `derive_key_context`, as the class does, and `max_threads`: 1, more, or `AUTO` for all processors
that this process may use. Digests never depend on `max_threads`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from ._elements import elements
from ._engine_error import EngineError
from ._hashmill import __version__
from ._hashmill import blake3 as _native

if TYPE_CHECKING:
    from ._hashmill import Buffer

    Path = str | os.PathLike[str]

blake3 = _native.blake3
Digests = _native.Digests
AUTO = blake3.AUTO

__all__ = [
    "AUTO",
    "Digests",
    "__version__",
    "blake3",
    "hash_arrow",
    "hash_file",
    "hash_many",
    "hash_tree",
]

_BUFFER = 1 << 20


class _Readable(Protocol):
    def readinto(self, buffer: bytearray, /) -> int | None: ...


class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]: ...


class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> object: ...


@overload
def hash_many(
    inputs: Iterable[Buffer | Path],
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    engine: str | None = None,
    return_exceptions: Literal[False] = False,
) -> list[bytes]: ...
@overload
def hash_many(
    inputs: Iterable[Buffer | Path],
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    engine: str | None = None,
    return_exceptions: bool,
) -> list[bytes | OSError | EngineError]: ...
def hash_many(
    inputs: Iterable[Buffer | Path],
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    engine: str | None = None,
    return_exceptions: bool = False,
) -> list[bytes] | list[bytes | OSError | EngineError]:
    """The digest of each input, in the same order. The inputs are all buffers, or all paths of files.

    Short buffers share the lanes of the processor, which is several times as fast as one call for each. A file that cannot be
    read is an `OSError`, raised for the first one, or in its place with `return_exceptions`. Ctrl-C ends the call immediately; threads of
    this module read the files in work to their end.

    `engine` hashes long files: "cpu" (the default), "cuda", "wgpu", or a device as "cuda:1". Without such a device, or if it fails, the
    exception is `hashmill.EngineError`. A device hashes files no faster than its bus.
    """
    given = tuple(elements(inputs, "inputs", ": hash_many([value])"))
    if not given or not isinstance(given[0], (str, os.PathLike)):
        if given and engine is not None:
            raise ValueError("engine is for paths of files: buffers are hashed by the processor")
        return _native.hash_buffers(given, key, derive_key_context, max_threads)
    found = _native.hash_paths(given, key, derive_key_context, max_threads, engine)
    if not return_exceptions:
        for digest in found:
            if isinstance(digest, (OSError, EngineError)):
                raise digest
    return found


def hash_file(
    file: Path | _Readable,
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    engine: str | None = None,
) -> bytes:
    """The digest of a file: a path, or an object that is open for reading bytes, from its current position to its end.

    Bytes go from the file into one buffer, and are hashed there; those of `io.BytesIO` are hashed in place. `engine` is that of `hash_many`,
    for a path.
    """
    if engine is not None:
        if not isinstance(file, (str, os.PathLike)):
            raise ValueError("engine is for a path: an open file is hashed by the processor")
        return hash_many([file], key=key, derive_key_context=derive_key_context, max_threads=max_threads, engine=engine)[0]
    hasher = blake3(key=key, derive_key_context=derive_key_context, max_threads=max_threads)
    if isinstance(file, (str, os.PathLike)):
        return hasher.update_mmap(file).digest()
    if type(file) is io.BytesIO:
        start = file.tell()
        with file.getbuffer() as view:
            hasher.update(view[start:])
        file.seek(0, os.SEEK_END)
        return hasher.digest()
    if not hasattr(file, "readinto"):
        raise TypeError(f"a path or a file of bytes is needed, not {type(file).__name__}")
    buffer = bytearray(_BUFFER)
    view = memoryview(buffer)
    while True:
        count = file.readinto(buffer)
        if count is None:
            raise BlockingIOError("the file has no bytes now, and does not wait for them")
        if not 0 <= count <= len(buffer):
            raise ValueError(f"readinto() gave {count} for a buffer of {len(buffer)} bytes")
        if count == 0:
            return hasher.digest()
        hasher.update(view[:count])


def hash_tree(path: Path, *, max_threads: int = AUTO) -> bytes:
    """One digest for a directory and everything in it, names and links too: the one of `hashmill sum --tree`.

    Ctrl-C ends the call immediately; threads of this module continue to read until they are finished.
    """
    return _native.hash_tree(path, max_threads)


def hash_arrow(
    values: _ArrowArray | _ArrowStream,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
) -> Digests:
    """The digest of each value of an Arrow array or column from any library: binary or strings; a null gives a null.

    The result is an array of type `FixedSizeBinary(32)`: pass it to `pyarrow.array`, `polars.Series` or another reader of the Arrow
    PyCapsule protocol.
    """
    return _native.hash_arrow(values, key, derive_key_context, max_threads)
