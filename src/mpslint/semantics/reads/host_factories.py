"""What the CPU makes of sizes and constants alone: the factories of torch, and what they are
reshaped, joined and reckoned to, in an expression and by the names of a function.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.basics.words import words
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import CPU_ONLY, Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding


DRAWN = words("rand randn randint randperm")
FILLED = DRAWN | words(
    """
    zeros ones full empty eye arange range linspace logspace tril_indices triu_indices
    hann_window hamming_window bartlett_window blackman_window kaiser_window
    """
)
_MADE_OF = words("tensor as_tensor LongTensor IntTensor FloatTensor Tensor BoolTensor from_numpy")
OF_VALUES = words("tensor as_tensor")
"""Not of sizes, which `FloatTensor(3)` takes."""
_COUNTING = words(
    """
    range arange zeros ones full eye linspace concatenate repeat tile list tuple len int size
    array astype reshape
    """
)
"""Functions of Python and NumPy that make numbers of sizes, and put such numbers together."""
_COUNTED = words("range arange zeros ones full eye linspace")
_SIZED = words("zeros ones empty rand randn")
"""Factories whose arguments are all sizes."""
_KEEPING = words(
    """
    unsqueeze squeeze view reshape expand repeat float long int bool half double t transpose
    permute flatten contiguous clone fill_ tril triu mul add sub div mul_ add_ sub_ div_
    requires_grad_ type_as eq ne gt lt ge le
    """
)
"""Methods that need no more than the tensor and numbers."""

_BY_ELEMENT = words("gt lt ge le eq ne add sub mul div exp log sin cos sqrt abs pow neg")
"""Functions of torch's that work on each number by itself."""


_JOINING = words("stack cat concat concatenate meshgrid hstack vstack")
"""Functions of torch's that put tensors together, of which nothing else comes in."""


def is_written_out(node: ast.expr) -> bool:
    """Numbers, and lists of such: `0.0`, `[[1, 2], [3, -4]]`"""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(map(is_written_out, node.elts))
    if isinstance(node, ast.UnaryOp):
        return is_written_out(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def is_one_number(context: Context, node: ast.expr) -> bool:
    """One number that is reckoned with sizes or known for one, also as a list: `x.shape[-1] * 1.0`,
    `[self.width]`. What callers hand over is for them to say."""
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts) == 1 and is_one_number(context, node.elts[0])
    if isinstance(node, ast.Call) and node.args:
        name = context.resolve(node.func) or ast.unparse(node.func)
        if name.startswith("math.") or name in ("float", "int"):
            return all(is_one_number(context, item) for item in node.args)
    if isinstance(node, ast.BinOp):
        return all(is_one_number(context, side) for side in (node.left, node.right))
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        given = bindings[0].value if len(bindings) == 1 else None
        if given is not None and bindings[0].kind == "assign" and not isinstance(given, ast.Name):
            return is_one_number(context, given)
    return _is_of_sizes(context, node) and not any(
        _is_of_others(context, item) for item in ast.walk(node)
    )


def _is_of_others(context: Context, node: ast.AST) -> bool:
    """A number that is a parameter, or that an object keeps which this one has."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.value, ast.Attribute) and context.values.of(node).kind is Kind.NUMBER
    return (
        isinstance(node, ast.Name)
        and context.values.of(node).kind is Kind.NUMBER
        and any(bound.kind == "parameter" for bound in context.flow.reaching(node))
    )


def last_part(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def made_on_host(
    context: Context, node: ast.expr, move: ast.Call, names: frozenset[str] = frozenset()
) -> ast.Call | None:
    """The factory at the root of a chain, or of what a name was given that only `move` reads;
    `names`: those that this is asked for already, one of which may be made of itself."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if _fills(context, node):
                return node
            if _is_by_element(context, node):
                return _reckoned(context, node.args, move, names)
            if (parts := _joined(context, node)) is not None:
                return _reckoned(context, parts, move, names)
            is_shaped = _is_shaped(context, node)
            if not is_shaped and node.func.attr not in _KEEPING:
                return None
            node = node.args[0] if is_shaped else node.func.value
        elif isinstance(node, ast.Subscript) and is_written_index(node.slice):
            node = node.value
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.BinOp):
            return _reckoned(context, [node.left, node.right], move, names)
        elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
            return _reckoned(context, [node.left, *node.comparators], move, names)
        else:
            break
    if isinstance(node, ast.Call):
        return node if _fills(context, node) else None
    if not isinstance(node, ast.Name) or node.id in names:
        return None
    bindings = context.flow.reaching(node)
    value = _given(context, bindings[0]) if len(bindings) == 1 else None
    function = context.index.function(move)
    if not isinstance(value, ast.Call) or context.index.function(value) is not function:
        return None
    made = made_on_host(context, value, move, names | {node.id}) if function is not None else None
    if made is None:
        return None
    scope = context.names.owner(node.id, node)
    for use in context.index.names.get(node.id, ()):
        if use is node or not isinstance(use.ctx, ast.Load):
            continue
        if context.names.owner(node.id, use) is scope and bindings[0] in context.flow.reaching(use):
            return None  # It is used on the CPU as well.
    return made


def _given(context: Context, binding: Binding) -> ast.expr | None:
    """What a name was given, and of `rows, columns = torch.meshgrid(...)` the whole grid."""
    if binding.kind == "assign":
        return binding.value
    whole = binding.value if binding.kind == "unpack" else None
    return whole if isinstance(whole, ast.Call) and _joined(context, whole) is not None else None


