"""Whether a function only looks at the machine: a call more, or an earlier one, changes nothing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BUILTINS = frozenset(
    {"str", "int", "bool", "hasattr", "getattr", "isinstance", "len", "any", "all"}
)
_READS = ("torch.", "platform.", "os.environ.get", "os.getenv", "sys.")
_WRITES = (
    "set_",
    "manual_seed",
    "empty_cache",
    "init",
    "load",
    "save",
    "seed",
    "reset",
    "sys.exit",
)
_METHODS = frozenset({"startswith", "endswith", "lower", "strip", "split", "get"})
_SIMPLE = (ast.Return, ast.Pass, ast.If, ast.Import, ast.ImportFrom, ast.Try, ast.Assert, ast.Raise)
_DEPTH = 3


def is_pure(context: Context, function: FunctionNode, depth: int = _DEPTH) -> bool:
    """Whether a function of this file says nothing, writes nothing and sets nothing, as far as
    its own text and that of the functions it calls shows."""
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    return all(_keeps_still(context, node, depth) for node in nodes)


def _keeps_still(context: Context, node: ast.AST, depth: int) -> bool:
    if isinstance(node, ast.Call):
        return _reads_only(context, node, depth)
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(isinstance(target, ast.Name) for target in targets)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)  # a docstring
    return not isinstance(node, ast.stmt) or isinstance(node, _SIMPLE)


def _reads_only(context: Context, call: ast.Call, depth: int) -> bool:
    name = context.resolve(call.func) or ""
    if name.startswith(_READS):
        return not name.rsplit(".", 1)[-1].startswith(_WRITES) and name not in _WRITES
    if isinstance(call.func, ast.Attribute):
        return call.func.attr in _METHODS
    if not isinstance(call.func, ast.Name) or depth == 0:
        return False
    bindings = context.names.bindings(call.func.id, call.func)
    if not bindings:
        return call.func.id in _BUILTINS
    found = bindings[0].node
    if len(bindings) != 1 or not isinstance(found, FUNCTIONS):
        return False
    return not found.decorator_list and is_pure(context, found, depth - 1)
