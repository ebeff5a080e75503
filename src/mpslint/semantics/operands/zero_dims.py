"""Tensors that have no dimension: one number, which takes no index.

Up to torch 0.3 a loss was a vector of one element, and `loss.data[0]` its number. Since 0.4 a
reduction over everything gives a tensor of no dimension, whose index raises. What is one for sure
is told by how it is made: a criterion that reduces, `mean()` and `sum()` of everything, and what
is reckoned from these and from numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.names.names import Binding
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.gradients import gradients_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_OF_EVERYTHING = frozenset({"mean", "sum", "max", "min", "norm", "prod", "std", "var", "median"})
"""Reductions that give one number where they are told no dimension."""
_SAME_SHAPE = frozenset(
    {"detach", "cpu", "cuda", "to", "clone", "float", "double", "half", "long", "int", "abs"}
    | {"exp", "log", "sqrt", "neg", "numpy", "contiguous", "item", "tolist"}
)
"""Methods whose result has the shape of what they are asked of (of one number: is one)."""
_HANDS_ON = frozenset({"detach", "cpu", "numpy", "item", "tolist"})
_MOVES = frozenset({"cuda", "cpu", "to", "float", "double", "half", "train", "eval"})
"""Methods that give back the module that they are asked of."""
_WRAPPERS = frozenset({"torch.autograd.Variable"})
_CRITERIA = "torch.nn."
_FUNCTIONS = "torch.nn.functional."
_LOSSES = frozenset(
    {"cross_entropy", "binary_cross_entropy", "binary_cross_entropy_with_logits"}
    | {"kl_div", "huber_loss"}
)
_GOING_BACK = "what gives a loss that goes back"
_MAX_DEPTH = 12
"""Of expressions within expressions, and of names whose values are other names."""


def indexed_numbers(context: Context) -> Iterator[tuple[ast.Subscript, ast.expr]]:
    """`loss.data[0]` and the tensor that is read so, where it has no dimension for sure."""
    if b"[0]" not in context.source.data:
        return
    for item in context.index.of(ast.Subscript):
        index = item.slice
        if not isinstance(index, ast.Constant) or index.value != 0 or index.value is False:
            continue
        if isinstance(item.ctx, ast.Load) and has_no_dimension(context, item.value):
            yield item, bare(item.value)


def bare(node: ast.expr) -> ast.expr:
    """The tensor of `t.data`, `t.detach().cpu().numpy()`: what only hands the number on is left
    away."""
    while True:
        if isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _HANDS_ON
            and not node.args
        ):
            node = node.func.value
        else:
            return node


def has_no_dimension(context: Context, node: ast.expr) -> bool:
    """Whether `node` is, on each way here, a tensor (or an array) of no dimension."""
    return _look(context, node, frozenset(), 0) is True


def _look(context: Context, node: ast.expr, seen: frozenset[ast.AST], depth: int) -> bool | None:
    """True for no dimension, None for a plain number, False for all else and what is unknown."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(node, ast.Constant):
        return None if isinstance(node.value, int | float) else False
    if isinstance(node, ast.Name):
        return _of_name(context, node, seen, depth)
    if isinstance(node, ast.Attribute):
        if node.attr in ("data", "grad") and context.resolve(node) is None:
            if node.attr == "data" and _is_reduced_tensor(context, node.value):
                return True
            return _look(context, node.value, seen, depth + 1)
        return _number(context, node)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _look(context, node.operand, seen, depth + 1)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        sides = [_look(context, side, seen, depth + 1) for side in (node.left, node.right)]
        return _joined(sides)
    if isinstance(node, ast.IfExp):
        arms = [_look(context, arm, seen, depth + 1) for arm in (node.body, node.orelse)]
        return all(arm is True for arm in arms)
    if isinstance(node, ast.Call):
        return _of_call(context, node, seen, depth)
    return _number(context, node)


def _is_reduced_tensor(context: Context, node: ast.expr) -> bool:
    """`(guess == label).sum()`, whose `data` somebody reads: of what reduces so, only tensors have
    any that takes an index."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr not in _OF_EVERYTHING or node.args or node.keywords:
        return False
    if context.resolve(node.func) is not None or not context.names.imports("torch"):
        return False
    return context.values.of(node.func.value).kind in (Kind.UNKNOWN, Kind.TENSOR)


def _joined(parts: list[bool | None]) -> bool | None:
    if False in parts:
        return False
    return True if True in parts else None


def _number(context: Context, node: ast.expr) -> bool | None:
    """None for a number of Python's: a size, a length, what is known for one."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        if node.value.attr == "shape" and isinstance(node.slice, ast.Constant):
            return None
    return None if context.values.of(node).kind is Kind.NUMBER else False


def _of_name(context: Context, name: ast.Name, seen: frozenset[ast.AST], depth: int) -> bool | None:
    """What all its values are: a number that a loss is added to is one with it."""
    bindings = context.flow.reaching(name)
    if not bindings:
        return _number(context, name)
    return _of_bindings(context, name, bindings, seen, depth)


