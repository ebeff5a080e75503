"""`map_location` for checkpoints."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.selection import reference, torch_name
from mpslint.patterns.text import holds_comment, insert, quote, replace
from mpslint.semantics.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LINE_END = re.compile(r"\s*,?[ \t]*(#.*)?[\r\n]+\Z")
_COPYING = ("model", "net", "optim", "encoder", "decoder", "generator", "discriminator", "module")
_MODULE_METHODS = frozenset(
    {"eval", "train", "parameters", "state_dict", "requires_grad_", "apply"}
)


def add_map_location(context: Context, call: ast.Call) -> Fix | None:
    """Add `map_location=` behind the last argument.

    A state dict goes to the CPU, from where it is copied into what is there. Anything else stays
    where it was saved if there is CUDA; elsewhere whole modules go to the selected device, which
    what they are given is moved to as well, and the rest to the CPU.
    """
    mark, torch = quote(context.source), torch_name(context, call)
    last = max(
        [*call.args, *(k.value for k in call.keywords)],
        key=lambda n: context.source.span(n)[1],
        default=None,
    )
    if last is None:
        return None
    value, level = f"{mark}cpu{mark}", Applicability.SAFE
    edits: tuple[Edit, ...] = ()
    if not goes_to_state_dict(context, call):
        if torch is None:
            return None
        if _is_module(context, call) and context.placement.file_uses_devices:
            device = reference(context, call)
            if device is None:
                return None
            value, level, edits = device.text, device.level, device.edits
        value = f"None if {torch}.cuda.is_available() else {value}"
    added = _argument(context, call, last, f"map_location={value}")
    return Fix("Load where every machine can", (*edits, *added), level)


def _argument(context: Context, call: ast.Call, last: ast.expr, text: str) -> list[Edit]:
    """One more argument: on a line of its own where the last one has one, with its comment."""
    source, at = context.source, _behind(context, call, last)
    row, first = source.position(at)[0], source.span(last)[0]
    keyword = next((k for k in call.keywords if k.value is last), None)
    first = source.span(keyword)[0] if keyword is not None else first
    head_row = source.position(first)[0]
    head = source.text[source.starts[head_row - 1] : first]
    tail = source.text[at : source.starts[row]] if row < len(source.starts) else "?"
    if head.strip() or not _LINE_END.match(tail):
        return [insert(at, f", {text}")]
    line = insert(source.starts[row], f"{source.indentation(head_row)}{text},{source.newline}")
    return [line] if tail.lstrip().startswith(",") else [insert(at, ","), line]


def _is_module(context: Context, call: ast.Call) -> bool:
    """Whether what is loaded is used as a module: it is called so, or called, or asked for its
    parameters."""
    if (context.resolve(call.func) or "") == "torch.jit.load":
        return True
    parent = context.index.parents[call]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _MODULE_METHODS
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    spelled = ast.unparse(parent.targets[0])
    last = spelled.rsplit(".", 1)[-1].lower()
    if any(word in last for word in ("model", "net", "encoder", "decoder", "generator")):
        return not any(word in last for word in ("state", "dict", "ckpt", "checkpoint", "path"))
    if not isinstance(parent.targets[0], ast.Name):
        return False
    for use in context.index.names.get(spelled, ()):
        outer = context.index.parents[use]
        if isinstance(outer, ast.Attribute) and outer.attr in _MODULE_METHODS:
            return True
        if isinstance(outer, ast.Call) and outer.func is use:
            return True
    return False


def _behind(context: Context, call: ast.Call, last: ast.expr) -> int:
    """The offset behind the last argument and the parentheses it may stand in."""
    source = context.source
    start, at = source.span(call.func)[1], source.span(last)[1]
    # The argument's own parentheses are closed inside its span; those around it are not.
    opened = source.text[start : source.span(last)[0]].rstrip(" \t\r\n")
    extra = 0
    while opened.endswith("("):
        opened, extra = opened[:-1].rstrip(" \t\r\n"), extra + 1
    if not opened:
        extra -= 1
    while extra > 0:
        at = source.text.index(")", at) + 1
        extra -= 1
    return at


def portable_map_location(context: Context, given: ast.expr) -> Fix | None:
    """Put the selected device in the place of a written-out CUDA one."""
    start, end = context.source.span(given)
    literal = next(
        (x for x in context.devices.literals if context.index.within(x.node, given)), None
    )
    if literal is None or literal.computed_index or literal.ordinal:
        return None
    if isinstance(given, ast.Call) and len(given.args) + len(given.keywords) > 1:
        return None  # `torch.device("cuda", rank)`
    if holds_comment(context.source, start, end):
        return None
    found = reference(context, given, literal.ordinal)
    if found is None:
        return None
    edits: tuple[Edit, ...] = (*found.edits, replace(context.source, given, found.text))
    return Fix("Load to the selected device", edits, found.level)


def goes_to_state_dict(context: Context, call: ast.Call) -> bool:
    """Whether what is loaded is only copied into modules and optimizers that are there."""
    if _feeds_state_dict(context, call):
        return True
    parent = context.index.parents[call]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    if not isinstance(target, ast.Name):
        return False
    scope = context.names.owner(target.id, target)
    if scope is None or len(scope.bindings[target.id]) != 1:
        return False
    uses = [
        use
        for use in context.index.names[target.id]
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope
    ]
    return bool(uses) and all(_feeds_state_dict(context, use) for use in uses)


def _feeds_state_dict(context: Context, node: ast.expr) -> bool:
    """`m.load_state_dict(node)`, `m.load_state_dict(node["model"])`."""
    parent = context.index.parents[node]
    while isinstance(parent, ast.Subscript) and parent.value is node:
        node, parent = parent, context.index.parents[parent]
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "load_state_dict"
        and node in parent.args
        and not any(keyword.arg in ("assign", None) for keyword in parent.keywords)
        and _copies(context, parent.func.value)
    )


def _copies(context: Context, receiver: ast.expr) -> bool:
    """Whether `load_state_dict` of this surely copies to where its own tensors are: a module or an
    optimizer. What else has such a method (averages, buffers) may keep what it is given."""
    if context.values.of(receiver).kind is Kind.MODULE:
        return True
    last = (context.values.last_name(receiver) or "").lower()
    return any(word in last for word in _COPYING) and "ema" not in last.split("_")
