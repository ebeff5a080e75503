"""A choice that is written twice: `train(net, device="cpu" if args.cpu else "cuda")` and further
down `test(net, device="cpu" if args.cpu else "cuda")` mean one device.

Where one of them can be followed to what it places, and the other cannot, the first would change
alone, and what both functions share would be on two devices.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

    from mpslint.semantics.context import Context


def other_of_two(
    context: Context, literal: ast.expr, told: Container[ast.expr]
) -> ast.keyword | None:
    """The argument that is the same choice, in the same function, as the one that `literal` is an
    arm of, and that is not `told`; None: there is none."""
    choice = context.index.parents[literal]
    given = context.index.parents.get(choice)
    if not isinstance(choice, ast.IfExp) or not isinstance(given, ast.keyword):
        return None
    around, text = context.index.function(given), ast.dump(choice)
    for other in context.index.of(ast.keyword):
        if other is given or other.arg != given.arg or other.arg is None:
            continue
        value = other.value
        if not isinstance(value, ast.IfExp) or context.index.function(other) is not around:
            continue
        if ast.dump(value) == text and not _holds(value, told):
            return other
    return None


def _holds(choice: ast.IfExp, told: Container[ast.expr]) -> bool:
    return choice.body in told or choice.orelse in told
