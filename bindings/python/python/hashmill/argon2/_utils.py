"""Parameters of hashes, and their decoder for encoded hashes."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from typing import Any

from .exceptions import InvalidHashError, UnsupportedParametersError
from .low_level import Type

NoneType = type(None)

_ENCODED = re.compile(
    r"\$argon2(?P<type>id|i|d)(\$v=(?P<version>\d+))?"
    r"\$(?P<costs>[mtp]=\d+,[mtp]=\d+,[mtp]=\d+)\$(?P<salt>[^$]*)\$(?P<hash>[^$]*)",
    re.ASCII,
)

_BEFORE_VERSIONS = 18
"""The version that argon2-cffi assumes for a hash without one."""


@dataclass(slots=True)
class Parameters:
    """All inputs of a hash except the password and the salt."""

    type: Type
    version: int
    salt_len: int
    hash_len: int
    time_cost: int
    memory_cost: int
    parallelism: int


def extract_parameters(hash: str) -> Parameters:
    """The parameters of an encoded hash. Raises `InvalidHashError` if there are none."""
    match = _ENCODED.fullmatch(hash)
    if match is None:
        raise InvalidHashError("this is not an Argon2 hash")
    costs = dict(cost.split("=") for cost in match["costs"].split(","))
    if len(costs) != 3:
        raise InvalidHashError("m, t and p are needed, each once")
    try:
        time, memory, lanes = (int(costs[name]) for name in "tmp")
        version = int(match["version"] or _BEFORE_VERSIONS)
    except ValueError as error:
        # A number with thousands of digits.
        raise InvalidHashError(str(error)) from None
    return Parameters(
        type=Type[match["type"].upper()],
        version=version,
        salt_len=_decoded_str_len(len(match["salt"])),
        hash_len=_decoded_str_len(len(match["hash"])),
        time_cost=time,
        memory_cost=memory,
        parallelism=lanes,
    )


def _decoded_str_len(length: int) -> int:
    """The number of bytes in a number of base64 characters without padding."""
    return length * 3 // 4


def _check_types(**named: Any) -> str | None:
    """A message about values with wrong types; each is given with its allowed types."""
    wrong = []
    for name, (value, types) in named.items():
        if not isinstance(value, types):
            types = types if isinstance(types, tuple) else (types,)
            wanted = ", or ".join(one.__name__ for one in types)
            wrong.append(f"'{name}' must be a {wanted} (got {type(value).__name__})")
    return ", ".join(wrong) + "." if wrong else None


def _is_wasm() -> bool:
    return sys.platform == "emscripten" or platform.machine() in ("wasm32", "wasm64")


def validate_params_for_platform(params: Parameters) -> None:
    """Raises `UnsupportedParametersError` for parameters that this platform does not support."""
    if _is_wasm() and params.parallelism != 1:
        raise UnsupportedParametersError("In WebAssembly environments `parallelism` must be 1.")
