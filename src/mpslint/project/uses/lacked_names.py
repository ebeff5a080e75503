"""Names that a module of the project certainly does not have, so that whoever takes one from it
ends there: nothing in its text binds the name, under whatever condition, and nothing puts it in."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, walk

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole

_PUTTING = (
    *(b"__getattr__", b"globals", b"locals", b"vars(", b"exec(", b"modules[", b"setattr("),
    *(b"import_module", b"__import__", b"__path__", b"__dict__"),
)
"""By these a module has names that no statement of it binds."""
_STAR = re.compile(rb"\bimport\b[\s\\(]*\*")


class LackedNames:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[tuple[str, str], bool] = {}

    def includes(self, whole: Whole, path: str, name: str) -> bool:
        """Whether the module of the project at the absolute `path` lacks a name on every machine,
        be it as a variable; of a package its modules are asked for elsewhere."""
        key = path, name
        if key not in self._known:
            self._known[key] = self._lacks(whole, path, name)
        return self._known[key]

    def _lacks(self, whole: Whole, path: str, name: str) -> bool:
        text = self._modules.text(path)
        if text is None or name.startswith("__") or not name.isascii():
            # Every module has a `__name__`; and a letter may be spelled in more than one way.
            return False
        if any(word in text for word in _PUTTING) or _STAR.search(text) is not None:
            return False
        word = name.encode("utf-8", "replace")
        if self._modules.has_words(path, frozenset([word])):
            tree = self._modules.tree(path)
            if tree is None or _binds(tree, name):
                return False
        return not _is_beside(path) and not self._is_put_in(whole, word)

    def _is_put_in(self, whole: Whole, word: bytes) -> bool:
        """Whether any file of the project gives an attribute of this name to something, or has the
        name as a text, by which one may be given."""
        return any(
            (tree := self._modules.tree(one)) is None or _puts(tree, word.decode("utf-8"))
            for one in self._modules.holding_alone(whole.modules, word)
        )


def _puts(tree: ast.Module, name: str) -> bool:
    for node in walk(tree):
        if isinstance(node, ast.Attribute):
            found = node.attr == name and isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.keyword):
            found = node.arg == name
        else:
            found = isinstance(node, ast.Constant) and node.value == name
        if found:
            return True
    return False


def _binds(tree: ast.Module, name: str) -> bool:
    """Whether anything in a module binds a name, in whatever scope."""
    for node in walk(tree):
        if isinstance(node, ast.Name):
            if node.id == name and not isinstance(node.ctx, ast.Load):
                return True
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            if node.name == name:
                return True
        elif isinstance(node, ast.Import | ast.ImportFrom):
            if any((one.asname or one.name.partition(".")[0]) == name for one in node.names):
                return True
        elif isinstance(node, ast.Global):
            if name in node.names:
                return True
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            if node.name == name:
                return True
        elif isinstance(node, ast.MatchMapping) and node.rest == name:
            return True
    return False


def _is_beside(path: str) -> bool:
    """Whether something lies beside a module that Python may take in its place, or of which it may
    be made anew."""
    folder, own = os.path.split(path)
    stem = f"{os.path.splitext(own)[0]}."
    try:
        return any(one.startswith(stem) and one != own for one in os.listdir(folder))
    except OSError:
        return True
