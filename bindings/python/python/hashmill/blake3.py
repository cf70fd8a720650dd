"""BLAKE3: the names of the package `blake3`, and calls for many inputs, files, directories and columns of Arrow.

Every function takes `key` (32 bytes) or `derive_key_context`, as the class does, and `max_threads`: 1, more, or `AUTO` for as
many as this process may use. Digests never depend on `max_threads`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

from ._elements import elements
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
    return_exceptions: Literal[False] = False,
) -> list[bytes]: ...
@overload
def hash_many(
    inputs: Iterable[Buffer | Path],
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    return_exceptions: bool,
) -> list[bytes | OSError]: ...
def hash_many(
    inputs: Iterable[Buffer | Path],
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
    return_exceptions: bool = False,
) -> list[bytes] | list[bytes | OSError]:
    """The digest of each input, in their order: all of them buffers, or all of them paths of files.

    Short buffers share the lanes of the processor, which is several times as fast as one call for each. A file that cannot be
    read is an `OSError`, raised for the first one, or in its place with `return_exceptions`. Ctrl-C ends the call at once; files
    that are being read then are read to their end, by threads of this module.
    """
    given = tuple(elements(inputs, "inputs", ": hash_many([value])"))
    if not given or not isinstance(given[0], (str, os.PathLike)):
        return _native.hash_buffers(given, key, derive_key_context, max_threads)
    found = _native.hash_paths(given, key, derive_key_context, max_threads)
    if not return_exceptions:
        for digest in found:
            if isinstance(digest, OSError):
                raise digest
    return found


def hash_file(
    file: Path | _Readable,
    /,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
) -> bytes:
    """The digest of a file: a path, or an object that is open for reading bytes, from where it stands to its end.

    Bytes go from the file into one buffer, and are hashed there; those of `io.BytesIO` are hashed where they are.
    """
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

    Ctrl-C ends the call at once; threads of this module read on until they are through.
    """
    return _native.hash_tree(path, max_threads)


def hash_arrow(
    values: _ArrowArray | _ArrowStream,
    *,
    key: Buffer | None = None,
    derive_key_context: str | None = None,
    max_threads: int = 1,
) -> Digests:
    """The digest of each value of an Arrow array or column, of whatever library: binary or strings in, null in, null out.

    The result is an array of type `FixedSizeBinary(32)`: give it to `pyarrow.array`, `polars.Series` or another reader of the
    Arrow PyCapsule protocol.
    """
    return _native.hash_arrow(values, key, derive_key_context, max_threads)
