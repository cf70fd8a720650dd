"""Named parameters: those of argon2-cffi."""

from __future__ import annotations

import dataclasses

from ._utils import Parameters, _is_wasm
from .low_level import Type

__all__ = [
    "CHEAPEST",
    "PRE_21_2",
    "RFC_9106_HIGH_MEMORY",
    "RFC_9106_LOW_MEMORY",
    "get_default_parameters",
]


def _argon2id(time_cost: int, memory_cost: int, parallelism: int, salt_len: int, hash_len: int) -> Parameters:
    return Parameters(Type.ID, 19, salt_len, hash_len, time_cost, memory_cost, parallelism)


RFC_9106_HIGH_MEMORY = _argon2id(1, 2 << 20, 4, salt_len=16, hash_len=32)
"""The first recommendation of RFC 9106: 2 GiB."""

RFC_9106_LOW_MEMORY = _argon2id(3, 64 << 10, 4, salt_len=16, hash_len=32)
"""The second recommendation of RFC 9106: 64 MiB."""

PRE_21_2 = _argon2id(2, 100 << 10, 8, salt_len=16, hash_len=16)
"""The defaults of argon2-cffi from 18.2 to 21.1."""

CHEAPEST = _argon2id(1, 8, 1, salt_len=8, hash_len=4)
"""Only for tests."""


def get_default_parameters() -> Parameters:
    """The defaults of `PasswordHasher`."""
    lanes = 1 if _is_wasm() else RFC_9106_LOW_MEMORY.parallelism
    return dataclasses.replace(RFC_9106_LOW_MEMORY, parallelism=lanes)
