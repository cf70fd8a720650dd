from collections.abc import Callable
from os import PathLike
from typing import Final, TypedDict, final

PART_ROWS: Final[int]

class RunSummary(TypedDict):
    rows: int
    hashed: int
    bytes: int
    matched: int
    mismatched: int
    parts: int
    skipped: int
    without_digest: dict[str, int]

def is_known_option(option: str) -> bool: ...
@final
class Engine:
    def __new__(
        cls,
        columns: dict[str, str],
        store: dict[str, str],
        only: list[str] | None,
        *,
        connections: int,
        max_threads: int,
        retries: int,
        timeout: float,
        split: int,
    ) -> Engine: ...
    def hash_rows(self, batch: object) -> Results: ...
    def run(
        self,
        inventory: list[str | PathLike[str]],
        out: str | PathLike[str],
        shard: tuple[int, int],
        part_rows: int,
        verify: bool,
        progress: Callable[[int, int, int, int], object] | None,
    ) -> RunSummary: ...

@final
class Results:
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = ...) -> tuple[object, object]: ...
