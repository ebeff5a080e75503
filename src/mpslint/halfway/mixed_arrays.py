"""Tensors of arrays that are float64 on one of several ways: `x = np.loadtxt(path)` in one arm, and
an array of float32 in the other. Where all ways are float64 a rule tells of it, and casts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from mpslint.facts import arrays as facts
from mpslint.halfway.unread_arrays import TENSORS, is_narrow
from mpslint.semantics.syntax.expressions import argument, keyword, root_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS, below, walk

_NUMPY = frozenset({"np", "numpy"})
_MAKING = frozenset({"from_numpy", *TENSORS})
_MACHINE = ("cuda", "mps", "device")


def moved_on_some_way(
    function: ast.AST, is_move: Callable[[ast.Call], bool]
) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The moves of such tensors by their names, in a function or at the top of a module, each with
    what makes float64; `is_move`: whether a call moves to a device and says no dtype."""
    for block in _blocks(function):
        for at, statement in enumerate(block[:-1]):
            for name, wide in _mixed(statement):
                for call in _moves(block[at + 1 :], name, is_move):
                    yield call, wide


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    waiting = [function]
    while waiting:
        node = waiting.pop()
        for field in ("body", "orelse", "finalbody", "handlers"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                if block and isinstance(block[0], ast.stmt):
                    yield block
                waiting += [
                    item for item in block if not isinstance(item, (*FUNCTIONS, ast.ClassDef))
                ]


def _mixed(statement: ast.stmt) -> Iterator[tuple[str, ast.Call]]:
    """The names that a statement gives float64 on one way, and something else on another."""
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.IfExp):
        value = statement.value
        arms = [{one.id: arm for one in _targets(statement)} for arm in (value.body, value.orelse)]
        test = value.test
    elif isinstance(statement, ast.If) and statement.orelse:
        arms, test = [_given(statement.body), _given(statement.orelse)], statement.test
    else:
        return
    for name in arms[0].keys() & arms[1].keys():
        made = [_wide_maker(arm[name]) for arm in arms]
        if made.count(None) == 1 and not _asks_machine(test):  # Of these a Mac takes one.
            yield name, next(one for one in made if one is not None)


def _asks_machine(test: ast.expr) -> bool:
    text = ast.unparse(test).lower()
    return any(word in text for word in _MACHINE)


def _given(block: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What a block gives names last."""
    found: dict[str, ast.expr] = {}
    for statement in block:
        if isinstance(statement, ast.Assign):
            found.update((one.id, statement.value) for one in _targets(statement))
        elif isinstance(statement, ast.If) and statement.orelse:
            arms = [_given(statement.body), _given(statement.orelse)]
            for name in arms[0].keys() & arms[1].keys():
                first, second = arms[0][name], arms[1][name]
                found[name] = first if _wide_maker(first) is not None else second
    return found


def _targets(statement: ast.Assign) -> list[ast.Name]:
    return [one for one in statement.targets if isinstance(one, ast.Name)]


def _wide_maker(value: ast.expr) -> ast.Call | None:
    """The call by which NumPy makes an array of float64, which this is, or a part of."""
    value = root_of(value, ast.Subscript)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return None
    if keyword(value, "dtype") is not None or root_name(value.func) not in _NUMPY:
        return None
    name, drawn = value.func.attr, facts.size_at(value.func.attr)
    if drawn is not None:
        return value if argument(value, drawn, "size") is not None else None
    dtype_at = facts.DTYPE_AT.get(name, len(value.args))
    is_wide = name in facts.MADE_WIDE or name in facts.READ_WIDE
    return value if is_wide and dtype_at >= len(value.args) else None


def _moves(
    following: Sequence[ast.stmt], array: str, is_move: Callable[[ast.Call], bool]
) -> Iterator[ast.Call]:
    """The moves of tensors that are made of an array, while nothing else has its name."""
    arrays, tensors = {array}, set[str]()
    for statement in following:
        for node in walk(statement):
            if (
                isinstance(node, ast.Call)
                and is_move(node)
                and isinstance(node.func, ast.Attribute)
            ):
                owner = node.func.value
                is_of_array = any(_made_of(one, arrays) for one in walk(owner))
                if (is_of_array or root_name(owner) in tensors) and not is_narrow(owner):
                    yield node
        if isinstance(statement, ast.Assign):
            made = _made_of(statement.value, arrays)
            for target in _targets(statement):
                arrays.discard(target.id)
                kept = root_name(statement.value) in tensors and not is_narrow(statement.value)
                tensors.discard(target.id)
                if made or kept:
                    tensors.add(target.id)
        elif any(_rebinds(node, arrays | tensors) for node in below(statement)):
            return


def _made_of(value: ast.AST, arrays: set[str]) -> bool:
    """`torch.from_numpy(x)`, which is of the dtype of `x`."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in _MAKING
        and not value.keywords
        and len(value.args) == 1
        and isinstance(value.args[0], ast.Name)
        and value.args[0].id in arrays
    )


def _rebinds(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and node.id in names
