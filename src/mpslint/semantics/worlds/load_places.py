"""Where a checkpoint is loaded to by a function of its storages, and by frameworks that copy it
into a model, which decides where it is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.bases import inherits
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import Index

# Fact: mmcv 1.x, mmcv/runner/checkpoint.py and base_runner.py, and mmengine/runner: both call
# `load_state_dict` of the model with what they read, and hand that back.
_FILLING = "load_checkpoint"
_RUNNERS = ("mmcv.runner", "mmengine.runner")


def places_a_checkpoint(index: Index, node: ast.AST) -> bool:
    """Whether `node` stands in `map_location=lambda storage, place: storage.cuda()`: what moves a
    storage there is the place of the load, and a storage has another `to` than a tensor."""
    function = index.enclosing(node, ast.Lambda)
    given = index.parents[function] if function is not None else None
    if isinstance(given, ast.Call):
        # `torch.load(file, map_location)`
        return last_name(given.func) == "load" and given.args[1:2] == [function]
    return isinstance(given, ast.keyword) and given.arg == "map_location"


def goes_to_a_model(context: Context, node: ast.AST) -> bool:
    """Whether `node` is in the place of a load by which a framework fills a model: parameters are
    copied to where they are, from wherever they were read to."""
    load = load_to(context, node)
    return load is not None and _fills(context, load)


def load_to(context: Context, node: ast.AST) -> ast.Call | None:
    """The call of whose `map_location` a node is a part."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(child, ast.keyword) and isinstance(parent, ast.Call):
            return parent if child.arg == "map_location" else None
        if isinstance(parent, ast.Call) and last_name(parent.func) == "load":
            # `torch.load(file, map_location)`
            return parent if parent.args[1:2] == [child] else None
        if isinstance(parent, ast.stmt):
            return None
        child = parent
    return None


def _fills(context: Context, call: ast.Call) -> bool:
    if last_name(call.func) != _FILLING:
        return False
    if _is_of_runners(context.resolve(call.func) or ""):
        return True
    cls = context.index.enclosing(call, ast.ClassDef)
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        cls is not None
        and isinstance(owner, ast.Name)
        and owner.id == "self"
        and not any(
            isinstance(item, ast.FunctionDef) and item.name == _FILLING for item in cls.body
        )
        and inherits(context, cls, lambda name: _is_of_runners(name) or None)
    )


def _is_of_runners(name: str) -> bool:
    return name.startswith(tuple(f"{module}." for module in _RUNNERS))
