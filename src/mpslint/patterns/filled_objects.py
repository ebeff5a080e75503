"""Objects whose `load_state_dict` copies what it is given to where their own tensors are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.patterns.followed_values import class_made, class_of
from mpslint.semantics.names.bases import inherits
from mpslint.semantics.syntax.expressions import keyword, last_name, root_of
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_OF_MODULES = ("eval", "parameters", "named_parameters", "requires_grad_")
"""What only modules are asked for, among the things that have a `load_state_dict`."""
_SETTING = ("eval", "train", "requires_grad_", "float", "half", "bfloat16", "double", "to", "cuda")
"""Methods of a module that give the module itself, and compute nothing with its parameters."""
_MODULE = "torch.nn.Module"
_NAMES = 2
"""`inner = wrapped.module` and `inner = inner._orig_mod`"""
_WRAPPED = ("module", "_orig_mod")
"""Fact: what `DataParallel` and `DistributedDataParallel` wrap, and what `torch.compile` does."""
_FILLING = ("peft.set_peft_model_state_dict", "peft.utils.set_peft_model_state_dict")
"""Fact: `peft/utils/save_and_load.py`, which calls `load_state_dict` of the model."""


def feeds_state_dict(context: Context, node: ast.expr, *, weights: bool) -> bool:
    """`m.load_state_dict(node)`, `Net.from_pretrained(name, state_dict=node)`; published `weights`
    are those of a module."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.keyword) and parent.arg == "state_dict":
        # Fact: Hugging Face's `from_pretrained(..., state_dict=...)` copies into what it makes.
        call = context.index.parents[parent]
        return isinstance(call, ast.Call) and last_name(call.func) == "from_pretrained"
    if isinstance(parent, ast.Call) and context.resolve(parent.func) in _FILLING:
        return parent.args[1:2] == [node] and not any(
            item.arg == "low_cpu_mem_usage" for item in parent.keywords
        )
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "load_state_dict"
        and node in parent.args
        and not any(keyword.arg is None for keyword in parent.keywords)
        and (not _keeps(parent) or _is_moved_after(context, parent))
        and (_copies(context, parent.func.value) or (weights and _may_copy(parent.func.value)))
    )


def _keeps(call: ast.Call) -> bool:
    """`m.load_state_dict(node, assign=True)`: its parameters are then what it is given."""
    return len(call.args) > 2 or keyword(call, "assign") is not None


def _is_moved_after(context: Context, call: ast.Call) -> bool:
    """Whether the module goes to a device later on, wherever its parameters are then, and nothing
    is asked of it before that."""
    assert isinstance(call.func, ast.Attribute)
    spelled, statement = ast.unparse(call.func.value), context.index.statement(call)
    block = context.index.parents[statement]
    return any(
        isinstance(move.func, ast.Attribute)
        and ast.unparse(move.func.value) == spelled
        and context.index.parents[context.index.statement(move)] is block
        and move.lineno > call.lineno
        and _names_a_device(context, move)
        and _is_left_alone(context, call.func.value, statement, context.index.statement(move))
        for name in ("to", "cuda")
        for move in context.index.calls.get(name, ())
    )


def _is_left_alone(context: Context, receiver: ast.expr, first: ast.stmt, last: ast.stmt) -> bool:
    """Whether between two statements a module is set (`net.eval()`), and used for nothing else."""
    root = root_of(receiver, ast.Attribute, ast.Subscript)
    if not isinstance(root, ast.Name):
        return False
    start, end = context.source.span(first)[1], context.source.span(last)[0]
    return all(
        _is_only_set(context, use, ast.unparse(receiver))
        for use in context.index.names.get(root.id, ())
        if start <= context.source.span(use)[0] < end
    )


def _is_only_set(context: Context, use: ast.Name, spelled: str) -> bool:
    """`net.eval()`, `net = net.half()`; of `self.net` also `self.epoch`, which is something else,
    and not `self.validate()`, which may run it."""
    node: ast.AST = use
    parent = context.index.parents[node]
    while ast.unparse(node) != spelled:
        if not isinstance(parent, ast.Attribute | ast.Subscript) or parent.value is not node:
            return node is not use and not (isinstance(parent, ast.Call) and parent.func is node)
        node, parent = parent, context.index.parents[parent]
    while isinstance(parent, ast.Attribute) and parent.attr in _SETTING:
        node = context.index.parents[parent]
        if not isinstance(node, ast.Call) or node.func is not parent:
            return False
        parent = context.index.parents[node]
    if isinstance(parent, ast.Assign):
        # Both sides come here: `net` itself, and what it is set by.
        return [ast.unparse(item) for item in parent.targets] == [spelled] and ast.unparse(
            parent.value
        ).startswith(f"{spelled}.")
    return isinstance(parent, ast.Expr)


