"""Flags that say whether something was done once: `if not self.ready: ...; self.ready.fill_(1)`.

A module keeps such a flag in a buffer, so that it is saved with the weights; a function in a bool.
"""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.ways_through import always_run

_ASKING = frozenset({"item", "bool", "any", "all"})
"""Methods that leave the truth of a flag what it is."""
_GIVEN = frozenset({"fill_", "copy_", "set_"})
_MAKERS = frozenset({"tensor", "Tensor", "as_tensor", "BoolTensor", "LongTensor"})
_FULL = {"ones": True, "ones_like": True, "zeros": False, "zeros_like": False}


def is_switched_over(test: ast.expr, body: list[ast.stmt]) -> bool:
    """Whether a test asks one flag, and its arm sets that to the contrary, whatever happens."""
    found = _asked(test)
    if found is None:
        return False
    name, truth = found
    return any(_sets(item, name) is (not truth) for item in always_run(body))


def _asked(test: ast.expr) -> tuple[str, bool] | None:
    """The flag that decides a test, and whether it is true where the test is."""
    truth = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, truth = test.operand, not truth
    if isinstance(test, ast.Compare):
        if len(test.ops) > 1 or not isinstance(test.ops[0], ast.Eq | ast.Is):
            return None
        value = _truth(test.comparators[0])
        if value is None:
            return None
        test, truth = test.left, truth is value
    name = _flag(test)
    return (name, truth) if name is not None else None


def _flag(node: ast.expr) -> str | None:
    """The name of a flag, as it is asked, or given something: `self.ready.item()`, `ready.data`."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in _ASKING or node.args:
                return None
            node = node.func.value
        elif isinstance(node, ast.Call):
            if ast.unparse(node.func) != "bool" or len(node.args) != 1:
                return None
            node = node.args[0]
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif isinstance(node, ast.Subscript) and _truth(node.slice) is False:
            node = node.value  # The one element of it.
        else:
            return ast.unparse(node) if isinstance(node, ast.Name | ast.Attribute) else None


def _sets(item: ast.stmt, name: str) -> bool | None:
    """What a statement makes of a flag; None: nothing, or nobody knows."""
    if isinstance(item, ast.Assign):
        if any(_flag(target) == name for target in item.targets):
            return _truth(item.value)
    elif isinstance(item, ast.AugAssign):
        if isinstance(item.op, ast.Add) and _flag(item.target) == name:
            return True if _truth(item.value) else None
    elif isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
        call = item.value
        if isinstance(call.func, ast.Attribute) and _flag(call.func.value) == name:
            if call.func.attr == "zero_":
                return False
            if call.func.attr in _GIVEN and len(call.args) == 1:
                return _truth(call.args[0])
    return None


def _truth(value: ast.expr) -> bool | None:
    """That of a constant, and of a tensor that is made of one."""
    if isinstance(value, ast.Constant):
        return bool(value.value) if isinstance(value.value, bool | int | float) else None
    if isinstance(value, ast.List | ast.Tuple):
        return _truth(value.elts[0]) if len(value.elts) == 1 else None
    if isinstance(value, ast.Call):
        name = last_name(value.func)
        if name in _FULL:
            return _FULL[name]
        if name in _MAKERS and value.args:
            return _truth(value.args[0])
    return None
