"""What goes wrong: the exceptions of argon2-cffi, and one for hashes that would cost too much."""

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
    """What all but `InvalidHashError` and `UnsupportedParametersError` are."""


class VerificationError(Argon2Error):
    """Nothing is known about the password: its hash could not be checked."""


class VerifyMismatchError(VerificationError):
    """Another password."""


class OverLimitError(VerificationError):
    """The hash would cost more than the limits allow. Nothing was computed."""


class HashingError(Argon2Error):
    """There is no hash: a parameter does not exist."""


class InvalidHashError(ValueError):
    """This is no hash of Argon2."""


class UnsupportedParametersError(ValueError):
    """The platform does not have what the parameters ask for."""


InvalidHash = InvalidHashError
"""The name that argon2-cffi had before 23.1."""