def _names_a_device(context: Context, move: ast.Call) -> bool:
    if last_name(move.func) == "cuda" or keyword(move, "device") is not None:
        return True
    return any(
        context.values.of(item).kind in (Kind.DEVICE, Kind.DEVICE_STRING) for item in move.args[:1]
    )


def _may_copy(receiver: ast.expr) -> bool:
    return not matches("keeping-objects", ast.unparse(receiver))


def _copies(context: Context, receiver: ast.expr, names: int = _NAMES) -> bool:
    """Whether `load_state_dict` of this copies to where its own tensors are, as that of modules
    and optimizers does. An object of another class may keep what it is given: it is taken for a
    module by its value, or else by its name, where no class of this file has the method and the
    name does not speak of averages or buffers."""
    made = class_of(context, receiver)
    if made is not None:
        return _copies_as_modules_do(*made)
    if isinstance(receiver, ast.Subscript) and _holds_modules(context, receiver.value):
        return True
    if context.values.of(receiver).kind in (Kind.MODULE, Kind.OPTIMIZER, Kind.SCALER):
        return True
    if any(function.name == "load_state_dict" for function in context.index.functions()):
        return False
    spelled = ast.unparse(receiver)
    if matches("keeping-objects", spelled):
        return False
    if matches("copying-objects", spelled) or _is_used_as_module(context, spelled):
        return True
    if isinstance(receiver, ast.Attribute) and receiver.attr in _WRAPPED:
        return _copies(context, receiver.value, names)
    held = context.flow.reaching(receiver) if isinstance(receiver, ast.Name) and names else ()
    return bool(held) and all(
        isinstance(item.value, ast.Name | ast.Attribute)
        and item.kind == "assign"
        and _copies(context, item.value, names - 1)
        for item in held
    )


def _copies_as_modules_do(where: Context, owner: ast.ClassDef) -> bool:
    is_module = where.values.is_module_class(owner) or inherits(
        where, owner, lambda name: name == _MODULE or None
    )
    return is_module and not any(
        isinstance(item, ast.FunctionDef) and item.name == "load_state_dict" for item in owner.body
    )


def _holds_modules(context: Context, table: ast.expr) -> bool:
    """Whether a list is made of modules of the project alone: `[Net() for _ in range(n)]`."""
    lists = _lists_given(context, table)
    made = [
        class_made(context, item)
        for one in lists
        for item in ([one.elt] if isinstance(one, ast.ListComp) else one.elts)
    ]
    return bool(made) and all(found is not None and _copies_as_modules_do(*found) for found in made)


def _lists_given(context: Context, table: ast.expr) -> list[ast.ListComp | ast.List]:
    """The lists that a name, or an attribute of an object of its class, is given; none where it may
    be given anything else."""
    given: list[ast.AST | None]
    if isinstance(table, ast.Name):
        given = [one.value for one in context.flow.reaching(table)]
    else:
        owner, spelled = context.index.enclosing(table, ast.ClassDef), ast.unparse(table)
        given = [
            parent.value if isinstance(parent, ast.Assign) and one in parent.targets else None
            for one in context.index.attributes.get(getattr(table, "attr", ""), ())
            if isinstance(one.ctx, ast.Store) and ast.unparse(one) == spelled
            if context.index.enclosing(one, ast.ClassDef) is owner
            for parent in [context.index.parents[one]]
        ]
    lists = [one for one in given if isinstance(one, ast.ListComp | ast.List)]
    return lists if len(lists) == len(given) else []


def _is_used_as_module(context: Context, spelled: str) -> bool:
    """Whether the file calls this for what it gives, asks it for what only modules have, or has it
    from `.to(device)`, or nobody takes what that gives: of what has a `load_state_dict`, only
    modules give themselves, and move."""
    for name in ("to", "cuda", "cpu", *_OF_MODULES):
        for call in context.index.calls.get(name, ()):
            given = _left_to(context, call)
            if isinstance(given, ast.Assign) and spelled in map(ast.unparse, given.targets):
                return True
            if isinstance(given, ast.Expr) and isinstance(call.func, ast.Attribute):
                if name in ("to", "cuda") and ast.unparse(call.func.value) == spelled:
                    return True
    if any(
        ast.unparse(call.func) == spelled and not isinstance(context.index.parents[call], ast.Expr)
        for call in context.index.calls.get(spelled.rpartition(".")[2], ())
    ):
        return True
    return any(
        isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == spelled
        for name in _OF_MODULES
        for call in context.index.calls.get(name, ())
    )


def _left_to(context: Context, call: ast.Call) -> ast.AST:
    """What takes the object that `call` gives, past `.cpu().eval()` behind it."""
    node: ast.AST = call
    parent = context.index.parents[node]
    while isinstance(parent, ast.Attribute) and parent.attr in (*_OF_MODULES, "to", "cuda", "cpu"):
        node = context.index.parents[parent]
        parent = context.index.parents[node]
    return parent
