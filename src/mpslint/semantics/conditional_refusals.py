"""Refusals to run without CUDA of something that was asked for, rather than of the program."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value_syntax import is_main_test

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEVICES = frozenset({"cpu", "cuda", "gpu", "mps"})
_MACHINE = ("torch.cuda.", "torch.backends.", "torch.xpu.", "torch.npu.", "torch.version.")


def is_of_a_feature(context: Context, test: ast.expr) -> bool:
    """Whether a test for CUDA is asked under a further condition, which speaks of no device:
    `if fp16 and not torch.cuda.is_available():`, `if n_devices > 1:` around it."""
    child: ast.AST = test
    for parent in context.index.ancestors(test):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            if any(part is not child and _is_further(context, part) for part in parent.values):
                return True
        elif isinstance(parent, ast.If) and child is not parent.test:
            if not is_main_test(parent.test) and _is_further(context, parent.test):
                return True
        child = parent
    return False


def _is_further(context: Context, condition: ast.expr) -> bool:
    """Whether a condition speaks of something else than devices and machines."""
    for item in ast.walk(condition):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            if item.value.partition(":")[0].lower() in _DEVICES:
                return False
        elif isinstance(item, ast.Name | ast.Attribute):
            last = item.attr if isinstance(item, ast.Attribute) else item.id
            if names_device(last) or (context.resolve(item) or "").startswith(_MACHINE):
                return False
    return True
