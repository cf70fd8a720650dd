# Runs argon2-cffi of a distribution, unchanged, with the library below the given folder.
import sys

import argon2
from argon2.low_level import Type, hash_secret_raw

with open("/proc/self/maps") as maps:
    loaded = {line.split()[-1] for line in maps if "libargon2" in line}
assert loaded == {sys.argv[1] + "/libargon2.so.1"}, loaded

raw = hash_secret_raw(b"password", b"somesalt", 2, 65536, 1, 32, Type.I, 19)
assert raw.hex() == "c1628832147d9720c5bd1cfd61367078729f6dfb6f8fea9ff98158e0d7816ed0", raw.hex()

hasher = argon2.PasswordHasher(memory_cost=1024)
stored = hasher.hash("correct horse")
assert hasher.verify(stored, "correct horse") and not hasher.check_needs_rehash(stored)
for wrong, error in [
    (lambda: hasher.verify(stored, "wrong"), argon2.exceptions.VerifyMismatchError),
    (lambda: hasher.verify(stored[:-1] + "!", "wrong"), argon2.exceptions.VerificationError),
    (lambda: hasher.verify("$argon2id$what", "wrong"), argon2.exceptions.VerificationError),
    (lambda: hash_secret_raw(b"p", b"short", 1, 8, 1, 16, Type.ID), argon2.exceptions.HashingError),
]:
    try:
        wrong()
    except error:
        continue
    raise AssertionError(error)
print("verified")
