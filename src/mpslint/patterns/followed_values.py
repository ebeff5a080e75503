"""Where what a checkpoint holds goes next as it is: to variables, to tables under other keys, into
functions of the project and back from them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.packages.consumers import given_to, reads_of
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import positional_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_TABLES = ("dict", "collections.OrderedDict")
_COPYING = ("copy.copy", "copy.deepcopy", "collections.OrderedDict", "dict")
_SAME_PLACE = frozenset(
    {"clone", "contiguous", "detach", "flatten", "permute", "reshape", "squeeze", "transpose"}
    | {"t", "unsqueeze", "view", "bfloat16", "double", "float", "half", "long", "int"}
)
"""Methods of a tensor that give another one on the same device."""
_JOINING = ("torch.cat", "torch.concat", "torch.concatenate", "torch.stack")
_OF_TEXT = frozenset({"startswith", "endswith", "replace", "split"})
"""Methods of a key."""
_ITSELF = frozenset({"cpu", "cuda", "eval", "half", "to", "train"})
"""Methods of a module that give itself."""
_LISTING = ("list", "sorted", "tuple")
"""Functions of Python that hand on what they are given, one after the other."""
_KEEPING_CALLS = ("staticmethod", "classmethod")


class Taken(NamedTuple):
    """A function that is called with what was loaded, and where it reads that."""

    context: Context
    function: FunctionNode
    reads: list[ast.expr]


def next_places(context: Context, node: ast.expr) -> list[ast.expr] | None:
    """The names that are given `node`, and the expressions that are the same tensors or a table of
    them; None: none that is known."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        return _targets(parent)
    if isinstance(parent, ast.Call):
        return _of_call(context, node, parent)
    if isinstance(parent, ast.Attribute):
        return _of_method(context, parent)
    if isinstance(parent, ast.For):
        return _of_turns(context, node, parent)
    if isinstance(parent, ast.comprehension) and parent.iter is node:
        return _of_turns(context, node, parent)
    if isinstance(parent, ast.List):
        return _of_joined(context, parent) or [parent]
    if isinstance(parent, ast.Dict) and node in parent.values:
        return [parent]
    if isinstance(parent, ast.DictComp) and parent.value is node:
        return [parent]
    if isinstance(parent, ast.BoolOp) or (
        isinstance(parent, ast.IfExp) and parent.test is not node
    ):
        return [parent]
    if isinstance(parent, ast.Tuple) and len(parent.elts) == 2 and parent.elts[1] is node:
        return _of_pair(context, parent)
    return None


