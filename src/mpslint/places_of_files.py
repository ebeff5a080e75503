"""Modules that import others by the places of their files, which they put together: those may be
any. A function that would do so and that nobody names does it to none.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS, walk

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.whole import Whole

_BY_PLACE = frozenset({"SourceFileLoader", "spec_from_file_location", "load_source", "run_path"})
_WORDS = tuple(word.encode() for word in sorted(_BY_PLACE))


class PlacesOfFiles:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[str, bool] = {}

    def are_put_together(self, whole: Whole, path: str) -> bool:
        """Whether the module at `path` imports others so."""
        if path not in self._known:
            data = self._modules.text(path) or b""
            has_word = any(word in data for word in _WORDS)
            self._known[path] = has_word and self._is_come_to(whole, path)
        return self._known[path]

    def _is_come_to(self, whole: Whole, path: str) -> bool:
        """Whether a line that does so is come to when the module is loaded, or stands in what some
        other file names, be it by way of others here."""
        tree = self._modules.tree(path)
        if tree is None:
            return True
        names = {item: _names(item) for item in tree.body}
        todo = [item for item, known in names.items() if not known.isdisjoint(_BY_PLACE)]
        seen = set(todo)
        while todo:
            item = todo.pop()
            if not isinstance(item, (*FUNCTIONS, ast.ClassDef)) or item.decorator_list:
                return True
            word = re.compile(rb"\b%s\b" % re.escape(item.name.encode("utf-8", "replace")))
            if any(
                other != path and word.search(self._modules.text(other) or b"")
                for other in (*whole.modules, *whole.others)
            ):
                return True
            left = [one for one, known in names.items() if item.name in known and one not in seen]
            seen.update(left)
            todo += left
        return False


def _names(item: ast.stmt) -> set[str]:
    """All names and words that a statement has."""
    found: set[str] = set()
    for node in walk(item):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(node.value)
    return found
