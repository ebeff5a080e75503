"""Tests of whether a launcher has started several processes, one for each GPU: by what it tells
them (`"RANK" in os.environ`), by how many there are, and by the number of this one."""

from __future__ import annotations

import ast
from collections.abc import Callable

from mpslint.facts.priors import names_process
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.values import CONST, NAME, Atom, Value, text_of

_ENVIRONMENT = "environ"
_ASKED = frozenset({_ENVIRONMENT, "getenv", "get_rank", "get_world_size", "is_initialized"})
"""Facts: of `os`, and of torch.distributed."""
# Fact: torch's documentation of torchrun, "Environment Variables".
_TOLD = frozenset({"WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"})
"""What launchers of several processes set in the environment, beside the number of each."""
_SIZES = frozenset({"WORLD_SIZE", "LOCAL_WORLD_SIZE", "get_world_size", "world_size"})
"""How many processes there are: torchrun's variables, and what `torch.distributed` says and is told
(`init_process_group(world_size=...)`)."""
_LOOKUPS = ("get", "getenv")
_DEPTH = 3
_OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}
Behind = Callable[[ast.expr], ast.expr]
"""What a flag was assigned, where that is one expression; else the flag itself."""


def asks_for_several(
    test: ast.expr, behind: Behind, outcome: bool = True, depth: int = _DEPTH
) -> bool:
    """Whether there are several processes where `test` comes out so; flags say what they were
    assigned, `depth` times over."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return asks_for_several(test.operand, behind, not outcome, depth)
    if isinstance(test, ast.BoolOp):
        every = isinstance(test.op, ast.Or) == outcome
        parts = (asks_for_several(item, behind, outcome, depth) for item in test.values)
        return all(parts) if every else any(parts)
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and _compares_several(test, outcome)
    if outcome and _looks_up(test):
        return True
    if last_name(test.func if isinstance(test, ast.Call) else test) is None:
        return False
    value = behind(test)
    return value is not test and depth > 0 and asks_for_several(value, behind, outcome, depth - 1)


def is_about_processes(test: ast.expr, behind: Behind, depth: int = _DEPTH) -> bool:
    """Whether the environment, or the group of processes, is asked somewhere in a test: what is a
    rank by its name alone may be a matrix's."""
    for node in ast.walk(test):
        if isinstance(node, ast.Name | ast.Attribute) and last_name(node) in _ASKED:
            return True
        value = behind(node) if isinstance(node, ast.Name) else node
        if value is not node and depth and is_about_processes(value, behind, depth - 1):  # type: ignore[arg-type]
            return True
    return False


def bound_in(tree: ast.Module) -> Behind:
    """What the names of a module are bound to, by its one assignment of each."""

    def behind(test: ast.expr) -> ast.expr:
        found = [
            item.value
            for item in tree.body
            if isinstance(test, ast.Name)
            and isinstance(item, ast.Assign)
            and any(isinstance(one, ast.Name) and one.id == test.id for one in item.targets)
        ]
        return found[0] if len(found) == 1 else test

    return behind


def is_looked_up(name: Value, place: Value) -> bool:
    """`"LOCAL_RANK" in os.environ`: a launcher has started a process for each GPU."""
    return (
        name.__class__ is Atom
        and name.kind == CONST
        and _is_told(text_of(name))
        and place.__class__ is Atom
        and place.kind == NAME
        and place.v == "os.environ"
    )


def are_several(operator: type[ast.cmpop] | None, number: int) -> bool:
    """Whether what compares so with a number is more than one."""
    if operator in (ast.NotEq, ast.Gt) and number == 1:
        return True
    return operator in (ast.Eq, ast.Gt, ast.GtE) and number > 1


def are_several_or_not(operator: ast.cmpop, number: int) -> bool | None:
    """Whether a comparison with a number holds where there is more than one (`n > 1`), or where
    there is not (`n == 1`); None for others."""
    kind = operator.__class__
    if are_several(kind, number):
        return True
    return False if are_several(_OPPOSITES.get(kind), number) else None


def _compares_several(test: ast.Compare, outcome: bool) -> bool:
    """`get_world_size() > 1`, `local_rank != -1`, `"RANK" in os.environ`"""
    left, right, operator = test.left, test.comparators[0], type(test.ops[0])
    number = _number(right)
    if number is None and (number := _number(left)) is not None:
        left, operator = right, _TURNED.get(operator, operator)
    asked = operator if outcome else _OPPOSITES.get(operator)
    if asked is ast.In:
        told = isinstance(left, ast.Constant) and _is_told(left.value)
        return told and last_name(right) == _ENVIRONMENT
    if isinstance(right, ast.Constant) and right.value is None:
        return asked in (ast.IsNot, ast.NotEq) and _looks_up(left)
    if number is None:
        return False
    names = _words(left)
    if any(names_process(name) for name in names):
        return (asked, number) in ((ast.NotEq, -1), (ast.Gt, -1), (ast.GtE, 0))
    return any(name in _SIZES for name in names) and are_several(asked, number)


def _is_told(name: object) -> bool:
    """Whether a launcher sets a variable of this name in the environment."""
    return isinstance(name, str) and (name in _TOLD or (name.isupper() and names_process(name)))


def _looks_up(node: ast.expr) -> bool:
    """Whether only a launcher sets what is looked up: `os.environ.get("RANK")`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "bool" and len(node.args) == 1:
        return _looks_up(node.args[0])
    if not isinstance(node, ast.Call) or last_name(node.func) not in _LOOKUPS or not node.args:
        return False
    place = node.func.value if isinstance(node.func, ast.Attribute) else None
    if last_name(node.func) == "get" and (place is None or last_name(place) != _ENVIRONMENT):
        return False
    name, *default = node.args
    nothing = all(isinstance(item, ast.Constant) and not item.value for item in default)
    return isinstance(name, ast.Constant) and _is_told(name.value) and nothing


def _words(node: ast.expr) -> list[str]:
    """Names and texts of `args.local_rank`, `get_world_size()`, `int(os.environ["LOCAL_RANK"])`."""
    if isinstance(node, ast.BoolOp):
        return _words(node.values[0])
    if isinstance(node, ast.Call) and last_name(node.func) in ("int", *_LOOKUPS):
        return [word for argument in node.args for word in _words(argument)]
    if isinstance(node, ast.Subscript):
        return _words(node.slice)
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    word = last_name(node.func if isinstance(node, ast.Call) else node)
    return [word] if word is not None else []


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return -inner if inner is not None else None
    if not isinstance(node, ast.Constant):
        return None
    if isinstance(node.value, str) and node.value.isdecimal():
        return int(node.value)
    return node.value if type(node.value) is int else None