def _targets(statement: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> list[ast.expr] | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    found: list[ast.expr] = []
    for target in targets:
        parts = target.elts if isinstance(target, ast.Tuple) else [target]
        for part in parts:
            part = root_of(part, ast.Subscript)  # `names[k] = checkpoint.pop(key)`
            if not isinstance(part, ast.Name):
                return None
            found.append(part)
    return found


def _of_call(context: Context, node: ast.expr, call: ast.Call) -> list[ast.expr] | None:
    if node is call.func:
        return None
    if context.resolve(call.func) in _COPYING or _is_of_python(context, call.func, "dict"):
        return [call]
    if any(_is_of_python(context, call.func, name) for name in ("iter", "next")):
        return [call] if _is_values(node) else None
    if not isinstance(call.func, ast.Attribute):
        return None
    owner = call.func.value
    if call.func.attr in ("get", "pop") and len(call.args) == 2 and call.args[1] is node:
        return [call]  # `checkpoint.get("model", checkpoint)`
    if call.func.attr == "update" and call.args == [node] and isinstance(owner, ast.Name):
        return [owner]
    return None


def _of_method(context: Context, method: ast.Attribute) -> list[ast.expr] | None:
    if method.attr == "data":
        return [method]
    call = context.index.parents[method]
    if not isinstance(call, ast.Call) or call.func is not method:
        return None
    if method.attr == "items":
        return _of_items(context, call)
    if method.attr in ("copy", "values") or (method.attr == "state_dict" and not call.args):
        return [call]
    if method.attr in _SAME_PLACE and not any(
        isinstance(item, ast.Name | ast.Attribute | ast.Call)
        for given in (*call.args, *call.keywords)
        for item in ast.walk(given)
    ):
        return [call]
    return None


def _of_items(context: Context, items: ast.Call) -> list[ast.expr] | None:
    """Where the values are read in `for k, v in checkpoint.items()`, also of a list of these, and
    in a comprehension."""
    pairs, around = items, context.index.parents[items]
    while (
        isinstance(around, ast.Call)
        and around.args[:1] == [pairs]
        and any(_is_of_python(context, around.func, name) for name in _LISTING)
    ):
        pairs, around = around, context.index.parents[around]
    if not isinstance(around, ast.For | ast.comprehension) or around.iter is not pairs:
        return None
    value = _second(around.target)
    if value is None:
        return None
    return _reads_in_turns(context, around, value)


def _reads_in_turns(
    context: Context, loop: ast.For | ast.comprehension, value: ast.Name
) -> list[ast.expr]:
    if isinstance(loop, ast.For):
        return list(reads_of(context, value))
    return [
        item
        for item in ast.walk(context.index.parents[loop])
        if isinstance(item, ast.Name) and item.id == value.id and isinstance(item.ctx, ast.Load)
    ]


def _second(target: ast.expr) -> ast.Name | None:
    """`v` of `k, v`."""
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        last = target.elts[1]
        return last if isinstance(last, ast.Name) else None
    return None


def _of_turns(
    context: Context, node: ast.expr, loop: ast.For | ast.comprehension
) -> list[ast.expr] | None:
    """The values of `for v in checkpoint.values()`; nothing, for a loop over the keys of what is
    known to be a table: `for k in checkpoint`."""
    if not isinstance(loop.target, ast.Name):
        return None
    if _is_values(node):
        return _reads_in_turns(context, loop, loop.target)
    named = isinstance(loop, ast.For) and any(
        isinstance(method := context.index.parents[use], ast.Attribute) and method.attr in _OF_TEXT
        for use in reads_of(context, loop.target)
    )
    return [] if named or is_table(context, node) else None


def _is_values(node: ast.AST) -> bool:
    """`checkpoint.values()`, and `iter` of it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        node = node.args[0]
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return called and node.func.attr == "values"  # type: ignore[attr-defined]


def _of_joined(context: Context, parts: ast.List) -> list[ast.expr] | None:
    """`torch.cat([checkpoint["a"], checkpoint["b"]])`, if all are of one table."""
    call = context.index.parents[parts]
    if not isinstance(call, ast.Call) or context.resolve(call.func) not in _JOINING:
        return None
    roots = {ast.unparse(root_of(part, ast.Subscript)) for part in parts.elts}
    return [call] if len(roots) == 1 and call.args[:1] == [parts] else None


def is_table(context: Context, node: ast.expr) -> bool:
    """Whether the function around asks `node` for its keys."""
    spelled, function = ast.unparse(node), context.index.function(node)
    return any(
        isinstance(call.func, ast.Attribute)
        and ast.unparse(call.func.value) == spelled
        and context.index.function(call) is function
        for name in ("items", "keys")
        for call in context.index.calls.get(name, ())
    ) or any(
        ast.unparse(given) == spelled and context.index.function(call) is function
        for call in context.index.calls.get("load_state_dict", ())
        for given in call.args
    )


def _of_pair(context: Context, pair: ast.Tuple) -> list[ast.expr] | None:
    """`dict((f(k), v) for k, v in checkpoint.items())`"""
    made = context.index.parents[pair]
    if not isinstance(made, ast.GeneratorExp | ast.ListComp) or made.elt is not pair:
        return None
    call = context.index.parents[made]
    if not isinstance(call, ast.Call) or call.args != [made]:
        return None
    name = context.resolve(call.func)
    return [call] if name in _TABLES or _is_of_python(context, call.func, "dict") else None


def _is_of_python(context: Context, function: ast.expr, name: str) -> bool:
    return (
        isinstance(function, ast.Name)
        and function.id == name
        and not context.names.bindings(name, function)
    )


def taken(context: Context, node: ast.expr) -> Taken | None:
    """The function of the project that is called with `node`."""
    parent = context.index.parents[node]
    given: ast.AST = node
    if isinstance(parent, ast.keyword):
        given, parent = parent, context.index.parents[parent]
    if not isinstance(parent, ast.Call) or node is parent.func:
        return None
    function, reads = given_to(context, parent, given)
    if function is not None:
        return Taken(context, function, reads)
    return _taken_elsewhere(context, parent, given)


def _taken_elsewhere(context: Context, call: ast.Call, given: ast.AST) -> Taken | None:
    name = context.resolve(call.func)
    found = context.definition_elsewhere(name) if name is not None else None
    if found is not None and len(found.bindings) == 1:
        function = found.bindings[0].node
        return _given_to(found.context, function, call, given, 0)
    owner = class_of(context, call.func.value) if isinstance(call.func, ast.Attribute) else None
    method = method_of(owner[1], call.func.attr) if owner is not None else None  # type: ignore[attr-defined]
    if owner is None or method is None:
        return None
    return _given_to(owner[0], method, call, given, 1)


def class_of(context: Context, receiver: ast.expr) -> tuple[Context, ast.ClassDef] | None:
    """The class of the project that a variable holds an object of: `net = Net().cuda().eval()`."""
    held = context.flow.reaching(receiver) if isinstance(receiver, ast.Name) else ()
    return class_made(
        context, held[0].value if len(held) == 1 and held[0].kind == "assign" else None
    )


def class_made(context: Context, made: ast.AST | None) -> tuple[Context, ast.ClassDef] | None:
    """The class of the project of which an expression makes an object."""
    while (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr in _ITSELF
    ):
        made = made.func.value
    if not isinstance(made, ast.Call):
        return None
    if isinstance(made.func, ast.Name):
        bindings = context.names.bindings(made.func.id, made.func)
        if len(bindings) == 1 and isinstance(bindings[0].node, ast.ClassDef):
            return context, bindings[0].node
    name = context.resolve(made.func)
    found = context.definition_elsewhere(name) if name is not None else None
    if found is None or len(found.bindings) != 1:
        return None
    node = found.bindings[0].node
    return (found.context, node) if isinstance(node, ast.ClassDef) else None


def _given_to(
    where: Context, function: ast.AST, call: ast.Call, given: ast.AST, skipped: int
) -> Taken | None:
    """Where a function reads what a call gives it; of a method the first `skipped` parameters are
    its object."""
    if not isinstance(function, FUNCTIONS) or function.decorator_list:
        return None
    if any(isinstance(item, ast.Starred) for item in call.args):
        return None
    positional = positional_parameters(function.args)[skipped:]
    if isinstance(given, ast.keyword):
        parameter = given.arg
    else:
        place = next(n for n, item in enumerate(call.args) if item is given)
        parameter = positional[place].arg if place < len(positional) else None
    names = {item.arg for item in (*positional, *function.args.kwonlyargs)}
    if parameter is None or parameter not in names:
        return None
    scope = where.names.own_scope(function)
    reads: list[ast.expr] = [
        use
        for use in where.index.names.get(parameter, ())
        if isinstance(use.ctx, ast.Load) and where.names.owner(parameter, use) is scope
    ]
    return Taken(where, function, reads)


def callers(context: Context, function: FunctionNode) -> list[ast.expr] | None:
    """All calls of a function that this file alone uses; None where others may, or where it is
    handed on."""
    owner = context.index.parents[function]
    if isinstance(function, ast.AsyncFunctionDef) or any(
        ast.unparse(item) not in _KEEPING_CALLS for item in function.decorator_list
    ):
        return None
    method = isinstance(owner, ast.ClassDef)
    if isinstance(owner, ast.Module | ast.ClassDef) and (
        context.elsewhere is None
        or context.elsewhere.uses(context.source.path, function.name, method=method)
    ):
        return None
    mentions: list[ast.expr] = (
        [*context.index.attributes.get(function.name, ())]
        if method
        else [*context.index.names.get(function.name, ())]
    )
    calls = [context.index.parents[item] for item in mentions]
    made: list[ast.expr] = [
        call
        for call, item in zip(calls, mentions, strict=True)
        if isinstance(call, ast.Call) and call.func is item
    ]
    return made if made and len(made) == len(mentions) else None
