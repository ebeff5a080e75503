"""Modules that their project does without: it imports them where it deals with their absence."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.project.compiled.kernel_imports import imported_by

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.project.runs.imported_runs import ImportedRuns

_STEPS = 3
"""So many imports away from the one that is dealt with a module may be: a trainer, its model, that
model's helper."""
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


class OptionalModules:
    def __init__(self, modules: Modules, runs: ImportedRuns, projects: Projects) -> None:
        self._modules = modules
        self._runs = runs
        self._projects = projects

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a module of the project imports the one at the absolute `path`, or one that
        imports it, and goes on where that fails; and the files that this rests on."""
        whole = self._projects.of(path)
        found, reached = {path}, {path}
        for _ in range(_STEPS):
            users: set[str] = set()
            stems = [_stem(target).encode("utf-8", "replace") for target in sorted(found)]
            for other in whole.modules if whole is not None else ():
                data = self._modules.text(other) or b""
                if other in reached or not any(stem in data for stem in stems):
                    continue
                if found.isdisjoint(self._runs.imports_of(other)):
                    continue
                if b"except" in data and self._deals_with(other, data, found):
                    return True, (other,)
                users.add(other)
            found = users
            reached |= users
        return False, whole.files if whole is not None else ()

    def _deals_with(self, path: str, data: bytes, targets: set[str]) -> bool:
        try:
            tree = self._modules.trees.read(path, data)[1]
        except (MpslintError, RecursionError):
            return False
        return any(
            self._modules.find(path, module)[0] in targets
            for node in ast.walk(tree)
            if isinstance(node, ast.Try) and any(map(_goes_on, node.handlers))
            for statement in node.body
            for module in imported_by(statement)
        )


def _stem(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler is for imports that fail, and does not fail in its turn."""
    if any(isinstance(statement, ast.Raise) for statement in handler.body):
        return False
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(kind is None or getattr(kind, "id", "") in _MISSING for kind in kinds)
