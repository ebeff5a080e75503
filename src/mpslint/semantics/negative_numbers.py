"""The number of a GPU that may be negative, by which a program says "the CPU": `--gpu -1`.

Who only asks whether there is a number (`if gpu is not None:`) goes on with such a one. On CUDA
that raises, without CUDA nothing is moved.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_AT_ZERO = ast.Lt | ast.GtE
_AT_MINUS_ONE = ast.Gt | ast.LtE | ast.Eq | ast.NotEq


def may_be_negative(context: Context, number: ast.expr) -> bool:
    """Whether the file compares this number with those below 0, or gives it such a one where nobody
    says anything: by what the number is called, since options of one program share their names."""
    name, spelled = last_name(number), ast.unparse(number)
    if name is None:
        return False
    return any(
        last_name(left) == name or _stands_for(context, left, spelled)
        for left in _compared(context)
    ) or any(given == name for given in _negative_by_default(context))


def _compared(context: Context) -> Iterator[ast.expr]:
    """What is compared so that a negative number is told from the others."""
    for test in context.index.of(ast.Compare):
        other = _integer(test.comparators[0])
        operator = test.ops[0]
        if len(test.ops) != 1 or other not in (0, -1):
            continue
        if isinstance(operator, _AT_ZERO if other == 0 else _AT_MINUS_ONE):
            yield test.left


def _stands_for(context: Context, left: ast.expr, spelled: str) -> bool:
    """`first = args.gpu`, and `first` is compared."""
    return isinstance(left, ast.Name) and ast.unparse(context.guards.behind(left)) == spelled


def _negative_by_default(context: Context) -> Iterator[str]:
    """The names of parameters and options that are negative where they are left out."""
    for function in context.index.functions():
        arguments = function.args
        positional = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [*arguments.defaults]
        pairs = [
            *zip(positional[len(positional) - len(defaults) :], defaults, strict=True),
            *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
        ]
        yield from (one.arg for one, default in pairs if default and _is_negative(default))
    for text in context.index.strings:
        call = context.index.parents[text]
        if isinstance(call, ast.Call) and text in call.args:
            # `add_argument("--gpu", default=-1)`, `DEFINE_integer("gpu", -1, "which GPU")`
            values = [*call.args, *(one.value for one in call.keywords if one.arg == "default")]
            if any(map(_is_negative, values)):
                yield str(text.value).lstrip("-").replace("-", "_")


def _is_negative(value: ast.expr) -> bool:
    number = _integer(value)
    return number is not None and number < 0


def _integer(value: ast.expr) -> int | None:
    sign = 1
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
        sign, value = -1, value.operand
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return sign * value.value
    return None
