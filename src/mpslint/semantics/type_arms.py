"""Arms in which a name holds no tensor, since the test around has asked for one and found none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.index import Index
    from mpslint.semantics.names import Binding, Names

_ASKING = "isinstance"
# Fact: torch's own question, and its class, which `isinstance` is asked with.
_IS_TENSOR = "torch.is_tensor"
_TENSOR = "torch.Tensor"


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
    if not isinstance(test.func, ast.Name) or test.func.id != _ASKING or len(test.args) != 2:
        return False
    kinds = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    return any(names.resolve(kind) == _TENSOR for kind in kinds)
