"""Written-out CUDA devices that are no fault: they are none of torch's, or meant as they stand.

Devices of other libraries, devices of stand-ins in tests, a program that runs the same on the CPU
beside it, one that spreads over the GPUs of a machine, and a device that is only used where CUDA
is known to be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.collectives import talks_to_ranks
from mpslint.semantics.consumers import WITHOUT_MPS, foreign_consumer
from mpslint.semantics.index import COMPREHENSIONS, FUNCTIONS
from mpslint.semantics.several_gpus import for_several_gpus
from mpslint.semantics.unused import never_used

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices import Literal, Slot

_OTHER_LIBRARIES = WITHOUT_MPS | {"keras", "catboost", "warp", "taichi", "decord", "mlx", "cv2"}
_HOST_CLASS = re.compile(r"Tokenizer|Processor|FeatureExtractor")
_STAND_INS = frozenset({"SimpleNamespace", "Mock", "MagicMock", "Namespace", "namedtuple"})
_SEVERAL = ("replicate", "scatter", "parallel_apply", "gather")
_PIPELINES = ("prepare_pippy", "ScheduleGPipe", "PipelineStage", "Pipe", "pipeline")
_SEVERAL_FILES = re.compile(
    r"(^|[/\\])(distributed|ddp|fsdp)[/\\](?!.*single_?gpu[^/\\]*$)|multi_?gpu[^/\\]*$", re.I
)
"""Programs for several GPUs by their place, but for the one among them that shows a single one."""
_DECLARED = re.compile(
    r"(requires?|needs?|only( runs)?( on| with)?)\b.{0,20}\bCUDA\b|\bCUDA only", re.I
)
_CUDA_THERE = frozenset({"cuda", "no-mps", "xpu"})


def is_foreign(context: Context, literal: Literal, slot: Slot) -> bool:
    """Whether the device ends up with something that is none of torch's."""
    return not_of_torch(context, slot) or foreign_consumer(context, literal.node) is not None


def not_of_torch(context: Context, slot: Slot) -> bool:
    """Whether the call that is given a device belongs to a library other than torch, makes a
    tokenizer or an image processor, or is a stand-in of a test."""
    call = slot.node
    if slot.kind != "argument" or not isinstance(call, ast.Call):
        return False
    name = context.resolve(call.func) or ast.unparse(call.func)
    parts = name.lstrip(".").split(".")
    if parts[0] in _OTHER_LIBRARIES or parts[-1] in _STAND_INS:
        return True
    holder = parts[-2] if parts[-1] == "from_pretrained" and len(parts) > 1 else parts[-1]
    return bool(_HOST_CLASS.search(holder))


def in_a_table(context: Context, slot: Slot) -> bool:
    """Whether a dict is a row of a table, `[{"model": m, "device": "cuda"}, ...]`: a record that
    something is compared with."""
    if slot.kind != "item" or not isinstance(slot.node, ast.Dict):
        return False
    return isinstance(
        context.index.parents[slot.node], (ast.List, ast.Set, ast.Tuple, *COMPREHENSIONS)
    )


def beside_the_cpu(context: Context, slot: Slot) -> bool:
    """Whether the same call is made for the CPU next to it: both are wanted, one by one."""
    call = slot.node
    if not isinstance(call, ast.Call) or slot.kind not in ("argument", "to", "factory"):
        return False
    function = context.index.function(call)
    spelled = ast.dump(call.func)
    last = call.func.attr if isinstance(call.func, ast.Attribute) else None
    word = last or (call.func.id if isinstance(call.func, ast.Name) else "")
    return slot.kind == "argument" and any(
        other is not call
        and context.index.function(other) is function
        and ast.dump(other.func) == spelled
        and any(
            isinstance(item, ast.Constant) and item.value == "cpu"
            for item in (*other.args, *(keyword.value for keyword in other.keywords))
        )
        for other in context.index.calls.get(word, ())
    )


