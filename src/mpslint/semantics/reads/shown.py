"""Numbers that a turn of a loop only shows: in a text, a progress bar, a log.

Who looks at them sees no more of an update at each turn than of one every so many turns, so that
the loop need not wait for them at each.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.steps.steps import Turns

_DISPLAYS = frozenset({"print", "set_postfix", "set_description", "info", "debug", "add_scalar"})
"""What shows the numbers themselves that it is given."""
_RECORDS = frozenset(
    {"write", "writelines", "writerow", "append", "add", "save", "savefig", "dump"}
)
"""What keeps the texts that it is given, which are results then."""
_NUMBERS = frozenset({"float", "round", "int", "str", "mean", "sum", "average", "format"})
"""What makes a number or a text of what was added up."""
_NAMES_FOLLOWED = 2
"""`share = right / seen`, `line = f"{share:.2f}"`: more is not seen in real code."""


def is_shown(context: Context, use: ast.expr, loop: Turns, names: int = _NAMES_FOLLOWED) -> bool:
    """Whether the value of `use` ends on a screen or in a log, and nowhere else."""
    parents = context.index.parents
    child: ast.AST = use
    parent = parents[child]
    is_text = False
    while True:
        if isinstance(parent, ast.JoinedStr):
            is_text = True
        elif isinstance(parent, ast.BinOp):
            is_text = is_text or _is_format(parent, child)
        elif isinstance(parent, ast.Subscript):
            if child is not parent.value:
                return False
        elif isinstance(parent, ast.Call):
            if child is not parent.func and not _is_number_of(parent):
                is_text = is_text or _is_formatted(parent)
                if not _is_formatted(parent):
                    break
        elif not isinstance(
            parent,
            ast.Attribute
            | ast.FormattedValue
            | ast.UnaryOp
            | ast.Tuple
            | ast.List
            | ast.Dict
            | ast.keyword,
        ):
            break
        child, parent = parent, parents[parent]
    if isinstance(parent, ast.Call):
        if not isinstance(parents[parent], ast.Expr):
            return False
        if last_name(parent.func) in _RECORDS:
            return context.resolve(parent.func) in ("sys.stdout.write", "sys.stderr.write")
        return is_text or last_name(parent.func) in _DISPLAYS
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and child is parent.value:
        target = parent.targets[0]
        if isinstance(target, ast.Attribute):
            return is_text
        if isinstance(target, ast.Name) and names:
            return _all_shown(context, target, loop, names - 1)
    return False


def _is_number_of(call: ast.Call) -> bool:
    """`round(total, 2)`, `np.mean(losses)`."""
    return last_name(call.func) in _NUMBERS and not _is_formatted(call)


def _is_formatted(call: ast.Call) -> bool:
    """`"{:.2f}".format(share)`"""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "format"
        and isinstance(call.func.value, ast.Constant | ast.JoinedStr | ast.BinOp)
    )


def _is_format(operation: ast.BinOp, child: ast.AST) -> bool:
    """`"%.2f" % share`"""
    return (
        isinstance(operation.op, ast.Mod)
        and child is operation.right
        and isinstance(operation.left, ast.Constant)
        and isinstance(operation.left.value, str)
    )


def _all_shown(context: Context, target: ast.Name, loop: Turns, names: int) -> bool:
    """Whether the loop only shows what `target` is given there."""
    return all(
        is_shown(context, use, loop, names)
        for use in reads_of(context, target)
        if context.index.within(use, loop)
    )
