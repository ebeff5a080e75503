"""What a file that `torch.load` reads seems to hold, and whether it can come from CUDA at all.

Only a checkpoint (of a model, an optimizer, a whole run) is likely to hold CUDA tensors. Features,
labels, statistics and vocabularies are mostly saved from the CPU, and most of them load anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEPTH = 4


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


def saved_by_this_run(context: Context, call: ast.Call) -> bool:
    """Whether the same function (or the module) has just saved to the same place, itself or by
    a function that it has called."""
    function = context.index.function(call)
    for saved in _savers(context, call):
        saver = context.index.function(saved)
        steps = [saved] if saver is None else [saved, *context.index.calls.get(saver.name, ())]
        if any(
            step.lineno < call.lineno and context.index.function(step) is function for step in steps
        ):
            return True
    return False


def saved_from_cpu(context: Context, call: ast.Call) -> bool:
    """Whether what this file saves to the same place goes to the CPU first (`net.cpu()`).

    Where nothing is saved to that place, every model that the file saves counts; where it saves
    none, what the files beside it save under the same file name.
    """
    savers = list(_savers(context, call))
    if not savers:
        savers = [
            saved
            for saved in context.calls_of("torch.save")
            if saved.args and "state_dict()" in ast.unparse(saved.args[0])
        ]
    if not savers and context.elsewhere is not None and call.args:
        names = _file_names(context, call.args[0])
        return bool(names) and all(
            context.elsewhere.saves_from_cpu(context.source.path, name) for name in names
        )
    return bool(savers) and all(_copies_first(context, saved) for saved in savers)


def all_saved_from_cpu(context: Context, file_name: str) -> bool | None:
    """Whether all that a file saves under this name goes to the CPU first; None where it saves
    nothing there."""
    found = [
        _copies_first(context, saved)
        for saved in context.calls_of("torch.save")
        if len(saved.args) > 1 and file_name in _file_names(context, saved.args[1])
    ]
    return all(found) if found else None


def _file_names(context: Context, place: ast.expr) -> set[str]:
    """The names of files that a path ends in, by its texts and by the defaults of options."""
    texts: list[object] = [x.value for x in ast.walk(place) if isinstance(x, ast.Constant)]
    for item in ast.walk(place):
        if isinstance(item, ast.Attribute):
            texts += _option_defaults(context, item.attr)
    names = {str(text).replace("\\", "/").rsplit("/", 1)[-1] for text in texts}
    return {name for name in names if "." in name.strip(".")}


def _option_defaults(context: Context, destination: str) -> list[object]:
    return [
        keyword.value.value
        for call in context.index.calls.get("add_argument", ())
        if any(isinstance(a, ast.Constant) and a.value == f"--{destination}" for a in call.args)
        for keyword in call.keywords
        if keyword.arg == "default" and isinstance(keyword.value, ast.Constant)
    ]


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


def moves_storage(context: Context, call: ast.Call) -> bool:
    """Whether `call` is the `storage.cuda()` that a loader is given as `map_location`."""
    given = context.index.parents[call]
    if not isinstance(given, ast.Lambda) or storage_move(given) is not call:
        return False
    parent = context.index.parents[given]
    if isinstance(parent, ast.keyword):
        return parent.arg == "map_location"
    return isinstance(parent, ast.Call) and (context.resolve(parent.func) or "").endswith("load")


def _savers(context: Context, call: ast.Call) -> Iterator[ast.Call]:
    place = _place(context, call.args[0]) if call.args else None
    for saved in context.calls_of("torch.save"):
        if len(saved.args) > 1 and _place(context, saved.args[1]) == place:
            yield saved


def _place(context: Context, node: ast.expr) -> str:
    """The file that is read or written, as text; through `with open(path) as f`."""
    opened = _opened(context, node)
    return ast.unparse(opened if opened is not None else node)


def _opened(context: Context, node: ast.expr) -> ast.expr | None:
    if not isinstance(node, ast.Name):
        return None
    bindings = context.flow.reaching(node)
    value = bindings[0].value if len(bindings) == 1 else None
    if value is None or bindings[0].kind not in ("with", "assign"):
        return None
    if not isinstance(value, ast.Call) or not value.args:
        return None
    return value.args[0] if context.values.last_name(value.func) == "open" else None


def _copies_first(context: Context, saved: ast.Call) -> bool:
    """`net.eval().cpu()` before `torch.save(net.state_dict(), ...)` in the same function."""
    kept = saved.args[0]
    function = context.index.function(saved)
    for copy in context.index.calls.get("cpu", ()):
        if context.index.within(copy, kept):
            return True
        if context.index.function(copy) is not function or copy.lineno >= saved.lineno:
            continue
        if isinstance(copy.func, ast.Attribute):
            moved = copy.func.value
            while isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute):
                moved = moved.func.value
            spelled = ast.unparse(moved)
            if any(
                isinstance(item, ast.Name | ast.Attribute) and ast.unparse(item) == spelled
                for item in ast.walk(kept)
            ):
                return True
    return False


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
    if not call.args:
        return []
    place = call.args[0]
    opened = _opened(context, place)
    found = [ast.unparse(place)] if opened is None else [ast.unparse(opened)]
    for name in ast.walk(place if opened is None else opened):
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
