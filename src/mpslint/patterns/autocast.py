"""`autocast` and `GradScaler` for whichever device is selected.

On the CPU, where the CUDA forms switched themselves off, the new ones are switched off too
(`enabled=`), so that numbers there stay as they were.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.torch_releases import FIRST_AUTOCAST_ON_MPS
from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.arguments import add_argument
from mpslint.patterns.layout import folded
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.references import Reference
from mpslint.patterns.selection import reference
from mpslint.patterns.statements import delete_statement
from mpslint.patterns.text import holds_comment, insert, quote, replace, replace_span
from mpslint.semantics.syntax.expressions import argument, arguments_for
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import explicit_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.context import Context

_SCALER_ON_MPS = (2, 8)
_HOLDER = ("torch.cuda", "amp")
_STEPPING_BACK = ("backward", "grad", "manual_backward")
_WIDENING = "float"
_MESSAGE = "Use the selected device's autocast"


OLD = "; no fix, since "
"""How `too_old` begins."""


def is_off(call: ast.Call) -> bool:
    """`enabled=False`, `torch.cuda.amp.autocast(False)`, `torch.autocast("cuda", dtype, False)`: it
    switches off on every device."""
    first = call.args[0] if call.args else None
    is_named = isinstance(first, ast.Constant) and isinstance(first.value, str)
    given = arguments_for(call, 2 if is_named else 0, "enabled")
    return any(isinstance(v, ast.Constant) and v.value is False for v in given)


def too_old(context: Context) -> str:
    """Why no fix can be written for the torch of the project's requirements, as the end of a
    message; empty where one can, or where the setting says what there is."""
    settings = context.settings
    if settings.pin is None or settings.oldest_torch >= FIRST_AUTOCAST_ON_MPS:
        return ""
    oldest = ".".join(map(str, settings.oldest_torch))
    return (
        f"{OLD}{settings.oldest_by} lets in torch {oldest}, whose autocast raises "
        "on MPS (raise it to 2.5, or set min-torch)"
    )


def portable_call(context: Context, call: ast.Call) -> Fix | None:
    """`torch.cuda.amp.autocast(...)` and `GradScaler(...)` as their `torch.amp` forms.

    Also `torch.amp.GradScaler(...)` without a device, which means CUDA.
    """
    holder, _, name = (context.resolve(call.func) or "").rpartition(".")
    if name not in ("autocast", "GradScaler") or _unpacks(call):
        return None
    device, paren = _device(context, call), _opening(context, call)
    if device is None or paren is None:
        return None
    scaler = name == "GradScaler"
    if _for_nothing(context, call, device, scaler=scaler):
        return None
    head = device.type_text if scaler else f"device_type={device.type_text}"
    enabled = argument(call, 4 if scaler else 0, "enabled")
    edits = list(device.edits)
    if holder == "torch.cuda.amp":
        torch = torch_name(context, call)
        if torch is None:
            return None
        new = f"{torch}.amp.GradScaler" if scaler else f"{torch}.autocast"
        edits.append(replace(context.source, call.func, new))
    if not scaler:
        named = _named(context, call, paren, ("enabled", "dtype", "cache_enabled"))
        if named is None:
            return None
        edits += named
    test = _enabled(context, enabled, device, on_mps=_on_mps(context, call, scaler=scaler))
    if enabled is not None:
        edits.append(_replaced(context, edits, enabled, test))
    elif call.args or call.keywords:
        added = add_argument(context.source, call, f"enabled={test}")
        if added is None:
            return None
        edits.append(added)
    else:
        head = f"{head}, enabled={test}"
    edits.append(_first_argument(context, call, paren, head))
    made = _made(device, folded(context, call, edits))
    return _with_its_autocasts(context, made) if scaler else made


def _with_its_autocasts(context: Context, made: Fix) -> Fix | None:
    """The fix of a scaler, where the autocasts that it scales for can be moved as well, and no
    safer than that: of a unit of two either both speak of `torch.cuda.amp` or none."""
    for call in context.calls_of("torch.cuda.amp.autocast"):
        if _unpacks(call):
            continue  # Somebody else's to write.
        beside = portable_call(context, call)
        if beside is None:
            return None
        made = made._replace(applicability=min(made.applicability, beside.applicability))
    return made


def portable_argument(context: Context, call: ast.Call, literal: ast.expr) -> Fix | None:
    """`autocast("cuda", ...)` with the type of the selected device, off on the CPU."""
    device = _device(context, call)
    if device is None or _unpacks(call):
        return None
    source = context.source
    named = replace(source, literal, device.type_text)
    name = (context.resolve(call.func) or "").rsplit(".", 1)[-1]
    if name.startswith("custom_"):
        return _made(device, (*device.edits, named))
    scaler = name == "GradScaler"
    if _for_nothing(context, call, device, scaler=scaler):
        return None
    enabled = argument(call, 5 if scaler else 2, "enabled")
    test = _enabled(context, enabled, device, on_mps=_on_mps(context, call, scaler=scaler))
    if enabled is not None:
        both = (named, replace(source, enabled, test))
        return _made(device, (*device.edits, *folded(context, call, both)))
    added = add_argument(source, call, f"enabled={test}")
    if added is None:
        return None
    if added.start == named.end:
        edits: tuple[Edit, ...] = (named._replace(text=named.text + added.text),)
    else:
        edits = (named, added)
    return _made(device, (*device.edits, *folded(context, call, edits)))


def _made(device: Reference, edits: Iterable[Edit]) -> Fix:
    return doubtful(Fix(_MESSAGE, tuple(edits), device.level), device.reason)


def _unpacks(call: ast.Call) -> bool:
    """`autocast(*options, **more)`: nobody knows whether `enabled` is among them."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )


