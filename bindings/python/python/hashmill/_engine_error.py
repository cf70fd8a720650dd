"""The exception of engines."""

from __future__ import annotations


class EngineError(RuntimeError):
    """An engine is not available here, or it failed.

    Nothing is known about the passwords and files that it was to compute.
    """
