"""Exceptions: those of argon2-cffi, and one for hashes that would cost too much."""

from __future__ import annotations

__all__ = [
    "Argon2Error",
    "HashingError",
    "InvalidHash",
    "InvalidHashError",
    "OverLimitError",
    "UnsupportedParametersError",
    "VerificationError",
    "VerifyMismatchError",
]


class Argon2Error(Exception):
    """Base class of all exceptions except `InvalidHashError` and `UnsupportedParametersError`."""


class VerificationError(Argon2Error):
    """The hash could not be checked, so nothing is known about the password."""


class VerifyMismatchError(VerificationError):
    """The password does not match."""


class OverLimitError(VerificationError):
    """The hash would cost more than the limits allow. Nothing was computed."""


class HashingError(Argon2Error):
    """The hash could not be made: a parameter is invalid."""


class InvalidHashError(ValueError):
    """The string is not an Argon2 hash."""


class UnsupportedParametersError(ValueError):
    """The platform does not support the parameters."""


InvalidHash = InvalidHashError
"""The name that argon2-cffi had before 23.1."""