def _opening(context: Context, call: ast.Call) -> int | None:
    """Offset behind the parenthesis that opens the arguments."""
    start = context.source.span(call.func)[1]
    gap = context.source.text[start:].partition("(")[0]
    return start + len(gap) + 1 if not gap.strip() else None


def _named(
    context: Context, call: ast.Call, paren: int, names: tuple[str, ...]
) -> list[Edit] | None:
    """Names for the positional arguments, which stand elsewhere in the new call."""
    source, edits, before = context.source, [], paren
    for name, value in zip(names, call.args, strict=False):
        start, end = source.span(value)
        if source.text[before:start].strip(", \t\r\n"):
            return None  # in parentheses, or behind a comment
        edits.append(insert(start, f"{name}="))
        before = end
    return edits


def _replaced(context: Context, edits: list[Edit], value: ast.expr, text: str) -> Edit:
    """The edit from `value` to `text`, with the name that is inserted right before it."""
    start = context.source.span(value)[0]
    named = next((e for e in edits if e.start == e.end == start), None)
    if named is not None:
        edits.remove(named)
        text = named.text + text
    return replace(context.source, value, text)


def _first_argument(context: Context, call: ast.Call, paren: int, text: str) -> Edit:
    """`text` before the other arguments, on a line of its own where they have one each."""
    source = context.source
    if not call.args and not call.keywords:
        return insert(paren, text)
    row = source.position(paren)[0]
    if not source.line(row)[source.position(paren)[1] - 1 :].strip():
        below = source.indentation(row + 1)
        return insert(paren, f"{source.newline}{below}{text},")
    return insert(paren, f"{text}, ")


def _for_nothing(context: Context, call: ast.Call, device: Reference, *, scaler: bool) -> bool:
    """Whether a selection would be added to the file for what stays off on MPS all the same."""
    return bool(device.edits) and not _on_mps(context, call, scaler=scaler)


def _on_mps(context: Context, call: ast.Call, *, scaler: bool) -> bool:
    if scaler:
        return context.settings.oldest_torch >= _SCALER_ON_MPS
    return _may_autocast(context, call)


def _may_autocast(context: Context, call: ast.Call) -> bool:
    """Whether float16 is safe on MPS: where gradients are scaled, the scaler must run there too."""
    if _steps_back_elsewhere(context, call):
        return False
    if context.settings.oldest_torch >= _SCALER_ON_MPS:
        return True
    return not any(context.index.calls.get(name) for name in ("GradScaler", "scale"))


def _steps_back_elsewhere(context: Context, call: ast.Call) -> bool:
    """Whether the function around `call` trains and leaves the step back to something that it is
    given, `loss_scaler(loss, optimizer)`: that may scale on CUDA alone."""
    calls, function = context.index.calls, context.index.function(call)
    trains = any(context.index.function(one) is function for one in calls.get("zero_grad", ()))
    return trains and not any(calls.get(name) for name in _STEPPING_BACK)


def _device(context: Context, call: ast.Call) -> Reference | None:
    """The selected device; in a decorator or default one of the module.

    None where the project supports torch older than 2.5, whose autocast refuses `"mps"`.
    """
    if context.settings.oldest_torch < FIRST_AUTOCAST_ON_MPS:
        return None
    found = reference(context, call, type_only=True)
    if found is None or found.edits or found.asks:
        handed = _handed_tensor(context, call) or _kept_wide(context, call)
        if handed is not None:
            return Reference(f"{handed}.device", False, ())
    if found is not None and found.is_string and not found.edits:
        # A string may carry an index ("cuda:0"), which autocast does not take.
        value = context.devices.at_hand(call)
        if value is None or value.value.devices is None or value.indexed:
            return None
    return found


