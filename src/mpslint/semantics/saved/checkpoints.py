"""What a file that `torch.load` reads seems to hold, and whether it can come from CUDA at all.

Only a checkpoint (of a model, an optimizer, a whole run) is likely to hold CUDA tensors. Features,
labels, statistics and vocabularies are mostly saved from the CPU, and most of them load anywhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.saved.checkpoint_writers import opened, source_of
from mpslint.semantics.syntax.expressions import argument
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEPTH = 4

# Fact: torchvision, the addresses in its `models`: a model, and eight digits of the file's SHA-256.
_TORCHVISION = re.compile(
    r"(?<![\w-])(?:alexnet(?:-owt)?|vgg\d+(?:_bn)?|(?:wide_)?resnet\d+(?:_2)?|resnext\d+_32x\dd"
    r"|densenet\d+|squeezenet1_[01]|inception_v3_google|googlenet|mobilenet_v[23]\w*|mnasnet[\d.]+\w*"
    r"|shufflenetv2_x\w+)-[0-9a-f]{8}\.pth\b"
)


def loads_checkpoint(context: Context, call: ast.Call) -> bool:
    """Whether what `call` reads from a file is a checkpoint, as far as the code shows.

    It ends in `load_state_dict` or a function named after models; or the names around say so and
    none of them says data; or it is handed on by a helper that only loads.
    """
    if _fills_model(context, call, _DEPTH):
        return True
    told = [*_targets(context, call), *_keys(context, call)]
    told += [text.replace("\\", "/").rsplit("/", 1)[-1] for text in _places(context, call)]
    function = context.index.function(call)
    # What is said at the call counts for more than the name of the function around it.
    for words in (told, [function.name] if function is not None else []):
        if any(matches("data-words", word) for word in words):
            return False
        if any(matches("checkpoint-words", word) for word in words):
            return True
    return _is_handed_on(context, call)


def is_sharded(context: Context, call: ast.Call) -> bool:
    """Whether the file holds one process's part of a checkpoint, or FSDP's: never a Mac's."""
    if any(matches("sharded-checkpoints", text) for text in _places(context, call)):
        return True
    if matches("sharding-libraries", context.source.path):
        return True
    for parent in context.index.ancestors(call):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            if matches("sharded-checkpoints", parent.name):
                return True
        elif isinstance(parent, ast.If):
            if matches("sharding-libraries", ast.unparse(parent.test)):
                return True
    return any(
        name.startswith(("torch.distributed.fsdp", "torch.distributed._shard"))
        for name in context.aliases
    )


def is_of_torchvision(context: Context, call: ast.Call) -> bool:
    """Whether the file is named as torchvision's weights are, which were saved from the CPU."""
    return any(_TORCHVISION.search(place) for place in _places(context, call))


def has_arm_for_the_cpu(context: Context, call: ast.Call) -> bool:
    """Whether it stands in an arm for CUDA (of a test for it, or by which things are moved there),
    and the other arm reads the same file onto the CPU: that arm is for who has no CUDA."""
    source = source_of(call)
    place = ast.unparse(source) if source is not None else ""
    if _after_the_cpu_failed(context, call, place):
        return True
    return any(
        isinstance(test, ast.If | ast.IfExp)
        and _is_onto_cpu(other)
        and (given := source_of(other)) is not None
        and ast.unparse(given) == place
        and _arm(context, test, other) == -_arm(context, test, call) != 0
        and _moves_to_cuda(context, test, _arm(context, test, call))
        for other in context.calls_of("torch.load")
        if other is not call
        for test in context.index.ancestors(call)
    )


def _after_the_cpu_failed(context: Context, call: ast.Call, place: str) -> bool:
    """Whether it stands in a handler of what a read of the same file onto the CPU may raise: what
    CUDA has saved, that has read."""
    handler = context.index.enclosing(call, ast.ExceptHandler)
    attempt = context.index.parents[handler] if handler is not None else None
    return isinstance(attempt, ast.Try) and any(
        any(context.index.within(other, item) for item in attempt.body)
        and _is_onto_cpu(other)
        and (given := source_of(other)) is not None
        and ast.unparse(given) == place
        for other in context.calls_of("torch.load")
    )


