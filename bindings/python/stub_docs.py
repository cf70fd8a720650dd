"""Docstrings of the stubs, copied from the compiled classes, whose text comes from the Rust sources.

`target/python/venv/bin/python bindings/python/stub_docs.py` writes them into the stubs; a test fails if they differ. Editors show the
docstrings of stubs, and do not inspect compiled modules.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

FOLDER = Path(__file__).parent / "python/hashmill/_hashmill"

STUBS = {
    FOLDER / "documents/__init__.pyi": "documents",
    FOLDER / "documents/automerge.pyi": "documents.automerge",
    FOLDER / "blake3.pyi": "blake3",
}

Node = ast.ClassDef | ast.FunctionDef


def public(tree: ast.Module) -> list[tuple[list[str], Node]]:
    """Classes, functions and methods that need a docstring, each with its path of names."""
    found: list[tuple[list[str], Node]] = []

    def visit(body: list[ast.stmt], path: list[str]) -> None:
        for node in body:
            if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                continue
            is_private = node.name.startswith("_")
            # The methods of a private class belong to its public subclasses.
            if isinstance(node, ast.ClassDef):
                if not is_private:
                    found.append(([*path, node.name], node))
                visit(node.body, [*path, node.name])
            elif not is_private and not setter(node):
                found.append(([*path, node.name], node))

    visit(tree.body, [])
    return found


def setter(node: ast.FunctionDef) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in node.decorator_list)


def words(module: Any, path: list[str]) -> str | None:
    """The docstring of the compiled object with this path."""
    owner, rest = module, path
    if len(path) > 1 and path[0].startswith("_"):
        classes = [each for _, each in inspect.getmembers(module, inspect.isclass) if path[1] in vars(each)]
        if not classes:
            return None
        owner, rest = classes[0], path[1:]
    for name in rest:
        if not hasattr(owner, name):
            return None
        owner = inspect.getattr_static(owner, name) if inspect.isclass(owner) else getattr(owner, name)
    text = owner.__func__.__doc__ if isinstance(owner, staticmethod) else owner.__doc__
    return inspect.cleandoc(text) if text else None


def described(source: str, module: ModuleType) -> str:
    """The stub with the docstrings of the module. Objects without one keep that of the stub."""
    lines = source.splitlines()
    for path, node in reversed(public(ast.parse(source))):
        text = words(module, path)
        if text is None:
            continue
        indent = " " * (node.col_offset + 4)
        docstring = textwrap.indent(f'"""{text}"""', indent).splitlines()
        first = node.body[0]
        decorators = getattr(first, "decorator_list", [])
        start, end = min(each.lineno for each in [first, *decorators]) - 1, first.end_lineno or first.lineno
        if not isinstance(first, ast.Expr):
            lines[start:start] = docstring
        elif lines[start].endswith(": ..."):
            lines[start:end] = [lines[start].removesuffix(" ..."), *docstring]
        else:
            lines[start:end] = docstring
    return "\n".join(lines) + "\n"


def outdated() -> dict[Path, str]:
    """Stubs that differ from the module, with their correct text."""
    native = importlib.import_module("hashmill._hashmill")
    # Submodules of one compiled module, which cannot be imported by name.
    new = {path: described(path.read_text(), attrgetter(name)(native)) for path, name in STUBS.items()}
    return {path: text for path, text in new.items() if text != path.read_text()}


if __name__ == "__main__":
    for path, text in outdated().items():
        path.write_text(text)
        print(path)
