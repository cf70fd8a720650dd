"""Arrow columns from pyarrow and polars, and from faulty producers."""

from __future__ import annotations

from typing import Any

import blake3 as theirs
import polars
import pyarrow
import pytest
from hashmill.blake3 import AUTO, hash_arrow

VALUES = ["", "a", None, "twelve bytes", "more than twelve bytes", None, "x" * 5000, "ü"]
KEY = bytes(32)


def expected(values: list[Any], **mode: Any) -> list[bytes | None]:
    def digest(value: Any) -> bytes | None:
        bytes_ = value.encode() if isinstance(value, str) else value
        return None if value is None else theirs.blake3(bytes_, **mode).digest()

    return [digest(value) for value in values]


def hashed(values: Any, **options: Any) -> list[bytes | None]:
    digests = hash_arrow(values, **options)
    array = pyarrow.array(digests)
    assert array.type == pyarrow.binary(32)
    array.validate(full=True)
    assert array.null_count == digests.null_count
    assert len(array) == len(digests)
    return array.to_pylist()


TYPES = ["string", "large_string", "string_view", "binary", "large_binary", "binary_view"]


@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_pyarrow(name: str) -> None:
    type_ = getattr(pyarrow, name)()
    array = pyarrow.array([value if value is None else value.encode() for value in VALUES]).cast(pyarrow.string()).cast(type_)
    assert hashed(array) == expected(VALUES)
    assert hashed(array[1:6]) == expected(VALUES[1:6]), "an array that begins inside of another"
    assert hashed(array[3:3]) == []
    assert hashed(array, key=KEY) == expected(VALUES, key=KEY)
    assert hashed(array, derive_key_context="c") == expected(VALUES, derive_key_context="c")
    chunked = pyarrow.chunked_array([array[:2], array[2:2], array[2:]])
    assert hashed(chunked, max_threads=AUTO) == expected(VALUES)


def test_values_of_one_length() -> None:
    values = [b"abcd", None, b"efgh"]
    assert hashed(pyarrow.array(values, pyarrow.binary(4))) == expected(values)
    assert hashed(pyarrow.nulls(3)) == [None] * 3
    assert hashed(pyarrow.chunked_array([], pyarrow.string())) == []


def test_too_many_rows_for_memory() -> None:
    def nulls(rows: int) -> Any:
        return pyarrow.Array.from_buffers(pyarrow.null(), rows, [None])

    for values in (nulls(1 << 42), nulls(1 << 59), pyarrow.chunked_array([nulls(1 << 62)] * 4)):
        with pytest.raises(MemoryError):
            hash_arrow(values)


def test_polars_column() -> None:
    series = polars.Series("names", VALUES)
    assert hashed(series) == expected(VALUES)
    back = polars.Series(hash_arrow(series))  # type: ignore[arg-type]
    assert back.to_list() == expected(VALUES)


@pytest.mark.parametrize("threads", [1, 2, AUTO])
def test_many_rows_keep_their_order(threads: int) -> None:
    values = [None if number % 7 == 0 else str(number) * (number % 50) for number in range(20_000)]
    assert hashed(pyarrow.array(values), max_threads=threads) == expected(values)


def test_arrow_capsule_is_consumed_once() -> None:
    """A producer passes a capsule on; using it twice is an error, not a crash."""
    pair = pyarrow.array(["a"]).__arrow_c_array__()

    class Again:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return pair

    assert hashed(Again()) == expected(["a"])
    with pytest.raises(ValueError, match="taken out"):
        hash_arrow(Again())


def test_invalid_arrow_arrays_are_exceptions() -> None:
    class Odd:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    schema, array = pyarrow.array(["a"]).__arrow_c_array__()
    for answer, error in [
        (ZeroDivisionError("mine"), ZeroDivisionError),
        (None, (TypeError, ValueError)),
        ((1, 2), TypeError),
        ((schema,), (TypeError, ValueError)),
        ((array, schema), ValueError),
    ]:
        with pytest.raises(error):
            hash_arrow(Odd(answer))
    with pytest.raises(TypeError, match="Int64"):
        hash_arrow(pyarrow.array([1, 2]))
    with pytest.raises(TypeError, match="List"):
        hash_arrow(pyarrow.array([["a"]]))


def test_result_outlives_producer_and_consumer() -> None:
    digests = hash_arrow(pyarrow.array(["a", None]))
    first, second = pyarrow.array(digests), pyarrow.array(digests)
    del digests
    del first
    assert second.to_pylist() == expected(["a", None])