def over_several_gpus(context: Context, literal: Literal) -> bool:
    """Whether a device is one of several: an index modulo their number, a tensor that processes
    reduce together, a stage of a pipeline."""
    if literal.computed_index and any(
        isinstance(item, ast.BinOp) and isinstance(item.op, ast.Mod)
        for item in ast.walk(literal.node)
        if item is not literal.node
    ):
        return True
    if _SEVERAL_FILES.search(context.source.path):
        return True
    if _is_numbered(context, literal) and for_several_gpus(context, literal.node):
        return True
    if type(getattr(literal.node, "value", None)) is int:
        return any(context.index.calls.get(word) for word in _PIPELINES)
    return _is_reduced(context, literal)


def declared_for_cuda(context: Context, node: ast.AST) -> bool:
    """Whether an error of the function or class around says that it requires CUDA."""
    holders = [
        x for x in context.index.ancestors(node) if isinstance(x, (*FUNCTIONS, ast.ClassDef))
    ]
    return bool(holders) and any(
        _DECLARED.search(str(text.value)) and context.index.within(text, holders[-1])
        for text in context.index.strings
    )


def _is_numbered(context: Context, literal: Literal) -> bool:
    """`f"cuda:{rank}"`, `torch.device("cuda", rank)`"""
    call = context.index.parents[literal.node]
    return literal.computed_index or (isinstance(call, ast.Call) and len(call.args) == 2)


def _is_reduced(context: Context, literal: Literal) -> bool:
    function = context.index.function(literal.node)
    if function is None:
        return False
    return talks_to_ranks(context, literal.node) or any(
        (context.resolve(call.func) or "").startswith("torch.nn.parallel.")
        and context.index.function(call) is function
        for word in _SEVERAL
        for call in context.index.calls.get(word, ())
    )


def used_with_cuda_only(context: Context, slot: Slot) -> bool:
    """Whether a device that a variable holds is used nowhere but where CUDA is known to be, or
    nowhere at all, or the block goes on to make sure of CUDA."""
    statement = slot.node
    if slot.kind == "device" and isinstance(statement, ast.Call):
        statement = context.index.parents[statement]
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    if _CUDA_THERE & context.guards.at(context.index.block(statement)[-1]):
        return True
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if len(targets) == 1 and isinstance(targets[0], ast.Attribute):
        return _left_to_accelerate(context, targets[0])
    if len(targets) != 1 or not isinstance(targets[0], ast.Name):
        return False
    name = targets[0]
    if context.index.enclosing(statement, *FUNCTIONS) is None:
        return never_used(context, name)
    uses = list(_loads(context, name))
    return bool(uses) and all(_CUDA_THERE & context.guards.at(use) for use in uses)


def has_mps_elsewhere(context: Context, slot: Slot) -> bool:
    """Whether the function gives the same variable an MPS device in another statement."""
    statement = slot.node
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    spelled = ast.unparse(statement.targets[0])
    function = context.index.function(statement)
    return any(
        other is not statement
        and context.index.function(other) is function
        and any(ast.unparse(target) == spelled for target in other.targets)
        and "mps" in (context.values.of(other.value).devices or ())
        for other in context.index.of(ast.Assign)
    )


def _left_to_accelerate(context: Context, target: ast.Attribute) -> bool:
    """Whether an object notes a device that its file never reads, while `accelerate` places what
    the file makes: `self.model = accelerator.prepare(model)`."""
    if ast.unparse(target.value) != "self" or not context.index.calls.get("prepare"):
        return False
    if not any(context.calls_of("accelerate.Accelerator")):
        return False
    spelled = ast.unparse(target)
    return not any(text.value == target.attr for text in context.index.strings) and not any(
        isinstance(use.ctx, ast.Load) and ast.unparse(use) == spelled
        for use in context.index.attributes.get(target.attr, ())
    )


def _loads(context: Context, name: ast.Name) -> Iterator[ast.Name]:
    scope = context.names.owner(name.id, name)
    for use in context.index.names.get(name.id, ()):
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope:
            yield use
