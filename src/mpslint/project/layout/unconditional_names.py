"""Names that a module has wherever it can be imported, whatever machine that is: no run of it needs
to say so."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules

_DELETES = re.compile(rb"\bdel\b")


class UnconditionalNames:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[str, frozenset[str]] = {}

    def of(self, path: str) -> frozenset[str]:
        if path not in self._known:
            data = self._modules.text(path) or b""
            tree = self._modules.tree(path) if not _DELETES.search(data) else None
            self._known[path] = frozenset(_bound(tree)) if tree is not None else frozenset()
        return self._known[path]


def _bound(tree: ast.Module) -> set[str]:
    """What the statements at the margin define, or take from modules beside them."""
    names: set[str] = set()
    for item in tree.body:
        if isinstance(item, (*FUNCTIONS, ast.ClassDef)):
            names.add(item.name)
        elif isinstance(item, ast.ImportFrom) and item.level:
            names.update(alias.asname or alias.name for alias in item.names)
    return names
