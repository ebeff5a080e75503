"""The steps of training: what runs at each of them, and which tensors are on a device.

A step is a turn of a loop that trains, or a call of a function that trains without a loop of its
own (`def update(self): ...; loss.backward(); optimizer.step()`), which is called once a step.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.trainer_hooks import HOOK_WORDS
from mpslint.records import NamedTuple
from mpslint.semantics.loops.loops import Loop, LoopKind
from mpslint.semantics.loops.single_turns import turns_once
from mpslint.semantics.loops.step_calls import called_by_name, calls_a_step, trains_once
from mpslint.semantics.names.bases import inherits
from mpslint.semantics.steps.called_by_bases import calls_by_bases
from mpslint.semantics.steps.given_in_steps import (
    is_made_of_given,
    may_be_given,
    name_of,
    parameters_given,
)
from mpslint.semantics.steps.loss_functions import is_loss_function
from mpslint.semantics.steps.moved_later import is_moved_later
from mpslint.semantics.steps.trainer_steps import (
    has_trainer_step,
    is_of_transformers,
    is_trained,
    is_trainer_step,
)
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.uses.never_chosen import is_closed_by
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.model import Label
    from mpslint.semantics.context import Context


Turns = Loop | FunctionNode
"""What runs again and again: a loop, or a function that is called once a step."""


_TRAINS = "this function trains"
_GIVEN = "steps.given"
_CALLED = "steps.called"
_BASE = "steps.called-by-bases"
_OPTIMIZERS = "steps.optimizers"
_WITHOUT_STEPS = frozenset({Kind.SEQUENCE, Kind.OPTIMIZER, Kind.SCALER, Kind.TENSOR})
"""What has methods named as a step may be (`update`, `step`), and trains nothing by them."""
_WITHOUT_WEIGHTS = ("Loss", "Softmax", "Sigmoid", "Softplus")
_WITH_WEIGHTS = "AdaptiveLogSoftmaxWithLoss"
"""Fact: how the names of those of torch's modules end that have no weights, and the one that has
(`torch/nn/modules/adaptive.py`)."""
_CALLS_FOLLOWED = 2
"""A step that calls a helper that calls another: more takes time, and is not seen in real code."""


def _is_given_something(context: Context, function: FunctionNode | None) -> bool:
    """Whether somebody hands `function` its model: to itself, or to the object that it is of."""
    if function is None or function.name.startswith("test"):
        return False
    klass = context.index.parents[function]
    if not isinstance(klass, ast.ClassDef):
        return bool(function.args.args)
    if len(function.args.args) > 1:
        return True
    made = method_of(klass, "__init__")
    if made is not None:
        return len(made.args.args) > 1
    names = [context.resolve(base) or "" for base in klass.bases]
    return bool(names) and not any(name.startswith("unittest.") for name in names)


class Step(NamedTuple):
    """A node that runs at every step of training."""

    node: ast.expr
    tensor: ast.expr
    """The tensor it is about (`node` itself, where it makes one)."""
    turns: Turns


TRAINING_WORDS = ((b"backward", b".step", *HOOK_WORDS),)
"""What stands in every file of which `trains_on_device` and `training` hold: one word of
each group, as `Loops` looks for them."""


def trains_on_device(context: Context) -> bool:
    """Whether this file can train on a device at all, or be called by one that does: cheap, to be
    asked first."""
    return (
        trains_itself(context)
        or may_be_given(context)
        or _has_step_of_optimizer(context)
        or (context.elsewhere is not None and any(map(_has_base, context.index.of(ast.ClassDef))))
    )


def _has_base(klass: ast.ClassDef) -> bool:
    """Whether a base of somebody's may call its methods at each step."""
    return bool(klass.bases)


def trains_itself(context: Context) -> bool:
    """Whether this file can train on a device without others."""
    calls = context.index.calls
    if has_trainer_step(context):
        return True
    if "backward" not in calls and "step" not in calls:
        return False
    return context.placement.program_uses_devices or trains_what_it_is_given(context)


def trains_what_it_is_given(context: Context) -> bool:
    """Whether this file trains modules of its callers, in functions: on what device is theirs to
    say, and a file that says nothing of devices is then no program for the CPU."""
    known = context.memo.get(_GIVEN)
    if known is None:
        known = context.memo[_GIVEN] = _is_given(context)
    return bool(known)


def _is_given(context: Context) -> bool:
    index = context.index
    around = [index.function(call) for call in index.calls.get("backward", ())]
    if not around or not all(_is_given_something(context, item) for item in around):
        return False
    makes = False
    for call in index.of(ast.Call):
        name = context.resolve(call.func) or ""
        last = name.rsplit(".", 1)[-1]
        if name.startswith("torch.nn.") and last[:1].isupper():
            if last == _WITH_WEIGHTS or not last.endswith(_WITHOUT_WEIGHTS):
                return False
            makes = True
        if isinstance(call.func, ast.Name):
            for binding in context.names.bindings(call.func.id, call.func):
                if isinstance(binding.node, ast.ClassDef):
                    if context.values.is_module_class(binding.node):
                        return False
    # Who makes all but the model may be a part of a program that has never heard of a GPU.
    return not makes or (context.imported is not None and context.imported.names_devices())


