"""The tests by which a fix lets a call run on its backend alone: they ask the device that the code
around it works on, where that is at hand, and else the machine.

Who asks the machine calls `torch.mps` for a run that was given the CPU, and says twice what the
program has chosen once.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.availability import cuda_available, mps_available, pins_available
from mpslint.patterns.in_use import follows_machine, is_of_module
from mpslint.patterns.place import device_places
from mpslint.patterns.text import quote
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.devices_in_use import device_in_use, name_in_use
from mpslint.semantics.destinations.selected_devices import picks_cuda
from mpslint.semantics.destinations.sure_devices import (
    is_declared,
    surely_device,
    surely_devices,
    told_text,
    written_texts,
)
from mpslint.semantics.devices.devices_at_hand import none_by_default
from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.terms.value import Kind, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName
    from mpslint.semantics.names.names import Binding

_SENT = "what is sent to CUDA by a value"
_BACKENDS = ("cuda", "mps", "cpu")
_MODULE_SINCE = (2, 1)
"""As of this release `import torch` brings `torch.mps` along."""


class Tests(NamedTuple):
    """The tests for CUDA and for MPS at a place."""

    cuda: str
    mps: str
    waits: bool = False
    """They ask the machine, and another fix may bring a device there: as in `Fix.waits`."""
    device: str = ""
    """What they ask; empty: the machine."""


def tests_at(context: Context, node: ast.AST, torch: str) -> Tests:
    """The tests for a call at `node`, where torch goes by that name."""
    device = _asked(context, node)
    if device is None:
        return machine_tests(context, torch)._replace(waits=_may_come(context, node))
    text, words = device
    cuda, mps = words.format(name="cuda"), words.format(name="mps")
    if context.settings.oldest_torch < _MODULE_SINCE:
        mark = quote(context.source)
        mps = f"hasattr({torch}, {mark}mps{mark}) and {mps}"
    return Tests(cuda, mps, device=text)


def machine_tests(context: Context, torch: str) -> Tests:
    return Tests(cuda_available(torch), mps_available(context, torch, module=True))


def pinning_test(context: Context, node: ast.AST, torch: str) -> tuple[str, bool]:
    """The test for a device that memory is pinned for, and whether the fix `waits`."""
    machine = pins_available(context, torch)
    if machine != cuda_available(torch):
        return machine, False
    tests = tests_at(context, node, torch)
    return tests.cuda, tests.waits


def _may_come(context: Context, node: ast.AST) -> bool:
    """Whether a fix may yet select a device in the file."""
    return any(one is not node for one in device_places(context))


def _asked(context: Context, node: ast.AST) -> tuple[str, str] | None:
    """What names the device that the code around `node` works on, and the test of it, with a gap
    for the backend; None: nothing is known to."""
    used = name_in_use(context, node)
    if used is not None:
        if not _is_the_only_one(context, used):
            return None
        return _used(context, used, context.flow.reaching(used))
    at_hand = context.devices.at_hand(node)
    if at_hand is not None and not is_of_module(context, at_hand):
        return _at_hand(context, at_hand)
    held = device_in_use(context, node)
    if held is not None and _is_the_only_one(context, held):
        return _used(context, held, ())
    return _at_hand(context, at_hand) if at_hand is not None else None


def _at_hand(context: Context, device: DeviceName) -> tuple[str, str] | None:
    if not _is_open(device.value):
        return None
    if not follows_machine(context, device) and not _is_given(
        context, device.text, device.bindings
    ):
        return None
    bindings, is_text = device.bindings, device.is_string
    return _worded(context, device.text, device.attribute, bindings, is_text=is_text)


def _used(
    context: Context, device: ast.Name | ast.Attribute, bindings: Sequence[Binding]
) -> tuple[str, str] | None:
    is_text = context.values.of(device).kind in (Kind.DEVICE_STRING, Kind.STRING)
    if any(none_by_default(one) for one in bindings):
        return None
    return _worded(context, context.source.segment(device), device, bindings, is_text=is_text)


def _is_the_only_one(context: Context, device: ast.expr) -> bool:
    """Whether nothing of the file is moved to CUDA whatever the device is."""
    if not _is_open(context.values.of(device)) or _moves_past(context):
        return False
    bindings = context.flow.reaching(device) if isinstance(device, ast.Name) else ()
    text = context.source.segment(device)
    return picks_cuda(context, device) or _is_given(context, text, bindings)


def _is_given(context: Context, text: str, bindings: Sequence[Binding]) -> bool:
    """Whether it is the device that a function says it works on (`device: torch.device`), in a file
    that sends nothing to CUDA past it. Any other that is not CUDA wherever CUDA is may be where
    results go, and what runs on CUDA would not be waited for."""
    declared = [
        isinstance(one.node, ast.arg) and is_declared(context, one.node, one.value)
        for one in bindings
    ]
    return (
        bool(declared)
        and all(declared)
        and not _moves_past(context)
        and not _goes_past(context, text, bindings)
    )


def _is_open(value: Value) -> bool:
    """Whether it may be CUDA and may be something else: else there is nothing to ask of it."""
    return value.devices is None or ("cuda" in value.devices and len(value.devices) > 1)


def _moves_past(context: Context) -> bool:
    return any(
        isinstance(call.func, ast.Attribute) and not context.resolve(call.func)
        for call in context.index.calls.get("cuda", ())
    )


def _goes_past(context: Context, text: str, bindings: Sequence[Binding]) -> bool:
    """Whether something goes to CUDA by a value that is not this device: `.to("cuda")`, and
    `device=gpu` for `gpu = torch.device("cuda")`."""
    if _SENT not in context.memo:
        context.memo[_SENT] = list(_sent_to_cuda(context))
    sent: list[ast.expr] = context.memo[_SENT]  # type: ignore[assignment]
    return any(
        not set(context.flow.reaching(one)) & set(bindings)
        if isinstance(one, ast.Name)
        else context.source.segment(one) != text
        for one in sent
    )


def _sent_to_cuda(context: Context) -> Iterator[ast.expr]:
    literals = {one.node for one in context.devices.literals if one.backend == "cuda"}
    for call in context.index.of(ast.Call):
        for given in arguments_for(call, 0, "device"):
            if not _puts_there(context, call, given):
                continue
            if (
                given in literals
                or context.values.of(given).devices == frozenset({"cuda"})
                or picks_cuda(context, given)
            ):
                yield given


def _puts_there(context: Context, call: ast.Call, given: ast.expr) -> bool:
    """Whether a call puts something on the device it is given: not one that is told a device for
    what it does itself, as the functions of a program are."""
    slot, name = context.devices.slot(given), context.resolve(call.func) or ""
    if slot is None:
        return False
    if slot.kind in ("to", "factory"):
        return True
    if slot.kind == "argument":
        return name.startswith("torch.") and not name.startswith("torch.cuda.")
    return name == "torch.set_default_device"


def _worded(
    context: Context,
    text: str,
    node: ast.expr | None,
    bindings: Sequence[Binding],
    *,
    is_text: bool,
) -> tuple[str, str] | None:
    mark = quote(context.source)
    if isinstance(node, ast.Attribute):
        if not _is_known(context, node):
            return None
        given: list[ast.expr | None] = list(context.guards.assigned(node))
        is_device = surely_device(context, node)
    else:
        given = [one.value if one.kind != "parameter" else None for one in bindings]
        is_device = surely_devices(context, bindings)
    if is_device:
        return text, f"{text}.type == {mark}{{name}}{mark}"
    texts = written_texts(context, given)
    if texts is not None and all(one in _BACKENDS for one in texts):
        return text, f"{text} == {mark}{{name}}{mark}"
    if texts is not None:
        return text, f"{text}.startswith({mark}{{name}}{mark})"
    given = given or [node]
    is_text = is_text or all(told_text(context, one) for one in given)
    # It is text unless whoever calls, or the command line, says otherwise.
    return (text, f"str({text}).startswith({mark}{{name}}{mark})") if is_text else None


def _is_known(context: Context, attribute: ast.Attribute) -> bool:
    """Whether what an attribute holds is seen in this file: nobody derives from its class, or has
    an object of it to set it on; or the file asks the attribute for its type itself."""
    text = ast.unparse(attribute)
    for read in context.index.attributes.get("type", ()):
        if ast.unparse(read.value) == text:
            return True
    owner = context.index.enclosing(attribute, ast.ClassDef)
    elsewhere = context.elsewhere
    if not isinstance(owner, ast.ClassDef) or elsewhere is None:
        return False
    return not elsewhere.uses(context.source.path, owner.name, method=False)
