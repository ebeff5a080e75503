"""Calls of ops that MPS lacks in some release, and whether their data may live there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mpslint.semantics.devices.host_notebooks import is_on_host
from mpslint.semantics.operands.called_objects import calls_of_object
from mpslint.semantics.operands.constructors import is_before_move
from mpslint.semantics.operands.left_on_host import is_made_of_host_parameters
from mpslint.semantics.operands.missed_results import is_missed_later
from mpslint.semantics.operands.sample_transforms import only_transforms_run
from mpslint.semantics.operands.sent_to_host import is_sent_to_host
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CREATORS = {"torch.logspace", "torch.tril_indices", "torch.triu_indices", "torch.sparse.spdiags"}
_OFF_MPS_UNCAUGHT = ("cuda", "no-mps", "cpu")
OFF_MPS = (*_OFF_MPS_UNCAUGHT, "caught")
_USUAL = (2, 13)
FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"


def op_calls(
    context: Context, since: Mapping[str, tuple[int, int]], oldest: tuple[int, int] | None = None
) -> Iterator[tuple[ast.Call, str]]:
    """Calls of functions that the `oldest` release lacks, `min-torch` where none is given, and that
    may run on MPS, with the qualified name."""
    oldest = oldest or oldest_release(context)
    wanted = {name for name, release in since.items() if release > oldest}
    # The file's own names first: the table is long, most files use none of it.
    called, aliases = context.index.calls, context.aliases
    present = [n for n in wanted if n.rsplit(".", 1)[-1] in called or n in aliases]
    if not present:
        return
    for call in context.calls_of(*present):
        name = context.resolve(call.func) or ""
        if _is_reached(context, call) and may_run_on_mps(context, call, name):
            yield call, name


def _is_reached(context: Context, call: ast.Call) -> bool:
    """Whether MPS may come there, and a program that does ends: at the call, or at its result."""
    if not context.worlds.on_mps(call):
        return False
    if not context.guards.has(call, *OFF_MPS):
        return True
    return is_missed_later(context, call) and not context.guards.has(call, *_OFF_MPS_UNCAUGHT)


def oldest_release(context: Context) -> tuple[int, int]:
    """Ops that this release has are there: `min-torch`, where the project has set it.

    The default of `min-torch` says which interfaces fixes may write; a project that leaves it
    alone mostly runs a newer torch, and what 2.13 has is no news to it.
    """
    settings = context.settings
    default = settings._field_defaults["min_torch"]
    return _USUAL if settings.min_torch == default else settings.min_torch


def may_run_on_mps(context: Context, call: ast.Call, name: str) -> bool:
    """Whether the data of this call is not known to be on the CPU."""
    device = keyword(call, "device")
    if name in _CREATORS:
        if device is None:
            return False
        if isinstance(device, ast.Attribute) and is_before_move(context, device.value):
            return False
        types = context.values.device_types(device)
        return types is None or "mps" in types
    if any(_is_on_cpu(context, argument) for argument in _arguments(call)):
        return False
    if name.rpartition(".")[2][:1].isupper():
        # A loss lets its targets and lengths lie on the CPU: where its input lies it computes.
        calls = calls_of_object(context, call)
        inputs = [next(_arguments(one), None) for one in calls or ()]
        if inputs and all(one is not None and _is_on_cpu(context, one) for one in inputs):
            return False
    if is_on_host(context.source, context.index, context.placement):
        return False
    if is_sent_to_host(context, call) or only_transforms_run(context, call):
        return False
    return not any(is_made_of_host_parameters(context, one) for one in _arguments(call))


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (given.value for given in call.keywords)


def _is_on_cpu(context: Context, argument: ast.expr) -> bool:
    value = context.values.of(argument)
    on_cpu = value.on_cpu and value.kind not in (Kind.DEVICE, Kind.DEVICE_STRING)
    return on_cpu or is_before_move(context, argument)


def falls_back(context: Context) -> bool:
    """Whether the file itself switches the CPU fallback on, so that nothing raises."""
    return any(node.value == FALLBACK for node in context.index.strings)
