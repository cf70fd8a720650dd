"""Expected results of mypy for the package. This file is only type-checked, not run."""

from __future__ import annotations

import io
from pathlib import Path
from typing import assert_type

import pyarrow
from hashmill import EngineError, inventory
from hashmill.argon2 import Parameters, PasswordHasher, Passwords, calibrate, profiles
from hashmill.blake3 import Digests, blake3, hash_file, hash_many, hash_tree

assert_type(blake3(b"x", key=bytes(32)).update(bytearray(1)).digest(), bytes)
assert_type(hash_many([b"a", bytearray(b"b"), memoryview(b"c")]), list[bytes])
assert_type(hash_many([Path("a"), "b"], return_exceptions=True), list[bytes | OSError | EngineError])
assert_type(hash_file(io.BytesIO()), bytes)
assert_type(hash_tree("x"), bytes)

hasher = PasswordHasher.from_parameters(profiles.RFC_9106_HIGH_MEMORY)
assert_type(hasher.hash("pw", salt=b"salt"), str)
hasher.verify("hash", b"pw")
hasher.verify(b"hash", "pw")
assert_type(hasher.check_needs_rehash("hash"), bool)
assert_type(calibrate(0.1), Parameters)

passwords = Passwords("owasp", secret=b"pepper")
assert_type(passwords.verify_many([("hash", "pw")]), list[bool])
assert_type(passwords.verify_many([("hash", b"pw")], return_exceptions=True), list[bool | Exception])
assert_type(passwords.verify_and_upgrade("hash", "pw"), str | None)


async def asynchronous() -> None:
    assert_type(await hasher.hash_async("pw"), str)
    assert_type(await passwords.verify_many_async([]), list[bool])


blake3("text")  # type: ignore[arg-type]
hash_many([1])  # type: ignore[list-item]
Passwords("owasp", limits="none")  # type: ignore[arg-type]
digests: Digests


def inventories(batch: pyarrow.RecordBatch) -> None:
    assert_type(inventory.verify("in.parquet", Path("out"), shard=(0, 2), store={"aws_region": "x"}), inventory.Verified)
    assert_type(inventory.hash(["a", Path("b")], "out", shard="0/2").without_digest, dict[str, int])
    inventory.Hasher(columns={"url": "name"}, max_threads=inventory.AUTO)(batch)
