"""Hashmill: BLAKE3 (`hashmill.blake3`), Argon2 (`hashmill.argon2`) and shared documents (`hashmill.documents`)."""

from ._engine_error import EngineError
from ._hashmill import __version__

__all__ = ["EngineError", "__version__"]
