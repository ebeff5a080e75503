"""Models that a program makes and trains, and moves nowhere: they stay on the CPU.

What such a model computes is there as well, since a batch of another device would raise. So a
`.cpu()` beside it is a habit, and says nothing of what others have put on a device.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FunctionNode, Index

_LEAVING = frozenset(
    {"train", "eval", "parameters", "named_parameters", "zero_grad", "state_dict"}
    | {"load_state_dict", "requires_grad_", "modules", "children"}
)
"""Fact: methods of `torch.nn.Module` by which it stays where it is."""


def trained_on_host(
    index: Index, names: Names, places_nothing: Callable[[str], bool]
) -> frozenset[FunctionNode | None]:
    """The functions (None: the top of the file) that make the models which the optimizers of the
    file train, and leave them on the CPU; none where another model is trained as well.

    `places_nothing` says of a class of another file that nothing beside it places anything.
    """
    makers = set()
    for call in index.of(ast.Call):
        name = names.resolve(call.func) or ""
        if not name.startswith("torch.optim.") or not name.rpartition(".")[2][:1].isupper():
            continue
        if name.startswith("torch.optim.lr_scheduler."):
            continue
        given = call.args[0] if call.args else None
        model = given.func.value if _asks_parameters(given) else None  # type: ignore[union-attr]
        if not isinstance(model, ast.Name) or not _stays(index, names, model, places_nothing):
            return frozenset()
        makers.add(index.function(names.bindings(model.id, model)[0].node))
    return frozenset(makers)


def _asks_parameters(node: ast.expr | None) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "parameters"
    )


def _stays(
    index: Index, names: Names, model: ast.Name, places_nothing: Callable[[str], bool]
) -> bool:
    """Whether `model` is made of a class right here, and is then only run, or asked what moves it
    nowhere."""
    bindings = names.bindings(model.id, model)
    if len(bindings) != 1 or bindings[0].kind != "assign":
        return False
    made, at = bindings[0].value, bindings[0].node
    if not isinstance(made, ast.Call) or any(
        isinstance(parent, ast.If | ast.With) for parent in index.ancestors(at)
    ):
        return False
    if not _is_class(names, made.func, places_nothing):
        return False
    return all(
        _leaves(index, use)
        for use in index.names.get(model.id, ())
        if isinstance(use.ctx, ast.Load) and names.bindings(use.id, use) == bindings
    )


def _is_class(names: Names, made: ast.expr, places_nothing: Callable[[str], bool]) -> bool:
    if isinstance(made, ast.Name):
        bindings = names.bindings(made.id, made)
        if len(bindings) != 1:
            return False  # One of several, or nobody knows which.
        if isinstance(bindings[0].node, ast.ClassDef):
            return True
    name = names.resolve(made)
    return name is not None and (name.startswith("torch.nn.") or places_nothing(name))


def _leaves(index: Index, use: ast.Name) -> bool:
    around = index.parents[use]
    if isinstance(around, ast.Call):
        return around.func is use
    return isinstance(around, ast.Attribute) and (
        around.attr in _LEAVING or not _is_called(index, around)
    )


def _is_called(index: Index, node: ast.expr) -> bool:
    around = index.parents[node]
    return isinstance(around, ast.Call) and around.func is node
