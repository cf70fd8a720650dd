"""The package as a whole: its import, types, examples, and the end of the interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hashmill
import pytest

PACKAGE = Path(__file__).parent.parent
EXAMPLES = sorted((PACKAGE / "examples").glob("*.py"))


def run(*arguments: str) -> str:
    """What a new interpreter says; that it ends well."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_version_is_that_of_the_crate() -> None:
    assert len(hashmill.__version__.split(".")) == 3


def test_import_starts_no_thread_and_brings_no_other_package() -> None:
    said = run(
        "-c",
        "import hashmill.blake3, hashmill.argon2, os, sys\n"
        "print(len(os.listdir('/proc/self/task')))\n"
        "print({'pyarrow', 'polars', 'numpy', '_argon2_cffi_bindings'} & set(sys.modules))",
    )
    assert said.split("\n") == ["1", "set()", ""]


def test_the_types_are_what_mypy_thinks() -> None:
    said = run("-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"), "-p", "hashmill")
    assert "no issues found" in said
    check = str(PACKAGE / "tests" / "typed.py")
    assert "no issues found" in run("-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"), check)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(example: Path) -> None:
    assert run(str(example))


def test_the_readme_works() -> None:
    """Its pieces of Python, one after another in one program."""
    pieces = (PACKAGE / "README.md").read_text().split("```python\n")[1:]
    program = "\n".join(piece.split("```")[0] for piece in pieces)
    assert len(pieces) >= 2
    run("-c", program)


def test_the_interpreter_ends_while_threads_hash() -> None:
    run(
        "-c",
        "import threading, time, hashmill.blake3 as b, hashmill.argon2 as a\n"
        "data = bytes(300 << 20)\n"
        "threading.Thread(target=lambda: b.blake3(max_threads=2).update(data), daemon=True).start()\n"
        "hasher = a.PasswordHasher()\n"
        "threading.Thread(target=lambda: [hasher.hash('x') for _ in range(99)], daemon=True).start()\n"
        "time.sleep(0.05)",
    )
