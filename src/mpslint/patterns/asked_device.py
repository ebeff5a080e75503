"""Tests that ask a device whether it is CUDA: `device.type == "cuda"`, `"cuda" in args.device`.

What moves behind one goes to that device; on every other machine it is there already.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.destinations.valid_devices import torch_takes
from mpslint.semantics.devices.gpu_numbers import type_given
from mpslint.semantics.syntax.expressions import is_path, last_name
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKED_OF_TEXT = ("startswith", "__contains__")


class AskedDevice(NamedTuple):
    """The device that a test asks."""

    node: ast.Name | ast.Attribute
    """It may be written once more."""
    is_sure: bool
    """torch takes it for one: it is not `"auto"`, nor a list of devices."""


def asked_device(context: Context, test: ast.expr) -> AskedDevice | None:
    """The device that a test asks; None: it asks something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    asked = _asked(context, test)
    if isinstance(asked, ast.Call) and len(asked.args) == 1 and last_name(asked.func) == "str":
        asked = asked.args[0]
    has_type = isinstance(asked, ast.Attribute) and asked.attr == "type"
    if has_type:
        assert isinstance(asked, ast.Attribute)
        asked = asked.value
    if not isinstance(asked, ast.Name | ast.Attribute) or not is_path(asked):
        return None
    if context.values.of(asked).kind not in (Kind.DEVICE, Kind.DEVICE_STRING):
        return None
    takes = True if has_type else torch_takes(context, asked)
    return AskedDevice(asked, takes is True) if takes is not False else None


def _asked(context: Context, test: ast.expr) -> ast.expr | None:
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        is_cuda = len(test.args) == 1 and _is_cuda(context, test.args[0])
        return test.func.value if is_cuda and test.func.attr in _ASKED_OF_TEXT else None
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    if isinstance(test.ops[0], ast.In):
        return right if _is_cuda(context, left) else None
    if not isinstance(test.ops[0], ast.Eq):
        return None
    if _is_cuda(context, right):
        return left
    return right if _is_cuda(context, left) else None


def _is_cuda(context: Context, node: ast.expr) -> bool:
    """`"cuda"` and `torch.device("cuda")`, whichever GPU."""
    if isinstance(node, ast.Call) and context.resolve(node.func) == "torch.device":
        node = type_given(node) or node
    return backend_word(node) == "cuda"
