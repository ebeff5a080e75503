"""A function that is told how many GPUs are wanted, and takes no more than CUDA has.

`wanted = min(wanted, torch.cuda.device_count())`, spelled out with a warning, and then
`torch.device("cuda:0" if wanted > 0 else "cpu")`: by then nobody knows any more whether one was
wanted. Who wants one and has none of CUDA's is given MPS where they are counted.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Fix
from mpslint.patterns.availability import mps_available, opening_level, wants_mps
from mpslint.patterns.insertion import insert_after
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import indent_unit, quote
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_COUNT = "torch.cuda.device_count"
_MESSAGE = "Choose MPS where it is there and a GPU is wanted"
_DEVICE = "torch.device"


def mps_beside_counted(context: Context, test: ast.expr) -> Fix | None:
    """The fix for such a function by the call that counts; None: it is another one."""
    torch, counting = torch_name(context, test), context.index.statement(test)
    function = context.index.function(test)
    if torch is None or not wants_mps(context) or not isinstance(function, FUNCTIONS):
        return None
    if not isinstance(test, ast.Call) or context.resolve(test.func) != _COUNT:
        return None
    if not isinstance(counting, ast.Assign) or counting.value is not test:
        return None
    number = counting.targets[0]
    if not isinstance(number, ast.Name) or counting not in function.body:
        return None
    chosen = [one for one in ast.walk(function) if isinstance(one, ast.IfExp)]
    wanted = _wanted(function, chosen[0]) if len(chosen) == 1 else None
    if wanted is None or not _is_only_lessened(function, counting, wanted, number.id):
        return None
    given = _given(context, function, chosen[0], wanted)
    if given is None:
        return None
    mark, unit = quote(context.source), indent_unit(context.source)
    made = f"{torch}.device({mark}mps{mark})" if given[0] else f"{mark}mps{mark}"
    asking = f"if {wanted} > 0 and {number.id} == 0 and {mps_available(context, torch)}:"
    lines = [asking, f"{unit}return {', '.join((made, *given[1:]))}"]
    edit = insert_after(context, counting, lines)
    return Fix(_MESSAGE, (edit,), opening_level(context)) if edit is not None else None


def _wanted(function: ast.FunctionDef | ast.AsyncFunctionDef, chosen: ast.IfExp) -> str | None:
    """The parameter whose number decides: `"cuda" if wanted > 0 else "cpu"`."""
    test, cuda, cpu = chosen.test, chosen.body, chosen.orelse
    if not isinstance(test, ast.Compare) or ast.unparse(test).partition(" ")[2] != "> 0":
        return None
    names = {one.arg for one in (*function.args.posonlyargs, *function.args.args)}
    named = [one.value for one in (cuda, cpu) if isinstance(one, ast.Constant)]
    if not isinstance(test.left, ast.Name) or test.left.id not in names or len(named) != 2:
        return None
    return test.left.id if str(named[0]).startswith("cuda") and named[1] == "cpu" else None


def _is_only_lessened(function: ast.AST, counting: ast.stmt, wanted: str, number: str) -> bool:
    """Whether the number that is wanted is, behind the counting, set to none or to what is there
    alone: `wanted = 0`, `wanted = number`."""
    for one in ast.walk(function):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id == wanted:
            if one.lineno <= counting.lineno:
                return False
    return all(
        (isinstance(one.value, ast.Constant) and one.value.value == 0)
        or (isinstance(one.value, ast.Name) and one.value.id == number)
        for one in ast.walk(function)
        if isinstance(one, ast.Assign)
        and any(isinstance(name, ast.Name) and name.id == wanted for name in one.targets)
    )


def _given(
    context: Context,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    chosen: ast.IfExp,
    wanted: str,
) -> tuple[str, ...] | None:
    """What the function gives where no GPU is left over: of its device whether torch makes it
    (empty: it is a text), and an empty list for the numbers of GPUs."""
    last = function.body[-1]
    others = [one for one in ast.walk(function) if isinstance(one, ast.Return)]
    if not isinstance(last, ast.Return) or others != [last] or last.value is None:
        return None
    parts = last.value.elts if isinstance(last.value, ast.Tuple) else [last.value]
    found = []
    for place, part in enumerate(parts):
        value = _value(function, part)
        if place == 0:
            is_made = isinstance(value, ast.Call) and context.resolve(value.func) == _DEVICE
            made = (
                value.args[0] if is_made and isinstance(value, ast.Call) and value.args else value
            )
            if made is not chosen:
                return None
            found.append(_DEVICE if is_made else "")
        elif isinstance(value, ast.Call) and _is_range(value, wanted):
            found.append("[]")
        else:
            return None
    return tuple(found)


def _is_range(call: ast.Call, wanted: str) -> bool:
    """`list(range(wanted))`"""
    inner = call.args[0] if len(call.args) == 1 else None
    if last_name(call.func) != "list" or not isinstance(inner, ast.Call):
        return False
    return last_name(inner.func) == "range" and [ast.unparse(one) for one in inner.args] == [wanted]


def _value(function: ast.AST, part: ast.expr) -> ast.expr | None:
    """What a name was given, where that is one thing; else the expression itself."""
    if not isinstance(part, ast.Name):
        return part
    values = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign)
        and [ast.unparse(target) for target in one.targets] == [part.id]
    ]
    return values[0] if len(values) == 1 else None
