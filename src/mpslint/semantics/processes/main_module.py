"""What runs when the main module is imported again.

A process that is spawned (on macOS since Python 3.8) starts with nothing, and imports the program's
main module under another name: all that stands outside of `if __name__ == "__main__":` runs in it
once more, and what that calls, in the file or in others of the project.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import asks_for_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, children

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RUNNERS = frozenset({"fire.Fire", "absl.app.run", "typer.run", "hydra.main"})
"""What calls the function that it is given."""
_MOST_FUNCTIONS = 400
"""So many functions are followed: a program that runs more at its top is a generated one."""
_LATER = (*FUNCTIONS, ast.Lambda)


class Place(NamedTuple):
    """A node, and the file that it stands in."""

    context: Context
    node: ast.AST


class MainModule:
    """The code that an import of a file runs: its own statements, and the functions that these lead
    to."""

    def __init__(self, context: Context, *, abroad: bool) -> None:
        self.context = context
        self._abroad = abroad
        """Whether functions of other files are followed."""
        self.calls_of: dict[FunctionNode, list[Place]] = {}
        """By function: the calls of it that are run."""
        self.reached: set[FunctionNode] = set()
        """The functions that are called."""
        self.contexts: list[Context] = [context]
        """The files that are gone through."""
        self._classes: dict[str, list[Place]] = {}
        """The methods, by name, of the classes of which an object is made."""
        self._waiting: dict[str, list[tuple[Place, ast.AST]]] = {}
        """Calls of methods of which no object is known yet, by name."""
        self._todo: list[tuple[Context, FunctionNode, ast.AST]] = []
        self._nodes: list[tuple[Place, ast.AST]] = []
        for statement in unguarded(context.tree):
            for node in at_once(statement):
                self._meet(context, node, statement)
        while self._todo and len(self.reached) < _MOST_FUNCTIONS:
            where, function, led = self._todo.pop()
            for inner in function.body:
                for node in at_once(inner):
                    self._meet(where, node, led)

    def nodes(self) -> Iterator[tuple[Place, ast.AST]]:
        """The loops, comprehensions and calls that are run, each with the last node of the file on
        the way there."""
        yield from self._nodes

    def _meet(self, context: Context, node: ast.AST, led: ast.AST) -> None:
        place = Place(context, node)
        if context is self.context and isinstance(node, ast.For | ast.AsyncFor | ast.Call):
            led = node.func if isinstance(node, ast.Call) else node.iter
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._nodes.append((place, led))
        elif isinstance(node, ast.Call):
            self._nodes.append((place, led))
            called = self._definition(context, node.func)
            if called is not None:
                self._run(called, place, led)
            elif isinstance(node.func, ast.Attribute):
                methods = self._classes.get(node.func.attr)
                for method in methods or ():
                    self._enter(method, place, led)
                if methods is None:
                    self._waiting.setdefault(node.func.attr, []).append((place, led))
            if context.resolve(node.func) in _RUNNERS and node.args:
                given = self._definition(context, node.args[0])
                if given is not None:
                    self._run(given, None, led)

    def _definition(self, context: Context, node: ast.expr) -> Place | None:
        return definition(context, node) if self._abroad else own_definition(context, node)

    def _run(self, called: Place, call: Place | None, led: ast.AST) -> None:
        if isinstance(called.node, ast.ClassDef):
            for method in called.node.body:
                if isinstance(method, FUNCTIONS):
                    self._add_method(Place(called.context, method), call, led)
        elif isinstance(called.node, FUNCTIONS):
            self._enter(called, call, led)

    def _add_method(self, method: Place, call: Place | None, led: ast.AST) -> None:
        assert isinstance(method.node, FUNCTIONS)
        name = method.node.name
        known = self._classes.setdefault(name, [])
        if method not in known:
            known.append(method)
            for waiting, its_led in self._waiting.get(name, ()):
                self._enter(method, waiting, its_led)
        if name == "__init__":
            self._enter(method, call, led)

    def _enter(self, called: Place, call: Place | None, led: ast.AST) -> None:
        function = called.node
        assert isinstance(function, FUNCTIONS)
        if call is not None:
            self.calls_of.setdefault(function, []).append(call)
        if function not in self.reached:
            self.reached.add(function)
            self._todo.append((called.context, function, led))
            if called.context not in self.contexts:
                self.contexts.append(called.context)


def definition(context: Context, node: ast.expr) -> Place | None:
    """The function or class that a name stands for, in the file or in another of the project."""
    own = own_definition(context, node)
    if own is not None:
        return own
    qualified = context.resolve(node)
    if qualified is None:
        return None
    found = context.definition_elsewhere(qualified)
    if found is not None:
        for binding in found.bindings:
            if binding.kind in ("def", "class"):
                return Place(found.context, binding.node)
    return None


def own_definition(context: Context, node: ast.expr) -> Place | None:
    """The same, in the file itself."""
    if isinstance(node, ast.Name):
        for binding in context.names.bindings(node.id, node):
            if binding.kind in ("def", "class"):
                return Place(context, binding.node)
    return None


def unguarded(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements at the top of a file that an import runs."""
    for statement in tree.body:
        guarded = isinstance(statement, ast.If) and asks_for_name(statement.test)
        if not guarded and not isinstance(statement, FUNCTIONS):
            yield statement


def at_once(top: ast.AST) -> Iterator[ast.AST]:
    """A node and what stands in it, in no particular order, without what only runs when it is
    called, and without what a test of `__name__` keeps from an import."""
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.If) and asks_for_name(node.test):
            continue
        stack += [item for item in children(node) if not isinstance(item, _LATER)]
