"""Classes of which no Mac has an object: their constructor joins NCCL, or must be given an object
of such a class.

What is handed one of these is run where there is CUDA alone, whatever else it does. Only projects
that name NCCL are looked through.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.names.needed_objects import needed_fields, needed_parameters
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, walk
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.uses.known_bases import line
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.near import Near
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.runs.imported_runs import ImportedRuns
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Definition

_NCCL = b"nccl"
_GLOO = b"gloo"
_NEW = "__new__"
_MAKER = "__init__"
_Found = tuple["Context", ast.ClassDef]


class ObjectsMade:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        runs: ImportedRuns,
        near: Near,
        definition: Callable[[str, str], Definition | None],
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._runs = runs
        self._near = near
        self._definition = definition
        self._known: dict[tuple[str, str], bool] = {}
        """By file and class."""
        self._naming: dict[str, bool] = {}
        """By project: whether one of its modules names NCCL."""

    def none(self, path: str, qualified: str) -> tuple[bool, tuple[str, ...]]:
        """Whether no Mac has an object of the class that the file at the absolute `path` calls so,
        and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return False, ()
        if whole.head not in self._naming:
            texts = (self._modules.text(other) or b"" for other in whole.modules)
            self._naming[whole.head] = any(_NCCL in text for text in texts)
        none = self._naming[whole.head] and self._is_none(whole, path, qualified)
        return none, whole.files

    def _is_none(self, whole: Whole, path: str, qualified: str) -> bool:
        found = self._find(path, qualified)
        if found is None or found[0].source.path not in whole.modules:
            return False
        context, klass = found
        key = context.source.path, klass.name
        if key not in self._known:
            self._known[key] = False  # Classes that need each other.
            self._known[key] = self._is_never_made(whole, context, klass) and not any(
                self._other_ways(whole, context, klass)
            )
        return self._known[key]

    def _find(self, path: str, qualified: str) -> _Found | None:
        """The class and its file, which hears what its neighbours hold."""
        if "." in qualified.strip("."):
            found = self._definition(path, qualified)
            if found is None or len(found.bindings) != 1:
                return None
            node = found.bindings[0].node
            if not isinstance(node, ast.ClassDef):
                return None
            path, qualified = found.context.source.path, node.name
        context = self._modules.context(path, self._near)
        bindings = context.names.module.bindings.get(qualified, []) if context is not None else []
        if context is None or len(bindings) != 1:
            return None
        klass = bindings[0].node
        return (context, klass) if isinstance(klass, ast.ClassDef) else None

    def _is_never_made(self, whole: Whole, context: Context, klass: ast.ClassDef) -> bool:
        if klass.keywords or any(map(_makes_anew, walk(klass))):
            return False
        for where, owner, _ in line(context, klass):
            if owner is None:
                continue
            maker = method_of(owner, _MAKER)
            needs = needed_parameters(maker, bound=True) if maker else needed_fields(owner)
            if any(self._needs(whole, where, annotation) for annotation in needs):
                return True
            if maker is not None:
                return self._joins_nccl(where, maker)
        return False

    def _needs(self, whole: Whole, context: Context, annotation: ast.expr) -> bool:
        name = context.resolve(annotation)
        if name is None and isinstance(annotation, ast.Name):
            name = annotation.id
        return name is not None and self._is_none(whole, context.source.path, name)

    def _joins_nccl(self, context: Context, maker: FunctionNode) -> bool:
        """Whether a constructor never comes back on a Mac, for what no port has."""
        path = context.source.path
        texts = [self._modules.text(one) or b"" for one in (path, *self._runs.imports_of(path))]
        if not any(_NCCL in text for text in texts):
            return False
        if any(_GLOO in text for text in texts) and not any(map(_insists_on_nccl, maker.body)):
            return False  # Somebody has processes without GPUs in mind.
        near = self._modules.context(path, self._near)
        if near is None:
            return False
        same = next((x for x in near.index.of(ast.FunctionDef) if x.lineno == maker.lineno), maker)
        return not near.worlds.comes_back(same) & MACS

    def _other_ways(self, whole: Whole, context: Context, klass: ast.ClassDef) -> Iterator[bool]:
        """Whether what is derived from a class can be made in another way."""
        todo, seen = [klass.name], {klass.name}
        while todo:
            name = todo.pop()
            head = re.compile(rb"\bclass\s+\w+\s*\([^)]*\b%s\b" % re.escape(name.encode()))
            for other in self._modules.holding(whole.modules, name.encode()):
                if head.search(self._modules.text(other) or b"") is None:
                    continue
                tree = self._modules.tree(other)
                for item in walk(tree) if tree is not None else ():
                    if not isinstance(item, ast.ClassDef) or item.name in seen:
                        continue
                    bases = [last_name(base) for base in item.bases]
                    if name not in bases:
                        continue
                    yield bases[0] != name or any(map(_makes_anew, walk(item)))
                    maker = method_of(item, _MAKER)
                    yield maker is not None and not _asks_base(maker, name)
                    seen.add(item.name)
                    todo.append(item.name)


def _insists_on_nccl(statement: ast.stmt) -> bool:
    """`assert backend == "nccl"`"""
    return isinstance(statement, ast.Assert) and any(
        isinstance(item, ast.Constant) and item.value == "nccl" for item in walk(statement.test)
    )


def _makes_anew(item: ast.AST) -> bool:
    """`def __new__(cls)`, `cls.__new__(cls)`: an object without its constructor."""
    if isinstance(item, FUNCTIONS):
        return item.name == _NEW
    return isinstance(item, ast.Attribute) and item.attr == _NEW


def _asks_base(maker: FunctionNode, name: str) -> bool:
    """`super().__init__()`, `Base.__init__(self)`"""
    return any(
        isinstance(item, ast.Attribute)
        and item.attr == _MAKER
        and (
            last_name(item.value) == name
            or (isinstance(item.value, ast.Call) and last_name(item.value.func) == "super")
        )
        for item in walk(maker)
    )
