"""A cast that follows a move: `x.cuda().float()` of what may be float64 is `x.float().to(device)`.

MPS cannot take float64 in, so that a cast behind the move comes too late. Where it makes numbers
narrow it may as well come first, also where a part alone is cast (`x.to(device)[i].float()`), or
another shape: the result is the same on every machine, and less is copied.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.text import replace_span
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.wide.late_casts import late_casts, may_cast_late

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context
    from mpslint.semantics.wide.late_casts import LateCast

_NARROW = frozenset({"float32", "float16", "bfloat16", "complex64"})
_BY_NAME = {"float": "float32", "half": "float16", "bfloat16": "bfloat16"}
_OF_ARRAYS = frozenset(
    {"torch.from_numpy", "torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor"}
)
_OF_ANY = frozenset({"torch.as_tensor", "torch.asarray"})
"""Those of them that are chosen for arrays, of which no copy is made."""
_DEPTH = 4
_KEY = "late casts of a file"


class Cast(NamedTuple):
    """A cast right behind a move."""

    call: ast.Call
    text: str
    """`.float()`, as the file has it."""
    part: str = ""
    """`[steps]`, which is taken of what was moved before that is cast."""


def late_in(context: Context) -> tuple[LateCast, ...]:
    """The casts of a file behind moves of what may be float64."""
    if _KEY not in context.memo:
        is_there = may_cast_late(context.source.data)
        context.memo[_KEY] = late_casts(context.tree) if is_there else ()
    found = context.memo[_KEY]
    assert isinstance(found, tuple)
    return found


def cast_behind(context: Context, move: ast.Call) -> Cast | None:
    """The cast to put in front of a move, since what is moved may be float64; None: there is none,
    or what is moved is of another dtype for sure."""
    late = next((one for one in late_in(context) if one.move is move and not one.is_apart), None)
    part: ast.AST = move
    if late is not None and not _is_copied_for_cuda(late.move):
        cast: ast.AST | None = late.cast
        assert isinstance(late.cast.func, ast.Attribute)
        part = late.cast.func.value
    else:
        while isinstance(taken := context.index.parents[part], ast.Subscript):
            if taken.value is not part:
                break
            part = taken
        attribute = context.index.parents[part]
        cast = context.index.parents.get(attribute)
        if not isinstance(attribute, ast.Attribute) or not isinstance(cast, ast.Call):
            return None
        if cast.func is not attribute or not _narrows(context, cast, attribute.attr):
            return None
        assert isinstance(move.func, ast.Attribute)
        base = move.func.value
        if context.values.of(base).kind is Kind.MODULE or not may_be_wide(context, base):
            return None
    assert isinstance(cast, ast.Call)
    source = context.source
    moved, taken_at, end = source.span(move)[1], source.span(part)[1], source.span(cast)[1]
    text = source.text[moved:end]
    if "\n" in text or "#" in text:
        return None
    return Cast(cast, source.text[taken_at:end], source.text[moved:taken_at])


def _is_copied_for_cuda(move: ast.Call) -> bool:
    """`x.cuda(non_blocking=True)`: who reads what on MPS then is asked where that is rewritten."""
    is_cuda = isinstance(move.func, ast.Attribute) and move.func.attr == "cuda"
    return is_cuda and bool(move.keywords or len(move.args) > 1)


def cast_first(context: Context, move: ast.Call, cast: Cast, moved: str) -> Edit:
    """The edit that puts the cast in front of the move, which is `moved` then."""
    assert isinstance(move.func, ast.Attribute)
    start, end = context.name_token(move.func)[0], context.source.span(cast.call)[1]
    return replace_span(context.source, start, end, f"{cast.text[1:]}.{moved}{cast.part}")


def _narrows(context: Context, cast: ast.Call, name: str) -> bool:
    given = [*cast.args, *(item.value for item in cast.keywords)]
    if name in _BY_NAME:
        return not given
    if name not in ("to", "type") or len(given) != 1:
        return False
    if (context.resolve(given[0]) or "").endswith("Tensor"):
        return False  # `torch.FloatTensor` is the type of tensors of the CPU, and moves as well.
    return context.dtypes.torch_dtype(given[0]) in _NARROW


def may_be_wide(context: Context, base: ast.expr) -> bool:
    """Whether a tensor is made of NumPy's arrays, and nobody says that they are not float64."""
    dtype = context.dtypes.tensor(base)
    if dtype is not None:
        return dtype in ("float64", "complex128")
    if isinstance(base, ast.Subscript) and isinstance(base.slice, ast.Constant):
        if isinstance(base.slice.value, str) and isinstance(base.value, ast.Name):
            from mpslint.semantics.wide.handed_out import hands_out_wide

            return hands_out_wide(context, base.slice.value)
    return any(_is_open(context, call) for call in _makers(context, base, _DEPTH))


def _is_open(context: Context, call: ast.Call) -> bool:
    if keyword(call, "dtype") is not None or not call.args:
        return False
    if context.dtypes.tensor(call) not in (None, "float64"):
        return False
    given = call.args[0]
    name = context.resolve(call.func)
    is_array = name == "torch.from_numpy" or (name in _OF_ANY and isinstance(given, ast.Name))
    known = context.dtypes.array(given)
    return known == "float64" or (is_array and known is None)


def _makers(context: Context, value: ast.expr, depth: int) -> list[ast.Call]:
    """The calls by which arrays become what a value is made of, as far as its own text and the
    names in it tell; what is cast on the way is left out."""
    if isinstance(value, ast.Name):
        bindings = context.flow.reaching(value) if depth else ()
        return [
            call
            for binding in bindings
            if binding.kind == "assign" and binding.value is not None
            for call in _makers(context, binding.value, depth - 1)
        ]
    if isinstance(value, ast.Call):
        name = context.resolve(value.func)
        if name in _OF_ARRAYS:
            return [value] if name != "torch.Tensor" else []
        if name is None and isinstance(value.func, ast.Attribute):
            if _narrows(context, value, value.func.attr):
                return []
            return _makers(context, value.func.value, depth)
        given: list[ast.expr] = list(value.args[:1]) if (name or "").startswith("torch.") else []
    elif isinstance(value, ast.ListComp | ast.GeneratorExp):
        given = [value.elt]
    elif isinstance(value, ast.List | ast.Tuple):
        given = list(value.elts)
    elif isinstance(value, ast.Subscript | ast.Starred):
        given = [value.value]
    elif isinstance(value, ast.BinOp):
        given = [value.left, value.right]
    else:
        given = []
    return [call for item in given for call in _makers(context, item, depth)]
