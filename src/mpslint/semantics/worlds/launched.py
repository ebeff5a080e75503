"""Tests of what a launcher tells the processes that it starts: `"RANK" in os.environ`."""

from __future__ import annotations

import ast

# Fact: torch's documentation of torchrun, "Environment Variables".
_TOLD = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"})
_CONTRARY = (ast.NotIn, ast.Is, ast.Eq, ast.Lt, ast.LtE)
_MEANT = (ast.In, ast.IsNot, ast.NotEq, ast.Gt, ast.GtE)


def launched_where(test: ast.expr, tree: ast.Module) -> bool | None:
    """The outcome of a test that says that a launcher has started this process; None: none does.
    A name is what the module `tree` binds it to."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        outcome = launched_where(test.operand, tree)
        return None if outcome is None else not outcome
    if isinstance(test, ast.BoolOp):
        decides = isinstance(test.op, ast.And)
        found = any(launched_where(part, tree) is decides for part in test.values)
        return decides if found else None
    if isinstance(test, ast.Name):
        value = _bound(test.id, tree)
        return launched_where(value, tree) if value is not None else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _is_told(test):
        kind = test.ops[0]
        return True if isinstance(kind, _MEANT) else False if isinstance(kind, _CONTRARY) else None
    return True if isinstance(test, ast.Call) and _is_told(test) else None


def _is_told(test: ast.expr) -> bool:
    """Whether a test looks a variable of a launcher's up in the environment."""
    words = {item.value for item in ast.walk(test) if isinstance(item, ast.Constant)}
    names = {item.attr for item in ast.walk(test) if isinstance(item, ast.Attribute)}
    names |= {item.id for item in ast.walk(test) if isinstance(item, ast.Name)}
    return not _TOLD.isdisjoint(words) and not names.isdisjoint(("environ", "getenv"))


def _bound(name: str, tree: ast.Module) -> ast.expr | None:
    found = [
        item.value
        for item in tree.body
        if isinstance(item, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in item.targets)
    ]
    is_name = len(found) == 1 and isinstance(found[0], ast.Name)
    return found[0] if len(found) == 1 and not is_name else None
