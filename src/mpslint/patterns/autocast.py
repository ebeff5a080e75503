"""`autocast` and `GradScaler` for whichever device is selected.

On the CPU, where the CUDA forms switched themselves off, the new ones are switched off too
(`enabled=`), so that numbers there stay as they were.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.selection import Reference, reference, torch_name
from mpslint.patterns.statements import delete_statement
from mpslint.patterns.text import holds_comment, quote, replace, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SCALER_ON_MPS, _AUTOCAST_ON_MPS = (2, 8), (2, 5)
_MESSAGE = "Use the selected device's autocast"


def portable_call(context: Context, call: ast.Call) -> Fix | None:
    """`torch.cuda.amp.autocast(...)` and `GradScaler(...)` as their `torch.amp` forms."""
    torch = torch_name(context, call)
    name = (context.resolve(call.func) or "").rsplit(".", 1)[-1]
    if torch is None or name not in ("autocast", "GradScaler"):
        return None
    if context.settings.min_torch < _AUTOCAST_ON_MPS:
        return None
    device = _device(context, call)
    if device is None:
        return None
    source = context.source
    start, end = source.span(call)
    if holds_comment(source, start, end):
        return None
    arguments = [_text(context, k) for k in call.keywords if k.arg != "enabled"]
    enabled = next((k.value for k in call.keywords if k.arg == "enabled"), None)
    if name == "autocast":
        positional = list(zip(("enabled", "dtype", "cache_enabled"), call.args, strict=False))
        for keyword, value in positional:
            if keyword == "enabled":
                enabled = value
            else:
                arguments.insert(0, f"{keyword}={source.segment(value)}")
        head = f"{torch}.autocast(device_type={device.type_text}"
        test = _enabled(context, enabled, device, on_mps=_may_autocast(context))
    else:
        if call.args:
            return None
        head = f"{torch}.amp.GradScaler({device.type_text}"
        test = _enabled(
            context, enabled, device, on_mps=context.settings.min_torch >= _SCALER_ON_MPS
        )
    text = ", ".join([head, *arguments, f"enabled={test}"]) + ")"
    edits: tuple[Edit, ...] = (*device.edits, replace_span(source, start, end, text))
    return Fix(_MESSAGE, edits, device.level)


def portable_argument(context: Context, call: ast.Call, literal: ast.expr) -> Fix | None:
    """`autocast("cuda", ...)` with the type of the selected device, off on the CPU."""
    device = _device(context, call)
    if device is None:
        return None
    source = context.source
    edits = [*device.edits, replace(source, literal, device.type_text)]
    enabled = next((k for k in call.keywords if k.arg == "enabled"), None)
    scaler = (context.resolve(call.func) or "").endswith("GradScaler")
    on_mps = _may_autocast(context)
    if scaler:
        on_mps = context.settings.min_torch >= _SCALER_ON_MPS
    if enabled is not None:
        value = enabled.value
        test = _enabled(context, value, device, on_mps=on_mps)
        edits.append(replace(source, value, test))
    else:
        last = max([*call.args, *(k.value for k in call.keywords)], key=lambda n: source.span(n)[1])
        at = source.span(last)[1]
        if source.text[at : source.span(call)[1]].strip(" \t\r\n,)"):
            return None
        test = _enabled(context, None, device, on_mps=on_mps)
        if last is literal:
            edits[-1] = replace(source, literal, f"{device.type_text}, enabled={test}")
        else:
            edits.append(Edit(at, at, f", enabled={test}", ""))
    return Fix(_MESSAGE, tuple(edits), device.level)


def _may_autocast(context: Context) -> bool:
    """Whether float16 is safe on MPS: where gradients are scaled, the scaler must run there too."""
    if context.settings.min_torch >= _SCALER_ON_MPS:
        return True
    return not any(context.index.calls.get(name) for name in ("GradScaler", "scale"))


def _device(context: Context, call: ast.Call) -> Reference | None:
    """The selected device; in a decorator or default one of the module.

    None where the project supports torch older than 2.5, whose autocast refuses `"mps"`.
    """
    if context.settings.min_torch < _AUTOCAST_ON_MPS:
        return None
    found = reference(context, call, type_only=True)
    if found is not None and found.is_string and not found.edits:
        # A string may carry an index ("cuda:0"), which autocast does not take.
        value = context.devices.at_hand(call)
        if value is None or value.value.devices is None or value.indexed:
            return None
    return found


def _enabled(context: Context, given: ast.expr | None, device: Reference, *, on_mps: bool) -> str:
    mark = quote(context.source)
    test = (
        f"{device.type_text} != {mark}cpu{mark}"
        if on_mps
        else f"{device.type_text} == {mark}cuda{mark}"
    )
    if given is None or (isinstance(given, ast.Constant) and given.value is True):
        return test
    text = context.source.segment(given)
    if isinstance(given, ast.Constant) and given.value is False:
        return text
    if isinstance(given, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr):
        text = f"({text})"
    return f"{text} and {test}"


def _text(context: Context, keyword: ast.keyword) -> str:
    value = context.source.segment(keyword.value)
    return f"{keyword.arg}={value}" if keyword.arg else f"**{value}"


def drop_unused_import(context: Context, statement: ast.ImportFrom) -> Fix | None:
    """Remove names of `from torch.cuda.amp import ...` that nothing uses any more."""
    source = context.source
    start, end = source.span(statement)
    used = [alias for alias in statement.names if _is_used(context, alias, statement)]
    if len(used) == len(statement.names) or holds_comment(source, start, end):
        return None
    if used:
        names = ", ".join(source.segment(alias) for alias in used)
        text = f"from {statement.module} import {names}"
        return Fix(
            "Drop the unused import", (replace_span(source, start, end, text),), Applicability.SAFE
        )
    edit = delete_statement(context, statement)
    if edit is None:
        return None
    # Another file may import from this one what it never used itself.
    replaced = any(context.calls_of("torch.autocast", "torch.amp.GradScaler"))
    level = Applicability.SAFE if replaced else Applicability.UNSAFE
    return Fix("Drop the unused import", (edit,), level)


def _is_used(context: Context, alias: ast.alias, statement: ast.ImportFrom) -> bool:
    name = alias.asname or alias.name
    if name == "*":
        return True
    if any(isinstance(use.ctx, ast.Load) for use in context.index.names.get(name, ())):
        return True
    return any(
        isinstance(node, ast.Constant) and node.value == name for node in context.index.strings
    )
