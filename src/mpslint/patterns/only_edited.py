"""Whether a file that is loaded is only looked through and edited, entry by entry, and saved again.

A script that takes masks out of a checkpoint, or renames its entries, gives none of it to a module.
The CPU is the right place on every machine: on MPS an entry of float64 would raise, and what is
saved from there would say so.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.patterns.followed_values import callers, taken
from mpslint.semantics.syntax.expressions import last_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.saying import SAYING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOST = 400
"""So many expressions are looked at: a guard against what nobody has written by hand."""
_SAVING = "torch.save"
_ASKING = ("torch.is_tensor", "torch.numel")
_COPYING = ("copy.copy", "copy.deepcopy", "collections.OrderedDict")
_OF_PYTHON = frozenset(
    {
        "len",
        "isinstance",
        "type",
        "list",
        "sorted",
        "tuple",
        "set",
        "dict",
        "iter",
        "next",
        "enumerate",
    }
    | {
        "zip",
        "any",
        "all",
        "sum",
        "max",
        "min",
        "str",
        "repr",
        "int",
        "float",
        "bool",
        "round",
        "abs",
    }
)
_OF_TABLES = frozenset(
    {"items", "keys", "values", "get", "pop", "copy", "update", "append", "setdefault"}
)
_OF_TEXTS = frozenset(
    {"startswith", "endswith", "replace", "split", "rsplit", "strip", "removeprefix", "format"}
    | {"join", "lower", "partition", "rpartition"}
)
_OF_TENSORS = frozenset(
    {
        "clone",
        "detach",
        "contiguous",
        "float",
        "half",
        "bfloat16",
        "long",
        "int",
        "bool",
        "type",
        "t",
    }
    | {"mean", "sum", "abs", "item", "tolist", "numel", "nelement", "size", "dim", "element_size"}
    | {"view", "reshape", "flatten", "squeeze", "unsqueeze", "permute", "transpose", "any", "all"}
    | {"min", "max", "mul", "add", "div", "mul_", "add_", "div_", "data_ptr", "is_floating_point"}
)
"""Methods that compute entry by entry, or nothing."""
_METHODS = _OF_TABLES | _OF_TEXTS | _OF_TENSORS
_FILLING = frozenset({"update", "append", "setdefault"})
_FIELDS = frozenset({"shape", "dtype", "ndim", "data", "T", "requires_grad"})
_WITHIN = (
    *(
        ast.Compare,
        ast.BoolOp,
        ast.UnaryOp,
        ast.IfExp,
        ast.Dict,
        ast.List,
        ast.Tuple,
        ast.Set,
        ast.Starred,
    ),
    *(ast.Slice, ast.DictComp, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.keyword),
)
_ENDING = (ast.FormattedValue, ast.Expr, ast.If, ast.While, ast.Assert, ast.Delete, ast.Raise)


def is_only_edited(context: Context, call: ast.Call) -> bool:
    """Whether all that is made of what `call` loads is saved again, or said: nothing of it is
    called, moved, kept by an object or handed to code that nobody sees."""
    waiting: list[ast.AST] = [call]
    seen: set[ast.AST] = set()
    entered: set[ast.AST] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        onward = _onward(context, node, entered) if len(seen) <= _MOST else None
        if onward is None:
            return False
        waiting.extend(onward)
    return True


def _onward(context: Context, node: ast.AST, entered: set[ast.AST]) -> list[ast.AST] | None:
    """Where a value is read next; None: it becomes something else. `entered`: the functions that
    it was handed to, of which what they give back is followed where they were called."""
    parent = context.index.parents[node]
    if isinstance(parent, _ENDING):
        return []
    if isinstance(parent, ast.Subscript):
        # A table takes it under a key, or it is the key itself.
        return [parent] if parent.value is node and isinstance(parent.ctx, ast.Load) else []
    if isinstance(parent, ast.BinOp):
        return None if isinstance(parent.op, ast.MatMult) else [parent]
    if isinstance(parent, _WITHIN):
        return [parent]
    if isinstance(parent, ast.Attribute):
        return _of_attribute(context, parent)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
        return _of_targets(context, node, parent)
    if isinstance(parent, ast.For | ast.comprehension):
        if parent.iter is not node:
            return []
        within = context.index.parents[parent] if isinstance(parent, ast.comprehension) else None
        return [*_reads(context, parent.target), *([within] if within is not None else [])]
    if isinstance(parent, ast.Return):
        return _of_return(context, parent, entered)
    if isinstance(parent, ast.Call):
        return _of_call(context, node, parent, entered)
    return None


def _of_attribute(context: Context, attribute: ast.Attribute) -> list[ast.AST] | None:
    if attribute.attr in _FIELDS:
        return [attribute]
    call = context.index.parents[attribute]
    if attribute.attr not in _METHODS or not isinstance(call, ast.Call):
        return None
    return [call] if call.func is attribute else None


def _of_targets(
    context: Context,
    node: ast.AST,
    statement: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr,
) -> list[ast.AST] | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if node in targets:
        return []
    found: list[ast.AST] = []
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            root = root_of(part, ast.Subscript)
            if not isinstance(root, ast.Name):
                return None
            found.extend(_reads(context, root))
    return found


def _reads(context: Context, target: ast.expr) -> Iterator[ast.Name]:
    """Where the names of a target are read, in whatever order."""
    for name in ast.walk(target):
        if isinstance(name, ast.Name):
            scope = context.names.owner(name.id, name)
            for use in context.index.names.get(name.id, ()):
                if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope:
                    yield use


def _of_return(
    context: Context, statement: ast.Return, entered: set[ast.AST]
) -> list[ast.AST] | None:
    function = context.index.function(statement)
    if function in entered:
        return []
    return _called(context, function)


def _called(context: Context, function: ast.AST | None) -> list[ast.AST] | None:
    found = callers(context, function) if isinstance(function, FUNCTIONS) else None
    return list(found) if found is not None else None


def _of_call(
    context: Context, node: ast.AST, call: ast.Call, entered: set[ast.AST]
) -> list[ast.AST] | None:
    name, last = context.resolve(call.func) or "", last_name(call.func)
    if node is call.func:
        return None
    if name == _SAVING or name in _ASKING or last in SAYING:
        return []
    if name in _COPYING or (
        isinstance(call.func, ast.Name)
        and last in _OF_PYTHON
        and not context.names.bindings(last, call.func)
    ):
        return [call]
    if isinstance(call.func, ast.Attribute) and last in _METHODS and not name:
        root = root_of(call.func.value, ast.Subscript)
        if last in _FILLING:
            return [call, *_reads(context, root)] if isinstance(root, ast.Name) else None
        return [call]
    given = taken(context, node)  # type: ignore[arg-type]  # A keyword does as well.
    if given is None or given.context is not context:
        return None
    entered.add(given.function)
    return [call, *given.reads]
