"""The arm for MPS beside an arm for CUDA, in the words of the test that is there."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.availability import mps_available, wants_mps
from mpslint.patterns.layout import arms_laid_out
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.text import alone_on_lines, holds_comment, indent_unit, insert, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ON_MPS = ("synchronize", "empty_cache")
"""Calls of CUDA that MPS has as well, without arguments."""


def mps_test(context: Context, test: ast.expr) -> str | None:
    """The test for MPS that corresponds to a test for CUDA.

    `device.type == "cuda"` asks for `"mps"` in the same words; anything else becomes
    `torch.backends.mps.is_available()`. None where torch has no name there.
    """
    if _names_cuda_once(test) or _names_cuda_beside(test):
        text = context.source.segment(test)
        # Fact: `torch.device("cuda")`, in either quotes.
        return re.sub(r"(['\"])cuda\1", r"\1mps\1", text)
    torch = torch_name(context, test)
    return mps_available(context, torch, module=True) if torch is not None else None


def mps_arm(context: Context, branch: ast.If, cuda: ast.Attribute) -> Edit | None:
    """Give `if CUDA:` an `elif MPS:` that does with `torch.mps` what a statement does on CUDA.

    Only where the body is the one statement that holds `cuda`, or calls CUDA besides: then the arm
    does all that MPS can do as well, whichever of it is asked for.
    """
    if not wants_mps(context):
        return None
    source, last = context.source, branch.body[-1]
    if not _is_alone(context, branch):
        return None
    if len(branch.body) == 1:
        lines = [_mps_text(context, cuda, branch.body[0])]
    else:
        calls = [one for one in branch.body if _called(one).attr in _ON_MPS]
        lines = [_mps_text(context, _called(one), one) for one in calls]
    arm = [line for line in lines if line is not None]
    test = mps_test(context, branch.test)
    if not arm or len(arm) < len(lines) or test is None or "\n" in test:
        return None
    newline, unit = source.newline, indent_unit(source)
    indent = source.indentation(branch.lineno)
    row = last.end_lineno or last.lineno
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    gap = " " if last.lineno == branch.lineno else f"{newline}{indent}{unit}"
    text = f"{indent}elif {test}:{gap}{gap.join(arm)}{newline}"
    if not source.text[:offset].endswith(("\n", "\r")):
        text = newline + text.removesuffix(newline)
    return insert(offset, text)


def _called(statement: ast.stmt) -> ast.Attribute:
    """`torch.cuda.synchronize` of a statement that is a call of it."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    assert isinstance(function, ast.Attribute)
    return function


def _is_alone(context: Context, branch: ast.If) -> bool:
    """Whether an arm may stand behind that for CUDA: nothing else is in its rows, and what it does
    besides is for CUDA."""
    source, last = context.source, branch.body[-1]
    if branch.lineno == last.lineno:
        start, end = source.span(branch.body[0])[0], source.span(last)[1]
        rest = source.text[end:].split("\n", 1)[0].strip()
        before = source.text[source.starts[branch.lineno - 1] : source.span(branch)[0]].strip()
        is_first = before in ("", "el") and source.text[start - 1] in " :"
        return len(branch.body) == 1 and is_first and (not rest or rest.startswith("#"))
    if not alone_on_lines(source, last):
        return False
    return len(branch.body) == 1 or (
        not branch.orelse
        and all(
            isinstance(item, ast.Expr)
            and isinstance(item.value, ast.Call)
            and isinstance(item.value.func, ast.Attribute)
            and (context.resolve(item.value.func) or "").startswith("torch.cuda.")
            for item in branch.body
        )
    )


def mps_choice(context: Context, branch: ast.IfExp, cuda: ast.Attribute) -> Edit | None:
    """`CUDA if test else other` with `MPS if test else` in front of `other`."""
    arm = _mps_text(context, cuda, branch.body) if wants_mps(context) else None
    test = mps_test(context, branch.test)
    if arm is None or test is None or "\n" in test + arm:
        return None
    source, other = context.source, branch.orelse
    if holds_comment(source, *source.span(branch)) or "\n" in source.segment(branch):
        return insert(source.span(other)[0], f"{arm} if {test} else ")
    text, body, asked = source.segment(other), source.segment(branch.body), branch.test
    parts = [body, f"if {source.segment(asked)}", f"else {arm}", f"if {test}", f"else {text}"]
    return replace(source, branch, arms_laid_out(context, branch, parts))


def _mps_text(context: Context, cuda: ast.Attribute, node: ast.AST) -> str | None:
    """The text of `node` with `torch.mps.x` for `torch.cuda.x` and no argument for it."""
    torch = torch_name(context, cuda)
    if torch is None:
        return None
    source = context.source
    start, end = source.span(node)
    call = context.index.parents[cuda]
    first, last = source.span(cuda)
    after = last
    name = f"{torch}.mps.{cuda.attr}"
    if isinstance(call, ast.Call) and call.func is cuda:
        after = source.span(call)[1]
        name += "()"
    text = source.text[start:first] + name + source.text[after:end]
    return text if "\n" not in text else None


def _names_cuda_once(test: ast.expr) -> bool:
    """A comparison with (or a test of the start for) the one string `"cuda"`."""
    words = [
        item.value
        for item in ast.walk(test)
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    if words != ["cuda"]:
        return False
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.In)
    return (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Attribute)
        and test.func.attr == "startswith"
    )


def _names_cuda_beside(test: ast.expr) -> bool:
    """`device.type == "cuda" and step % 10 == 0`: a question besides that is none for CUDA."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return False
    others = [value for value in test.values if not _names_cuda_once(value)]
    return len(others) == len(test.values) - 1 and not any(
        "cuda" in ast.unparse(value).lower() or isinstance(item, ast.NamedExpr)
        for value in others
        for item in ast.walk(value)
    )


def serve_mps(context: Context, call: ast.Call, message: str) -> Fix | None:
    """An arm for MPS beside the `if CUDA:` of which `call` is a statement."""
    statement = context.index.parents[call]
    branch = context.index.parents.get(statement)
    if not isinstance(branch, ast.If) or not isinstance(call.func, ast.Attribute):
        return None
    if statement not in branch.body:
        return None
    edit = mps_arm(context, branch, call.func)
    return Fix(message, (edit,), Applicability.SAFE) if edit is not None else None
