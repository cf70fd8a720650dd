"""Threads of calls with `asyncio`, and the end of calls that are cancelled."""

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
    """An executor of this package: other libraries wait for threads of the event loop's own one, and a hash would keep those busy."""
    global _executor
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(_processors(), thread_name_prefix="hashmill")
        return _executor


def _forget() -> None:
    """The threads of the parent are not in a forked child, and its lock may be taken."""
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
