"""Which stores into an array of NumPy's ask what is stored for its memory.

`array[:] = tensor` does: a slice, a list of places, a mask and a whole row are filled from another
array. One element is not: `losses[i] = loss` asks for a number, by `float(loss)`, which waits and
works on each device.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import argument

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MAKERS = frozenset({"numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full"})


def asks_for_memory(context: Context, target: ast.Subscript) -> bool:
    """Whether an array takes several items at this place for sure."""
    index = target.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any(_is_of_several(context, part) for part in parts):
        return True
    if any(isinstance(part, ast.Starred) for part in parts):
        return False
    return _dimensions(context, target.value) > len(parts)


def _is_of_several(context: Context, index: ast.expr) -> bool:
    """Whether an index chooses a part of an array, be it of one item, and no single element."""
    made = _given(context, index)
    return _spells_part(index) or (made is not None and _spells_part(made))


def _spells_part(index: ast.expr) -> bool:
    if isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert):
        return _spells_part(index.operand)
    if isinstance(index, ast.BinOp) and isinstance(index.op, ast.BitAnd | ast.BitOr):
        return _spells_part(index.left) or _spells_part(index.right)
    if isinstance(index, ast.Constant):
        return index.value is Ellipsis or index.value is None
    return isinstance(index, ast.Slice | ast.List | ast.ListComp | ast.Compare)


def _dimensions(context: Context, array: ast.expr) -> int:
    """How many an array has at the least: as many as the shape that it is made with."""
    made = _given(context, array)
    if not isinstance(made, ast.Call) or context.resolve(made.func) not in _MAKERS:
        return 1
    shape = argument(made, 0, "shape")
    if not isinstance(shape, ast.Tuple | ast.List):
        return 1
    return sum(not isinstance(part, ast.Starred) for part in shape.elts)


def _given(context: Context, node: ast.expr) -> ast.expr | None:
    """The one value that a name, or an attribute of an object's own, is given."""
    if isinstance(node, ast.Name):
        found = context.flow.reaching(node)
        return found[0].value if len(found) == 1 and found[0].kind == "assign" else None
    values = context.guards.assigned(node) if isinstance(node, ast.Attribute) else []
    return values[0] if len(values) == 1 else None
