"""Calls that need a backend at run time, and whether the code around them makes sure of it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.gpus.several_gpus import for_several_gpus
from mpslint.semantics.names.flow import leaves
from mpslint.semantics.packages.cuda_packages import (
    KERNEL_PACKAGES,
    about_kernels,
    refuses_without_kernels,
)
from mpslint.semantics.purpose.arm_tests import tests_around
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.terms.facts_known import CUDA_SETTLED

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

MPS_SETTLED = ("mps", "mps-attribute", "darwin", "caught")
"""Facts under which an MPS call does not run off a Mac, or its failure is dealt with; a test by
attribute is the finding of another rule.
"""
ACCELERATOR_SETTLED = ("accelerator", "cuda", "mps", "xpu", "npu", "no-cpu", "caught")
"""The same for calls that need any accelerator at all."""

_GPU_MEMBERS = {"CUDA", "GPU", "MULTI_GPU"}


def unsettled(
    context: Context, names: Iterable[str], settled: Collection[str]
) -> Iterator[tuple[ast.Call, str]]:
    """Calls of these functions where none of `settled` is known, with the qualified name."""
    for call in context.calls_of(*names):
        if context.guards.has(call, *settled):
            continue
        if settled is CUDA_SETTLED:
            # In a file that knows no MPS, a device other than the CPU is a CUDA one.
            if b"mps" not in context.source.data and context.guards.has(call, "no-cpu"):
                continue
            if only_for_cuda(context, call) or for_several_gpus(context, call):
                continue
        yield call, context.resolve(call.func) or ""


def only_for_cuda(context: Context, node: ast.AST) -> bool:
    """Whether code is written for CUDA alone, though no test of CUDA settles it.

    It defines GPU kernels, goes through the CUDA devices one by one, runs for a member `CUDA` of
    an enumeration, or below an exit for machines that have neither CUDA nor one of its likes.
    """
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If):
            if any(child is item for item in parent.body) and _is_of_gpus(parent.test):
                return True
        else:
            iterable = _iterated(parent, child)
            if iterable is not None and _counts_devices(context, iterable):
                return True
        if isinstance(child, ast.stmt) and _behind_exit(context, child):
            return True
        child = parent
    return _cuda_file(context) or refuses_without_kernels(context, node)


def _behind_exit(context: Context, statement: ast.stmt) -> bool:
    """Behind `if not (torch.cuda.is_available() or ...): return` in its block."""
    for item in context.index.block(statement):
        if item is statement:
            return False
        if not isinstance(item, ast.If) or not leaves(item.body):
            continue
        test = item.test
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            parts = test.operand.values if isinstance(test.operand, ast.BoolOp) else [test.operand]
            if any(_asks_for_cuda(context, part) for part in parts):
                return True
    return False


def _asks_for_cuda(context: Context, test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and (context.resolve(test.func) == "torch.cuda.is_available")


def _iterated(parent: ast.AST, child: ast.AST) -> ast.expr | None:
    """What the loop or comprehension `parent` goes through, where `child` is its body."""
    if isinstance(parent, ast.For):
        return parent.iter if child is not parent.iter else None
    if isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return parent.generators[0].iter
    return None


def _cuda_file(context: Context) -> bool:
    known = context.memo.get("kernels")
    if known is None:
        known = context.memo["kernels"] = about_kernels(context.tree) or _builds_kernels(context)
    return bool(known)


def _builds_kernels(context: Context) -> bool:
    """Compiles CUDA code, reaches into a module of Triton kernels (`nn.triton_modules.f`), or is
    a test of such kernels (`pytest.importorskip("triton")`)."""
    if any(text.value == "TORCH_CUDA_ARCH_LIST" for text in context.index.strings):
        return True
    for call in context.index.calls.get("importorskip", ()):
        package = call.args[0] if call.args else None
        if isinstance(package, ast.Constant) and package.value in KERNEL_PACKAGES:
            return True
    return any(name.startswith("triton_") for name in context.index.attributes)


def _counts_devices(context: Context, iterable: ast.expr) -> bool:
    """`range(torch.cuda.device_count())`, which is empty without CUDA."""
    if not isinstance(iterable, ast.Call) or last_name(iterable.func) != "range":
        return False
    for argument in iterable.args:
        if isinstance(argument, ast.Call):
            if context.resolve(argument.func) == "torch.cuda.device_count":
                return True
    return False


def is_for_gpu_member(context: Context, node: ast.AST) -> bool:
    """Whether `node` only runs for a member of an enumeration that stands for GPUs of CUDA."""
    return any(outcome and _is_of_gpus(test) for test, outcome, _ in tests_around(context, node))


def _is_of_gpus(test: ast.expr) -> bool:
    """`kind == Kind.CUDA`"""
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.Or)
        return (all if every else any)(_is_of_gpus(item) for item in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    operator, right = test.ops[0], test.comparators[0]
    return (
        isinstance(operator, ast.Eq)
        and isinstance(right, ast.Attribute)
        and right.attr in _GPU_MEMBERS
    )
