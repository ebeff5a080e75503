"""Functions that raise on a Mac whatever else they do: they move to CUDA, and nothing asks first.

There the `.cuda()` is the finding. What comes of a counter, a cache or an autocast beside it shows
only once the device can be another one, and is reported then.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.facts_known import CUDA_SETTLED
from mpslint.semantics.index import COMPREHENSIONS, FUNCTIONS, FunctionNode, Index
from mpslint.semantics.value_syntax import is_main_test, last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ON_THE_WAY = (
    *(ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Starred, ast.BinOp),
    *(ast.Tuple, ast.List, ast.Dict, ast.Await, ast.withitem, ast.comprehension),
    *(ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return),
    *(ast.With, ast.AsyncWith, ast.For, ast.While),
    *COMPREHENSIONS,
)
"""What runs its parts, as far as anybody can say: a training loop has steps."""
_TALK = ("print", "format", "getattr", "hasattr", "startswith", "get", "info", "warning", "split")
"""Calls to which `"cuda"` is a word, not a device."""


def needs_cuda(context: Context, node: ast.AST) -> bool:
    """Whether the function around `node` (or the script) cannot come to its end without CUDA."""
    if context.guards.has(node, "cuda-used", "nccl"):
        return True
    known = context.memo.get("needs-cuda")
    if known is None:
        known = context.memo["needs-cuda"] = _needing(context)
    return context.index.function(node) in known  # type: ignore[operator]


def _needing(context: Context) -> set[FunctionNode | None]:
    found: set[FunctionNode | None] = set()
    for node in _moves(context):
        function = context.index.function(node)
        if function not in found and _surely_runs(context.index, node):
            if not context.guards.has(node, *CUDA_SETTLED):
                found.add(function)
    return found


def _moves(context: Context) -> list[ast.AST]:
    """Whatever puts something on CUDA, or hands CUDA on, by name."""
    found: list[ast.AST] = []
    for call in context.index.calls.get("cuda", ()):
        if isinstance(call.func, ast.Attribute) and context.resolve(call.func) is None:
            found.append(call)
    for call in context.index.calls.get("to", ()):
        if isinstance(call.func, ast.Attribute) and call.args:
            given = call.args[0]
            if isinstance(given, ast.Name | ast.Attribute):
                if context.values.of(given).devices == frozenset({"cuda"}):
                    found.append(call)
    for text in context.index.strings:
        if text.value == "cuda":
            call_around = context.index.parents[text]
            if isinstance(call_around, ast.Call) and text in call_around.args:
                name = context.resolve(call_around.func) or ""
                if not name.startswith("torch.") and last_name(call_around.func) not in _TALK:
                    found.append(text)
    return found


def _surely_runs(index: Index, node: ast.AST) -> bool:
    """Whether its function runs `node` on every way that does not leave before."""
    for parent in index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.Module)):
            return True
        if isinstance(parent, ast.If) and is_main_test(parent.test):
            continue
        if not isinstance(parent, _ON_THE_WAY):
            return False
    return False
