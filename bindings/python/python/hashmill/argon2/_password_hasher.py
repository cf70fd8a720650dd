"""The class of argon2-cffi, with two additional methods for `asyncio` and a limit."""

from __future__ import annotations

import asyncio
import os
from typing import Literal

from ._utils import Parameters, _check_types, extract_parameters, validate_params_for_platform
from .exceptions import InvalidHashError
from .low_level import ARGON2_VERSION, Type, hash_secret, verify_secret
from .profiles import get_default_parameters

_DEFAULT = get_default_parameters()
DEFAULT_RANDOM_SALT_LENGTH = _DEFAULT.salt_len
DEFAULT_HASH_LENGTH = _DEFAULT.hash_len
DEFAULT_TIME_COST = _DEFAULT.time_cost
DEFAULT_MEMORY_COST = _DEFAULT.memory_cost
DEFAULT_PARALLELISM = _DEFAULT.parallelism

MAX_MEMORY_COST = 2 << 20
"""Default of the maximum memory in KiB of a stored hash: 2 GiB."""

_MAX_PASSES_OF_ALL_MEMORY = 4


def _ensure_bytes(text: bytes | str, encoding: str) -> bytes:
    return text if isinstance(text, bytes) else text.encode(encoding)


class PasswordHasher:
    """Hashes passwords with a random salt, and checks them.

    `max_memory_cost` is the maximum memory in KiB that checking a stored hash may take, never less than `memory_cost`. A hash that needs
    more, or the same with more than four passes, is an `OverLimitError`.
    """

    __slots__ = ("_parameters", "encoding", "max_memory_cost")

    encoding: str
    max_memory_cost: int

    def __init__(
        self,
        time_cost: int = DEFAULT_TIME_COST,
        memory_cost: int = DEFAULT_MEMORY_COST,
        parallelism: int = DEFAULT_PARALLELISM,
        hash_len: int = DEFAULT_HASH_LENGTH,
        salt_len: int = DEFAULT_RANDOM_SALT_LENGTH,
        encoding: str = "utf-8",
        type: Type = Type.ID,
        *,
        max_memory_cost: int = MAX_MEMORY_COST,
    ) -> None:
        wrong = _check_types(
            time_cost=(time_cost, int),
            memory_cost=(memory_cost, int),
            parallelism=(parallelism, int),
            hash_len=(hash_len, int),
            salt_len=(salt_len, int),
            encoding=(encoding, str),
            type=(type, Type),
            max_memory_cost=(max_memory_cost, int),
        )
        if wrong:
            raise TypeError(wrong)
        self._parameters = Parameters(
            type, ARGON2_VERSION, salt_len, hash_len, time_cost, memory_cost, parallelism
        )
        validate_params_for_platform(self._parameters)
        self.encoding = encoding
        self.max_memory_cost = max(max_memory_cost, memory_cost)

    @classmethod
    def from_parameters(cls, params: Parameters) -> PasswordHasher:
        """A hasher with these parameters."""
        return cls(
            time_cost=params.time_cost,
            memory_cost=params.memory_cost,
            parallelism=params.parallelism,
            hash_len=params.hash_len,
            salt_len=params.salt_len,
            type=params.type,
        )

    @property
    def time_cost(self) -> int:
        """Passes over memory."""
        return self._parameters.time_cost

    @property
    def memory_cost(self) -> int:
        """Memory in KiB."""
        return self._parameters.memory_cost

    @property
    def parallelism(self) -> int:
        """Lanes, and threads at most."""
        return self._parameters.parallelism

    @property
    def hash_len(self) -> int:
        """Bytes of a hash."""
        return self._parameters.hash_len

    @property
    def salt_len(self) -> int:
        """Bytes of a salt."""
        return self._parameters.salt_len

    @property
    def type(self) -> Type:
        """The variant of Argon2."""
        return self._parameters.type

    def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """An encoded hash of a password, with a random salt. Raises `HashingError` for parameters that do not exist."""
        own = self._parameters
        return hash_secret(
            _ensure_bytes(password, self.encoding),
            salt or os.urandom(own.salt_len),
            own.time_cost,
            own.memory_cost,
            own.parallelism,
            own.hash_len,
            own.type,
        ).decode("ascii")

    def verify(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        """`True` if the password matches the hash, which may have any type and cost.

        Raises `VerifyMismatchError` for another password, `InvalidHashError` if the string is no Argon2 hash, and another
        `VerificationError` for a hash that cannot be checked.
        """
        encoded = _ensure_bytes(hash, "ascii")
        own = self._parameters
        work = max(self.max_memory_cost * _MAX_PASSES_OF_ALL_MEMORY, own.memory_cost * own.time_cost)
        return verify_secret(
            encoded,
            _ensure_bytes(password, self.encoding),
            _type_of(encoded),
            max_memory_cost=self.max_memory_cost,
            max_work=work,
        )

    def check_needs_rehash(self, hash: str | bytes) -> bool:
        """Whether the hash was made with other parameters than those of this hasher."""
        return self._parameters != extract_parameters(hash if isinstance(hash, str) else hash.decode("ascii"))

    async def hash_async(self, password: str | bytes, *, salt: bytes | None = None) -> str:
        """`hash` on a thread: the event loop continues."""
        return await asyncio.to_thread(self.hash, password, salt=salt)

    async def verify_async(self, hash: str | bytes, password: str | bytes) -> Literal[True]:
        """`verify` on a thread: the event loop continues."""
        return await asyncio.to_thread(self.verify, hash, password)


def _type_of(encoded: bytes) -> Type:
    for type in Type:
        if encoded.startswith(f"$argon2{type.name.lower()}$".encode()):
            return type
    raise InvalidHashError("this is not an Argon2 hash")
