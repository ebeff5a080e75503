"""Whether what `.to(x)` is given is a tensor, by what else is done with `x`.

`.to` takes a dtype, a device or a tensor, whose device it then takes. A dtype and a device have no
parts, no shape and no methods to speak of, and nobody reckons with a dtype: so `x.shape`, `x[0]`,
`x * y` or `torch.log(x)` beside it says that `x` is no dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.terms.value_tables import FACTORIES

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: the attributes of `torch.dtype`, of `torch.device` and, for names of devices, of `str`.
_OF_OTHERS = frozenset(dir(str)) | frozenset(
    ["type", "index", "is_floating_point", "is_complex", "is_signed"]
)
_RECKONING = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)


def used_as_tensor(context: Context, place: ast.expr) -> bool:
    """Whether something else in the same function (for `self.x`: in the same class) takes `place`
    for a tensor."""
    index = context.index
    for use in _others(context, place):
        parent = index.parents[use]
        if isinstance(parent, ast.Attribute) and parent.attr not in _OF_OTHERS:
            return True
        if isinstance(parent, ast.Subscript) and parent.value is use:
            return True
        if isinstance(parent, ast.Call) and use in parent.args[:1] and _computes(context, parent):
            return True
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, _RECKONING):
            sides = (parent.left, parent.right)
            if not any(isinstance(side, ast.Constant | ast.JoinedStr) for side in sides):
                return True
    return False


def is_of_tensors(context: Context, node: ast.expr, function: FunctionNode) -> bool:
    """Whether `node` is reckoned from parameters of `function` alone that torch's functions take
    there as tensors: `(a[:, 2:] >= a[:, :2]).all()` beside `torch.max(a[:, :2], b[:, :2])`."""
    index = context.index
    names = [item for item in ast.walk(node) if isinstance(item, ast.Name)]
    parameters = [name for name in names if context.resolve(name) is None]
    return bool(parameters) and all(
        [item.kind for item in context.flow.reaching(name)] == ["parameter"]
        and any(
            index.function(use) is function and _is_taken(context, use)
            for use in index.names.get(name.id, ())
        )
        for name in parameters
    )


def _is_taken(context: Context, use: ast.Name) -> bool:
    """Whether a function of torch's takes it or a part of it, to compute: `torch.max(a[:, 2:])`"""
    node: ast.expr = use
    parent = context.index.parents[node]
    while isinstance(parent, ast.Subscript) and parent.value is node:
        node, parent = parent, context.index.parents[parent]
    return isinstance(parent, ast.Call) and node in parent.args and _computes(context, parent)


def _computes(context: Context, call: ast.Call) -> bool:
    """`torch.log(x)`, which takes a tensor first, unlike what fills one from sizes."""
    name = (context.resolve(call.func) or "").removeprefix("torch.")
    return name not in FACTORIES and name.islower() and context.values.of(call).computed


def _others(context: Context, place: ast.expr) -> Iterator[ast.expr]:
    index = context.index
    if isinstance(place, ast.Name):
        function = index.function(place)
        for name in index.names.get(place.id, ()):
            if name is not place and index.function(name) is function:
                yield name
    elif isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name):
        klass = index.enclosing(place, ast.ClassDef)
        for use in index.attributes.get(place.attr, ()):
            if use is place or ast.unparse(use) != ast.unparse(place):
                continue
            if klass is not None and index.enclosing(use, ast.ClassDef) is klass:
                yield use
