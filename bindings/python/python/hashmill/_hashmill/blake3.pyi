from os import PathLike
from typing import Any, Final, final

from .._engine_error import EngineError
from . import Buffer

@final
class blake3:
    """A BLAKE3 hasher: takes input in pieces, returns any number of bytes of output."""
    name: Final = "blake3"
    digest_size: Final = 32
    block_size: Final = 64
    key_size: Final = 32
    AUTO: Final = -1
    def __new__(
        cls,
        data: Buffer | None = ...,
        /,
        *,
        key: Buffer | None = ...,
        derive_key_context: str | None = ...,
        max_threads: int = ...,
        usedforsecurity: bool = ...,
    ) -> blake3: ...
    def update(self, data: Buffer, /) -> blake3:
        """Adds bytes, and returns the hasher itself. Other Python threads run meanwhile."""
    def update_mmap(self, path: str | PathLike[str]) -> blake3:
        """Adds the bytes of a file. They are read: a mapped file that becomes shorter would end the process."""
    def copy(self) -> blake3:
        """A copy of the hasher in the same state."""
    def reset(self) -> None:
        """Resets the hasher, with the same key or context."""
    def digest(self, length: int = ..., *, seek: int = ...) -> bytes:
        """`length` bytes of output from `seek` on, by default the first 32. More can be read afterwards."""
    def hexdigest(self, length: int = ..., *, seek: int = ...) -> str:
        """The same as hexadecimal digits."""

@final
class Digests:
    """An array of digests, with nulls where there was no value. `pyarrow.array`, `polars.Series` and others take it without a copy."""
    @property
    def null_count(self) -> int:
        """The number of rows without a digest because they had no value."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = ...) -> tuple[object, object]: ...

def hash_buffers(
    buffers: tuple[Any, ...], key: Buffer | None, derive_key_context: str | None, max_threads: int
) -> list[bytes]:
    """The digests of buffers, in the same order."""
def hash_paths(
    paths: tuple[Any, ...],
    key: Buffer | None,
    derive_key_context: str | None,
    max_threads: int,
    engine: str | None,
) -> list[bytes | OSError | EngineError]:
    """The digests of files, in the same order; an exception in the place of a file that cannot be read."""
def hash_tree(path: str | PathLike[str], max_threads: int) -> bytes:
    """The digest of a directory with everything in it, equal to that of `hashmill sum --tree`."""
def hash_arrow(
    values: object, key: Buffer | None, derive_key_context: str | None, max_threads: int
) -> Digests:
    """The digest of every value of an array, or of a stream of arrays."""
