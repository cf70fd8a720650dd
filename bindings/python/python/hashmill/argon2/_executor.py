"""Threads for calls with `asyncio`, and cancellation of calls."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .._hashmill import argon2 as _native

_T = TypeVar("_T")

_lock = threading.Lock()
_executor: ThreadPoolExecutor | None = None


def _processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _threads() -> ThreadPoolExecutor:
    """The executor of this package. Hashes would block the event loop's default executor, which other libraries use."""
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(_processors(), thread_name_prefix="hashmill")
        return _executor


def _forget() -> None:
    """Resets the state in a forked child: the threads of the parent do not exist there, and the lock may be held."""
    global _executor, _lock
    _executor, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


async def on_thread(work: Callable[[_native.Stop], _T]) -> _T:
    """The result of `work` on a thread, with a token that ends it when the caller is cancelled."""
    stop = _native.Stop()
    future = asyncio.get_running_loop().run_in_executor(_threads(), work, stop)
    try:
        return await future
    except asyncio.CancelledError:
        stop.set()
        raise
