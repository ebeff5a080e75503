"""What a test for CUDA asks beside the machine: `--no-cuda`, `use_gpu`, `args.cuda`.

A selection that gains an MPS arm asks the same of it, so the test is taken apart: the part that
asks the machine, and the part that asks the user.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.cuda_machine import outcome
from mpslint.semantics.terms.facts_known import backend_word

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BACKENDS = ("cuda", "mps", "cpu")


def asked(context: Context, test: ast.expr, wanted: bool = True) -> list[str] | None:
    """The conditions on the user's side when `test` comes out as `wanted`, in source order.

    Flags are read through their only assignment. Empty: only the machine is asked. None: the two
    sides cannot be told apart.
    """
    return _asked(context, test, wanted, test)


def joined(parts: list[str]) -> str:
    """The conditions as one expression; empty for none."""
    return " and ".join(dict.fromkeys(parts))


def _asked(
    context: Context, test: ast.expr, wanted: bool, at: ast.expr, depth: int = 8
) -> list[str] | None:
    if depth == 0:
        return None
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == wanted:
        parts = [
            _switch(context, value, wanted) or _asked(context, value, wanted, at, depth - 1)
            for value in test.values
        ]
        if any(part is None for part in parts):
            return None
        return [text for part in parts if part is not None for text in part]
    machine = outcome(context, test)
    if machine is not None:
        return [] if machine is wanted else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asked(context, test.operand, not wanted, at, depth - 1)
    decided = context.guards.behind(test)
    if decided is not test and "cuda" in context.guards.implied(decided, wanted):
        return _asked(context, decided, wanted, at, depth - 1)
    if "cuda" in context.guards.implied(test, wanted):
        return None
    if _asks_for_backend(context, test) or not _means_the_same(context, test, at):
        return None
    text = context.source.segment(test)
    if "\n" in text:
        return None
    compound = isinstance(test, ast.BoolOp | ast.IfExp | ast.Lambda | ast.NamedExpr)
    if wanted:
        return [f"({text})" if compound else text]
    if isinstance(test, ast.Compare):
        return [_turned(test, text)]
    return [f"not ({text})" if compound else f"not {text}"]


def _turned(test: ast.Compare, text: str) -> str:
    """`gpu is not None` for `gpu is None`."""
    end = " is None"
    if len(test.ops) == 1 and isinstance(test.ops[0], ast.Is) and text.endswith(end):
        return f"{text.removesuffix(end)} is not None"
    return f"not ({text})"


def _switch(context: Context, test: ast.expr, wanted: bool) -> list[str] | None:
    """A flag beside the question for CUDA that the program sets to a constant: whoever edits it
    (`enable_cuda = False`) means every GPU."""
    flag, holds = test, wanted
    if isinstance(flag, ast.UnaryOp) and isinstance(flag.op, ast.Not):
        flag, holds = flag.operand, not wanted
    if not isinstance(flag, ast.Name):
        return None
    value = context.guards.behind(flag)
    if not isinstance(value, ast.Constant) or bool(value.value) is not holds:
        return None
    return [flag.id if holds else f"not {flag.id}"]


def _asks_for_backend(context: Context, test: ast.expr) -> bool:
    """`device == "cuda"` and whatever else asks torch or names a backend."""
    for node in ast.walk(test):
        if isinstance(node, ast.Constant) and backend_word(node) in _BACKENDS:
            return True
        if isinstance(node, ast.Call) and (context.resolve(node.func) or "").startswith("torch."):
            return True
    return False


def _means_the_same(context: Context, test: ast.expr, at: ast.expr) -> bool:
    """Whether the names of a flag's definition are those that are seen where it is read."""
    if context.index.within(test, at):
        return True
    names = context.names
    if _is_deleted(context, test):
        return False
    return all(
        names.owner(node.id, node) is names.owner(node.id, at)
        for node in ast.walk(test)
        if isinstance(node, ast.Name)
    )


def _is_deleted(context: Context, test: ast.expr) -> bool:
    """`args.cuda = not args.no_cuda`, and then `del args.no_cuda`."""
    gone = {ast.unparse(target) for one in context.index.of(ast.Delete) for target in one.targets}
    return bool(gone) and any(
        isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and ast.unparse(node) in gone
        for node in ast.walk(test)
    )
