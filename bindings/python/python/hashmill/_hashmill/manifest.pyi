from collections.abc import Callable
from os import PathLike
from typing import Final, TypedDict, final

PART_ROWS: Final[int]

class Said(TypedDict):
    rows: int
    hashed: int
    bytes: int
    matched: int
    mismatched: int
    parts: int
    skipped: int
    without_digest: dict[str, int]

def knows(option: str) -> bool: ...
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
    def answer(self, batch: object) -> Answers: ...
    def run(
        self,
        inventory: list[str | PathLike[str]],
        out: str | PathLike[str],
        shard: tuple[int, int],
        part_rows: int,
        verify: bool,
        progress: Callable[[int, int, int, int], object] | None,
    ) -> Said: ...

@final
class Answers:
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = ...) -> tuple[object, object]: ...
