from os import PathLike
from typing import Any, Final, final

from . import Buffer

@final
class blake3:
    """A BLAKE3 hasher: takes bytes in pieces, gives as many bytes of output as wanted."""
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
        """Takes bytes, and gives the hasher itself. Other threads of Python run meanwhile."""
    def update_mmap(self, path: str | PathLike[str]) -> blake3:
        """The bytes of a file. They are read: a mapped file that becomes shorter would end the process."""
    def copy(self) -> blake3:
        """A hasher of its own in the same state."""
    def reset(self) -> None:
        """Begins again, with the same key or context."""
    def digest(self, length: int = ..., *, seek: int = ...) -> bytes:
        """So many bytes of output from a place on, 32 from the start where nothing is said. More can be taken afterwards."""
    def hexdigest(self, length: int = ..., *, seek: int = ...) -> str:
        """The same in hexadecimal digits."""

@final
class Digests:
    """An array of digests, and nulls where there was no value. `pyarrow.array`, `polars.Series` and others take it without a copy."""
    @property
    def null_count(self) -> int:
        """How many rows have no digest, as they had no value."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = ...) -> tuple[object, object]: ...

def hash_buffers(
    buffers: tuple[Any, ...], key: Buffer | None, derive_key_context: str | None, max_threads: int
) -> list[bytes]:
    """The digests of buffers, in their order."""
def hash_paths(
    paths: tuple[Any, ...], key: Buffer | None, derive_key_context: str | None, max_threads: int
) -> list[bytes | OSError]:
    """The digests of files, in their order; an exception in the place of one that cannot be read."""
def hash_tree(path: str | PathLike[str], max_threads: int) -> bytes:
    """The digest of a directory and of all that is in it, as `hashmill sum --tree` has it."""
def hash_arrow(
    values: object, key: Buffer | None, derive_key_context: str | None, max_threads: int
) -> Digests:
    """The digest of every value of an array, or of a stream of arrays."""
