"""Dispatches over several accelerators: an arm for each, whose body is one call of its module.

`if device == "cuda": torch.cuda.empty_cache()` with `elif device == "xpu": torch.xpu.empty_cache()`
and no `else`: whoever wrote this serves more than CUDA, and has left MPS out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.flow import leaves

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MODULE = re.compile(r"torch\.([a-z]+)\.([a-z_]+)$")
_NO_ACCELERATORS = ("cpu", "mps", "accelerator", "random", "backends")
_SPEAKS_OF_MPS = re.compile(r"mps(?!\d)|accelerator\b|\bapple\b", re.I)
_SETTLED = ("cuda", "asked-cuda", "xpu", "npu", "cpu", "not-darwin", "no-accelerator")


class Arms(NamedTuple):
    """A dispatch that serves CUDA and other accelerators, but not MPS."""

    head: ast.If
    """The first `if` of the chain."""
    cuda: ast.If
    """The arm for CUDA."""
    backends: tuple[str, ...]
    """Who is served, as torch's modules are called: `("cuda", "xpu")`."""
    refusal: ast.If | None
    """`if device not in ["cuda", "xpu"]: return` in front of it, where there is one."""

    @property
    def served(self) -> str:
        """`CUDA and XPU`, `CUDA, XPU and NPU`."""
        *first, last = (backend.upper() for backend in self.backends)
        return f"{', '.join(first)} and {last}"


def arms_without_mps(context: Context, call: ast.Call) -> Arms | None:
    """The dispatch whose arm for CUDA is `call` and nothing else.

    None where there is an `else`, an arm that does more, or a word about MPS in the function.
    """
    index = context.index
    statement = index.parents[call]
    cuda = index.parents.get(statement)
    if not isinstance(statement, ast.Expr) or not isinstance(cuda, ast.If):
        return None
    if context.guards.implied(cuda.test, True).isdisjoint({"cuda", "asked-cuda"}):
        return None
    head = _head(context, cuda)
    backends = [_called(context, arm) for arm in _chain(head)]
    if len(backends) < 2 or None in backends or _called(context, cuda) is None:
        return None
    names = {found[0] for found in backends if found is not None}
    actions = {found[1] for found in backends if found is not None}
    if "cuda" not in names or len(names) < 2 or len(actions) > 1:
        return None
    if _speaks_of_mps(context, head) or context.guards.has(head, *_SETTLED):
        return None
    refusal = _refusal(context, head) if context.guards.has(head, "no-mps") else None
    if refusal is None and context.guards.has(head, "no-mps"):
        return None
    ordered = tuple(dict.fromkeys(found[0] for found in backends if found is not None))
    return Arms(head, cuda, ordered, refusal)


def _head(context: Context, arm: ast.If) -> ast.If:
    parent = context.index.parents.get(arm)
    while isinstance(parent, ast.If) and len(parent.orelse) == 1 and parent.orelse[0] is arm:
        arm, parent = parent, context.index.parents.get(parent)
    return arm


def _chain(head: ast.If) -> Iterator[ast.If | None]:
    """Every arm, and None for an `else`."""
    arm = head
    while True:
        yield arm
        if not arm.orelse:
            return
        if len(arm.orelse) > 1 or not isinstance(arm.orelse[0], ast.If):
            yield None
            return
        arm = arm.orelse[0]


def _called(context: Context, arm: ast.If | None) -> tuple[str, str] | None:
    """(`xpu`, `empty_cache`) of an arm that calls `torch.xpu.empty_cache` and does no more."""
    if arm is None or len(arm.body) != 1 or not isinstance(arm.body[0], ast.Expr):
        return None
    call = arm.body[0].value
    match = _MODULE.match(context.resolve(call.func) or "") if isinstance(call, ast.Call) else None
    if match is None or match.group(1) in _NO_ACCELERATORS:
        return None
    return match.group(1), match.group(2).removesuffix("_all")


def _speaks_of_mps(context: Context, node: ast.AST) -> bool:
    """Whether the function around, its comments included, says anything of MPS."""
    function = context.index.function(node)
    text = context.source.text
    if function is not None:
        start, end = context.source.span(function)
        text = text[start:end]
    return _SPEAKS_OF_MPS.search(text) is not None


def _refusal(context: Context, head: ast.If) -> ast.If | None:
    """The exit in front of `head` for what is not in a list of several accelerators."""
    for item in context.index.block(head):
        if item is head:
            return None
        if isinstance(item, ast.If) and leaves(item.body) and _lists_accelerators(item.test):
            return item
    return None


def _lists_accelerators(test: ast.expr) -> bool:
    """`device not in ["cuda", "xpu"]`"""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    listed = test.comparators[0]
    if not isinstance(test.ops[0], ast.NotIn):
        return False
    if not isinstance(listed, ast.List | ast.Tuple | ast.Set):
        return False
    words = {item.value for item in listed.elts if isinstance(item, ast.Constant)}
    return "cuda" in words and len(words - {"cpu"}) > 1
