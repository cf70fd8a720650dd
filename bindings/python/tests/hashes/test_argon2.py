"""Tests of `hashmill.argon2`: results of argon2-cffi, policies, batches, `asyncio`."""

from __future__ import annotations

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import argon2 as theirs
import pytest
from hashmill import argon2 as ours
from hashmill.argon2 import Parameters, PasswordHasher, Passwords, Type, calibrate, low_level, profiles
from hashmill.argon2.exceptions import (
    HashingError,
    InvalidHashError,
    OverLimitError,
    VerificationError,
    VerifyMismatchError,
)

CHEAP = Parameters(Type.ID, 19, 16, 32, 2, 64, 2)


@pytest.mark.parametrize("kind", list(Type), ids=lambda kind: kind.name)
@pytest.mark.parametrize("version", [16, 19])
@pytest.mark.parametrize("costs", [(1, 8, 1), (3, 100, 3), (1, 4096, 4)])
def test_hashes_equal_those_of_argon2_cffi(kind: Type, version: int, costs: tuple[int, int, int]) -> None:
    time_cost, memory_cost, lanes = costs
    for secret, salt, length in [(b"", b"12345678", 4), (b"a\0b", bytes(40), 100)]:
        arguments = (secret, salt, time_cost, memory_cost, lanes, length)
        other = theirs.Type[kind.name]
        raw = theirs.low_level.hash_secret_raw(*arguments, other, version)
        assert low_level.hash_secret_raw(*arguments, kind, version) == raw
        encoded = theirs.low_level.hash_secret(*arguments, other, version)
        assert low_level.hash_secret(*arguments, kind, version) == encoded
        assert low_level.verify_secret(encoded, secret, kind) is True
        assert theirs.low_level.verify_secret(encoded, secret, other) is True
        with pytest.raises(VerifyMismatchError):
            low_level.verify_secret(encoded, secret + b"x", kind)


def test_hash_with_signal_checks_equals_argon2_cffi() -> None:
    """A hash that is expensive enough for a thread of its own."""
    arguments = (b"secret", b"12345678", 2, (256 << 10) + 8, 1, 16)
    raw = theirs.low_level.hash_secret_raw(*arguments, theirs.Type.ID)
    assert low_level.hash_secret_raw(*arguments, Type.ID) == raw


def test_hashes_verify_in_both_packages() -> None:
    hasher, other = PasswordHasher(1, 64, 2), theirs.PasswordHasher(1, 64, 2)
    assert hasher.verify(other.hash("pässword"), "pässword") is True
    assert other.verify(hasher.hash("pässword"), "pässword") is True
    assert not hasher.check_needs_rehash(other.hash("x"))
    assert hasher.check_needs_rehash(theirs.PasswordHasher(1, 65, 2).hash("x"))
    # In both packages a salt of another length is another parameter.
    assert hasher.hash("x", salt=b"saltsalt") == other.hash("x", salt=b"saltsalt")


