"""What is loaded goes to NumPy as it lies: `torch.load(path)["loss"].view(-1).numpy()`.

A tensor on CUDA raises there, so the file has none: it was saved from the CPU, or the program fails
on CUDA as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NAMES_FOLLOWED = 3
# Facts: methods and attributes of a tensor whose result is on its device (`get` is a table's), and
# those that tell of it without a look at what it holds (`torch/_tensor_docs.py`).
_ALIKE = frozenset({"detach", "clone", "contiguous", "float", "double", "half", "long", "int"}) | {
    *("abs", "exp", "expand", "flatten", "get", "log", "max", "mean", "min", "neg", "norm"),
    *("permute", "pop", "repeat", "reshape", "sqrt", "squeeze", "std", "sum", "t", "transpose"),
    *("unsqueeze", "view"),
}
_PARTS = frozenset({"T", "data", "mT", "real"})
_OF_IT = frozenset({"dim", "dtype", "keys", "ndim", "nelement", "numel", "shape", "size"})
_TELLING = frozenset({"isinstance", "len", "print", "repr", "str", "type"})


class _Use(Enum):
    NUMPY = "taken by NumPy as it lies"
    TOLD = "says nothing of where it lies"
    OTHER = "may be used on CUDA"


def goes_to_numpy(context: Context, load: ast.Call) -> bool:
    """Whether all that is used of what `load` reads is taken by NumPy, with no copy to the host."""
    uses = set(_uses(context, load, _NAMES_FOLLOWED))
    return _Use.NUMPY in uses and _Use.OTHER not in uses


def _uses(context: Context, node: ast.expr, names: int) -> Iterator[_Use]:
    parent = context.index.parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        yield from _uses(context, parent, names)
    elif isinstance(parent, ast.Attribute):
        yield from _uses_of_part(context, parent, names)
    elif isinstance(parent, ast.Call) and node in parent.args:
        yield _given(context, parent)
    elif isinstance(parent, ast.Expr | ast.FormattedValue):
        yield _Use.TOLD
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and names:
        target = parent.targets[0]
        reads = list(reads_of(context, target)) if isinstance(target, ast.Name) else []
        if not reads:
            yield _Use.OTHER
        for read in reads:
            if len(context.flow.reaching(read)) == 1:
                yield from _uses(context, read, names - 1)
            else:
                yield _Use.OTHER
    else:
        yield _Use.OTHER


def _uses_of_part(context: Context, part: ast.Attribute, names: int) -> Iterator[_Use]:
    call = context.index.parents[part]
    if part.attr in _OF_IT:
        yield _Use.TOLD
    elif part.attr in _PARTS:
        yield from _uses(context, part, names)
    elif not isinstance(call, ast.Call) or call.func is not part:
        yield _Use.OTHER
    elif part.attr == "numpy" and not call.args and not call.keywords:
        yield _Use.NUMPY  # `force=True` would copy it.
    elif part.attr in _ALIKE:
        yield from _uses(context, call, names)
    else:
        yield _Use.OTHER


def _given(context: Context, call: ast.Call) -> _Use:
    # Fact: NumPy's functions make arrays of what they are given, and `Tensor.__array__` raises for
    # CUDA (`torch/_tensor.py`).
    if (context.resolve(call.func) or "").startswith("numpy."):
        return _Use.NUMPY
    return _Use.TOLD if last_name(call.func) in _TELLING else _Use.OTHER
