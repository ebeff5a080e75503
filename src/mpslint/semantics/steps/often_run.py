"""Whether what a function does is done again and again, as far as the project says.

`def debug(model): ...` that is called below `if step % 100 == 0:` alone, once at the end of a
program, or by nobody, costs no step of training anything.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.loops.step_calls import called_by_name, calls_a_step
from mpslint.semantics.steps.given_in_steps import parameters_given
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CALLS_FOLLOWED = 3
_BINDING = ("staticmethod", "classmethod")


def is_often_run(context: Context, node: ast.AST, calls: int = _CALLS_FOLLOWED) -> bool:
    """Whether `node`, a loop through the parts of something or a call, may run again and again."""
    loops, child, turns = context.loops, node, False
    while (loop := loops.innermost(child)) is not None:
        if not loops.every_step(child, loop):
            return False
        if loops.kind(loop) is LoopKind.TRAIN or calls_a_step(context, loop):
            return True
        turns = turns or not _goes_through_parts(child, loop)
        child = loop
    function = context.index.function(child)
    if turns or function is None:
        return turns
    if not loops.every_step(child, function):
        return False
    return not calls or _is_often_called(context, function, calls)


def _goes_through_parts(inner: ast.AST, loop: ast.AST) -> bool:
    """`for net in nets: for p in net.parameters(): ...`, which is one walk."""
    if not isinstance(inner, ast.For) or not isinstance(loop, ast.For):
        return False
    names = names_in(loop.target)
    return any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(inner.iter))


def _is_often_called(context: Context, function: FunctionNode, calls: int) -> bool:
    """Whether some call may be made again and again: one that is seen, or one out of sight."""
    sites = list(called_by_name(context, function))
    if any(is_often_run(context, site, calls - 1) for site in sites):
        return True
    return _may_be_called_by_others(context, function, sites)


def _may_be_called_by_others(
    context: Context, function: FunctionNode, sites: list[ast.Call]
) -> bool:
    callers, owner = context.guards.callers, context.index.parents[function]
    if callers.named_by_frameworks(function) or not all(map(_only_binds, function.decorator_list)):
        return True
    if isinstance(owner, ast.ClassDef) and owner.bases:
        return True  # What it inherits may call it.
    called = {site.func for site in sites}
    if any(mention not in called for mention in callers.mentions(function)):
        return True  # It is handed on, or called on an object from out of sight.
    if isinstance(owner, FUNCTIONS):
        return False
    if context.elsewhere is None:
        return not sites  # A file by itself does not say that nobody calls.
    path = context.source.path
    if isinstance(owner, ast.ClassDef):
        return context.elsewhere.uses(path, function.name, method=True)
    # That others may install the project does not make them call each of its functions; and of a
    # project that is too large to be looked through, the files nearby are seen.
    if not context.elsewhere.takes(path, function.name):
        return False
    beside = context.imported is None or context.imported.uses_beside(function.name)
    return beside or bool(parameters_given(context, function))


def _only_binds(decorator: ast.expr) -> bool:
    """Whether a decorator hands the function to nobody: `@staticmethod`, `@torch.no_grad()`."""
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(named, ast.Name):
        return named.id in _BINDING
    return isinstance(named, ast.Attribute) and ast.unparse(named).startswith("torch.")
