"""float64 where the device has it, float32 on MPS: the conditional dtype that fixes write."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mpslint.facts.machines import SOLVERS
from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.arguments import add_argument
from mpslint.patterns.early_cast import cast_behind, cast_first
from mpslint.patterns.in_function import outermost
from mpslint.patterns.layout import folded
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.shared_dtype import shared_dtype
from mpslint.patterns.text import (
    holds_comment,
    indent_unit,
    line_limit,
    quote,
    replace,
    replace_span,
)
from mpslint.semantics.destinations.destinations import device_argument, pinned_to_mps
from mpslint.semantics.destinations.sure_devices import surely_device
from mpslint.semantics.syntax.expressions import is_path
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.wide.wide_partners import meets_wide

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.wide.wide_dtypes import Request

NARROW = {"float64": "float32", "complex128": "complex64"}
_WIDENING = {"double", "cdouble"}


def device_test(context: Context, device: ast.expr, backend: str) -> str | None:
    """The condition that `device` is of type `backend`, None where it cannot be asked again.

    A device of unknown origin may be a str or None, which have no `.type`.
    """
    if not is_path(device):
        return None
    mark, text = quote(context.source), context.source.segment(device)
    if surely_device(context, device):
        return f"{text}.type == {mark}{backend}{mark}"
    return f"str({text}).startswith({mark}{backend}{mark})"


def conditional_dtype(context: Context, device: ast.expr, wide: str, kept: str) -> str | None:
    """`torch.float32 if device.type == "mps" else torch.float64`.

    `wide` is the dtype by its usual name, `kept` how the file spells it.
    """
    torch = torch_name(context, device)
    if torch is None:
        return None
    narrow = f"{torch}.{NARROW[wide]}"
    if pinned_to_mps(context, device):
        return narrow
    test = device_test(context, device, "mps")
    return f"{narrow} if {test} else {kept}" if test is not None else None


def narrow_on_mps(context: Context, request: Request, wide: str, *, kept: str = "") -> Fix | None:
    """The fix of a request for `wide`: the narrow dtype where the device is MPS, and elsewhere the
    wide one, or what is `kept`.

    Unsafe where the device cannot be asked again: then the narrow dtype is written for all; and
    where tensors that it meets keep the wide one, so that the error would only move, also by way of
    a solver that computes in it.
    """
    fix = _narrowed(context, request, wide, kept)
    if fix is not None:
        fix = doubtful(fix, _solver_around(context, request.call))
    if fix is not None and meets_wide(context, request, wide):
        return fix._replace(applicability=Applicability.UNSAFE)
    return fix


def narrow_all(context: Context, requests: Sequence[Request], wide: str) -> Fix | None:
    """The fix of several requests that are told as one."""
    fixes = [narrow_on_mps(context, request, wide) for request in requests]
    made = [fix for fix in fixes if fix is not None]
    if len(made) < len(fixes):
        return None
    edits = tuple(dict.fromkeys(edit for fix in made for edit in fix.edits))
    least = min(made, key=lambda fix: fix.applicability)
    return least._replace(edits=edits)


def _solver_around(context: Context, node: ast.AST) -> str:
    """Where the function around a place lets SciPy solve something: what that gives, and calls
    other functions with, is float64."""
    around = outermost(context, node)
    for call in context.calls_of(*SOLVERS):
        if around is not None and context.index.within(call, around):
            name = (context.resolve(call.func) or "").rpartition(".")[2]
            return f"{context.line(call)}: {name}() computes in float64"
    return ""


def _narrowed(context: Context, request: Request, wide: str, kept: str) -> Fix | None:
    source, device = context.source, request.device
    cast = cast_behind(context, request.call) if request.how == "moved" else None
    if cast is not None:
        start, end = context.name_token(request.call.func)[0], source.span(request.call)[1]  # type: ignore[arg-type]
        first = cast_first(context, request.call, cast, source.text[start:end])
        return Fix("Cast before the move", (first,), Applicability.SAFE)
    move = _moved_behind(context, request) if device is None else None
    if move is not None:
        device = device_argument(context, move)
        request = request._replace(how="moved", call=move, device=device)
    if device is None and request.base is not None:
        return _narrow_cast(context, request, wide)
    if device is None:
        return None
    if request.dtype is not None:
        text = conditional_dtype(context, device, wide, source.segment(request.dtype))
        if text is None:
            return _everywhere(context, request.dtype, wide)
        shared = shared_dtype(context, request, device, wide, text) if " if " in text else None
        if shared is not None:
            named = replace(source, request.dtype, shared[1])
            return Fix(
                f"Keep {wide} where the device has it", (shared[0], named), Applicability.SAFE
            )
        plain = replace(source, request.dtype, text)
        wrapped = plain._replace(text=_replacing(context, request.dtype, text))
        edits: tuple[Edit, ...] = (_fitted(context, request.call, plain, wrapped),)
    else:
        torch = torch_name(context, request.call)
        text = conditional_dtype(context, device, wide, kept or f"{torch}.{wide}")
        if kept and text is not None:
            text = _if_wide(context, request, device, wide, kept) or text
        if text is None or _spreads(request.call):
            return None
        row = _last_argument(request.call).end_lineno or request.call.lineno
        held = _wrapped(context, text, row, len(source.line(row)) + len(", dtype="))
        added = add_argument(source, request.call, f"dtype={text}")
        other = add_argument(source, request.call, f"dtype={held}")
        if added is None or other is None:
            return None
        before = _cast_before(context, request.call)
        if before is not None:
            edits = _both_fitted(context, request.call, before, added, other)
        else:
            edits = (_fitted(context, request.call, added, other),)
    return Fix(f"Keep {wide} where the device has it", edits, Applicability.SAFE)


def _if_wide(
    context: Context, request: Request, device: ast.expr, wide: str, kept: str
) -> str | None:
    """The dtype for a tensor that may have another one, which has to stay: it is asked, where that
    costs nothing."""
    base, torch = request.base, torch_name(context, request.call)
    test = device_test(context, device, "mps")
    if request.how != "moved" or base is None or not is_path(base) or test is None:
        return None
    asked = f"{context.source.segment(base)}.dtype == {torch}.{wide}"
    return f"{torch}.{NARROW[wide]} if {test} and {asked} else {kept}"


def _spreads(call: ast.Call) -> bool:
    """`torch.zeros(3, device=device, **options)`: there may be a dtype among them."""
    return any(item.arg is None for item in call.keywords)


def _moved_behind(context: Context, request: Request) -> ast.Call | None:
    """`x.double().to(device)` of `x.double()`: what is moved next is cast by that move."""
    if request.dtype is not None or request.call.args or request.call.keywords:
        return None
    function = context.index.parents[request.call]
    move = context.index.parents.get(function)
    if not isinstance(function, ast.Attribute) or not isinstance(move, ast.Call):
        return None
    is_move = function.attr == "to" and len(move.args) + len(move.keywords) == 1
    return move if is_move and device_argument(context, move) is not None else None


def _both_fitted(
    context: Context, call: ast.Call, before: Edit, plain: Edit, wrapped: Edit
) -> tuple[Edit, ...]:
    made = tuple(folded(context, call, [before, plain]))
    return made if made != (before, plain) else (before, wrapped)


def _cast_before(context: Context, move: ast.Call) -> Edit | None:
    """Takes away the cast of `x.double().to(device, dtype=...)`, which says what it becomes: `x`
    may be on MPS already, and the values are the same, whichever is done first."""
    made = move.func.value if isinstance(move.func, ast.Attribute) else None
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Attribute):
        return None
    if made.func.attr not in _WIDENING or made.args or made.keywords:
        return None
    start, end = context.source.span(made.func.value)[1], context.source.span(made)[1]
    if holds_comment(context.source, start, end) or "\n" in context.source.text[start:end]:
        return None
    return replace_span(context.source, start, end, "")


def _fitted(context: Context, call: ast.Call, plain: Edit, wrapped: Edit) -> Edit:
    """The edit with its call broken where it would be too long, else with parentheses."""
    (edit,) = folded(context, call, [plain])
    return edit if edit != plain else wrapped


def _last_argument(call: ast.Call) -> ast.expr:
    """The argument that stands last in the text."""
    arguments = [*call.args, *(item.value for item in call.keywords)]
    return max(arguments, key=lambda node: (node.lineno, node.col_offset))


def _replacing(context: Context, node: ast.expr, chain: str) -> str:
    """`chain`, in parentheses on a line of its own where that of `node` would get too long."""
    source = context.source
    row = node.end_lineno or node.lineno
    rest = len(source.line(row)) - len(source.segment(node))
    return _wrapped(context, chain, row, rest)


def _wrapped(context: Context, chain: str, row: int, rest: int) -> str:
    """`rest` is the number of columns that the line needs besides `chain`."""
    source = context.source
    if " if " not in chain or rest + len(chain) <= line_limit(source):
        return chain
    indent, newline = source.indentation(row), source.newline
    return f"({newline}{indent}{indent_unit(source)}{chain}{newline}{indent})"


def _narrow_cast(context: Context, request: Request, wide: str) -> Fix | None:
    """`x.double()`: the tensor itself is asked for its device."""
    source, call, base = context.source, request.call, request.base
    assert base is not None
    torch = torch_name(context, call)
    module = context.values.of(base).kind is Kind.MODULE
    if torch is None or module:
        return None
    mark, text = quote(source), source.segment(base)
    kept = source.segment(request.dtype) if request.dtype is not None else f"{torch}.{wide}"
    if not is_path(base):
        if request.dtype is not None:
            return _everywhere(context, request.dtype, wide)
        return None
    dtype = f"{torch}.{NARROW[wide]} if {text}.device.type == {mark}mps{mark} else {kept}"
    if request.dtype is not None:
        plain = replace(source, request.dtype, dtype)
        wrapped = plain._replace(text=_replacing(context, request.dtype, dtype))
        edit = _fitted(context, call, plain, wrapped)
    else:
        start, end = source.span(base)[1], source.span(call)[1]
        if holds_comment(source, start, end) or "\n" in source.text[start:end]:
            return None
        plain = replace_span(source, start, end, f".to({dtype})")
        wrapped = plain._replace(text=f".to({_replacing(context, call, dtype)})")
        edit = _fitted(context, call, plain, wrapped)
    return Fix(f"Keep {wide} where the device has it", (edit,), Applicability.SAFE)


def _everywhere(context: Context, dtype: ast.expr, wide: str) -> Fix | None:
    torch = torch_name(context, dtype)
    if torch is None:
        return None
    edit = replace(context.source, dtype, f"{torch}.{NARROW[wide]}")
    return Fix(f"Use {NARROW[wide]}", (edit,), Applicability.UNSAFE)


def fix_level(context: Context, request: Request) -> Applicability | None:
    """The level of `narrow_on_mps` for this request, told without building it."""
    move = _moved_behind(context, request) if request.device is None else None
    if move is not None:
        request = request._replace(call=move, device=device_argument(context, move))
    asked = request.device if request.device is not None else request.base
    if request.dtype is None and _spreads(request.call):
        return None
    if asked is None:
        return None
    is_module = context.values.of(request.base).kind is Kind.MODULE
    if is_module and not (request.device is not None and _cast_before(context, request.call)):
        if move is None:
            return None  # Of which dtype all of it is, or where it lies, is not said here.
    if is_left_beside_wide(context, request, "float64"):
        return Applicability.UNSAFE
    if is_path(asked) or (request.device is not None and pinned_to_mps(context, asked)):
        return Applicability.SAFE
    return Applicability.UNSAFE if request.dtype is not None else None


def is_left_beside_wide(context: Context, request: Request, wide: str) -> bool:
    """Whether something that it meets would keep the wide dtype."""
    return meets_wide(context, request, wide) or bool(_solver_around(context, request.call))


def by_rows(context: Context, found: Iterable[Request]) -> list[list[Request]]:
    """The requests, those together that cast in one row, one beside the other, and can be mended,
    or cannot: the reason is one, and who mends one mends all (`f(v.double(), z.double())`)."""
    rows: dict[tuple[object, ...], list[Request]] = {}
    for at, request in enumerate(found):
        is_cast = request.how == "cast" and isinstance(request.call.func, ast.Attribute)
        key: tuple[object, ...] = (at,)
        if is_cast:
            key = "cast", request.call.end_lineno, fix_level(context, request) is None
        group = rows.setdefault(key, [])
        if any(_are_nested(context, request.call, other.call) for other in group):
            rows[(at,)] = [request]
        else:
            group.append(request)
    return list(rows.values())


def _are_nested(context: Context, one: ast.Call, other: ast.Call) -> bool:
    return context.index.within(one, other) or context.index.within(other, one)


def least_level(context: Context, requests: Iterable[Request]) -> Applicability | None:
    """The level of `narrow_all` for these."""
    levels = [fix_level(context, request) for request in requests]
    known = [level for level in levels if level is not None]
    return min(known) if len(known) == len(levels) else None
