"""Where what a function makes out of nothing goes beside other things that it makes.

Of `steps = torch.linspace(0, 1, n).cuda()` the text may not say what it meets; but where another
tensor of the same function is made on CUDA, and is computed with a parameter, that parameter is on
CUDA there. So it tells the device for both, and one function names one device.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING

from mpslint.semantics.operands.made_of import ELSEWHERE
from mpslint.semantics.operands.partners import partner
from mpslint.semantics.operands.pass_inputs import input_beside
from mpslint.semantics.terms.legacy_types import CUDA_TYPES
from mpslint.semantics.terms.value_tables import FACTORIES

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_KEY = "parameters that are on CUDA where their function is"


def companion(context: Context, node: ast.AST) -> str | None:
    """The parameter that tells where something belongs that is made, and moved to CUDA, at `node`,
    by what else its function moves there, or because a forward pass is given it; None: nothing
    does."""
    function = context.index.function(node)
    if function is None or not isinstance(node, ast.Call) or not _is_made_here(context, node):
        return None
    known: dict[FunctionNode, str | None] = context.memo.setdefault(_KEY, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = _of_function(context, function)
    return known[function] or input_beside(context, node)


def _is_made_here(context: Context, move: ast.Call) -> bool:
    """`torch.ones(n).float().cuda()`: what it moves comes from no other place."""
    value = move.func.value if isinstance(move.func, ast.Attribute) else None
    if move.args or move.keywords:
        return False
    while isinstance(value, ast.Call):
        module, _, name = (context.resolve(value.func) or "").rpartition(".")
        if module == "torch" and (name in FACTORIES or name in ("Tensor", *CUDA_TYPES)):
            return not any(given.arg in ("device", None) for given in value.keywords)
        if not isinstance(value.func, ast.Attribute) or value.func.attr in ELSEWHERE:
            return False
        value = value.func.value
    return False


def _of_function(context: Context, function: FunctionNode) -> str | None:
    """The parameter that most of what a function moves to CUDA is computed with, and that stands
    for the same all through it."""
    found = Counter(
        name
        for call in context.index.calls.get("cuda", ())
        if context.index.function(call) is function and not context.resolve(call.func)
        if (name := partner(context, call)) is not None and _is_kept(context, name, call)
    )
    return found.most_common(1)[0][0] if found else None


def _is_kept(context: Context, name: str, call: ast.Call) -> bool:
    bindings = context.names.scope_of(call).bindings.get(name, [])
    return len(bindings) == 1 and bindings[0].kind == "parameter"
