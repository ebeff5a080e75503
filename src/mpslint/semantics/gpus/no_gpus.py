"""What becomes of a program that counts its CUDA devices and finds none."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_process
from mpslint.records import NamedTuple
from mpslint.semantics.gpus.several_gpus import needs_several_gpus
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.purpose.purpose import starts_nccl
from mpslint.semantics.syntax.expressions import argument, last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind as Values
from mpslint.semantics.worlds.events import DIVIDES, SETS_RATE, SIZES_BATCHES, Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.worlds.events import Event

COUNT = "torch.cuda.device_count"
DIVISION = "raises ZeroDivisionError"
INFINITE = "a tensor that is divided by it is infinite"
NOBODY_SPAWNED = "no process is spawned"
EMPTY_BATCHES = "a DataLoader refuses batches of 0"
_LOADERS = ("torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader")
_DEPTH = 2
# Fact: Lightning, `_check_device_config_and_set_final_flags`: no accelerator takes 0 devices.
_TRAINERS = ("pytorch_lightning.Trainer", "lightning.Trainer", "lightning.pytorch.Trainer")
_DIVIDERS = ("transformers.utils.model_parallel_utils.get_device_map",)
"""Divide the layers of a model by the number of devices that they are given."""


LEARNS_NOTHING = "an optimizer learns nothing at a rate of 0"
_TEXTS = {DIVIDES: DIVISION, SIZES_BATCHES: EMPTY_BATCHES, SETS_RATE: LEARNS_NOTHING}
_ERRORS = {DIVIDES: "ZeroDivisionError", SIZES_BATCHES: "ValueError"}


class Harm(NamedTuple):
    """What a count of 0 leads to, and where the 0 comes to that."""

    text: str
    at: ast.expr


def known_harms(context: Context) -> dict[ast.expr, list[Harm]]:
    """What a run of the file comes to on a Mac for want of a GPU of CUDA's, by what has said how
    many there are: a call of torch's, or an attribute that holds what one has answered."""
    found: dict[ast.expr, list[Harm]] = {}
    for event in context.worlds.events(Kind.COUNTED):
        at = _zero_of(event) if event.name and event.on_mac and not event.caught else None
        error = _ERRORS.get(event.name)
        if at is None or (error is not None and is_caught(context, at, error)):
            continue
        if _is_asked_about(context, at) or needs_several_gpus(context, at):
            continue
        if _in_its_loop(context, at):
            continue
        text: str | None = _TEXTS[event.name]
        if isinstance(event.node, ast.BinOp | ast.AugAssign):
            text = _harm_of_division(context, event.node)
        if text is None:
            continue
        for test in event.tests:
            if is_count(context, test) or test in context.worlds.run.kept_answers:
                found.setdefault(test, []).append(Harm(text, at))
    return found


def _is_asked_about(context: Context, at: ast.expr) -> bool:
    """Whether a test around asks for the very number: `total // size if size else total`."""
    spelled, child = ast.dump(at), at
    for parent in context.index.ancestors(at):
        if isinstance(parent, FUNCTIONS):
            return False
        tests: list[ast.expr] = []
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test:
            tests = [parent.test]
        elif isinstance(parent, ast.BoolOp):
            tests = parent.values[: parent.values.index(child)]
        if any(ast.dump(item) == spelled for test in tests for item in ast.walk(test)):
            return True
        child = parent  # type: ignore[assignment]
    return False


def is_done_by_all(context: Context, node: ast.expr) -> bool:
    """Whether a function comes to a node whatever anybody asks for; what a test asks, all do."""
    child: ast.AST = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return True
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test:
            return False
        if isinstance(parent, ast.BoolOp) and child is not parent.values[0]:
            return False
        if isinstance(parent, ast.Try) and parent.handlers:
            return False
        child = parent
    return True


def products_of(context: Context, count: ast.expr) -> Iterator[ast.expr]:
    """Where something is multiplied by a count that a Mac finds to be 0."""
    for event in context.worlds.events(Kind.COUNTED):
        multiplies = isinstance(event.node, ast.BinOp) and isinstance(event.node.op, ast.Mult)
        if multiplies and count in event.tests and event.on_mac:
            yield event.node  # type: ignore[misc]


