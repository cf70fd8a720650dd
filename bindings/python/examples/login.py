"""A service that checks passwords, and stores a stronger hash when a user logs in."""

import asyncio

from hashmill.argon2 import PasswordHasher, Passwords
from hashmill.argon2.exceptions import VerifyMismatchError

passwords = Passwords("owasp")
# Stored years ago, with costs that were sufficient then.
users = {"ada": PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1).hash("correct horse")}


async def login(name: str, password: str) -> bool:
    """Whether the password is right; a user name that does not exist takes the same time."""
    hash = users.get(name)
    try:
        if hash is None:
            await passwords.verify_dummy_async(password)
            return False
        new = await passwords.verify_and_upgrade_async(hash, password)
    except VerifyMismatchError:
        return False
    if new is not None:
        users[name] = new
    return True


async def main() -> None:
    print(await asyncio.gather(login("ada", "correct horse"), login("ada", "x"), login("eve", "x")))
    print(users["ada"][:30])


asyncio.run(main())