def _handed_tensor(context: Context, call: ast.Call) -> str | None:
    """The one tensor that the `forward` around is given, and that it moves nowhere: what a layer
    computes is of the type of its input's device, whatever the machine has. Of several, one may be
    on the CPU: the lengths of sequences are."""
    function = context.index.function(call)
    if not isinstance(function, ast.FunctionDef) or function.name != "forward":
        return None
    moves = [*context.index.calls.get("to", ()), *context.index.calls.get("cuda", ())]
    if any(context.index.function(one) is function for one in moves):
        return None
    arguments = function.args
    given = explicit_parameters(arguments)[1:]
    if len(given) != 1 or given[0].annotation is None or arguments.vararg or arguments.kwarg:
        return None
    (item,) = given
    if context.resolve(given[0].annotation) != "torch.Tensor":
        return None
    held = context.flow.reaching_name(item.arg, call)
    is_input = len(held) == 1 and held[0].node is item and held[0].value is None
    return item.arg if is_input else None


def _kept_wide(context: Context, call: ast.Call) -> str | None:
    """The tensor that a block computes with in float32, which is why it is switched off there:
    what the function around is given, moves nowhere, and casts in the block (`x.float()`)."""
    item = context.index.parents.get(call)
    block = context.index.parents.get(item) if isinstance(item, ast.withitem) else None
    function = context.index.function(call)
    if not is_off(call) or not isinstance(block, ast.With) or not isinstance(function, FUNCTIONS):
        return None
    moves = [*context.index.calls.get("to", ()), *context.index.calls.get("cuda", ())]
    if any(context.index.function(one) is function for one in moves):
        return None
    given = {one.arg: one for one in explicit_parameters(function.args)}
    for cast in context.index.calls.get(_WIDENING, ()):
        held = cast.func.value if isinstance(cast.func, ast.Attribute) and not cast.args else None
        if not isinstance(held, ast.Name) or held.id not in given:
            continue
        if not any(context.index.within(cast, one) for one in block.body):
            continue
        before = context.flow.reaching_name(held.id, call)
        if len(before) == 1 and before[0].node is given[held.id] and before[0].value is None:
            return held.id
    return None


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
    is_off = isinstance(given, ast.Constant) and given.value is False
    if is_off or _implies(context, given, device.type_text, on_mps=on_mps):
        return text
    if isinstance(given, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr | ast.Yield):
        text = f"({text})"
    return f"{text} and {test}"


def _implies(context: Context, given: ast.expr, device_type: str, *, on_mps: bool) -> bool:
    """Whether what switches it on asks already for the type of the same device: itself, or by a
    variable for which the device is the same when that was set."""
    if isinstance(given, ast.BoolOp) and isinstance(given.op, ast.And):
        return any(_implies(context, one, device_type, on_mps=on_mps) for one in given.values)
    if isinstance(given, ast.Name):
        held = context.flow.reaching(given)
        asked = held[0].value if len(held) == 1 and held[0].kind == "assign" else None
        if asked is None or isinstance(asked, ast.Name):
            return False
        return all(
            context.flow.reaching_name(one.id, given) == context.flow.reaching(one)
            for one in ast.walk(asked)
            if isinstance(one, ast.Name)
        ) and _implies(context, asked, device_type, on_mps=on_mps)
    if not isinstance(given, ast.Compare) or len(given.ops) != 1:
        return False
    (against,), (asks,) = given.comparators, given.ops
    if ast.unparse(given.left) != device_type or not isinstance(against, ast.Constant):
        return False
    if isinstance(asks, ast.Eq):
        return against.value == "cuda" or (on_mps and against.value == "mps")
    return on_mps and isinstance(asks, ast.NotEq) and against.value == "cpu"


def drop_unused_import(context: Context, statement: ast.ImportFrom) -> Fix | None:
    """Remove names of `from torch.cuda.amp import ...` that nothing uses any more, and that of the
    module in `from torch.cuda import amp`."""
    source = context.source
    start, end = source.span(statement)
    names = statement.names
    if statement.module == _HOLDER[0]:
        names = [alias for alias in names if alias.name == _HOLDER[1]]
    unused = [alias for alias in names if not _is_used(context, alias, statement)]
    used = [alias for alias in statement.names if alias not in unused]
    if len(used) == len(statement.names) or holds_comment(source, start, end):
        return None
    if used:
        left = ", ".join(source.segment(alias) for alias in used)
        text = f"from {statement.module} import {left}"
        return Fix(
            "Drop the unused import", (replace_span(source, start, end, text),), Applicability.SAFE
        )
    edit = delete_statement(context, statement)
    if edit is None:
        return None
    # Another file may import from this one what it never used itself.
    replaced = any(context.calls_of("torch.autocast", "torch.amp.GradScaler"))
    fix = Fix("Drop the unused import", (edit,), Applicability.SAFE)
    return fix if replaced else doubtful(fix, "another file may import it from here")


def _is_used(context: Context, alias: ast.alias, statement: ast.ImportFrom) -> bool:
    name = alias.asname or alias.name
    if name == "*":
        return True
    if any(isinstance(use.ctx, ast.Load) for use in context.index.names.get(name, ())):
        return True
    return any(
        isinstance(node, ast.Constant) and node.value == name for node in context.index.strings
    )
