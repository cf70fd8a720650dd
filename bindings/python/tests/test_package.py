"""Tests of the whole package: import, types, examples, and the end of the interpreter."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import hashmill
import pytest

PACKAGE = Path(__file__).parent.parent
EXAMPLES = sorted((PACKAGE / "examples").glob("*.py"))


def run(*arguments: str, cwd: Path | None = None) -> str:
    """The output of a new interpreter, which must succeed."""
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=300, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_version_equals_that_of_the_crate() -> None:
    assert len(hashmill.__version__.split(".")) == 3


def test_gil_stays_disabled() -> None:
    """With a Python without a GIL: a module that does not declare support would enable it again."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert run("-c", "import sys, hashmill.blake3; print(sys._is_gil_enabled())") == "False\n"
    else:
        assert "gil_used = false" in (PACKAGE / "src/lib.rs").read_text()


def test_import_starts_no_thread_and_imports_no_package() -> None:
    said = run(
        "-c",
        "import hashmill.blake3, hashmill.argon2, hashmill.inventory, os, sys\n"
        "print(len(os.listdir('/proc/self/task')))\n"
        "print({'pyarrow', 'polars', 'numpy', '_argon2_cffi_bindings'} & set(sys.modules))",
    )
    assert said.split("\n") == ["1", "set()", ""]


def test_mypy_accepts_the_types() -> None:
    said = run("-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"), "-p", "hashmill")
    assert "no issues found" in said
    check = str(PACKAGE / "tests" / "typed.py")
    assert "no issues found" in run("-m", "mypy", "--config-file", str(PACKAGE / "pyproject.toml"), check)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(example: Path) -> None:
    assert run(str(example))


def test_readme_examples_run(tmp_path: Path) -> None:
    """The Python blocks of the page, run one after another in one program."""
    pieces = (PACKAGE / "README.md").read_text().split("```python\n")[1:]
    program = "\n".join(piece.split("```")[0] for piece in pieces)
    assert len(pieces) >= 2
    run("-c", program, cwd=tmp_path)


def public(module: ModuleType) -> list[tuple[str, object]]:
    """Public names of a module with their values, and those of its classes."""
    found = []
    for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
        value = getattr(module, name)
        if not callable(value) or not value.__module__.startswith("hashmill"):
            continue
        found.append((f"{module.__name__}.{name}", value))
        if inspect.isclass(value):
            inside = [part for part in vars(value) if not part.startswith("_")]
            described = [(part, getattr(value, part)) for part in inside if callable(getattr(value, part))]
            # Fields are documented by the class.
            fields = {*getattr(value, "__dataclass_fields__", ()), *getattr(value, "__slots__", ())}
            described += [(part, each) for part, each in vars(value).items() if part in inside and part not in fields]
            described = [(part, each) for part, each in described if hasattr(each, "__get__")]
            found += [(f"{module.__name__}.{name}.{part}", each) for part, each in described]
    return found


def test_every_public_name_has_a_docstring() -> None:
    """The pages of the package are built from these docstrings: `bindings/python/pages`."""
    names = [module.name for module in pkgutil.walk_packages(hashmill.__path__, "hashmill.")]
    modules = [importlib.import_module(name) for name in names if "._" not in name]
    assert len(modules) > 10
    assert [module.__name__ for module in modules if not module.__doc__] == []
    assert [name for module in modules for name, value in public(module) if not value.__doc__] == []


def stub_docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stub_docs", PACKAGE / "stub_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_stubs_have_the_docstrings_of_the_module() -> None:
    """Editors show the docstrings of stubs. `bindings/python/stub_docs.py` writes them."""
    docs = stub_docs()
    assert sorted(path.name for path in docs.outdated()) == []
    for path in docs.STUBS:
        found = docs.public(ast.parse(path.read_text()))
        assert len(found) > 5
        mute = [".".join(names) for names, node in found if not ast.get_docstring(node)]
        assert mute == [], path


def test_second_interpreter_is_refused() -> None:
    said = run(
        "-c",
        "import hashmill.blake3\n"
        "try:\n    import _interpreters as interpreters\n"
        "except ImportError:\n    import _xxsubinterpreters as interpreters\n"
        "code = '''try:\n    import hashmill.blake3\nexcept ImportError as error:\n    print('refused:', error)'''\n"
        "interpreters.run_string(interpreters.create(), code)\n"
        "assert hashmill.blake3.blake3(b'x').digest()",
    )
    assert said.startswith("refused: ")


def test_interpreter_ends_while_threads_hash() -> None:
    run(
        "-c",
        "import threading, time, hashmill.blake3 as b, hashmill.argon2 as a\n"
        "data = bytes(300 << 20)\n"
        "threading.Thread(target=lambda: b.blake3(max_threads=2).update(data), daemon=True).start()\n"
        "hasher = a.PasswordHasher()\n"
        "threading.Thread(target=lambda: [hasher.hash('x') for _ in range(99)], daemon=True).start()\n"
        "time.sleep(0.05)",
    )
