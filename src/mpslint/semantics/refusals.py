"""Refusals to run without CUDA, and what stands behind them.

Most of what asks for a GPU by `assert torch.cuda.is_available()` runs on MPS as well, once its
devices are selected. Such a refusal is needless; what it keeps a Mac from reaching has to change
with it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.collectives import is_optional
from mpslint.semantics.cuda_machine import outcome
from mpslint.semantics.gated_moves import entry_test, in_tests
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.paths import is_test
from mpslint.semantics.purpose import starts_nccl
from mpslint.semantics.runtime_calls import about_cuda

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SETTLED = frozenset({"cuda", "asked-cuda", "no-mps", "mps", "accelerator", "darwin", "caught"})
_LEAVERS = ("sys.exit", "os._exit", "exit", "quit")


def needless_refusals(context: Context) -> list[ast.expr]:
    """The tests of assertions and exits that refuse machines without CUDA, in code that says no
    other way that CUDA is what it is about."""
    known = context.memo.get("needless-refusals")
    if known is None:
        known = context.memo["needless-refusals"] = list(_needless(context))
    assert isinstance(known, list)
    return known


def refusal_before(context: Context, node: ast.AST) -> ast.expr | None:
    """The needless refusal that alone keeps `node` from a machine without CUDA."""
    if not context.guards.has(node, "cuda") or context.guards.has(node, "caught", "nccl"):
        return None
    if not needless_refusals(context) or in_tests(context) or about_cuda(context, node):
        return None
    if _always_starts_nccl(context) or _asked_again(context, node):
        return None
    test = entry_test(context, node)
    return test if test is not None and test in needless_refusals(context) else None


def _always_starts_nccl(context: Context) -> bool:
    """Whether the program joins a process group on NCCL whatever it is asked for."""
    return starts_nccl(context) and any(
        not is_optional(context, call)
        for call in context.calls_of("torch.distributed.init_process_group")
    )


def _asked_again(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands below a test for CUDA of its own."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If | ast.IfExp):
            arms = [parent.body, parent.orelse]
            for arm, holds in zip(arms, (True, False), strict=True):
                items = arm if isinstance(arm, list) else [arm]
                if any(child is item for item in items):
                    if "cuda" in context.guards.implied(parent.test, holds):
                        return True
        child = parent
    return False


def _needless(context: Context) -> Iterator[ast.expr]:
    if is_test(context.source.path):
        return
    for test, refused in (*_asserted(context), *_refused(context)):
        if not _asks_for_cuda(context, test) or outcome(context, test) is not (not refused):
            continue
        if _knows_others(context, test) or context.guards.has(test, *_SETTLED):
            continue
        if "asked-cuda" in context.guards.implied(test, refused):
            continue  # `if args.cuda and not torch.cuda.is_available()`
        if about_cuda(context, test):
            continue
        if not _names_nvidia(context, test) and not _starts_nccl_next(context, test):
            yield test


def _names_nvidia(context: Context, test: ast.expr) -> bool:
    """Whether the refusal says that what follows is for NVIDIA's GPUs."""
    holder = context.index.parents[test]
    said: list[ast.AST] = [holder.msg] if isinstance(holder, ast.Assert) and holder.msg else []
    if isinstance(holder, ast.If):
        said += [*holder.body[-1:], *holder.orelse[-1:]]
    return any("nvidia" in ast.unparse(item).lower() for item in said)


def _starts_nccl_next(context: Context, test: ast.expr) -> bool:
    """Whether the block goes on with a process group on NCCL."""
    block = context.index.block(context.index.statement(test))
    after = [item for item in block if item.lineno > test.lineno and isinstance(item, ast.Expr)]
    return any(
        context.resolve(item.value.func) == "torch.distributed.init_process_group"
        and "nccl" in ast.unparse(item.value)
        for item in after
        if isinstance(item.value, ast.Call)
    )


def _asserted(context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """Tests of assertions, with the outcome that ends the program."""
    for statement in context.index.of(ast.Assert):
        yield statement.test, False


def _refused(context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """Tests of an `if` that does nothing but raise or exit."""
    for statement in context.index.of(ast.If):
        for block, refused in ((statement.body, True), (statement.orelse, False)):
            if block and _ends(context, block):
                yield statement.test, refused


def _ends(context: Context, block: list[ast.stmt]) -> bool:
    last = block[-1]
    if isinstance(last, ast.Raise):
        return True
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and (context.resolve(last.value.func) or ast.unparse(last.value.func)) in _LEAVERS
    )


def _knows_others(context: Context, test: ast.expr) -> bool:
    """Whether the test, or an arm beside it, asks for another accelerator."""
    holder = context.index.parents[test]
    text = ast.unparse(holder).lower()
    return any(word in text for word in ("mps", "xpu", "npu", "hpu", "accelerator"))


def _asks_for_cuda(context: Context, test: ast.expr) -> bool:
    """Whether the machine is asked for CUDA here."""
    return any(
        isinstance(node, ast.Call) and (context.resolve(node.func) or "").startswith("torch.cuda.")
        for node in ast.walk(test)
    )
