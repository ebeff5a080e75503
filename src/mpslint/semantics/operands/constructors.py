"""Tensors in a module that was not moved yet: what its constructor makes of numbers and arrays lies
on the CPU, and so does what initializers fill. `.to(device)` comes after that.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operands.made_of import parts
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS, FunctionNode
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_STEPS = 4
"""`self.a = a`, `b = self.a[0]`, and the call: more is not seen in real code."""
_MOVING = ("to", "cuda", "set_default_device")
_TENSORS = ("weight", "bias")
"""What the layers of torch keep their parameters under."""
_OF_TORCH = "torch.nn.init."


def is_before_move(context: Context, node: ast.expr) -> bool:
    """Whether a tensor lies on the CPU since the module that it is for was not moved yet."""
    return (
        _is_for_initializer(context, node)
        or _is_made_here(context, node, _STEPS)
        or _is_of_new_module(context, node)
    )


def _is_of_new_module(context: Context, node: ast.expr) -> bool:
    """`layer.weight.data` behind `layer = nn.Linear(2, 2)`, by a name as well, where nothing but
    its tensors was asked of the layer so far: it lies where it was made, which is the CPU."""
    layer = _layer_of(context, node, _STEPS)
    if layer is None or context.index.calls.get("set_default_device"):
        return False
    made = context.flow.reaching(layer)[0].value
    if made is None or any(isinstance(x, ast.With) for x in context.index.ancestors(made)):
        return False  # It may be `with torch.device(...)`.
    function = context.index.function(layer)
    if context.index.function(made) is not function or any(
        isinstance(x, LOOPS) for x in context.index.ancestors(node) if x is not function
    ):
        return False  # What a loop does behind the read, its next turn has done before.
    here = node.lineno, node.col_offset
    scope = context.names.owner(layer.id, layer)
    return all(
        context.index.function(use) is function
        and ((use.lineno, use.col_offset) >= here or _only_reads_tensors(context, use))
        for use in context.index.names.get(layer.id, ())
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope
    )


def _only_reads_tensors(context: Context, use: ast.Name) -> bool:
    """`layer.weight.squeeze()`; what is stored below it (`layer.weight.data = x`) lies where that
    does, which is told of `x` made on the spot alone."""
    tensor = context.index.parents[use]
    if not isinstance(tensor, ast.Attribute) or tensor.attr not in _TENSORS:
        return False
    place = context.index.parents[tensor]
    stored = place if isinstance(place, ast.Attribute) else tensor
    if not isinstance(stored.ctx, ast.Store):
        return True
    statement = context.index.parents[stored]
    given = statement.value if isinstance(statement, ast.Assign) else None
    names = [x for x in ast.walk(given) if isinstance(x, ast.keyword)] if given is not None else []
    return given is not None and all(x.arg != "device" for x in names)


def _layer_of(context: Context, node: ast.expr, steps: int) -> ast.Name | None:
    """The layer, made in one place by a class of torch's without a device, whose tensor is read."""
    read: ast.expr = node
    while isinstance(read, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(read, ast.Call):
            if not isinstance(read.func, ast.Attribute) or read.func.attr in _MOVING:
                return None
            read = read.func
        elif isinstance(read, ast.Attribute) and read.attr in _TENSORS:
            break
        read = read.value
    owner = read.value if isinstance(read, ast.Attribute) else read
    if not isinstance(owner, ast.Name):
        return None
    bindings = context.flow.reaching(owner)
    made = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if made is None:
        return None
    if owner is read:  # `weight = layer.weight.squeeze()`
        return _layer_of(context, made, steps - 1) if steps else None
    of_torch = (
        isinstance(made, ast.Call)
        and (context.resolve(made.func) or "").startswith("torch.nn.")
        and all(item.arg not in (None, "device") for item in made.keywords)
    )
    return owner if of_torch and context.values.of(made).kind is Kind.MODULE else None


def _is_made_here(context: Context, node: ast.expr, steps: int) -> bool:
    """Whether the constructor of a module around `node` has made it without a device."""
    function = context.index.function(node)
    if function is None or function.name != "__init__" or not steps:
        return False
    value = context.values.of(node)
    if value.on_cpu and value.kind is Kind.TENSOR:
        return True
    if isinstance(node, ast.Name):
        given = [binding.value for binding in context.flow.reaching(node)]
    elif isinstance(node, ast.Attribute) and _is_of_self(node):
        given = list(_stored(context, function, node))
    else:
        given = [one for one in parts(context, node) if not isinstance(one, ast.Constant)]
    return bool(given) and all(
        one is not None and _is_made_here(context, one, steps - 1) for one in given
    )


def _stored(
    context: Context, function: FunctionNode, node: ast.Attribute
) -> Iterator[ast.expr | None]:
    """What a constructor puts under an attribute before it reads it there; None: what is not
    seen, be it that something moves the module on the way."""
    owner = context.index.parents[function]
    if not isinstance(owner, ast.ClassDef) or not context.values.is_module_class(owner):
        yield None
        return
    for name in _MOVING:
        for call in context.index.calls.get(name, ()):
            if _is_before(context, call, node, function) and _moves_all(call):
                yield None
    for call in context.index.calls.get("register_buffer", ()):
        if _is_before(context, call, node, function) and len(call.args) > 1:
            named = call.args[0]
            if isinstance(named, ast.Constant) and named.value == node.attr:
                yield call.args[1]
    for target in context.index.attributes.get(node.attr, ()):
        if isinstance(target.ctx, ast.Store) and _is_before(context, target, node, function):
            statement = context.index.parents[target]
            yield statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None


def _is_before(context: Context, one: ast.expr, node: ast.expr, function: FunctionNode) -> bool:
    return one.lineno < node.lineno and context.index.function(one) is function


def _moves_all(call: ast.Call) -> bool:
    """`self.to(device)`, `torch.set_default_device(device)`"""
    moved = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(moved, ast.Name) and moved.id in ("self", "torch")


def _is_of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _is_for_initializer(context: Context, node: ast.expr) -> bool:
    """Whether `node` is the tensor that an initializer fills: a function that is chosen in place of
    one of `torch.nn.init`."""
    if not isinstance(node, ast.Name):
        return False
    bindings = context.flow.reaching(node)
    if len(bindings) != 1 or not isinstance(parameter := bindings[0].node, ast.arg):
        return False
    function = context.index.function(parameter)
    if not isinstance(function, FUNCTIONS) or function.args.args[:1] != [parameter]:
        return False
    uses = [
        use
        for use in context.index.names.get(function.name, ())
        if isinstance(use.ctx, ast.Load) and not context.index.within(use, function)
    ]
    return bool(uses) and all(_stands_for_one_of_torch(context, use) for use in uses)


def _stands_for_one_of_torch(context: Context, use: ast.Name) -> bool:
    """`fill = torch.nn.init.zeros_` in one arm, and `fill = grid` in another; or in one table."""
    parent = context.index.parents[use]
    beside: list[ast.expr | None] = []
    if isinstance(parent, ast.Dict):
        beside += parent.values
    elif isinstance(parent, ast.Assign) and isinstance(target := parent.targets[0], ast.Name):
        beside += [binding.value for binding in context.names.bindings(target.id, target)]
    return any(
        one is not None and (context.resolve(one) or "").startswith(_OF_TORCH) for one in beside
    )
