"""Numbers of processes, by the names that they are bound to."""

from __future__ import annotations

import ast

from mpslint.facts.priors import names_process
from mpslint.semantics.syntax.expressions import last_name


def process_number(node: ast.expr) -> bool:
    """Whether an expression reads the number of a process: a rank, `os.environ["LOCAL_RANK"]`."""
    for item in ast.walk(node):
        word = last_name(item)
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            word = item.value
        if word is not None and names_process(word):
            return True
    return False


def process_names(scope: ast.AST) -> frozenset[str]:
    """The names to which only numbers of processes are bound."""
    bound: dict[str, bool] = {}
    for item in ast.walk(scope):
        if isinstance(item, ast.Assign):
            names = [one.id for one in item.targets if isinstance(one, ast.Name)]
            is_number = bool(names) and process_number(item.value)
            for name in names:
                bound[name] = bound.get(name, True) and is_number
    return frozenset(name for name, is_number in bound.items() if is_number)


def is_first_by_default(number: ast.expr, scope: ast.AST) -> bool:
    """Whether a name for the number of a process is bound to that of the first one as well."""
    return isinstance(number, ast.Name) and any(
        isinstance(item, ast.Assign | ast.AnnAssign)
        and isinstance(item.value, ast.Constant)
        and item.value.value == 0
        and any(
            isinstance(one, ast.Name) and one.id == number.id
            for one in (item.targets if isinstance(item, ast.Assign) else [item.target])
        )
        for item in ast.walk(scope)
    )
