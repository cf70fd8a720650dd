"""Functions with explicit parameters, as in `argon2.low_level` of argon2-cffi.

`ffi`, `lib` and `core` are raw C in argon2-cffi: they are available here, too, if its package `argon2-cffi-bindings` is installed.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Literal

from .._hashmill import argon2 as _native

if TYPE_CHECKING:
    from .._hashmill import Buffer

__all__ = [
    "ARGON2_VERSION",
    "Type",
    "core",
    "error_to_str",
    "hash_secret",
    "hash_secret_raw",
    "verify_secret",
]

ARGON2_VERSION = 19
"""The default version of Argon2."""


class Type(Enum):
    """The variants of Argon2."""

    D = 0
    I = 1  # noqa: E741
    ID = 2


def hash_secret(
    secret: Buffer,
    salt: Buffer,
    time_cost: int,
    memory_cost: int,
    parallelism: int,
    hash_len: int,
    type: Type,
    version: int = ARGON2_VERSION,
) -> bytes:
    """An encoded hash. Raises `HashingError` for parameters that do not exist."""
    costs = (time_cost, memory_cost, parallelism, type.value, version)
    return _native.hash_secret(secret, salt, costs, hash_len)


def hash_secret_raw(
    secret: Buffer,
    salt: Buffer,
    time_cost: int,
    memory_cost: int,
    parallelism: int,
    hash_len: int,
    type: Type,
    version: int = ARGON2_VERSION,
) -> bytes:
    """The bytes of a hash, without its parameters."""
    costs = (time_cost, memory_cost, parallelism, type.value, version)
    return _native.hash_secret_raw(secret, salt, costs, hash_len)


def verify_secret(
    hash: Buffer,
    secret: Buffer,
    type: Type,
    *,
    max_memory_cost: int | None = None,
    max_work: int | None = None,
) -> Literal[True]:
    """`True` if `secret` matches an encoded hash of this type, otherwise an exception: `VerifyMismatchError`, or another
    `VerificationError`.

    Without limits a hash may request any cost. For untrusted hashes set `max_memory_cost` in KiB and `max_work` in KiB times passes.
    """
    _native.verify_secret(hash, secret, type.value, max_memory_cost, max_work)
    return True


def core(context: Any, type: int) -> int:
    """`argon2_ctx` of C, on a structure of argon2-cffi-bindings."""
    from _argon2_cffi_bindings import lib

    return int(lib.argon2_ctx(context, type))


# The messages of argon2-cffi for return codes of C functions.
_ERRORS = {
    0: "OK",
    -1: "Output pointer is NULL",
    -2: "Output is too short",
    -3: "Output is too long",
    -4: "Password is too short",
    -5: "Password is too long",
    -6: "Salt is too short",
    -7: "Salt is too long",
    -8: "Associated data is too short",
    -9: "Associated data is too long",
    -10: "Secret is too short",
    -11: "Secret is too long",
    -12: "Time cost is too small",
    -13: "Time cost is too large",
    -14: "Memory cost is too small",
    -15: "Memory cost is too large",
    -16: "Too few lanes",
    -17: "Too many lanes",
    -18: "Password pointer is NULL, but password length is not 0",
    -19: "Salt pointer is NULL, but salt length is not 0",
    -20: "Secret pointer is NULL, but secret length is not 0",
    -21: "Associated data pointer is NULL, but ad length is not 0",
    -22: "Memory allocation error",
    -23: "The free memory callback is NULL",
    -24: "The allocate memory callback is NULL",
    -25: "Argon2_Context context is NULL",
    -26: "There is no such version of Argon2",
    -27: "Output pointer mismatch",
    -28: "Not enough threads",
    -29: "Too many threads",
    -30: "Missing arguments",
    -31: "Encoding failed",
    -32: "Decoding failed",
    -33: "Threading failure",
    -34: "Some of encoded parameters are too long or too short",
    -35: "The password does not match the supplied hash",
}


def error_to_str(error: int) -> str:
    """The meaning of a return code of a C function such as `core`."""
    return _ERRORS.get(error, "Unknown error code")


def __getattr__(name: str) -> Any:
    if name in ("ffi", "lib"):
        import _argon2_cffi_bindings

        return getattr(_argon2_cffi_bindings, name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
