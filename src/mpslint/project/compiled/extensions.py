"""The compiled extensions that a project's setup script builds for CUDA alone."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import lru_cache

from mpslint.semantics.syntax.expressions import argument, last_name
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import ALL, MACS

_FOR_CUDA = "CUDAExtension"
_FOR_ANY = ("CppExtension", "Extension")
_NOTHING: tuple[frozenset[str], frozenset[str]] = frozenset(), frozenset()


def built_for_cuda(script: bytes) -> frozenset[str]:
    """The last names of the modules that a setup script builds by `CUDAExtension`, and builds in no
    other way where there is no CUDA."""
    for_cuda, for_any = built_by(script)
    return frozenset(map(_short, for_cuda)) - frozenset(map(_short, for_any))


@lru_cache(maxsize=64)
def built_by(script: bytes) -> tuple[frozenset[str], frozenset[str]]:
    """The modules that a setup script builds by `CUDAExtension`, and those that it builds in other
    ways, by their whole names."""
    if b"Extension" not in script:
        return _NOTHING
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(script)
        chosen = frozenset(_chosen(tree, script)) if _FOR_CUDA.encode() in script else frozenset()
        from mpslint.project.compiled.extension_helpers import names_by_helpers

        helped = frozenset(names_by_helpers(tree, (_FOR_CUDA, *_FOR_ANY)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _NOTHING
    for_cuda, for_any = _names(tree, (_FOR_CUDA,)), _names(tree, _FOR_ANY)
    return frozenset(for_cuda) | chosen | helped, frozenset(for_any) - helped


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _names(tree: ast.Module, makers: tuple[str, ...]) -> Iterator[str]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and last_name(call.func) in makers:
            yield from _name(tree, call)


def _name(tree: ast.Module, call: ast.Call) -> Iterator[str]:
    given = argument(call, 0, "name")
    if isinstance(given, ast.Name):
        given = _only_value(tree, given.id)
    if isinstance(given, ast.JoinedStr) and len(given.values) == 1:
        given = given.values[0]  # `f"splats.csrc"`
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        yield given.value


def _only_value(tree: ast.Module, name: str) -> ast.expr | None:
    """What a name of the script holds that is bound once."""
    stores = [
        item
        for item in ast.walk(tree)
        if (isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store))
        or (isinstance(item, ast.arg) and item.arg == name)
    ]
    values = [
        item.value
        for item in ast.walk(tree)
        if isinstance(item, ast.Assign) and len(item.targets) == 1 and item.targets[0] in stores
    ]
    return values[0] if len(values) == len(stores) == 1 else None


def _chosen(tree: ast.Module, script: bytes) -> Iterator[str]:
    """What is built by a maker that was chosen before (`extension = CUDAExtension`), in a place to
    which no Mac comes: where the script refuses to go on, or there is no choice."""
    makers: dict[str, set[str]] = {}
    for item in ast.walk(tree):
        if isinstance(item, ast.Assign):
            for target in item.targets:
                if isinstance(target, ast.Name):
                    makers.setdefault(target.id, set()).add(last_name(item.value) or "")
    makers = {name: held for name, held in makers.items() if _FOR_CUDA in held}
    calls = {
        item: makers[item.func.id]
        for item in ast.walk(tree)
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id in makers
    }
    if not calls:
        return
    interpreter = Interpreter(tree, script, {})
    interpreter.run()
    for call, held in calls.items():
        if held == {_FOR_CUDA} or not _reached(tree, call, interpreter) & MACS:
            yield from _name(tree, call)
    interpreter.release()


def _reached(tree: ast.Module, call: ast.Call, interpreter: Interpreter) -> int:
    """The worlds that come to the statement in which a call stands."""
    found, least = ALL, float("inf")
    for statement, worlds in interpreter.reach.items():
        if not isinstance(statement, ast.stmt) or statement.end_lineno is None:
            continue
        size = statement.end_lineno - statement.lineno
        inside = statement.lineno <= call.lineno <= statement.end_lineno
        if inside and size <= least:
            found, least = worlds, size
    return found