def is_count(context: Context, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and context.resolve(node.func) == COUNT


def _zero_of(event: Event) -> ast.expr | None:
    """Where the 0 stands that does harm: the divisor, the argument."""
    node = event.node
    if isinstance(node, ast.BinOp):
        return node.right
    if isinstance(node, ast.AugAssign):
        return node.value
    if not isinstance(node, ast.Call):
        return None
    return argument(node, 1, "lr" if event.name == SETS_RATE else "batch_size")


def harm_of_none(context: Context, count: ast.expr, depth: int = _DEPTH) -> Harm | None:
    """What a count of 0 leads to, here or where the name that holds it is used."""
    harm = _harm_of_use(context, count)
    if harm is not None:
        return Harm(harm, count)
    parent = context.index.parents[count]
    if _is_replaced(parent, count):
        return None
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult):
        return harm_of_none(context, parent, depth)  # 0 times anything is 0 as well
    if isinstance(parent, ast.IfExp | ast.BoolOp):
        parent = context.index.parents[parent]  # unless somebody gives the number
    if isinstance(parent, ast.AugAssign) and isinstance(parent.op, ast.Mult):
        target: ast.expr = parent.target
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
    else:
        return None
    if depth == 0:
        return None
    if isinstance(target, ast.Attribute):
        return _harm_of_attribute(context, target) or _harm_of_field(context, target, depth - 1)
    if not isinstance(target, ast.Name) or not _holds_count(context, target, parent):
        return None
    uses = list(_uses(context, target))
    if any(_asks(context, use) for use in uses):
        return None
    return next((h for use in uses if (h := harm_of_none(context, use, depth - 1))), None)


def _holds_count(context: Context, target: ast.Name, statement: ast.stmt) -> bool:
    """Whether a name holds nothing but the count, or a number that was multiplied by it."""
    if isinstance(statement, ast.AugAssign):
        return True
    return len(context.names.bindings(target.id, target)) == 1


def _harm_of_field(context: Context, target: ast.Attribute, depth: int) -> Harm | None:
    """`args.batch_size = args.batch_size * count` where it is read further down, and
    `self.gpus = count` in the methods of its class."""
    spelled, end = ast.dump(target.value), context.source.span(target)[1]
    function, owner = context.index.function(target), context.index.enclosing(target, ast.ClassDef)
    for use in context.index.attributes[target.attr]:
        if not isinstance(use.ctx, ast.Load) or ast.dump(use.value) != spelled:
            continue
        if context.index.function(use) is function:
            if context.source.span(use)[0] < end:
                continue
        elif owner is None or context.index.enclosing(use, ast.ClassDef) is not owner:
            continue
        harm = harm_of_none(context, use, depth)
        if harm is not None:
            return harm
    return None


