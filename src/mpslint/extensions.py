"""The compiled extensions that a project's setup script builds for CUDA alone."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from functools import lru_cache

_FOR_CUDA = "CUDAExtension"
_FOR_ANY = ("CppExtension", "Extension")


@lru_cache(maxsize=64)
def built_for_cuda(script: bytes) -> frozenset[str]:
    """The last names of the modules that a setup script builds by `CUDAExtension`, and builds in no
    other way where there is no CUDA."""
    if _FOR_CUDA.encode() not in script:
        return frozenset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(script)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(_names(tree, (_FOR_CUDA,))) - frozenset(_names(tree, _FOR_ANY))


def _names(tree: ast.Module, makers: tuple[str, ...]) -> Iterator[str]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        function = call.func
        last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if last not in makers:
            continue
        given = next((k.value for k in call.keywords if k.arg == "name"), None)
        if given is None and call.args:
            given = call.args[0]
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield given.value.rpartition(".")[2]
