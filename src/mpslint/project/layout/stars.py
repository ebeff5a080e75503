"""What the modules of a project give those who import all their names by a star.

`from .layers import *` in a package's `__init__.py` hands on what another file defines.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.project.layout.modules import Modules
    from mpslint.semantics.context import Context

_DEPTH = 4
"""So many such imports are followed, one behind the other."""
_STAR = re.compile(rb"import\s*\(?\s*\*")


class Stars:
    """`note` is told of the files that an answer rests on."""

    def __init__(
        self,
        modules: Modules,
        context: Callable[[str], Context | None],
        note: Callable[[tuple[str, ...]], None],
    ) -> None:
        self._modules = modules
        self._context = context
        self._note = note
        self._own: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        """By file: the names that it binds, and what it takes all names of; of files with such
        imports alone, since the others are asked most."""
        self._plain: set[str] = set()

    def brings(self, path: str, module: str, package: str, depth: int = _DEPTH) -> bool:
        """Whether the module that the file at `path` names says `import package` at its margin, in
        no `try` and no `if`, or takes all names there of one that does."""
        found, looked = self._modules.find(path, module)
        self._note(looked)
        if found is None or found == path or not depth:
            return False
        text = self._modules.text(found) or b""
        may = package.encode("utf-8", "replace") in text or _STAR.search(text) is not None
        tree = self._modules.tree(found) if may else None
        for item in tree.body if tree is not None else ():
            if isinstance(item, ast.Import) and any(_binds(one, package) for one in item.names):
                return True
            if isinstance(item, ast.ImportFrom) and item.names[0].name == "*":
                if self.brings(found, "." * item.level + (item.module or ""), package, depth - 1):
                    return True
        return False

    def offers(self, path: str, qualified: str, depth: int = _DEPTH) -> bool:
        """Whether the module that the file at `path` names has the name, from wherever."""
        body = qualified.lstrip(".")
        head, _, name = body.rpartition(".")
        module = qualified[: len(qualified) - len(body)] + head
        found, looked = self._modules.find(path, module)
        self._note(looked)
        if found is None or found == path:
            return False
        return self._binds(found, name) or self.given(found, name, depth) is not None

    def given(self, path: str, name: str, depth: int = _DEPTH) -> str | None:
        """`name` as the module at `path` has it by a star, qualified; None where it binds the name
        itself, or no such import gives it."""
        if path in self._plain or not depth:
            return None
        if path not in self._own and not self._looked_at(path):
            return None
        names, modules = self._own[path]
        if name in names:
            return None
        for module in reversed(modules):
            if self.offers(path, module + name, depth - 1):
                return module + name
        return None

    def _looked_at(self, path: str) -> bool:
        """Whether the file at `path` takes all names of something, which is kept then."""
        context = None
        if _STAR.search(self._modules.text(path) or b""):
            context = self._context(path)
        bindings = context.names.module.bindings if context is not None else {}
        modules = tuple((star.qualified or "").removesuffix("*") for star in bindings.get("*", ()))
        if modules:
            self._own[path] = frozenset(bindings), modules
        else:
            self._plain.add(path)
        return bool(modules)

    def _binds(self, path: str, name: str) -> bool:
        if path in self._own:
            return name in self._own[path][0]
        if not self._modules.has_words(path, frozenset({name.encode("utf-8", "replace")})):
            return False
        context = self._context(path)
        return context is not None and name in context.names.module.bindings


def _binds(alias: ast.alias, package: str) -> bool:
    """Whether an import gives a package its own name."""
    inner = alias.name.startswith(f"{package}.") and alias.asname is None
    return inner or (alias.name == package and alias.asname in (None, package))
