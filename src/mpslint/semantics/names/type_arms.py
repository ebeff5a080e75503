"""Arms of questions about a type: those in which a name holds no tensor, since the test around has
asked for one and found none, and those that a constant does not come to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.names.names import Binding, Names
    from mpslint.semantics.syntax.index import Index

_ASKING = "isinstance"
# Fact: torch's own question, and its class, which `isinstance` is asked with.
_IS_TENSOR = "torch.is_tensor"
_TENSOR = "torch.Tensor"
_CONSTANTS = ("int", "float", "str", "bool", "complex", "list", "tuple", "dict", "set")
"""Types of Python's own, none of which is another one of them, but for `bool`."""


def is_no_tensor(index: Index, names: Names, name: ast.Name, bound: Iterable[Binding]) -> bool:
    """Whether `name` stands in an arm that is come to where it holds no tensor
    (`if isinstance(x, torch.Tensor): ... else: x > 0`); `bound`: what it may have been given, of
    which nothing stands in the arm itself."""
    if not index.calls.get(_ASKING) and not index.calls.get("is_tensor"):
        return False
    child: ast.AST = name
    for parent in index.ancestors(name):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            arm = _arm(parent, child)
            if _has_found_none(names, parent.test, name.id, arm is parent.body):
                return not any(index.within(one.node, item) for one in bound for item in _of(arm))
        child = parent
    return False


def is_of_type(names: Names, test: ast.expr, word: str, value: object) -> bool | None:
    """How a question about the type of what a name holds comes out where that is a constant
    (`isinstance(offset, int)` of 0); None: the test asks something else, or as well."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        found = is_of_type(names, test.operand, word, value)
        return None if found is None else not found
    if isinstance(test, ast.BoolOp):
        ends = isinstance(test.op, ast.Or)
        parts = [is_of_type(names, part, word, value) for part in test.values]
        return ends if ends in parts else None if None in parts else not ends
    asked = test.args[0] if isinstance(test, ast.Call) and test.args else None
    if not isinstance(test, ast.Call) or not isinstance(asked, ast.Name) or asked.id != word:
        return None
    if names.resolve(test.func) == _IS_TENSOR:
        return False
    kinds = _kinds_asked(test)
    if not kinds:
        return None
    own = type(value).__name__
    if any(_named(names, kind) == own for kind in kinds):
        return True
    known = all(_named(names, kind) in _CONSTANTS or _is_tensor(names, kind) for kind in kinds)
    # A bool is an int as well.
    return False if known and own != "bool" else None


def _named(names: Names, kind: ast.expr) -> str:
    """The word for a type of Python's own."""
    if not isinstance(kind, ast.Name) or names.bindings(kind.id, kind):
        return ""
    return kind.id


def _kinds_asked(test: ast.Call) -> list[ast.expr]:
    """The types that `isinstance(x, (int, float))` and `isinstance(x, int | float)` ask for."""
    if not isinstance(test.func, ast.Name) or test.func.id != _ASKING or len(test.args) != 2:
        return []
    kinds = test.args[1]
    if not isinstance(kinds, ast.BinOp):
        return kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    return [item for item in ast.walk(kinds) if isinstance(item, ast.Name | ast.Attribute)]


def _is_tensor(names: Names, kind: ast.expr) -> bool:
    return names.resolve(kind) == _TENSOR


def _arm(parent: ast.If | ast.IfExp, child: ast.AST) -> ast.expr | list[ast.stmt]:
    return parent.body if child in _of(parent.body) else parent.orelse


def _of(arm: ast.expr | list[ast.stmt]) -> list[ast.AST]:
    return [*arm] if isinstance(arm, list) else [arm]


def _has_found_none(names: Names, test: ast.expr, word: str, outcome: bool) -> bool:
    """Whether a name holds no tensor where a test comes out so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _has_found_none(names, test.operand, word, not outcome)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is outcome:
        return any(_has_found_none(names, part, word, outcome) for part in test.values)
    if outcome or not isinstance(test, ast.Call) or not test.args:
        return False
    asked = test.args[0]
    if not isinstance(asked, ast.Name) or asked.id != word:
        return False
    if names.resolve(test.func) == _IS_TENSOR:
        return True
    return any(_is_tensor(names, kind) for kind in _kinds_asked(test))
