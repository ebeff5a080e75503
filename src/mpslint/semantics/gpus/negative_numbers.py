"""The number of a GPU that may be negative, by which a program says "the CPU": `--gpu -1`.

Who only asks whether there is a number (`if gpu is not None:`) goes on with such a one. On CUDA
that raises, without CUDA nothing is moved.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.parameters import defaults_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_KEY = "numbers that may be negative"
_AT_ZERO = ast.Lt | ast.GtE
_AT_MINUS_ONE = ast.Gt | ast.LtE | ast.Eq | ast.NotEq


def may_be_negative(context: Context, number: ast.expr) -> bool:
    """Whether the file compares this number with those below 0, or gives it such a one where nobody
    says anything: by what the number is called, since options of one program share their names."""
    name, (names, spelled) = last_name(number), _negative(context)
    return name is not None and (name in names or ast.unparse(number) in spelled)


def _negative(context: Context) -> tuple[set[str | None], set[str]]:
    """What may be negative, by what it is called; and what a name that is compared stands for:
    `first = args.gpu`."""
    if _KEY not in context.memo:
        compared = list(_compared(context))
        names = {last_name(left) for left in compared} | set(_negative_by_default(context))
        behind = (context.guards.behind(left) for left in compared if isinstance(left, ast.Name))
        context.memo[_KEY] = names, {ast.unparse(one) for one in behind}
    found = context.memo[_KEY]
    assert isinstance(found, tuple)
    return found


def _compared(context: Context) -> Iterator[ast.expr]:
    """What is compared so that a negative number is told from the others."""
    for test in context.index.of(ast.Compare):
        other = _integer(test.comparators[0])
        operator = test.ops[0]
        if len(test.ops) != 1 or other not in (0, -1):
            continue
        if isinstance(operator, _AT_ZERO if other == 0 else _AT_MINUS_ONE):
            yield test.left


def _negative_by_default(context: Context) -> Iterator[str]:
    """The names of parameters and options that are negative where they are left out."""
    for function in context.index.functions():
        pairs = defaults_of(function.args)
        yield from (one.arg for one, default in pairs if _is_negative(default))
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