def test_names_and_constants_equal_those_of_argon2_cffi() -> None:
    for name in theirs.__all__:
        assert hasattr(ours, name), name
        if name.startswith("DEFAULT"):
            assert getattr(ours, name) == getattr(theirs, name)
    for name in ("exceptions", "low_level", "profiles"):
        module, other = getattr(ours, name), getattr(theirs, name)
        for public in (public for public in vars(other) if not public.startswith("_")):
            if getattr(getattr(other, public), "__module__", "") == other.__name__:
                assert hasattr(module, public), f"{name}.{public}"
    for name in ("RFC_9106_HIGH_MEMORY", "RFC_9106_LOW_MEMORY", "PRE_21_2", "CHEAPEST"):
        assert repr(getattr(profiles, name)) == repr(getattr(theirs.profiles, name))
    assert repr(profiles.get_default_parameters()) == repr(theirs.profiles.get_default_parameters())
    for number in range(-40, 5):
        assert low_level.error_to_str(number) == theirs.low_level.error_to_str(number)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: PasswordHasher("1"), TypeError),
        (lambda: PasswordHasher(max_memory_cost="1"), TypeError),
        (lambda: PasswordHasher(memory_cost=1).hash("x"), HashingError),
        (lambda: PasswordHasher(time_cost=0).hash("x"), HashingError),
        (lambda: PasswordHasher(time_cost=-1).hash("x"), OverflowError),
        (lambda: PasswordHasher(memory_cost=1 << 40).hash("x"), OverflowError),
        (lambda: PasswordHasher(parallelism=1 << 25, memory_cost=2**32 - 1).hash("x"), HashingError),
        (lambda: PasswordHasher(1, 8, 1, 3).hash("x"), HashingError),
        (lambda: PasswordHasher(1, 8, 1, 1 << 50).hash("x"), (HashingError, MemoryError, OverflowError)),
        (lambda: PasswordHasher(1, 8, 1, salt_len=7).hash("x"), HashingError),
        (lambda: PasswordHasher().hash("\udc80"), UnicodeEncodeError),
        (lambda: PasswordHasher().hash(None), (TypeError, AttributeError)),
        (lambda: PasswordHasher().verify("tiger", "x"), InvalidHashError),
        (lambda: PasswordHasher().verify("", "x"), InvalidHashError),
        (lambda: PasswordHasher().verify("\u00e4", "x"), UnicodeEncodeError),
        (lambda: PasswordHasher().verify("$argon2id$v=19$m=8,t=1,p=1$", "x"), VerificationError),
        (lambda: PasswordHasher().verify("$argon2id$v=19$m=8,t=1,p=1$YQ$YWFhYQ", "x"), VerificationError),
        (lambda: PasswordHasher().check_needs_rehash("$argon2id$" + "9" * 9999), InvalidHashError),
        (lambda: ours.extract_parameters("$argon2id$v=19$m=8,t=1,t=1$c2FsdHNhbHQ$YWFhYQ"), InvalidHashError),
        (lambda: ours.extract_parameters(f"$argon2id$v=19$m={'9' * 5000},t=1,p=1$a$a"), InvalidHashError),
        (lambda: low_level.hash_secret("text", b"saltsalt", 1, 8, 1, 16, Type.I), TypeError),
        (lambda: low_level.hash_secret(b"", b"saltsalt", 1, 8, 1, 16, Type.I, version=17), HashingError),
        (lambda: low_level.verify_secret(b"$argon2i$v=19$m=8,t=1,p=1\0", b"", Type.I), VerificationError),
        (lambda: Passwords("none"), ValueError),
        (lambda: Passwords(limits="none"), ValueError),
        (lambda: Passwords(Parameters(Type.ID, 16, 16, 32, 1, 64, 1)), ValueError),
        (lambda: Passwords(Parameters(Type.ID, 19, 7, 32, 1, 64, 1)), ValueError),
        (lambda: Passwords(Parameters(Type.ID, 19, 16, 32, 0, 64, 1)), ValueError),
        (lambda: Passwords(memory_budget=-1), OverflowError),
        (lambda: Passwords().verify("\ud800", "x"), UnicodeEncodeError),
        (lambda: Passwords().verify("tiger", "x"), InvalidHashError),
        (lambda: Passwords().verify_many([("hash",)]), ValueError),
        (lambda: Passwords().verify_many([(5, "x")]), TypeError),
        (lambda: Passwords().hash(5), TypeError),
    ],
)
def test_bad_input_is_an_exception(call: Callable[[], object], error: Any) -> None:
    with pytest.raises(error):
        call()


def test_messages_contain_the_values() -> None:
    with pytest.raises(HashingError, match="1 KiB of memory: choose at least 32 KiB"):
        PasswordHasher(memory_cost=1).hash("x")
    with pytest.raises(HashingError, match="a salt of 4 bytes: at least 8"):
        PasswordHasher(1, 8, 1).hash("x", salt=b"salt")