def _joined(context: Context, call: ast.Call) -> list[ast.expr] | None:
    """The tensors that `torch.stack([a, b], dim=0)` puts together, and `torch.meshgrid(a, b)`."""
    name = (context.resolve(call.func) or "").removeprefix("torch.")
    if name not in _JOINING or not call.args:
        return None
    listed = call.args[0] if isinstance(call.args[0], ast.List | ast.Tuple) else None
    return call.args if listed is None else listed.elts


def _is_shaped(context: Context, call: ast.Call) -> bool:
    """`torch.triu(torch.ones(n, n), diagonal=1)`, which needs numbers besides the tensor."""
    name = context.resolve(call.func) or ""
    others = [*call.args[1:], *(item.value for item in call.keywords)]
    return (
        name.startswith("torch.")
        and name.removeprefix("torch.") in _KEEPING
        and bool(call.args)
        and all(
            _is_number(context, number)
            for item in others
            for number in (item.elts if isinstance(item, ast.List | ast.Tuple) else (item,))
        )
    )


def _is_by_element(context: Context, call: ast.Call) -> bool:
    """`torch.gt(torch.zeros(n), 0)`, which works on each number by itself."""
    name = context.resolve(call.func) or ""
    return name.removeprefix("torch.") in _BY_ELEMENT and not call.keywords and bool(call.args)


def _reckoned(
    context: Context, sides: list[ast.expr], move: ast.Call, names: frozenset[str]
) -> ast.Call | None:
    """The factory of arithmetic, where each side is such a tensor or a number."""
    found = [made_on_host(context, side, move, names) for side in sides]
    filled = next((made for made in found if made is not None), None)
    for side, made in zip(sides, found, strict=True):
        if made is None and not _is_number(context, side) and not _is_size_of(side, filled):
            return None
    return filled


def _is_size(context: Context, node: ast.expr) -> bool:
    """A number, also one of `rows, columns = x.shape`."""
    if not isinstance(node, ast.Name):
        return _is_number(context, node)
    bindings = context.flow.reaching(node)
    shapes = [
        item.value
        for item in bindings
        if item.kind == "unpack" and isinstance(item.value, ast.Attribute | ast.Call)
    ]
    if bindings and len(shapes) == len(bindings):
        return all(_is_shape(one) for one in shapes)
    return _is_number(context, node)


def _is_shape(node: ast.expr) -> bool:
    """`x.shape`, `x.size()`"""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _is_size_of(side: ast.expr, factory: ast.Call | None) -> bool:
    """`half` of `torch.arange(half) / half`: what a factory takes for a size is a number."""
    if factory is None or not isinstance(side, ast.Name):
        return False
    if last_part(factory) not in ("arange", "linspace", "eye", "zeros", "ones"):
        return False
    given = (*factory.args, *(item.value for item in factory.keywords))
    return any(isinstance(item, ast.Name) and item.id == side.id for item in given)


def _is_number(context: Context, node: ast.expr) -> bool:
    """A number that is known for one, or a part of a shape."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("size", "numel", "dim")
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
        return node.value.attr == "shape"
    return context.values.of(node).kind is Kind.NUMBER


def is_written_index(node: ast.expr) -> bool:
    """An index that is written out: `[None]`, `[:, None]`, `[0]`, `[:n]`."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return all(
        isinstance(part, ast.Slice | ast.Constant)
        or (isinstance(part, ast.UnaryOp) and isinstance(part.operand, ast.Constant))
        for part in parts
    )


def _fills(context: Context, call: ast.Call) -> bool:
    name = context.resolve(call.func) or ""
    last = name.removeprefix("torch.")
    if not name.startswith("torch.") or context.values.of(call).devices != CPU_ONLY:
        return False
    if any(keyword(call, word) is not None for word in ("device", "generator", "pin_memory")):
        return False
    if last in FILLED:
        return True
    if last not in _MADE_OF or not call.args:
        return False
    written = last in OF_VALUES and (
        is_written_out(call.args[0]) or _is_of_sizes(context, call.args[0])
    )
    return written or _is_counted(context, call.args[0])


def _is_of_sizes(context: Context, node: ast.expr) -> bool:
    """`[(height - 1) / 2, (width - 1) / 2]`: a list of numbers, each reckoned with sizes."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(_is_of_sizes(context, item) for item in node.elts)
    if isinstance(node, ast.BinOp):
        return _is_of_sizes(context, node.left) and _is_of_sizes(context, node.right)
    return isinstance(node, ast.Constant) or _is_size(context, node)


def _is_counted(context: Context, node: ast.expr) -> bool:
    """Whether `range`, or NumPy's functions of that kind, make all of it: no data."""
    calls = [item for item in ast.walk(node) if isinstance(item, ast.Call)]
    names = [context.values.last_name(item.func) for item in calls]
    return any(name in _COUNTED for name in names) and all(name in _COUNTING for name in names)


def is_empty(factory: ast.Call) -> bool:
    """Whether a tensor has no element, so that its copy moves nothing and waits for nothing."""
    name, first = last_part(factory), factory.args[0] if factory.args else None
    listed = first.elts if isinstance(first, ast.List | ast.Tuple) else None
    if name in _SIZED:
        sizes = listed if listed is not None else factory.args
    elif name == "full":
        sizes = listed or []
    elif name == "arange":
        sizes = factory.args if len(factory.args) == 1 else []
    else:
        return listed == []
    return any(isinstance(size, ast.Constant) and size.value == 0 for size in sizes)
