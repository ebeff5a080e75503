"""Where a class is named and nobody makes anything of it: questions about types, annotations."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index

_ASKING = ("super", "isinstance", "issubclass")
_INSPECTING = frozenset({"getfile", "getsourcefile", "getsource", "getsourcelines", "getmodule"})
"""Questions of `inspect`: where something is written, and how."""
_WITHIN = ast.Subscript | ast.Tuple | ast.List | ast.BinOp | ast.Attribute


def only_asks(index: Index, use: ast.expr) -> bool:
    """Whether a class stands in `super(Net, self)`, in a question about a type (`isinstance(x,
    (Net, Other))`) or of where it is written (`inspect.getfile(Net)`), or in an annotation (`x:
    Net`, `x: Union[Net, None]`). Who decorates a function may make what its annotations ask for, as
    frameworks for servers do."""
    child: ast.AST = use
    parent = index.parents.get(child)
    while isinstance(parent, _WITHIN):
        child, parent = parent, index.parents.get(parent)
    if isinstance(parent, ast.Call):
        called = parent.func
        if _inspects(called):
            return child is use
        if not isinstance(called, ast.Name) or called.id not in _ASKING or child is called:
            return False
        return child is use or isinstance(child, ast.Tuple)
    if isinstance(parent, FUNCTIONS):
        return child is parent.returns
    if isinstance(parent, ast.AnnAssign):
        return child is parent.annotation and not _is_field(index, parent)
    if not isinstance(parent, ast.arg):
        return False
    function = index.enclosing(parent, *FUNCTIONS)
    return isinstance(function, FUNCTIONS) and not function.decorator_list


def _inspects(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in _INSPECTING
    owner = called.value if isinstance(called, ast.Attribute) else None
    is_inspect = isinstance(owner, ast.Name) and owner.id == "inspect"
    return is_inspect and called.attr in _INSPECTING  # type: ignore[attr-defined]


def _is_field(index: Index, statement: ast.AnnAssign) -> bool:
    """Whether an annotation is one of a class, which who decorates or derives it may read."""
    return isinstance(index.parents.get(statement), ast.ClassDef)