def test_stored_costs_are_limited() -> None:
    dear = "$argon2id$v=19$m=4294967295,t=1,p=1$c2FsdHNhbHQ$" + "a" * 22
    long = "$argon2id$v=19$m=2097152,t=4294967295,p=1$c2FsdHNhbHQ$" + "a" * 22
    for hash in (dear, long):
        with pytest.raises(OverLimitError, match="byte"):
            PasswordHasher().verify(hash, "x")
        with pytest.raises(OverLimitError):
            Passwords("owasp", limits="recommended").verify(hash, "x")
    with pytest.raises(OverLimitError):
        PasswordHasher(1, 8, 1, max_memory_cost=100).verify(PasswordHasher(1, 101, 1).hash("x"), "x")
    own = PasswordHasher(1, 101, 1, max_memory_cost=100)
    assert own.verify(own.hash("x"), "x")


def test_policy_hashes_and_upgrades() -> None:
    passwords = Passwords(CHEAP)
    hash = passwords.hash("pw")
    assert hash.startswith("$argon2id$v=19$m=64,t=2,p=2$")
    assert passwords.verify(hash, b"pw") is True
    assert passwords.verify_and_upgrade(hash, "pw") is None
    old = PasswordHasher(1, 32, 1).hash("pw")
    assert passwords.needs_rehash(old)
    assert "32 instead of 64 KiB of memory" in passwords.differences(old)
    new = passwords.verify_and_upgrade(old, "pw")
    assert new is not None
    assert not passwords.needs_rehash(new)
    assert not passwords.needs_rehash(PasswordHasher(3, 256, 1).hash("pw")), "it costs more, and stays"
    for call in (lambda: passwords.verify(hash, "other"), lambda: passwords.verify_dummy("pw")):
        with pytest.raises(VerifyMismatchError):
            call()
    peppered = Passwords(CHEAP, secret=b"pepper")
    assert peppered.verify(peppered.hash("pw"), "pw")
    with pytest.raises(VerifyMismatchError):
        passwords.verify(peppered.hash("pw"), "pw")
    assert {"owasp", "rfc9106-first", "libsodium-moderate"} <= set(ours.POLICIES)


def test_batches_equal_single_calls() -> None:
    passwords = Passwords(CHEAP, memory_budget=256)
    hashes = passwords.hash_many([f"pw{number}" for number in range(50)])
    assert len(set(hashes)) == 50
    logins = [(hash, f"pw{number if number % 3 else 'x'}") for number, hash in enumerate(hashes)]
    assert passwords.verify_many(logins) == [number % 3 != 0 for number in range(50)]
    assert passwords.verify_many([]) == []
    bad = [(hashes[1], "pw1"), ("tiger", "pw"), (hashes[2], "x")]
    with pytest.raises(VerificationError):
        passwords.verify_many(bad)
    found = passwords.verify_many(bad, return_exceptions=True)
    assert (found[0], found[2]) == (True, False)
    assert isinstance(found[1], VerificationError)


def test_event_loop_runs_during_calls() -> None:
    """Each of these takes hundreds of iterations of the event loop."""

    async def main() -> None:
        turns = 0
        done = False

        async def count() -> None:
            nonlocal turns
            while not done:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        hasher, passwords = PasswordHasher(2, 32 << 10, 1), Passwords(Parameters(Type.ID, 19, 16, 32, 2, 32 << 10, 1))
        hash = await hasher.hash_async("pw")
        assert await hasher.verify_async(hash, "pw") is True
        assert await passwords.verify_async(await passwords.hash_async("pw"), "pw")
        assert await passwords.verify_many_async([(hash, "pw"), (hash, "x")]) == [True, False]
        assert await passwords.verify_and_upgrade_async(hash, "pw") is None
        with pytest.raises(VerifyMismatchError):
            await hasher.verify_async(hash, "x")
        done = True
        await counting
        assert turns > 50

    asyncio.run(main())


def test_eight_threads_and_a_fork() -> None:
    hasher, passwords = PasswordHasher(1, 1024, 2), Passwords(CHEAP)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for number in range(20):
                assert hasher.verify(hasher.hash(f"{number}"), f"{number}")
                assert passwords.verify(passwords.hash(f"{number}"), f"{number}")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            try:
                work()
            finally:
                os._exit(len(failures))
        assert os.waitpid(child, 0)[1] == 0
    for thread in threads:
        thread.join()
    assert failures == []


