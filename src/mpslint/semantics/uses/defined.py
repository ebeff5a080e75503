"""The functions and classes of a file as the rest of the project may know them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.elsewhere.elsewhere import Given
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import positional_parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

HOOKS = frozenset({"forward", "extra_repr", "train", "eval", "to", "cuda", "cpu", "state_dict"})
"""Methods of a module that torch, or who holds a module, calls."""


class Defined(NamedTuple):
    node: FunctionNode | ast.ClassDef
    owner: ast.ClassDef | None


_OF_CLASSES = {"staticmethod", "classmethod"}
"""Decorators that leave to a call what it gives."""


_OF_GRADIENTS = frozenset(
    {"torch.no_grad", "torch.inference_mode", "torch.enable_grad", "torch.set_grad_enabled"}
)
"""Decorators that hand on what they are given as it is."""


def asked_for(context: Context, node: FunctionNode, parameter: ast.arg) -> Given | None:
    """A parameter as it is asked of who calls its function; None where calls may be unseen."""
    owner = context.index.parents[node]
    method = isinstance(owner, ast.ClassDef)
    if not (method or isinstance(owner, ast.Module)):
        return None
    marks = {
        mark.id if isinstance(mark, ast.Name) else ""
        for mark in node.decorator_list
        if context.resolve(mark.func if isinstance(mark, ast.Call) else mark) not in _OF_GRADIENTS
    }
    if not marks <= (_OF_CLASSES if method else set()):
        return None
    if node.name.startswith("__") and node.name != "__init__":
        return None
    if method and node.name in HOOKS:
        return None
    positional = positional_parameters(node.args)
    bound = method and "staticmethod" not in marks
    place = positional.index(parameter) - bound if parameter in positional else None
    if isinstance(owner, ast.ClassDef) and node.name == "__init__":
        return Given(owner.name, parameter.arg, place, method=False)
    return Given(node.name, parameter.arg, place, method=method)


def definitions_around(context: Context, row: int) -> Iterator[Defined]:
    """The class and the method, or the function of the module, that a line stands in."""
    owner: ast.ClassDef | None = None
    while True:
        found = context.index.standing_at(row, owner or context.tree)
        if isinstance(found, FUNCTIONS):
            yield Defined(found, owner)
        if not isinstance(found, ast.ClassDef) or owner is not None:
            return
        yield Defined(found, None)
        owner = found


def own_methods(context: Context, name: str) -> frozenset[str]:
    """The names of the class methods that a class of the module has of its own."""
    return frozenset(
        method.name
        for owner in context.tree.body
        if isinstance(owner, ast.ClassDef) and owner.name == name
        for method in owner.body
        if isinstance(method, FUNCTIONS) and _is_of_class(method)
    )


def own_makers(context: Context, name: str) -> list[ast.expr]:
    """`cls` of `cls(...)` in the class methods of a class of the module: what makes its objects."""
    found: list[ast.expr] = []
    for owner in context.tree.body:
        if not isinstance(owner, ast.ClassDef) or owner.name != name:
            continue
        for method in owner.body:
            if isinstance(method, FUNCTIONS) and method.args.args and _is_of_class(method):
                found += [
                    call.func
                    for call in context.index.calls.get(method.args.args[0].arg, ())
                    if isinstance(call.func, ast.Name) and context.index.within(call, method)
                ]
    return found


def _is_of_class(method: FunctionNode) -> bool:
    return any(
        isinstance(mark, ast.Name) and mark.id == "classmethod" for mark in method.decorator_list
    )


def is_handed_on(context: Context, text: ast.Constant) -> bool:
    """Whether a text stands in the list of what a module hands on: `__all__ = ["to_gpu"]`"""
    statement = context.index.statement(text)
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return any(isinstance(item, ast.Name) and item.id == "__all__" for item in targets)
