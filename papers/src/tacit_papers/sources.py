"""Which sources a measurement depends on: a module, what it imports, and so on, within our
packages.

A digest of them says whether rows on disk are what would be measured now. Comments and docstrings
are not part of it, and neither is any module that is not imported from there: a change of the
coordinator voids no measurement of a learner.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("tacit", "tacit_papers")


def digest_of_sources(module: str) -> str:
    """A digest of everything that runs when `module` does, as far as it is ours."""
    digest = blake2b(digest_size=8)
    for name in sorted(imports_of(module)):
        digest.update(name.encode() + b"\0" + _code_of(name).encode() + b"\0")
    return digest.hexdigest()


@cache
def imports_of(module: str) -> frozenset[str]:
    """The module and all of our modules that it imports, directly or not, packages included."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(_imported_by(name))
    return frozenset(found)


@cache
def _imported_by(module: str) -> frozenset[str]:
    """Modules of ours that this file names in an import, wherever it does, and the packages it
    is in.
    """
    names: set[str] = {module.rpartition(".")[0]} - {""}
    for node in ast.walk(_tree_of(module)):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
            names |= {f"{node.module}.{each.name}" for each in node.names}
    return frozenset(name for name in names if name.split(".")[0] in PACKAGES and _path_of(name))


@cache
def _path_of(module: str) -> Path | None:
    if module in sys.modules:
        file = getattr(sys.modules[module], "__file__", None)
        return Path(file) if file else None
    parent = module.rpartition(".")[0]
    if parent and (_path_of(parent) is None or not str(_path_of(parent)).endswith("__init__.py")):
        return None
    spec = find_spec(module)
    return Path(spec.origin) if spec is not None and spec.origin else None


@cache
def _tree_of(module: str) -> ast.Module:
    path = _path_of(module)
    if path is None:
        raise ValueError(f"module must be one of ours with a file, got {module!r}")
    return ast.parse(path.read_bytes())


@cache
def _code_of(module: str) -> str:
    """The file as what it does: without comments, docstrings and places of lines."""
    tree = ast.parse(ast.unparse(_tree_of(module)))
    for node in _documented(tree):
        if node.body and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _documented(
    tree: ast.Module,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