def test_calibrate_raises_memory_before_passes() -> None:
    asked = []

    def measure(parameters: Parameters) -> float:
        asked.append(parameters)
        return parameters.memory_cost * parameters.time_cost / 1e6

    found = calibrate(0.1, measure=measure)
    assert (found.memory_cost, found.time_cost, found.parallelism) == (65536, 1, 1)
    found = calibrate(1.0, max_memory_cost=65536, parallelism=4, measure=measure)
    assert (found.memory_cost, found.time_cost, found.parallelism) == (65536, 15, 4)
    assert calibrate(1.0, max_memory_cost=0, measure=measure).memory_cost == 8, "the least there is"
    with pytest.raises(ValueError, match="more than 1e-09 s"):
        calibrate(1e-9, measure=measure)
    assert all(parameters.type is Type.ID for parameters in asked)
    assert Passwords(calibrate(0.002)).hash("x")


@pytest.mark.parametrize("lanes", [1, 2])
def test_ctrl_c_ends_an_expensive_hash(lanes: int) -> None:
    program = (
        "import signal, sys\n"
        "from hashmill.argon2 import *\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    print('begun', flush=True)\n"
        f"    PasswordHasher(4_000_000_000, 65536, {lanes}).hash('x')\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    # Most likely during the call.
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 7
    process.stdout.close()


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize(
    "call",
    [
        "passwords.hash_many(['x'] * 9)",
        "passwords.verify_many([(dear, 'x')] * 9)",
        "passwords.hash('x')",
        "passwords.verify(dear, 'x')",
        "passwords.verify_dummy('x')",
        "calibrate(10**9, max_memory_cost=1, measure=lambda _: Passwords(policy).hash('x') and 1)",
    ],
)
def test_ctrl_c_ends_all_threads(call: str, lanes: int) -> None:
    """Ctrl-C ends not only the call: every thread leaves its hash, which would take weeks."""
    program = f"""
import os, signal, sys, threading, time
from hashmill.argon2 import *
policy = Parameters(Type.ID, 19, 16, 32, 2**32 - 1, 64, {lanes})
passwords = Passwords(policy, limits="policy")
dear = f"$argon2id$v=19$m=64,t={{2**32 - 1}},p={lanes}$" + "c2FsdHNhbHRzYWx0c2FsdA$" + "a" * 42 + "A"
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    # Inside, because on a slow machine the signal may come before the call.
    threading.Thread(target=lambda: (time.sleep(0.3), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()
    {call}
except KeyboardInterrupt:
    pass
else:
    sys.exit("no signal")
# Until no thread computes for half a second.
used = -1.0
while time.process_time() - used > 0.1:
    used = time.process_time()
    time.sleep(0.5)
# And the memory is available for the next call.
assert Passwords(Parameters(Type.ID, 19, 16, 32, 1, 64, 1)).hash("x")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


def test_module_command_measures() -> None:
    command = [sys.executable, "-m", "hashmill.argon2", "-n", "2", "--profile", "cheapest"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "memory_cost: 8 KiB" in said
    assert said.rstrip().endswith("ms per password verification")


def test_no_memory_leaks() -> None:
    hasher, passwords = PasswordHasher(1, 8, 1), Passwords(Parameters(Type.ID, 19, 16, 32, 1, 8, 1))
    hash = hasher.hash("x")

    def once() -> None:
        hasher.verify(hash, "x")
        passwords.verify_many([(hash, "x"), (hash, "y")])
        for bad in (lambda: hasher.verify(hash, "y"), lambda: hasher.verify("tiger", ""), lambda: hasher.hash(5)):
            try:
                bad()
            except (VerificationError, ValueError, TypeError, AttributeError):
                pass

    for _ in range(100):
        once()
    gc.collect()
    tracemalloc.start()
    before, resident = tracemalloc.get_traced_memory()[0], _resident()
    for _ in range(3000):
        once()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 20_000
    assert _resident() - resident < 8 << 20


def _resident() -> int:
    """Memory of this process in bytes, on Linux."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_cancelled_calls_end() -> None:
    """More hashes than threads, each of which would take hours: after they are cancelled, another can run, and the interpreter ends."""
    program = """
import asyncio, os, sys
from hashmill.argon2 import Parameters, Passwords
from hashmill.argon2.low_level import Type

endless = Passwords(Parameters(Type.ID, 19, 16, 32, 2**31, 64, 1))
cheap = Passwords(Parameters(Type.ID, 19, 16, 32, 1, 8, 1))
stored = cheap.hash("x")

async def main():
    count = (os.cpu_count() or 1) + 2
    for call in [
        lambda: endless.hash_async("x"),
        lambda: endless.verify_dummy_async("x"),
        lambda: endless.hash_many_async(["x"] * 3),
        lambda: endless.verify_many_async([(endless_hash, "x")] * 3),
        lambda: endless.verify_async(endless_hash, "x"),
        lambda: endless.verify_and_upgrade_async(endless_hash, "x"),
    ]:
        tasks = [asyncio.create_task(call()) for _ in range(count)]
        await asyncio.sleep(0.05)
        assert not any(task.done() for task in tasks), [task.exception() for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended), ended
        try:
            await asyncio.wait_for(call(), 0.01)
            raise SystemExit("an endless hash ended")
        except TimeoutError:
            pass
        assert await cheap.verify_async(stored, "x")

endless_hash = stored.replace("t=1", f"t={2**31}").replace("m=8", "m=64")
asyncio.run(main())
print("ended")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and done.stdout == "ended\n", done.stderr


def test_asyncio_executor_restarts_after_a_fork() -> None:
    program = """
import asyncio, os
from hashmill.argon2 import Parameters, Passwords
from hashmill.argon2.low_level import Type

cheap = Passwords(Parameters(Type.ID, 19, 16, 32, 1, 8, 1))
stored = asyncio.run(cheap.hash_async("x"))
child = os.fork()
assert asyncio.run(cheap.verify_async(stored, "x"))
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


def test_async_variants_of_all_calls() -> None:
    policy = cheap_passwords()

    async def main() -> None:
        first, second = await policy.hash_many_async(["one", b"two"])
        assert await policy.verify_many_async([(first, "one"), (second, "one")]) == [True, False]
        found = await policy.verify_many_async([(first, "one"), ("no hash", "x")], return_exceptions=True)
        assert found[0] is True and isinstance(found[1], Exception)
        with pytest.raises(VerificationError):
            await policy.verify_many_async([("no hash", "x")])
        with pytest.raises(VerifyMismatchError):
            await policy.verify_dummy_async("x")
        assert await policy.verify_and_upgrade_async(first, "one") is None

    asyncio.run(main())


def cheap_passwords(**options: Any) -> Passwords:
    return Passwords(Parameters(Type.ID, 19, 16, 32, 1, 8, 1), **options)


def test_passwords_without_secret_can_be_pickled() -> None:
    plain = cheap_passwords(limits="policy", memory_budget=4096)
    stored = plain.hash("x")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        other = pickle.loads(pickle.dumps(plain, protocol))
        assert other.verify(stored, "x") and repr(other) == repr(plain) and other.parameters == plain.parameters
    secret = cheap_passwords(secret=b"PEPPER")
    for passwords in (plain, secret):
        assert copy.copy(passwords) is passwords and copy.deepcopy([passwords])[0] is passwords
        assert "PEPPER" not in repr(passwords) and "limits=" in repr(passwords)
    assert "secret=..." in repr(secret) and "secret" not in repr(plain)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError, match="with a secret cannot be pickled"):
            pickle.dumps(secret, protocol)


def test_passwords_in_other_processes() -> None:
    plain = cheap_passwords()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        stored = pool.apply(plain.hash, ("x",))
    assert plain.verify(stored, "x")
