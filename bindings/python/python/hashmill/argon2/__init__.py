"""Argon2: the functions of argon2-cffi, and additional policies, batches and limits.

For users of argon2-cffi: `import hashmill.argon2 as argon2`. For new programs: `Passwords`.
"""

from .._hashmill import __version__
from . import exceptions, low_level, profiles
from ._legacy import hash_password, hash_password_raw, verify_password
from ._password_hasher import (
    DEFAULT_HASH_LENGTH,
    DEFAULT_MEMORY_COST,
    DEFAULT_PARALLELISM,
    DEFAULT_RANDOM_SALT_LENGTH,
    DEFAULT_TIME_COST,
    PasswordHasher,
)
from ._passwords import POLICIES, Passwords, calibrate
from ._utils import Parameters, extract_parameters
from .low_level import Type

__all__ = [
    "DEFAULT_HASH_LENGTH",
    "DEFAULT_MEMORY_COST",
    "DEFAULT_PARALLELISM",
    "DEFAULT_RANDOM_SALT_LENGTH",
    "DEFAULT_TIME_COST",
    "POLICIES",
    "Parameters",
    "PasswordHasher",
    "Passwords",
    "Type",
    "__version__",
    "calibrate",
    "exceptions",
    "extract_parameters",
    "hash_password",
    "hash_password_raw",
    "low_level",
    "profiles",
    "verify_password",
]