def training(context: Context, node: ast.AST, calls: int = _CALLS_FOLLOWED) -> Turns | None:
    """What trains and runs `node` at every step; None where it runs rarely or nothing trains.

    An inner loop that queues no work (over the losses of a step) is a part of the step, and so is
    a function of this file that is called at each step. What waits for the device on purpose at
    each step does not count, and what a test waits for slows nobody.
    """
    if _is_test(context, node) or _is_one_graph(context, node):
        return None
    loops = context.loops
    loop = loops.innermost(node)
    while loop is not None and (loops.kind(loop) is LoopKind.NONE or turns_once(context, loop)):
        if calls == _CALLS_FOLLOWED and calls_a_step(context, loop):
            break
        loop = loops.innermost(loop)
    turns: Turns | None = loop
    if loop is None:
        turns = _training_step(context, node)
        if turns is None and calls:
            return _called_in_training(context, node, calls)
    elif loops.kind(loop) is not LoopKind.TRAIN:
        if calls != _CALLS_FOLLOWED or not calls_a_step(context, loop):
            return None  # What an epoch of one step calls besides, an evaluation, is no step.
    if turns is None:
        return None
    if not loops.every_step(node, turns) or loops.waits_anyway(turns):
        return None
    return turns


def training_on_device(
    context: Context, node: ast.AST, calls: int = _CALLS_FOLLOWED
) -> Turns | None:
    """As `training`; where a file trains on no device itself, only its functions for losses, those
    that steps of other files give tensors of a device, and steps of optimizers are steps on one."""
    turns = training(context, node, calls)
    if turns is None or trains_itself(context):
        return turns
    if isinstance(turns, FUNCTIONS) and (
        parameters_given(context, turns)
        or is_called_by_base(context, turns)
        or is_loss_function(context, turns)
        or is_step_of_optimizer(context, turns)
    ):
        return turns
    return None


def _is_test(context: Context, node: ast.AST) -> bool:
    """In a function that pytest and unittest collect as a test, in both by how it begins."""
    return any(
        isinstance(parent, FUNCTIONS) and parent.name.startswith("test_")
        for parent in context.index.ancestors(node)
    )


def _is_one_graph(context: Context, node: ast.AST) -> bool:
    """In a function that `torch.compile(fullgraph=True)` takes as one graph: a tensor that is read
    on the host would break it, which raises."""
    return any(
        isinstance(decorator, ast.Call)
        and context.resolve(decorator.func) == "torch.compile"
        and any(
            item.arg == "fullgraph" and getattr(item.value, "value", None) is True
            for item in decorator.keywords
        )
        for parent in context.index.ancestors(node)
        if isinstance(parent, FUNCTIONS)
        for decorator in parent.decorator_list
    )


def at_each(context: Context, turns: Turns) -> str:
    """`at each step of the loop at line 40`, for messages."""
    if isinstance(turns, FUNCTIONS):
        if parameters_given(context, turns) or is_called_by_base(context, turns):
            return f"at each step of training that calls `{name_of(context, turns)}`"
        return f"at each call of `{turns.name}`, a step of training"
    return f"at each step of the loop at {context.line(turns)}"


def that_trains(context: Context, turns: Turns) -> Label:
    """The place of what trains."""
    if isinstance(turns, FUNCTIONS):
        if is_called_by_base(context, turns):
            return context.label(turns, "a class that this one inherits from trains with this")
        called = bool(parameters_given(context, turns))
        return context.label(turns, "another file trains with this" if called else _TRAINS)
    return context.label(turns, "this loop trains")


def also_waiting(context: Context, steps: list[Step]) -> tuple[Label, ...]:
    """The places of the further steps of a run, which are told with the first."""
    rows = {steps[0].node.lineno}
    labels = []
    for step in steps[1:]:
        if step.node.lineno not in rows:
            rows.add(step.node.lineno)
            labels.append(context.label(step.node, "read here as well"))
    return tuple(labels)


def _training_step(context: Context, node: ast.AST) -> FunctionNode | None:
    """The function around `node`, if a call of it is a step of training."""
    function = context.index.function(node)
    if function is None:
        return None
    if is_step_of_optimizer(context, function) or is_trainer_step(context, function):
        return function
    if is_loss_function(context, function):
        return function
    if not trains_once(context, function):
        return None
    if function.name.startswith("test"):  # pytest and unittest call these, once
        return None
    uses = [
        use
        for use in (
            *context.index.names.get(function.name, ()),
            *context.index.attributes.get(function.name, ()),
        )
        if isinstance(use.ctx, ast.Load)
        and not context.index.within(use, function)
        and not _is_of_others(context, use)
    ]
    calls = [use for use in uses if isinstance(context.index.parents[use], ast.Call)]
    called = [use for use in calls if context.index.parents[use].func is use]  # type: ignore[attr-defined]
    if uses and len(called) == len(uses):
        # Nobody else is known to call it: then somebody must do so in a loop.
        return function if any(context.loops.innermost(use) for use in called) else None
    return function


