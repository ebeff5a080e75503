"""What the names and the attributes of a function are given, in the order of the rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.ways_through import always_run
from mpslint.semantics.wide.class_parts import Function

EACH, APPENDED, STORED = "each", "appended", "stored"
"""How a name is given something, beside the place in a row: one of many turns, an item put behind
the others, and one put at a key."""
Step = int | str
_PUTTING = {"append": APPENDED, "add": APPENDED, "appendleft": APPENDED}


class Binding(NamedTuple):
    row: int
    is_sure: bool
    """It stands in no arm and no loop: what the name was given before is gone."""
    value: ast.expr
    steps: tuple[Step, ...] = ()
    key: str = ""


Bindings = dict[str, list[Binding]]
"""By the name, or by an attribute as it is spelled."""
Scope = Function | ast.Module | ast.ClassDef
_GIVING: frozenset[type] = frozenset(
    {ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.NamedExpr, ast.With, ast.Call}
)
"""What gives a name something."""
_known: WeakKeyDictionary[ast.Module, dict[int, Bindings]] = WeakKeyDictionary()
"""Of the trees that somebody keeps: several ask for the kinds of a file, one after the other."""


def bindings_of(scope: Scope, tree: ast.Module) -> Bindings:
    """Those of a module, or of a function or class in its `tree`."""
    known = _known.setdefault(tree, {})
    found = known.get(id(scope))
    if found is None:
        found = known[id(scope)] = _bindings_of(scope)
    return found


def _bindings_of(scope: Scope) -> Bindings:
    found: Bindings = {}
    sure = set(map(id, always_run(scope.body)))
    for node in walk(scope):
        if node.__class__ in _GIVING:
            for name, binding in _given(node, id(node) in sure):
                found.setdefault(name, []).append(binding)
    for some in found.values():
        some.sort(key=lambda one: one.row)
    return found


def before(some: list[Binding], row: int) -> list[Binding]:
    """Those that may count in a row: from the last sure one on."""
    earlier = [one for one in some if one.row < row]
    for at in range(len(earlier) - 1, -1, -1):
        if earlier[at].is_sure and not {APPENDED, STORED} & {*earlier[at].steps}:
            return earlier[at:]
    return earlier


def _given(node: ast.AST, sure: bool) -> Iterator[tuple[str, Binding]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _of(target, Binding(node.lineno, sure, node.value))
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield from _of(node.target, Binding(node.lineno, sure, node.value))
    elif isinstance(node, ast.AugAssign):
        value = ast.BinOp(node.target, node.op, node.value)
        yield from _of(node.target, Binding(node.lineno, sure, ast.copy_location(value, node)))
    elif isinstance(node, ast.For):
        yield from _of(node.target, Binding(node.lineno, False, node.iter, (EACH,)))
    elif isinstance(node, ast.NamedExpr):
        yield from _of(node.target, Binding(node.lineno, False, node.value))
    elif isinstance(node, ast.With):
        for item in node.items:
            if item.optional_vars is not None:
                binding = Binding(node.lineno, False, item.context_expr)
                yield from _of(item.optional_vars, binding)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        name = node.func.attr
        if name == "extend":
            yield from _of(node.func.value, Binding(node.lineno, False, node.args[0]))
        elif name in _PUTTING or name == "insert":
            binding = Binding(node.lineno, False, node.args[-1], (APPENDED,))
            yield from _of(node.func.value, binding)


def _of(target: ast.expr, binding: Binding) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name | ast.Attribute):
        yield ast.unparse(target), binding
    elif isinstance(target, ast.Tuple | ast.List):
        for at, item in enumerate(target.elts):
            yield from _of(item, binding._replace(steps=(*binding.steps, at)))
    elif isinstance(target, ast.Subscript):
        key = target.slice.value if isinstance(target.slice, ast.Constant) else None
        spelled = key if isinstance(key, str) else ""
        steps = (*binding.steps, STORED if spelled else APPENDED)
        yield from _of(target.value, binding._replace(steps=steps, key=spelled))