def _moves_to_cuda(context: Context, test: ast.If | ast.IfExp, arm: int) -> bool:
    """Whether this is the arm of who has CUDA, or somewhere in the file `.cuda()` is called, or
    CUDA named for a device, in the same arm of the same question."""
    if "cuda" in context.guards.implied(test.test, arm > 0):
        return True
    asked, sign = _question(test.test)
    named = (item.node for item in context.devices.literals if item.backend == "cuda")
    return any(
        isinstance(other, ast.If | ast.IfExp)
        and (asks := _question(other.test))[0] == asked
        and asks[1] * _arm(context, other, move) == sign * arm
        for move in (*context.index.calls.get("cuda", ()), *named)
        for other in context.index.ancestors(move)
    )


def _question(test: ast.expr) -> tuple[str, int]:
    """What is asked, and -1 where it is asked for its contrary."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ast.unparse(test.operand), -1
    return ast.unparse(test), 1


def _arm(context: Context, test: ast.If | ast.IfExp, node: ast.AST) -> int:
    """In which arm of the test it stands: 1 where it is true, -1 where not, 0 in neither."""
    arms = (test.body, test.orelse)
    for number, arm in zip((1, -1), arms, strict=True):
        parts: list[ast.AST] = list(arm) if isinstance(arm, list) else [arm]
        if any(context.index.within(node, part) for part in parts):
            return number
    return 0


def _is_onto_cpu(call: ast.Call) -> bool:
    given = argument(call, 1, "map_location")
    if isinstance(given, ast.Lambda):  # `lambda storage, location: storage`
        first = given.args.args[0].arg if given.args.args else None
        return isinstance(given.body, ast.Name) and given.body.id == first
    if isinstance(given, ast.Call) and len(given.args) == 1:
        given = given.args[0]
    return isinstance(given, ast.Constant) and given.value == "cpu"


def storage_move(given: ast.expr) -> ast.Call | None:
    """The `storage.cuda()` of a `map_location` like `lambda storage, location: storage.cuda()`.

    A storage is no tensor: its `to` takes no device by position.
    """
    if not isinstance(given, ast.Lambda) or not given.args.args:
        return None
    call = given.body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    storage = call.func.value
    if call.func.attr != "cuda" or not isinstance(storage, ast.Name):
        return None
    return call if storage.id == given.args.args[0].arg else None


def _fills_model(context: Context, node: ast.expr, depth: int) -> bool:
    """Whether the value of `node` comes to `load_state_dict`, or a function about models."""
    statement: ast.AST = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.Call) and not context.index.within(node, parent.func):
            if matches("model-functions", context.values.last_name(parent.func)):
                return True
        statement = parent
        if isinstance(parent, ast.stmt):
            break
    if depth == 0 or not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    if statement.value is None or not context.index.within(node, statement.value):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(
        use is not node and _fills_model(context, use, depth - 1)
        for target in targets
        if isinstance(target, ast.Name)
        for use in _uses(context, target)
        if use.lineno > node.lineno
    )


def _uses(context: Context, target: ast.Name) -> Iterator[ast.Name]:
    """Reads of the name of `target` in its scope."""
    scope = context.names.owner(target.id, target)
    for use in context.index.names.get(target.id, ()):
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope:
            yield use


def _targets(context: Context, call: ast.Call) -> list[str]:
    """Names that the loaded value is given."""
    statement = context.index.statement(call)
    if isinstance(statement, ast.Assign):
        return [ast.unparse(target) for target in statement.targets]
    return [ast.unparse(statement.target)] if isinstance(statement, ast.AnnAssign) else []


def _keys(context: Context, call: ast.Call) -> list[str]:
    """`["state_dict"]` behind the call."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
        return [str(parent.slice.value)]
    return []


def _places(context: Context, call: ast.Call) -> list[str]:
    """The path as written, and what its names were assigned."""
    place = source_of(call)
    if place is None:
        return []
    file = opened(context, place)
    found = [ast.unparse(place if file is None else file)]
    for name in ast.walk(place if file is None else file):
        if isinstance(name, ast.Name):
            bindings = context.flow.reaching(name)
            found += [ast.unparse(b.value) for b in bindings[:4] if b.kind == "assign" and b.value]
    return found


def _is_handed_on(context: Context, call: ast.Call) -> bool:
    """`return torch.load(path)`, with or without a name in between."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        uses = list(_uses(context, parent.targets[0]))
        parents = [context.index.parents[use] for use in uses]
        return bool(parents) and all(isinstance(item, ast.Return) for item in parents)
    return isinstance(parent, ast.Return)
