"""What a function takes in place of a parameter's default.

`if use_cuda == "detect": use_cuda = f()` says that the text is no answer, and which is taken where
nobody gives one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.node_kinds import of_kinds

_SAME, _OTHER = (ast.Is, ast.Eq), (ast.IsNot, ast.NotEq)


def replacements(function: FunctionNode, name: str, default: ast.Constant) -> Iterator[ast.expr]:
    """What stands for the parameter `name` where it is as its `default` says."""
    for node in of_kinds(function, {ast.If, ast.IfExp}):
        assert isinstance(node, ast.If | ast.IfExp)
        arm = _arm(node.test, name, default)
        if arm is None:
            continue
        if isinstance(node, ast.IfExp):
            taken, other = (node.body, node.orelse) if arm else (node.orelse, node.body)
            if isinstance(other, ast.Name) and other.id == name:
                yield taken
            continue
        for statement in node.body if arm else node.orelse:
            if isinstance(statement, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == name for target in statement.targets
            ):
                yield statement.value


def _arm(test: ast.expr, name: str, default: ast.Constant) -> bool | None:
    """Whether a test holds where the parameter is the default; None: it asks something else."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    left, right = test.left, test.comparators[0]
    if not isinstance(left, ast.Name) or left.id != name or not isinstance(right, ast.Constant):
        return None
    if right.value != default.value:
        return None
    if isinstance(test.ops[0], _SAME):
        return True
    return False if isinstance(test.ops[0], _OTHER) else None
