"""Whether torch takes what a device is called: not so a list of devices, nor `"auto"`, which a
program works out for itself.

A name alone does not say that. It is so where all that is assigned to it is a device or the text of
one, and where the file places something with it, whatever it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.sure_devices import always_runs, surely_device, written_texts
from mpslint.semantics.syntax.options import options
from mpslint.semantics.terms.device_text import TYPED

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PLACING = ("to", "factory", "device")
_ASSIGNED = ("assign", "annotate", "walrus")
_SELF = ("self", "cls")


def torch_takes(context: Context, device: ast.Name | ast.Attribute) -> bool | None:
    """Whether torch takes what this is called for a device; None: the file does not say."""
    if surely_device(context, device):
        return True
    written = list(_written(context, device))
    if any(_is_none_of_torch(context, one) for one in written):
        return False
    if None not in written and all(_is_one_of_torch(context, one) for one in written):
        return True
    return any(_is_always_placing(context, use) for use in _uses(context, device)) or None


def _written(context: Context, device: ast.Name | ast.Attribute) -> Iterator[ast.expr | None]:
    """What the file assigns to it; None: somebody else does, or may."""
    if isinstance(device, ast.Attribute):
        assigned = context.guards.assigned(device)
        yield from assigned
        yield from _offered(context, device.attr)
        if not assigned or not _is_own(device):
            yield None
        return
    for one in context.flow.reaching(device):
        yield one.value if one.kind in _ASSIGNED else None
        if one.kind == "parameter" and one.value is not None:
            yield one.value


def _offered(context: Context, option: str) -> Iterator[ast.expr]:
    """What an option of the command line is by default, and may be."""
    for call in options(context.index, option):
        for keyword in call.keywords:
            if keyword.arg == "default":
                yield keyword.value
            elif keyword.arg == "choices" and isinstance(keyword.value, ast.List | ast.Tuple):
                yield from keyword.value.elts


def _is_own(device: ast.Attribute) -> bool:
    return isinstance(device.value, ast.Name) and device.value.id in _SELF


def _is_one_of_torch(context: Context, value: ast.expr | None) -> bool:
    if value is None:
        return False
    texts = written_texts(context, [value])
    return surely_device(context, value) if texts is None else all(map(TYPED.match, texts))


def _is_none_of_torch(context: Context, value: ast.expr | None) -> bool:
    """Whether something is written that torch does not take: `"auto"`, `["cuda", "cpu"]`."""
    if isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return True
    texts = written_texts(context, [value])
    return texts is not None and not all(map(TYPED.match, texts))


def _uses(context: Context, device: ast.Name | ast.Attribute) -> Iterable[ast.expr]:
    """The other reads of what may be held there: by the same name, or spelled the same."""
    if isinstance(device, ast.Name):
        bindings = context.flow.reaching(device)
        names = (one for one in context.index.names.get(device.id, ()) if one is not device)
        return [
            one
            for one in names
            if isinstance(one.ctx, ast.Load) and context.flow.reaching(one) == bindings
        ]
    spelled = ast.unparse(device)
    owner = context.index.enclosing(device, ast.ClassDef) if _is_own(device) else None
    return [
        one
        for one in context.index.attributes.get(device.attr, ())
        if isinstance(one.ctx, ast.Load)
        and ast.unparse(one) == spelled
        and (owner is None or context.index.enclosing(one, ast.ClassDef) is owner)
    ]


def _is_always_placing(context: Context, use: ast.expr) -> bool:
    """Whether something is placed with a value wherever its function runs."""
    slot = context.devices.slot(use)
    if slot is None or slot.kind not in _PLACING:
        return False
    return always_runs(context, use, context.index.function(use) or context.tree)
