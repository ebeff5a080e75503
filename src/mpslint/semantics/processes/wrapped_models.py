"""Models that only `DataParallel` moves: with one GPU it takes there what it wraps, and without
CUDA it leaves that on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import walk

_WRAPPER = "DataParallel"
_TORCH = "torch."
"""Its functions move no model that they are given: `torch.save(model, path)`."""
_MOVES = frozenset({"to", "cuda"})


def moved_by_wrapper(tree: ast.Module) -> Iterator[ast.Call]:
    """The wrappings of models that the file makes of its own classes, and moves nowhere else."""
    nodes = list(walk(tree))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    classes = {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef) and not any(map(_moves, ast.walk(node)))
    }
    if not classes or not any(last_name(call.func) == _WRAPPER for call in calls):
        return
    elsewhere = {name for call in calls for name in _given_away(call)}
    made: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    made.setdefault(target.id, []).append(node.value)
    for name, values in made.items():
        if name in elsewhere:
            continue
        for value in values:
            if isinstance(value, ast.Call) and last_name(value.func) == _WRAPPER and value.args:
                if _stays(value.args[0], classes, elsewhere, made):
                    yield value


def _stays(
    model: ast.expr, classes: set[str], elsewhere: set[str], made: dict[str, list[ast.expr]]
) -> bool:
    """Whether a model is as its class made it, on the CPU."""
    if isinstance(model, ast.Name):
        values = [one for one in made.get(model.id, ()) if not _wraps(one)]
        return (
            model.id not in elsewhere
            and bool(values)
            and all(_stays(one, classes, elsewhere, {}) for one in values)
        )
    return isinstance(model, ast.Call) and last_name(model.func) in classes and not model.keywords


def _wraps(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == _WRAPPER


def _moves(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _MOVES
    )


def _given_away(call: ast.Call) -> Iterator[str]:
    """The names of what a call moves, or may move since it is handed to it."""
    if _moves(call):
        assert isinstance(call.func, ast.Attribute)
        yield from _names(call.func.value)
    if last_name(call.func) == _WRAPPER or ast.unparse(call.func).startswith(_TORCH):
        return
    for given in (*call.args, *(item.value for item in call.keywords)):
        if isinstance(given, ast.Name | ast.List | ast.Tuple | ast.Dict):
            yield from _names(given)


def _names(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
