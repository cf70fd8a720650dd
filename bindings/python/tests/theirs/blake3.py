"""Our module under the name that tests of the package `blake3` import."""

import sys

import hashmill.blake3

sys.modules[__name__] = hashmill.blake3
