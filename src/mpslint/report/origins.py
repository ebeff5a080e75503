"""What stands behind a finding: the switch that decides it, the loop that repeats it, or the
selection of the device that it is a part of."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.report.meaning import node_of, nodes_at
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS
from mpslint.semantics.syntax.options import flag, options
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.model import Finding
    from mpslint.report.meaning import Meanings
    from mpslint.semantics.context import Context

_DEVICES = (Kind.DEVICE, Kind.DEVICE_STRING)


class Origin(NamedTuple):
    """A place that findings go back to. Equal origins are the same place."""

    kind: str
    """`selection`, `switch`, `loop` or `test`."""
    path: str
    """Absolute."""
    row: int
    name: str = ""
    """What is defined there: `use_cuda`, `get_device`, `self.device`, `--device`."""
    scope: str = "module"
    """`module` where other files can import the name, `option` for one of the command line."""


def origin_of(meanings: Meanings, context: Context, finding: Finding) -> Origin | None:
    """Where a finding comes from; None where it stands for itself alone."""
    if finding.cell is not None:
        return _in_cell(context, finding)
    for label in finding.labels:
        for node in nodes_at(context).get((label.row, label.column), ()):
            if isinstance(node, LOOPS):
                return Origin("loop", _path(context), node.lineno, scope="local")
            if isinstance(node, ast.expr) and (test := _as_test(context, node)) is not None:
                return _decider(meanings, context, test)
    found = node_of(context, finding)
    return _selection(context, found) if found is not None else None


def _in_cell(context: Context, finding: Finding) -> Origin | None:
    """In a notebook positions are those of the cell: what is labelled there is the place."""
    for label in finding.labels:
        if (label.cell, label.row) != (finding.cell, finding.row):
            return Origin("test", f"{_path(context)}#{label.cell}", label.row, scope="local")
    return None


def _path(context: Context) -> str:
    return os.path.abspath(context.source.path)


def _as_test(context: Context, node: ast.expr) -> ast.expr | None:
    """The whole test that an expression is (part of), None where it tests nothing."""
    parent = context.index.parents[node]
    while isinstance(parent, ast.BoolOp | ast.UnaryOp):
        node, parent = parent, context.index.parents[parent]
    if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.Assert) and parent.test is node:
        return node
    return None


def _decider(meanings: Meanings, context: Context, test: ast.expr) -> Origin:
    """The definition of the first name in a test that is not torch's, else the test itself."""
    for name in _names(test):
        found = _defined(meanings, context, name)
        if found is not None:
            return found
    return Origin("test", _path(context), test.lineno, scope="local")


def _names(test: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """Names and chains of attributes in a test, in order, each as a whole."""
    queue: list[ast.AST] = [test]
    while queue:
        node = queue.pop(0)
        if isinstance(node, ast.Name | ast.Attribute):
            yield node
        else:
            queue = [*ast.iter_child_nodes(node), *queue]


def _defined(meanings: Meanings, context: Context, name: ast.Name | ast.Attribute) -> Origin | None:
    qualified = context.resolve(name)
    if qualified is not None:
        if qualified.startswith(("torch.", "os.")):
            return _alias(context, name)
        home = meanings.home(context.source.path, qualified)
        if home is None:
            return None
        path, known = home
        found = meanings.neighbours(context.source.path).definition(context.source.path, qualified)
        row = getattr(found.bindings[0].node, "lineno", 1) if found is not None else 1
        return Origin("switch", path, row, known)
    if isinstance(name, ast.Name):
        return _local(context, name)
    if isinstance(name.value, ast.Name):
        return _option(context, name) or _attribute(context, name)
    return None


def _alias(context: Context, name: ast.Name | ast.Attribute) -> Origin | None:
    """`cuda = torch.cuda.is_available` is a switch of its own; torch itself is none."""
    return _local(context, name) if isinstance(name, ast.Name) else None


def _local(context: Context, name: ast.Name) -> Origin | None:
    bindings = context.names.bindings(name.id, name)
    if not bindings or bindings[0].kind == "import":
        return None
    row = getattr(bindings[0].node, "lineno", name.lineno)
    scope = "module" if context.names.owner(name.id, name) is context.names.module else "local"
    return Origin("switch", _path(context), row, name.id, scope)


def _attribute(context: Context, name: ast.Attribute) -> Origin | None:
    """`self.cuda`, `config.cuda`: where the class sets it first, else where it is first read."""
    owner = context.index.enclosing(name, ast.ClassDef)
    text = ast.unparse(name)
    same = [
        other
        for other in context.index.attributes.get(name.attr, ())
        if ast.unparse(other) == text and context.index.enclosing(other, ast.ClassDef) is owner
    ]
    stores = [other for other in same if isinstance(other.ctx, ast.Store)]
    first = min((other.lineno for other in stores or same), default=name.lineno)
    return Origin("switch", _path(context), first, text, "local")


def _option(context: Context, name: ast.Attribute) -> Origin | None:
    """`args.cuda`: the option of the command line that fills it."""
    for call in options(context.index, name.attr):
        return Origin("switch", _path(context), call.lineno, flag(call), "local")
    return None


def _selection(context: Context, node: ast.AST) -> Origin | None:
    """The name that gets the device which `node` is a part of."""
    path = _path(context)
    child: ast.AST = node
    for parent in (node, *context.index.ancestors(node)):
        if isinstance(parent, ast.Call) and _is_option(parent) and child is not parent:
            return Origin("selection", path, parent.lineno, flag(parent), "option")
        if isinstance(parent, ast.arguments):
            return _parameter(context, parent, child)
        if isinstance(parent, ast.Assign | ast.AnnAssign):
            target = parent.targets[0] if isinstance(parent, ast.Assign) else parent.target
            if parent.value is None or context.values.of(parent.value).kind not in _DEVICES:
                return None
            return _target(context, target, parent.lineno)
        if isinstance(parent, ast.Return):
            function = context.index.function(parent)
            if function is None or context.values.returned(function).kind not in _DEVICES:
                return None
            outer = context.index.parents[function]
            scope = "module" if isinstance(outer, ast.Module) else "local"
            return Origin("selection", path, function.lineno, function.name, scope)
        if isinstance(parent, ast.If) and child is parent.test:
            return _by_branches(context, parent)
        if isinstance(parent, ast.stmt):
            return None
        child = parent
    return None


def _is_option(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"


def _parameter(context: Context, arguments: ast.arguments, default: ast.AST) -> Origin | None:
    function = context.index.parents[arguments]
    if not isinstance(function, FUNCTIONS):
        return None
    for name, bindings in context.names.own_scope(function).bindings.items():
        for binding in bindings:
            if binding.kind == "parameter" and binding.value is default:
                return Origin("selection", _path(context), function.lineno, name, "parameter")
    return None


def _target(context: Context, target: ast.expr, row: int) -> Origin | None:
    if isinstance(target, ast.Name):
        module = context.names.owner(target.id, target) is context.names.module
        scope = "module" if module else "local"
        return Origin("selection", _path(context), row, target.id, scope)
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        return Origin("selection", _path(context), row, ast.unparse(target), "local")
    return None


def _by_branches(context: Context, choice: ast.If) -> Origin | None:
    """`if cuda: device = ... else: device = ...`, by the first assignment of a device in it."""
    for statement in ast.walk(choice):
        if isinstance(statement, ast.Assign):
            if context.values.of(statement.value).kind in _DEVICES:
                return _target(context, statement.targets[0], statement.lineno)
    return None