def is_of_processes(harm: Harm, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether the number of a process is shared out (`rank % count`), of which there is one for
    each GPU: who has started them has asked for that."""
    shared = parents.get(harm.at)
    if not isinstance(shared, ast.BinOp) or not isinstance(shared.op, ast.Mod):
        return False
    name = last_name(shared.left)
    return name is not None and names_process(name)


def _harm_of_attribute(context: Context, target: ast.Attribute) -> Harm | None:
    """`self.num_gpus` as the turns of a loop that puts a worker on each of them."""
    spelled = ast.dump(target.value)
    owner = context.index.enclosing(target, ast.ClassDef)
    for use in context.index.attributes[target.attr]:
        ranged = context.index.parents[use]
        if not isinstance(use.ctx, ast.Load) or ast.dump(use.value) != spelled:
            continue
        if not isinstance(ranged, ast.Call) or ast.unparse(ranged.func) != "range":
            continue
        loop = context.index.parents[ranged]
        if (
            not isinstance(loop, ast.For)
            or context.index.enclosing(loop, ast.ClassDef) is not owner
        ):
            continue
        if any(
            literal.computed_index and context.index.within(literal.node, loop)
            for literal in context.devices.literals
        ):
            return Harm(f"the loop of {context.line(loop)} has no turn", loop.iter)
    return None


def _uses(context: Context, target: ast.Name) -> Iterator[ast.Name]:
    scope = context.names.owner(target.id, target)
    for use in context.index.names[target.id]:
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope:
            yield use


def _asks(context: Context, use: ast.Name) -> bool:
    """Whether the program compares the count with something other than 1."""
    parent = context.index.parents[use]
    if not isinstance(parent, ast.Compare):
        return False
    one = parent.comparators[0]
    equal = len(parent.ops) == 1 and isinstance(parent.ops[0], ast.Eq)
    return not (equal and isinstance(one, ast.Constant) and one.value == 1)


def _harm_of_use(context: Context, node: ast.expr) -> str | None:
    parent = context.index.parents[node]
    if sizes_batches(context, node):
        return EMPTY_BATCHES
    if isinstance(parent, ast.BinOp) and parent.right is node:
        divides = isinstance(parent.op, ast.Mod | ast.Div | ast.FloorDiv)
        if divides and not _is_text(parent.left) and not _in_its_loop(context, node):
            harm = _harm_of_division(context, parent)
            caught = harm == DIVISION and is_caught(context, parent, "ZeroDivisionError")
            return None if caught else harm
    if isinstance(parent, ast.keyword) and parent.arg == "nprocs":
        # A script that never asks for CUDA is for GPUs alone: there is nothing it could spawn.
        asks = next(context.calls_of("torch.cuda.is_available"), None) is not None
        if asks and not (starts_nccl(context) and _runs_alone_too(context, parent)):
            return NOBODY_SPAWNED
    if isinstance(parent, ast.Call) and node in parent.args[:1]:
        function = parent.func
        if last_name(function) == "range":
            return _harm_of_no_devices(context, context.index.parents[parent])
        word = function.attr if isinstance(function, ast.Attribute) else None
        if word == "Pool" or (isinstance(function, ast.Name) and function.id == "Pool"):
            return "a pool of no processes raises ValueError"
    return None


def _harm_of_division(context: Context, division: ast.BinOp | ast.AugAssign) -> str:
    """What a 0 does to what is divided by it: a tensor raises nothing, but for whole numbers that
    are divided with a rest (`//`, `%`)."""
    divided = division.left if isinstance(division, ast.BinOp) else division.target
    is_tensor = context.values.of(divided).kind is Values.TENSOR
    return INFINITE if is_tensor and isinstance(division.op, ast.Div) else DIVISION


def _is_replaced(parent: ast.AST, count: ast.expr) -> bool:
    """`torch.cuda.device_count() or 1`: what follows takes the place of a 0."""
    either = isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.Or)
    return either and parent.values[-1] is not count  # type: ignore[attr-defined]


def _runs_alone_too(context: Context, count: ast.keyword) -> bool:
    """Whether the other arm of a test calls what is spawned by itself: one GPU, or none, comes to
    that, and processes that join NCCL are for those who ask for several."""
    call = context.index.parents[count]
    test = context.index.enclosing(count, ast.If)
    if not isinstance(call, ast.Call) or not call.args or test is None:
        return False
    worker = ast.unparse(call.args[0])
    in_body = any(context.index.within(count, statement) for statement in test.body)
    return any(
        isinstance(item, ast.Call) and ast.unparse(item.func) == worker
        for statement in (test.orelse if in_body else test.body)
        for item in ast.walk(statement)
    )


def _is_text(node: ast.expr) -> bool:
    """`"%d GPUs" % count` divides nothing."""
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
    )


def trains_on_none(context: Context, node: ast.expr) -> bool:
    """Whether `node` is the number of devices of one of Lightning's trainers, which refuses 0."""
    parent = context.index.parents[node]
    if not isinstance(parent, ast.keyword) or parent.arg != "devices":
        return False
    call = context.index.parents[parent]
    return isinstance(call, ast.Call) and context.resolve(call.func) in _TRAINERS


def sizes_batches(context: Context, node: ast.expr) -> bool:
    """Whether `node` is the size of the batches of a loader."""
    parent = context.index.parents[node]
    call: ast.AST | None = parent
    if isinstance(parent, ast.keyword):
        call = context.index.parents[parent] if parent.arg == "batch_size" else None
    elif isinstance(parent, ast.Call) and node not in parent.args[1:2]:
        call = None
    return isinstance(call, ast.Call) and context.resolve(call.func) in _LOADERS


def _harm_of_no_devices(context: Context, use: ast.AST) -> str | None:
    """What becomes of `range(0)` where a library wants devices."""
    name = (context.resolve(use.func) or "") if isinstance(use, ast.Call) else ""
    if name in _DIVIDERS:
        return f"{name.rsplit('.', 1)[-1]}() raises ZeroDivisionError"
    return None


def _in_its_loop(context: Context, count: ast.expr) -> bool:
    """In a loop over `range(...)` of the same count, which has no turn for 0."""
    if not isinstance(count, ast.Name):
        return False
    for parent in context.index.ancestors(count):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
        loops: list[ast.expr] = []
        if isinstance(parent, ast.For):
            loops = [parent.iter]
        elif isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            loops = [generator.iter for generator in parent.generators]
        if any(_is_range_of(context, iterable, count.id) for iterable in loops):
            return True
    return False


def _is_range_of(context: Context, iterable: ast.expr, name: str) -> bool:
    if not isinstance(iterable, ast.Call) or not isinstance(iterable.func, ast.Name):
        return False
    if iterable.func.id != "range" or not iterable.args:
        return False
    stop = context.guards.behind(iterable.args[-1])
    parts = [stop.left, stop.right] if isinstance(stop, ast.BinOp) else [stop]
    parts.append(iterable.args[-1])
    return any(isinstance(part, ast.Name) and part.id == name for part in parts)
