"""Our modules under the names that tests of argon2-cffi import."""

import sys

import hashmill.argon2  # noqa: F401

for name, module in list(sys.modules.items()):
    if name.startswith("hashmill.argon2"):
        sys.modules[name.removeprefix("hashmill.")] = module