def _of_bindings(
    context: Context,
    name: ast.Name,
    bindings: tuple[Binding, ...],
    seen: frozenset[ast.AST],
    depth: int,
) -> bool | None:
    found: list[bool | None] = []
    for binding in bindings:
        if binding.node in seen:
            continue
        if binding.value is None or binding.kind not in ("assign", "annotate", "augment"):
            return False
        inside = seen | {binding.node}
        if binding.kind == "augment":
            # What it was before tells the shape as well: `zeros(1)` stays a vector.
            before = context.flow.reaching_name(name.id, binding.node)
            found.append(_of_bindings(context, name, before, inside, depth + 1))
        went = _look(context, binding.value, inside, depth + 1)
        if went is False and _goes_back(context, binding):
            went = True
        found.append(went)
    return _joined(found)


def _goes_back(context: Context, binding: Binding) -> bool:
    """Whether a criterion out of sight gives it, and `backward()` is called with no gradient on it,
    or on what the file gets from the same criterion elsewhere: that takes one number."""
    made = binding.value
    if not isinstance(made, ast.Call) or not made.args:
        return False
    called = made.func
    if context.resolve(called) is not None or _is_defined_here(context, called):
        return False
    if context.values.of(called).kind not in (Kind.MODULE, Kind.UNKNOWN):
        return False
    return _is_a_criterions(called, made) and ast.unparse(called) in _going_back(context)


def _going_back(context: Context) -> frozenset[str]:
    """What is called, with a prediction and a target, for a loss that goes back."""
    known = context.memo.get(_GOING_BACK)
    if not isinstance(known, frozenset):
        gradients = gradients_of(context)
        known = context.memo[_GOING_BACK] = frozenset(
            ast.unparse(binding.value.func)
            for _, binding in context.names.every_binding()
            if isinstance(binding.value, ast.Call)
            and _is_a_criterions(binding.value.func, binding.value)
            and gradients.goes_back(binding)
        )
    return known


def _is_a_criterions(called: ast.expr, made: ast.Call) -> bool:
    """What takes a prediction and a target, by position, and nothing else."""
    return (
        len(made.args) == 2 and not made.keywords and isinstance(called, ast.Name | ast.Attribute)
    )


def _is_defined_here(context: Context, called: ast.expr) -> bool:
    if not isinstance(called, ast.Name):
        return False
    kinds = {binding.kind for binding in context.names.bindings(called.id, called)}
    return bool(kinds & {"def", "class", "import"})


def _of_call(context: Context, call: ast.Call, seen: frozenset[ast.AST], depth: int) -> bool | None:
    qualified = context.resolve(call.func)
    if qualified is not None and qualified.startswith("torch."):
        return _of_torch(context, call, qualified, seen, depth)
    if isinstance(call.func, ast.Attribute):
        method, base = call.func.attr, call.func.value
        if method in _SAME_SHAPE:
            return _look(context, base, seen, depth + 1)
        if method in _OF_EVERYTHING and not call.args and not call.keywords:
            kind = context.values.of(base).kind
            return kind is Kind.TENSOR
    return _is_criterion(context, call.func, depth) or _number(context, call)


def _of_torch(
    context: Context, call: ast.Call, qualified: str, seen: frozenset[ast.AST], depth: int
) -> bool | None:
    if qualified in _WRAPPERS and len(call.args) == 1:
        return _look(context, call.args[0], seen, depth + 1)
    if qualified.startswith(_FUNCTIONS):
        name = qualified.removeprefix(_FUNCTIONS)
        return (name in _LOSSES or name.endswith("_loss")) and _reduces(call)
    name = qualified.removeprefix("torch.")
    if name in _OF_EVERYTHING and len(call.args) == 1 and not call.keywords:
        return context.values.of(call.args[0]).kind is Kind.TENSOR
    return False


def _is_criterion(context: Context, called: ast.expr, depth: int) -> bool:
    """Whether `called` is an object of one of torch's criteria that reduces."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(called, ast.Call):
        if isinstance(called.func, ast.Attribute) and called.func.attr in _MOVES:
            if context.resolve(called.func) is None:
                return _is_criterion(context, called.func.value, depth + 1)
        name = context.resolve(called.func) or ""
        return name.startswith(_CRITERIA) and name.endswith("Loss") and _reduces(called)
    if isinstance(called, ast.Name):
        bindings = context.flow.reaching(called)
        return bool(bindings) and all(
            binding.kind == "assign"
            and binding.value is not None
            and _is_criterion(context, binding.value, depth + 1)
            for binding in bindings
        )
    if isinstance(called, ast.Attribute):
        values = context.guards.assigned(called)
        return bool(values) and all(_is_criterion(context, v, depth + 1) for v in values)
    return False


def _reduces(call: ast.Call) -> bool:
    """Whether a criterion is not told to give a loss for each element."""
    if any(item.arg is None for item in call.keywords):
        return False
    reduction, reduce = keyword(call, "reduction"), keyword(call, "reduce")
    if reduction is not None and not (
        isinstance(reduction, ast.Constant) and reduction.value in ("mean", "sum")
    ):
        return False
    return reduce is None or (isinstance(reduce, ast.Constant) and reduce.value is True)
