"""Models that an object takes to the CPU when it is made: `self.model = model.to("cpu")`.

A module is moved itself, so that who made the object, an evaluator say, has it on the CPU from then
on. Where all is on the CPU nobody notices.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from mpslint.basics.brief import brief
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS

_TAKES = "takes to the CPU the model that others go on with, and leaves it there"
_MODES = frozenset({"eval", "train"})
"""What only a module is told."""
_SELF = "self"
_MAX_TEXT = 60

KINDS: frozenset[type[ast.AST]] = frozenset({ast.ClassDef})
"""The kinds of nodes that are asked for."""


def may_take(text: bytes) -> bool:
    """Whether a text may hold such a class."""
    is_named = b"'cpu'" in text or b'"cpu"' in text or b".cpu()" in text
    return is_named and any(f".{one}()".encode() in text for one in _MODES)


def taken(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str, str]]:
    """The rows in which constructors do so, with the names of the classes; `nodes`: those of its
    `KINDS`."""
    for cls in nodes:
        if not isinstance(cls, ast.ClassDef):
            continue
        for item in cls.body:
            if isinstance(item, FUNCTIONS) and item.name == "__init__":
                for kept, move in _moves(item):
                    if _is_module(cls, kept):
                        told = brief(ast.unparse(move), _MAX_TEXT)
                        yield move.lineno, f"{told} {_TAKES}", cls.name


def is_made_again(tree: ast.Module | None, name: str) -> bool:
    """Whether a loop makes an object of a class, and goes on: the model has been there before."""
    return any(
        isinstance(call, ast.Call) and last_name(call.func) == name
        for loop in (ast.walk(tree) if tree is not None else ())
        if isinstance(loop, ast.For | ast.While)
        for statement in loop.body
        for call in ast.walk(statement)
    )


def _moves(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.Call]]:
    """What a constructor moves to the CPU and keeps, by the member that it becomes."""
    given = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
    kept: dict[str, list[ast.expr]] = {}
    for one in ast.walk(function):
        if isinstance(one, ast.Assign):
            for target in one.targets:
                kept.setdefault(ast.unparse(target), []).append(one.value)
    for name, values in kept.items():
        for call in values if name.startswith(f"{_SELF}.") else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                model = call.func.value
                if isinstance(model, ast.Name) and model.id in given - {_SELF}:
                    if _goes_home(call, kept):
                        yield name, call


def _goes_home(call: ast.Call, kept: dict[str, list[ast.expr]]) -> bool:
    if last_name(call.func) == "cpu":
        return not call.args
    if last_name(call.func) != "to" or len(call.args) != 1:
        return False
    named = kept.get(ast.unparse(call.args[0]), [call.args[0]])
    return all(map(_is_host, named))


def _is_host(device: ast.expr) -> bool:
    if isinstance(device, ast.Call) and last_name(device.func) == "device" and device.args:
        device = device.args[0]
    return isinstance(device, ast.Constant) and device.value == "cpu"


def _is_module(cls: ast.AST, kept: str) -> bool:
    """Whether what is kept is told a mode somewhere in the class."""
    return any(
        isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in _MODES
        and ast.unparse(one.func.value) == kept
        for one in ast.walk(cls)
    )
