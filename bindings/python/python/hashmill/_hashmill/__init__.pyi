import sys

from . import argon2 as argon2, blake3 as blake3, documents as documents, inventory as inventory

if sys.version_info >= (3, 12):
    from collections.abc import Buffer as Buffer
else:
    from typing_extensions import Buffer as Buffer

__version__: str
