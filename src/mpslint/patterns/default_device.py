"""The counterpart on MPS of a default tensor type of CUDA's: the default device.

`torch.set_default_tensor_type("torch.cuda.FloatTensor")` in an arm for CUDA puts all that factories
make (`torch.zeros`, the weights of modules) on the GPU. An arm for MPS that goes without leaves all
of it on the CPU, beside the model that is moved.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.torch_releases import FIRST_WITH_DEFAULT_DEVICE
from mpslint.model import Applicability, Fix
from mpslint.patterns.availability import mps_available, wants_mps
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.statements import row_of_last_comment
from mpslint.patterns.switches import asked, joined
from mpslint.patterns.text import alone_on_lines, indent_unit, insert, quote
from mpslint.patterns.told import told_on_mps
from mpslint.semantics.syntax.saying import only_says
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.terms.legacy_types import is_cuda_type_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SETS, _SETS_DEVICE = "torch.set_default_tensor_type", "torch.set_default_device"
_OF_TYPES = "Tensor"
"""What a line says that tells of the type: MPS has none."""
REASON = "torch.set_default_device leaves torch.Tensor(...) on the CPU, which the type does not"


def makes_cuda_default(context: Context, node: ast.AST) -> bool:
    """Whether a call makes a type of CUDA's the default one, maybe on some machines alone, or its
    device, which is written there."""
    name = context.resolve(node.func) if isinstance(node, ast.Call) and node.args else None
    if not isinstance(node, ast.Call) or name not in (_SETS, _SETS_DEVICE):
        return False
    given = node.args[0]
    if name == _SETS_DEVICE:
        return any(
            backend_word(one) == "cuda" for one in ast.walk(given) if isinstance(one, ast.Constant)
        )
    arms = [given.body, given.orelse] if isinstance(given, ast.IfExp) else [given]
    return any(
        is_cuda_type_name(arm) or (context.resolve(arm) or "").startswith("torch.cuda.")
        for arm in arms
    )


def sets_inside(context: Context, statement: ast.AST, *names: str) -> bool:
    """Whether something of a statement makes a type or device of CUDA's the default one; `names`:
    by one of these functions."""
    return any(
        context.index.within(call, statement) and makes_cuda_default(context, call)
        for call in context.calls_of(*(names or (_SETS, _SETS_DEVICE)))
    )


def doubt_of_default(context: Context, choice: ast.AST) -> str:
    """What the device does not do that a type does which a choice makes the default; empty: it
    makes none."""
    return REASON if sets_inside(context, choice, _SETS) else ""


def as_default_device(context: Context, statement: ast.stmt, device: str) -> str | None:
    """The statement that makes MPS, spelled as `device`, the default device in place of one that
    makes a type of CUDA's the default; None: it does something else besides, the type is of a dtype
    that nobody sets then, or what the type puts on the GPU the device would not."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    torch = torch_name(context, statement)
    if not isinstance(call, ast.Call) or torch is None or not makes_cuda_default(context, call):
        return None
    if len(call.args) != 1 or call.keywords:
        return None
    if context.resolve(call.func) == _SETS_DEVICE:
        return f"{torch}.set_default_device({device})"
    given = call.args[0]
    text = given.value if isinstance(given, ast.Constant) else context.resolve(given)
    if text != "torch.cuda.FloatTensor":
        return None
    if context.settings.is_bound_before(FIRST_WITH_DEFAULT_DEVICE) or _makes_tensors(context):
        return None
    return f"{torch}.set_default_device({device})"


def _makes_tensors(context: Context) -> bool:
    """Whether the file calls `torch.Tensor`, which goes by the type and not by the device."""
    return any(
        context.resolve(call.func) == "torch.Tensor"
        for call in context.index.calls.get("Tensor", ())
    )


def add_default_device(context: Context, test: ast.expr) -> Fix | None:
    """An arm for MPS behind `if CUDA:` that does nothing but to make CUDA's type the default."""
    gate = context.index.parents.get(test)
    torch, source = torch_name(context, test), context.source
    if not isinstance(gate, ast.If) or gate.test is not test or torch is None:
        return None
    setting = [item for item in gate.body if sets_inside(context, item)]
    rest = [item for item in (*gate.body, *gate.orelse) if item not in setting]
    if len(setting) != 1 or not wants_mps(context):
        return None
    if not all(only_says(item) or _sets_other_type(context, item) for item in rest):
        return None
    mark = quote(source)
    line = as_default_device(context, setting[0], f"{mark}mps{mark}")
    switches = asked(context, test)
    if line is None or switches is None or not alone_on_lines(source, gate.body[-1]):
        return None
    start = source.span(gate)[0]
    if source.text[start : start + 2] != "if" or gate.body[0].lineno == gate.lineno:
        return None
    newline, indent = source.newline, source.indentation(gate.lineno)
    row = row_of_last_comment(source, gate.body[-1], indent)
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    lead = newline if not source.text[:offset].endswith(("\n", "\r")) else ""
    header = f"elif {joined([*switches, mps_available(context, torch)])}:"
    inner = newline + indent + indent_unit(source)
    told = [one for one in told_on_mps(context, gate) if _OF_TYPES not in one]
    text = indent + inner.join((header, *told, line))
    fix_text = f"{lead}{text}{'' if lead else newline}"
    message = f"Set the default device where MPS is there ({REASON})"
    return Fix(message, (insert(offset, fix_text),), Applicability.UNSAFE)


def _sets_other_type(context: Context, statement: ast.stmt) -> bool:
    """`torch.set_default_tensor_type("torch.FloatTensor")`"""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or context.resolve(call.func) != _SETS:
        return False
    return not makes_cuda_default(context, call)


def has_counterpart(context: Context, node: ast.AST) -> bool:
    """Whether a fix of this file sets the default device for MPS where a call sets the type."""
    statement = context.index.statement(node)
    gate = context.index.parents.get(statement)
    if not isinstance(gate, ast.If) or as_default_device(context, statement, "") is None:
        return False
    chosen = any(
        chain.node is gate and not (chain.inverted or chain.asked_only)
        for chain in context.chains.without_mps
    )
    return chosen or add_default_device(context, gate.test) is not None
