"""Which sources a measurement depends on: a module, what it imports, and so on, as far as ours.

A digest of them says whether rows on disk are what would be measured now. Comments and docstrings
are not part of it, and neither is a module that is not imported from there: a change of the
coordinator voids no measurement of a learner. Imports for the type checker alone never run, and
modules that are named only while running cannot be seen here: cells import what they use.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("tacit", "tacit_papers")


@cache
def digest_of_sources(module: str) -> str:
    """A digest of everything that runs when `module` does: in our packages and its own."""
    return _sources(module.partition(".")[0]).digest(module)


def code_digests(modules: Iterable[str]) -> dict[str, str]:
    """Digests of what these modules of ours do, each whatever it imports, and from where."""
    return {module: _digest_of_module(module) for module in sorted(modules)}


@cache
def _digest_of_module(module: str) -> str:
    return _digest_of_text(_text_as_read(module))


@cache
def _text_as_read(module: str) -> bytes:
    """What the file of a module said when it was first asked for."""
    return _path_of(module).read_bytes()


def is_as_read(module: str) -> bool:
    """Whether a module still does what it did when `code_digests` read it."""
    try:
        text = _path_of(module).read_bytes()
        return text == _text_as_read(module) or _digest_of_text(text) == _digest_of_module(module)
    except (OSError, SyntaxError, ValueError):  # it is gone, or being written just now
        return False


def _path_of(module: str) -> Path:
    path = _sources(module.partition(".")[0]).path(module)
    if path is None:
        raise ValueError(f"module must have a file, got {module!r}")
    return path


def digest_of_files(paths: Iterable[Path]) -> str:
    """A digest of what these files do, whatever they import."""
    return _digest_of_text(*(path.read_bytes() for path in sorted(paths)))


def _digest_of_text(*texts: bytes) -> str:
    digest = blake2b(digest_size=6)
    for text in texts:
        tree = ast.parse(text)
        tree.body = [
            each for each in tree.body if not isinstance(each, ast.Import | ast.ImportFrom)
        ]
        digest.update(_code_alone(tree).encode())
    return digest.hexdigest()


def imports_of(module: str) -> frozenset[str]:
    """The module and all modules of our packages and its own that it imports, directly or not."""
    return _sources(module.partition(".")[0]).closure(module)


@cache
def _sources(package: str) -> "Sources":
    found = {name: find_spec(name) for name in (*PACKAGES, package)}
    return Sources(
        {
            name: Path(next(iter(spec.submodule_search_locations)))
            for name, spec in found.items()
            if spec is not None and spec.submodule_search_locations
        }
    )


class Sources:
    """Packages by name and folder; each file is read once."""

    def __init__(self, folders: Mapping[str, Path]) -> None:
        self._folders = dict(folders)
        self._imports: dict[str, frozenset[str]] = {}
        self._codes: dict[str, bytes] = {}

    def digest(self, module: str) -> str:
        """Of the code of the module and of all that it imports."""
        digest = blake2b(digest_size=8)
        for name in sorted(self.closure(module)):
            digest.update(name.encode() + b"\0" + self._code(name) + b"\0")
        return digest.hexdigest()

    def closure(self, module: str) -> frozenset[str]:
        """The module and what it imports, directly or not, packages included."""
        if self.path(module) is None:
            raise ValueError(
                f"module must be one of {sorted(self._folders)} or in it, got {module!r}"
            )
        found: set[str] = set()
        waiting = [module]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(self._read(name))
        return frozenset(found)

    def path(self, module: str) -> Path | None:
        """The file of a module; None where there is none, as for a name that it defines."""
        top, *rest = module.split(".")
        if top not in self._folders:
            return None
        place = self._folders[top].joinpath(*rest)
        files = (place / "__init__.py", place.with_name(f"{place.name}.py"))
        return next((file for file in files[: 2 if rest else 1] if file.is_file()), None)

    def _code(self, module: str) -> bytes:
        self._read(module)
        return self._codes[module]

    def _read(self, module: str) -> frozenset[str]:
        """What a file imports, wherever it does, and the packages it is in; its code is kept."""
        if module not in self._imports:
            path = self.path(module)
            if path is None:
                raise ValueError(f"module must have a file, got {module!r}")
            tree = ast.parse(path.read_bytes())
            names = {module.rpartition(".")[0], *_imported_names(tree)}
            self._imports[module] = frozenset(name for name in names if self.path(name) is not None)
            self._codes[module] = _code_alone(tree).encode()
        return self._imports[module]


def _imported_names(tree: ast.Module) -> Iterator[str]:
    """Modules that a file may import: where a name comes from, and the name as a module of it."""
    for node in _running_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{each.name}" for each in node.names)


def _running_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            child = ast.Module(child.orelse, [])
        yield child
        yield from _running_nodes(child)


def _code_alone(tree: ast.Module) -> str:
    """The file as what it does: without comments, docstrings and places of lines."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)
