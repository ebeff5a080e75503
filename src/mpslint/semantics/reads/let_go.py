"""Tensors of the CPU that nobody holds any more once they are copied to a device."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.terms.value_tables import FACTORIES, LIKE_FACTORIES

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COPYING = frozenset(
    f"torch.{name}" for name in (*FACTORIES, *LIKE_FACTORIES, "stack", "cat", "concat", "clone")
)
"""Functions whose result is new memory."""
_VIEWS = frozenset(
    {"view", "view_as", "unsqueeze", "squeeze", "permute", "transpose", "t", "expand", "expand_as"}
    | {"narrow", "detach", "select", "swapaxes", "movedim"}
)
"""Methods whose result shares its memory with what they are called on."""
_Comprehension = ast.DictComp | ast.ListComp | ast.GeneratorExp | ast.SetComp


def replaces_source(context: Context, call: ast.Call) -> bool:
    """Whether a copy lets go of its source. `x = x.cuda(...)` does so with a tensor that a loop
    over a loader has just bound, `xs = [x.cuda(...) for x in xs]` with those that the function has
    just made: anything else somebody may still know."""
    assert isinstance(call.func, ast.Attribute)
    base, parent = call.func.value, context.index.parents[call]
    if not isinstance(base, ast.Name):
        return False
    if isinstance(parent, _Comprehension):
        return _replaces_each(context, base, parent)
    if isinstance(parent, ast.Tuple):  # `x, y = x.cuda(), y.cuda()`
        parent = context.index.parents[parent]
    if not isinstance(parent, ast.Assign):
        return False
    stored = {
        item.id
        for target in parent.targets
        for item in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(item, ast.Name)
    }
    return base.id in stored and any(
        base.id in batch.parts and context.index.within(call, batch.loop)
        for batch in context.batches.all
    )


def _replaces_each(context: Context, base: ast.Name, made: _Comprehension) -> bool:
    """`xs = {k: x.cuda(...) for k, x in xs.items()}`, where `xs` was made of new tensors."""
    loop, around = made.generators[0], context.index.parents[made]
    if isinstance(around, ast.Call) and [made] == around.args:  # `tuple(... for x in xs)`
        around = context.index.parents[around]
    if not isinstance(around, ast.Assign) or not isinstance(around.targets[0], ast.Name):
        return False
    if len(made.generators) > 1 or base.id not in _names(loop.target):
        return False
    source = loop.iter
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not source.args:
        source = source.func.value
    if not isinstance(source, ast.Name) or source.id != around.targets[0].id:
        return False
    bindings = context.flow.reaching(source)
    return bool(bindings) and all(
        binding.kind == "assign" and _makes_each(context, binding.value) for binding in bindings
    )


def _makes_each(context: Context, value: ast.expr | None) -> bool:
    """A comprehension that makes all its tensors anew."""
    if not isinstance(value, _Comprehension):
        return False
    made = value.value if isinstance(value, ast.DictComp) else value.elt
    return isinstance(made, ast.Call) and context.resolve(made.func) in _COPYING


def _names(target: ast.expr) -> set[str]:
    items = target.elts if isinstance(target, ast.Tuple) else [target]
    return {item.id for item in items if isinstance(item, ast.Name)}


def may_let_go(context: Context, call: ast.Call) -> bool:
    """The same as far as anybody sees: also with what a call has given, with an item that the copy
    takes the place of, and with the parts of what is bound anew. To wait for such a copy costs
    little where nobody else has its source, and nothing where somebody has."""
    if replaces_source(context, call) or makes_source(call):
        return True
    assert isinstance(call.func, ast.Attribute)
    base, parent = call.func.value, context.index.parents[call]
    while isinstance(base, ast.Call) and getattr(base.func, "attr", "") in _VIEWS:
        base = base.func.value  # type: ignore[attr-defined]
    if isinstance(base, ast.Call):
        return True
    if isinstance(parent, ast.Assign) and isinstance(base, ast.Subscript | ast.Attribute):
        return ast.unparse(base) in map(ast.unparse, parent.targets)
    return isinstance(parent, _Comprehension) and _binds_anew(context, parent)


def _binds_anew(context: Context, made: _Comprehension) -> bool:
    """`batch = {k: v.cuda(...) for k, v in batch.items()}`"""
    statement, source = context.index.statement(made), made.generators[0].iter
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute):
        source = source.func.value
    return isinstance(statement, ast.Assign) and ast.unparse(source) in map(
        ast.unparse, statement.targets
    )


def makes_source(call: ast.Call) -> bool:
    """Whether `f(...).cuda(...)` moves what nobody else has a name for; `.pin_memory()` pins where
    CUDA is alone. A method may give a view of what somebody holds."""
    assert isinstance(call.func, ast.Attribute)
    base = call.func.value
    if not isinstance(base, ast.Call) or not isinstance(base.func, ast.Attribute):
        return False
    return base.func.attr == "pin_memory"