def _is_of_others(context: Context, use: ast.expr) -> bool:
    """`numbers.update(more)`, which is of a dictionary, whatever else has an `update`."""
    if not isinstance(use, ast.Attribute):
        return False
    return context.values.of(use.value).kind in _WITHOUT_STEPS or (
        use.attr == "step" and context.loops.is_optimizer(use.value)
    )


def is_step_of_optimizer(context: Context, function: FunctionNode) -> bool:
    """Whether `function` is the `step` of an optimizer, which a loop that trains calls, whoever
    writes that: its class is one of torch's, be it by a base in another file."""
    if function.name != "step":
        return False
    known: dict[FunctionNode, bool]
    known = context.memo.setdefault(_OPTIMIZERS, {})  # type: ignore[assignment]
    if function not in known:
        klass = context.index.parents[function]
        known[function] = False
        if isinstance(klass, ast.ClassDef):
            known[function] = inherits(context, klass, _is_optimizer)
    return known[function]


def _has_step_of_optimizer(context: Context) -> bool:
    return any(
        isinstance(item, FUNCTIONS) and is_step_of_optimizer(context, item)
        for klass in context.index.of(ast.ClassDef)
        for item in klass.body
    )


def _is_optimizer(base: str) -> bool | None:
    if not base.startswith("torch.optim."):
        return None
    return not base.startswith("torch.optim.lr_scheduler.")


def _called_in_training(context: Context, node: ast.AST, calls: int) -> Turns | None:
    """What trains and calls the function around `node` at every step."""
    index = context.index
    function = index.function(node)
    if function is None or not context.loops.every_step(node, function):
        return None
    if isinstance(index.block(index.statement(node))[-1], ast.Raise):
        return None  # What tells of an error that ends the training.
    known: dict[tuple[FunctionNode, int], list[tuple[ast.Call, Turns]]]
    known = context.memo.setdefault(_CALLED, {})  # type: ignore[assignment]
    if (function, calls) not in known:
        known[function, calls] = [
            (site, turns)
            for site in called_by_name(context, function)
            if (turns := training(context, site, calls - 1)) is not None
        ]
    # `step(batch, save=False)` does not come to what stands below `if save:`.
    around = known[function, calls]
    found = next((turns for site, turns in around if not is_closed_by(context, site, node)), None)
    if found is None and not around:
        if parameters_given(context, function) or is_called_by_base(context, function):
            return function  # A step of another file calls it.
    return found


def is_called_by_base(context: Context, function: FunctionNode) -> bool:
    """Whether a class that the one around `function` inherits from calls it at each step."""
    known: dict[FunctionNode, bool]
    known = context.memo.setdefault(_BASE, {})  # type: ignore[assignment]
    if function not in known:
        known[function] = False  # A class may be its own base by mistake.
        known[function] = any(
            training_on_device(base, call) is not None
            for base, call in calls_by_bases(context, function)
        )
    return known[function]


def is_device_tensor(context: Context, node: ast.expr) -> bool:
    """Whether `node` is a tensor that kernels of a device fill."""
    if _is_of_old_torch(context, node):
        return False
    value = context.values.of(node)
    if value.kind is not Kind.TENSOR or not (value.computed or value.loss):
        return False
    if value.devices is None:
        uses = context.placement.program_uses_devices
        if not uses and not value.by_use:
            uses = trains_what_it_is_given(context)
        if not uses:  # Its parameters are where the model is.
            function = context.index.function(node)
            klass = context.index.enclosing(node, ast.ClassDef)
            uses = (function is not None and is_step_of_optimizer(context, function)) or (
                isinstance(klass, ast.ClassDef)
                and (is_trained(context, klass) or is_of_transformers(context, klass))
            )
        uses = uses or is_made_of_given(context, node) or _is_run_by_base(context, node)
        if not uses or context.guards.has(node, "cpu"):
            return False
        return not _numpy_takes_what_comes(context, node) and not is_moved_later(context, node)
    return context.placement.on_accelerator(node)


def _is_run_by_base(context: Context, node: ast.AST) -> bool:
    function = context.index.function(node)
    return function is not None and is_called_by_base(context, function)


def _numpy_takes_what_comes(context: Context, node: ast.expr) -> bool:
    """Whether the function around `node` moves nothing and hands to NumPy what comes from out of
    sight as it is: that raises on CUDA, too, so what comes to this function is on the CPU."""
    function = context.index.function(node)
    if function is None or context.placement.used_in(function):
        return False
    for call in context.index.calls.get("numpy", ()):
        if context.index.function(call) is not function or call.args or call.keywords:
            continue
        if not isinstance(call.func, ast.Attribute) or has_host_copy(call.func.value):
            continue
        value = context.values.of(call.func.value)
        if value.kind in (Kind.TENSOR, Kind.UNKNOWN) and value.devices is None:
            return True
    return False


def _is_of_old_torch(context: Context, node: ast.expr) -> bool:
    """`loss.data[0]`: a loss has no dimensions since torch 0.4, and an index of it raises."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "data"
        and context.values.of(node.value.value).loss
    )
