"""Policies: costs of new hashes, limits for stored ones, and batches."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, overload

from .._elements import elements
from .._hashmill import argon2 as _native
from ._executor import on_thread
from ._utils import Parameters
from .low_level import ARGON2_VERSION, Type

if TYPE_CHECKING:
    from .._hashmill import Buffer

POLICIES: dict[str, Parameters] = {
    name: Parameters(Type.ID, ARGON2_VERSION, 16, hash_len, time_cost, memory_cost, parallelism)
    for name, _, time_cost, memory_cost, parallelism, hash_len in _native.presets()
}
"""Named policies: those of OWASP, RFC 9106, libsodium and others."""


def _bytes(password: str | Buffer) -> Buffer:
    return password.encode() if isinstance(password, str) else password


class Passwords:
    """Hashes and checks passwords with one policy: a name of `POLICIES`, or parameters.

    `limits` bounds the cost of stored hashes: "around" eight times the policy, exactly the "policy", or all "recommended" costs (2 GiB,
    seconds). `secret` is a key that is not stored with the hashes. `memory_budget` is the maximum memory in KiB of all calls together
    on the processor: further calls wait. Engines have a budget of their own: half of the free memory of the host, or one hash, and the memory of
    each device.

    `engine` names the engines of `hash_many` and `verify_many` and their `_async` variants: "cpu" (the default), "cuda", "wgpu", a device as
    "cuda:1", or several as "cpu,cuda". Their results are checked. An engine that is not available, and one that fails without another to
    take over its part, raise `hashmill.EngineError`; a part that another engine takes over, or the processor after a wrong result, is a
    `RuntimeWarning`.

    Memory is kept for the next call, and wiped after each, also after one that Ctrl-C ends. A `str` password is encoded as UTF-8.

    Objects are immutable, so a copy is the object itself. They can be pickled for other processes, but not with a `secret`, which the
    pickle would contain. A `memory_budget` applies to each process.

    Calls whose names end with `_async` run on threads of this package, one per processor. Cancelling a call, for instance by a timeout,
    ends its hash soon; calls that wait for a thread never begin.
    """

    __slots__ = ("_engine", "_has_secret", "_limits", "_memory_budget", "_native", "parameters")

    parameters: Parameters

    def __init__(
        self,
        policy: str | Parameters = "owasp",
        *,
        limits: Literal["around", "policy", "recommended"] = "around",
        secret: Buffer | None = None,
        memory_budget: int | None = None,
        engine: str | None = None,
    ) -> None:
        if isinstance(policy, str):
            if policy not in POLICIES:
                raise ValueError(f"policy {policy!r}: choose one of {', '.join(POLICIES)}")
            policy = POLICIES[policy]
        if policy.version != ARGON2_VERSION:
            raise ValueError(f"version {policy.version}: new hashes are of version {ARGON2_VERSION}")
        self.parameters = replace(policy)
        self._limits, self._memory_budget, self._has_secret = limits, memory_budget, secret is not None
        self._engine = engine
        self._native = _native.Passwords(
            policy.time_cost,
            policy.memory_cost,
            policy.parallelism,
            policy.type.value,
            policy.hash_len,
            policy.salt_len,
            limits,
            secret,
            memory_budget,
            engine,
        )

    def __repr__(self) -> str:
        options = f"limits={self._limits!r}"
        if self._has_secret:
            options += ", secret=..."
        if self._memory_budget is not None:
            options += f", memory_budget={self._memory_budget}"
        if self._engine is not None:
            options += f", engine={self._engine!r}"
        return f"Passwords({self.parameters!r}, {options})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._has_secret:
            raise TypeError(
                "Passwords with a secret cannot be pickled, as the secret would be in the pickle: create them in each process"
            )
        parameters = tuple(getattr(self.parameters, field.name) for field in fields(self.parameters))
        return _restore, (type(self), parameters, self._limits, self._memory_budget, self._engine)

    def hash(self, password: str | Buffer) -> str:
        """An encoded hash, with a random salt."""
        return self._native.hash(_bytes(password))

    def verify(self, hash: str, password: str | Buffer) -> Literal[True]:
        """`True` if the password matches the hash, otherwise an exception like those of `PasswordHasher.verify`."""
        self._native.verify(hash, _bytes(password))
        return True

    def verify_and_upgrade(self, hash: str, password: str | Buffer) -> str | None:
        """`verify`, and the hash to store from now on: a new one, or `None` to keep the stored one."""
        self.verify(hash, password)
        return self.hash(password) if self.needs_rehash(hash) else None

    def verify_dummy(self, password: str | Buffer) -> None:
        """Takes the time of `verify` with a new hash and always raises `VerifyMismatchError`: for user names that do not exist."""
        self._native.verify_dummy(_bytes(password))

    def needs_rehash(self, hash: str) -> bool:
        """Whether a new hash would be stronger in some value, and no cost lower. A stored hash that costs more than the policy stays."""
        return self._native.needs_rehash(hash)

    def differences(self, hash: str) -> list[str]:
        """The differences between a hash and a new one, in words."""
        return self._native.differences(hash)

    def hash_many(self, passwords: Iterable[str | Buffer]) -> list[str]:
        """A hash for each password, on all cores or on `engine`. Ctrl-C ends it."""
        return self._native.hash_many([_bytes(password) for password in elements(passwords, "passwords")])

    @overload
    def verify_many(
        self, logins: Iterable[tuple[str, str | Buffer]], *, return_exceptions: Literal[False] = False
    ) -> list[bool]: ...
    @overload
    def verify_many(
        self, logins: Iterable[tuple[str, str | Buffer]], *, return_exceptions: bool
    ) -> list[bool | Exception]: ...
    def verify_many(
        self, logins: Iterable[tuple[str, str | Buffer]], *, return_exceptions: bool = False
    ) -> list[bool] | list[bool | Exception]:
        """Whether the password matches the hash, for each pair of them, on all cores or on `engine`.

        A hash that cannot be checked is an exception: raised for the first one, or in its place with `return_exceptions`. In that case
        compare with `is True`, because an exception is truthy. Ctrl-C ends the call.
        """
        return _results(self._native.verify_many(_pairs(logins)), return_exceptions)

    async def hash_async(self, password: str | Buffer) -> str:
        """`hash` on a thread: the event loop continues. Cancelling it ends the hash."""
        return await on_thread(lambda stop: self._native.hash(_bytes(password), stop))

    async def verify_async(self, hash: str, password: str | Buffer) -> Literal[True]:
        """`verify` on a thread: the event loop continues. Cancelling it ends the hash."""
        return await on_thread(lambda stop: self._native.verify(hash, _bytes(password), stop))

    async def verify_and_upgrade_async(self, hash: str, password: str | Buffer) -> str | None:
        """`verify_and_upgrade` on a thread: the event loop continues. Cancelling it ends the hash."""

        def work(stop: _native.Stop) -> str | None:
            self._native.verify(hash, _bytes(password), stop)
            return self._native.hash(_bytes(password), stop) if self.needs_rehash(hash) else None

        return await on_thread(work)

    async def verify_dummy_async(self, password: str | Buffer) -> None:
        """`verify_dummy` on a thread: the event loop continues. Cancelling it ends the hash."""
        await on_thread(lambda stop: self._native.verify_dummy(_bytes(password), stop))

    async def hash_many_async(self, passwords: Iterable[str | Buffer]) -> list[str]:
        """`hash_many` on a thread: the event loop continues. Cancelling it ends all hashes."""
        given = [_bytes(password) for password in elements(passwords, "passwords")]
        return await on_thread(lambda stop: self._native.hash_many(given, stop))

    @overload
    async def verify_many_async(
        self, logins: Iterable[tuple[str, str | Buffer]], *, return_exceptions: Literal[False] = False
    ) -> list[bool]: ...
    @overload
    async def verify_many_async(
        self, logins: Iterable[tuple[str, str | Buffer]], *, return_exceptions: bool
    ) -> list[bool | Exception]: ...
    async def verify_many_async(
        self, logins: Iterable[tuple[str, str | Buffer]], *, return_exceptions: bool = False
    ) -> list[bool] | list[bool | Exception]:
        """`verify_many` on a thread: the event loop continues. Cancelling it ends all hashes."""
        given = _pairs(logins)
        return _results(await on_thread(lambda stop: self._native.verify_many(given, stop)), return_exceptions)


def _pairs(logins: Iterable[tuple[str, str | Buffer]]) -> list[tuple[str, Buffer]]:
    return [(hash, _bytes(password)) for hash, password in elements(logins, "logins")]


def _results(found: list[bool | Exception], return_exceptions: bool) -> list[bool] | list[bool | Exception]:
    if return_exceptions:
        return found
    for verdict in found:
        if isinstance(verdict, Exception):
            raise verdict
    return [verdict is True for verdict in found]


def _restore(
    of: type[Passwords],
    parameters: tuple[Any, ...],
    limits: Literal["around", "policy", "recommended"],
    memory_budget: int | None,
    engine: str | None,
) -> Passwords:
    return of(Parameters(*parameters), limits=limits, memory_budget=memory_budget, engine=engine)


def _seconds(parameters: Parameters) -> float:
    """The time of a hash: the best of three, after one that allocates the memory."""
    passwords = Passwords(parameters)
    best = float("inf")
    for turn in range(4):
        start = time.perf_counter()
        passwords.hash(b"calibration")
        best = min(best, time.perf_counter() - start) if turn else best
    return best


def calibrate(
    seconds: float = 0.1,
    *,
    max_memory_cost: int = 1 << 20,
    parallelism: int = 1,
    measure: Callable[[Parameters], float] = _seconds,
) -> Parameters:
    """The most expensive parameters within `seconds` on this machine: first as much memory as the time allows, then passes.

    Memory is a power of two in KiB, up to `max_memory_cost`. Raises `ValueError` if even the cheapest hash takes longer.
    """
    least = 8 * parallelism
    chosen = Parameters(Type.ID, ARGON2_VERSION, 16, 32, 1, 1 << (least - 1).bit_length(), parallelism)
    took = measure(chosen)
    if took > seconds:
        raise ValueError(f"the cheapest hash takes {took:.6f} s here, more than {seconds} s")
    while (more := replace(chosen, memory_cost=chosen.memory_cost * 2)).memory_cost <= max_memory_cost:
        took = measure(more)
        if took > seconds:
            return chosen
        chosen = more
    passes = max(1, int(seconds / took))
    # The proportion is an estimate; the result is measured.
    while passes > 1 and measure(replace(chosen, time_cost=passes)) > seconds:
        passes -= 1
    return replace(chosen, time_cost=passes)
