"""The package as a whole."""

import hashmill


def test_the_version_is_that_of_the_crate() -> None:
    assert hashmill.__version__.count(".") == 2
