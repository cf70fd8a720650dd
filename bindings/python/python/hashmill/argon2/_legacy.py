"""Functions that argon2-cffi has deprecated."""

from __future__ import annotations

import os
import warnings
from typing import Literal

from ._password_hasher import (
    DEFAULT_HASH_LENGTH,
    DEFAULT_MEMORY_COST,
    DEFAULT_PARALLELISM,
    DEFAULT_RANDOM_SALT_LENGTH,
    DEFAULT_TIME_COST,
)
from .low_level import Type, hash_secret, hash_secret_raw, verify_secret


def _warn(name: str) -> None:
    words = f"argon2.{name} is deprecated, use argon2.PasswordHasher instead"
    warnings.warn(words, DeprecationWarning, stacklevel=3)


def hash_password(
    password: bytes,
    salt: bytes | None = None,
    time_cost: int = DEFAULT_TIME_COST,
    memory_cost: int = DEFAULT_MEMORY_COST,
    parallelism: int = DEFAULT_PARALLELISM,
    hash_len: int = DEFAULT_HASH_LENGTH,
    type: Type = Type.I,
) -> bytes:
    """`low_level.hash_secret` with a random salt and default costs."""
    _warn("hash_password")
    salt = os.urandom(DEFAULT_RANDOM_SALT_LENGTH) if salt is None else salt
    return hash_secret(password, salt, time_cost, memory_cost, parallelism, hash_len, type)


def hash_password_raw(
    password: bytes,
    salt: bytes | None = None,
    time_cost: int = DEFAULT_TIME_COST,
    memory_cost: int = DEFAULT_MEMORY_COST,
    parallelism: int = DEFAULT_PARALLELISM,
    hash_len: int = DEFAULT_HASH_LENGTH,
    type: Type = Type.I,
) -> bytes:
    """`low_level.hash_secret_raw` with a random salt and default costs."""
    _warn("hash_password_raw")
    salt = os.urandom(DEFAULT_RANDOM_SALT_LENGTH) if salt is None else salt
    return hash_secret_raw(password, salt, time_cost, memory_cost, parallelism, hash_len, type)


def verify_password(hash: bytes, password: bytes, type: Type = Type.I) -> Literal[True]:
    """`low_level.verify_secret`."""
    _warn("verify_password")
    return verify_secret(hash, password, type)
