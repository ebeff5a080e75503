"""Where nothing works on a device any more: the end of a program, and the end of a server."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.uses.unused import has_main
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MANAGERS = ("contextlib.asynccontextmanager", "contextlib.contextmanager")
_LIFESPAN = "lifespan"
"""The argument by which FastAPI and Starlette are given what runs around their whole life."""
_SHUTDOWN = "shutdown"
"""The event of theirs that comes last."""


def ends_program(context: Context, call: ast.Call) -> bool:
    """Whether nothing follows in the program that works on a device: not in a notebook, whose
    process stays."""
    if is_notebook(context.source.path):
        return False
    if not has_main(context) and not _reads_arguments(context):
        return False
    statement: ast.AST | None = _last_call(context, context.index.statement(call), [])
    while not isinstance(statement, ast.Module | None):
        parent = context.index.parents[statement]
        if isinstance(parent, ast.If):
            if statement is not parent.body[-1] and statement not in parent.orelse[-1:]:
                return False
        elif not isinstance(parent, ast.Module):
            return False
        else:
            behind = parent.body[parent.body.index(statement) + 1 :]  # type: ignore[arg-type]
            if not all(_is_at_rest(context, item) for item in behind):
                return False
        statement = parent
    return statement is not None


def _last_call(context: Context, statement: ast.stmt, seen: list[FunctionNode]) -> ast.stmt | None:
    """The statement outside functions that ends with this one, where it is the last of `main()`,
    which that alone calls; None where there is none."""
    function = context.index.function(statement)
    if not isinstance(function, FUNCTIONS):
        return statement
    if function in seen or not _is_last_of(context, statement, function):
        return None
    if not isinstance(context.index.parents[function], ast.Module) or function.decorator_list:
        return None
    uses = [*context.index.names.get(function.name, ())]
    call = context.index.parents[uses[0]] if len(uses) == 1 else None
    if not isinstance(call, ast.Call) or call.func is not uses[0]:
        return None
    last = context.index.parents[call]
    while isinstance(last, ast.Call) and len([*last.args, *last.keywords]) == 1:
        last = context.index.parents[last]
    if not isinstance(last, ast.Expr | ast.Raise):
        return None
    elsewhere = context.elsewhere
    if elsewhere is not None and elsewhere.is_imported(context.source.path):
        return None
    return _last_call(context, last, [*seen, function])


def _is_last_of(context: Context, statement: ast.stmt, function: FunctionNode) -> bool:
    """Whether a function is at its end behind a statement, whichever arm it stands in."""
    child: ast.AST = statement
    while child is not function:
        parent = context.index.parents[child]
        if not isinstance(parent, (*FUNCTIONS, ast.If, ast.With)):
            return False
        arm = parent.body if child in parent.body else getattr(parent, "orelse", [])
        if not all(map(_gives_back, arm[arm.index(child) + 1 :])):  # type: ignore[arg-type]
            return False
        child = parent
    return True


def _gives_back(statement: ast.stmt) -> bool:
    """`return best`, which reckons nothing."""
    return isinstance(statement, ast.Return) and not any(
        isinstance(item, ast.Call) for item in ast.walk(statement)
    )


def ends_server(context: Context, node: ast.AST) -> bool:
    """Whether `node` runs when a process ends: behind the `yield` of what a server is given for its
    life, in what it calls when it is shut down, or in what `atexit` calls."""
    function = context.index.function(node)
    if not isinstance(function, FUNCTIONS):
        return False
    if any(_registers(context, item) for item in function.decorator_list):
        return True
    uses = [context.index.parents[x] for x in context.index.names.get(function.name, ())]
    if any(isinstance(use, ast.Call) and _registers(context, use) for use in uses):
        return True
    lives = any(isinstance(use, ast.keyword) and use.arg == _LIFESPAN for use in uses)
    return lives and _manages(context, function) and _behind_yield(context, function, node)


def _registers(context: Context, node: ast.expr) -> bool:
    """`@app.on_event("shutdown")`, `@atexit.register`, `atexit.register(function)`"""
    if isinstance(node, ast.Call):
        if context.resolve(node.func) == "atexit.register":
            return True
        first = node.args[0] if node.args else None
        named = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        return named == "on_event" and isinstance(first, ast.Constant) and first.value == _SHUTDOWN
    return context.resolve(node) == "atexit.register"


def _manages(context: Context, function: FunctionNode) -> bool:
    return any(context.resolve(item) in _MANAGERS for item in function.decorator_list)


def _behind_yield(context: Context, function: FunctionNode, node: ast.AST) -> bool:
    row = context.index.statement(node).lineno
    yields = [
        item.lineno
        for item in ast.walk(function)
        if isinstance(item, ast.Yield) and context.index.function(item) is function
    ]
    return bool(yields) and max(yields) < row


def _reads_arguments(context: Context) -> bool:
    """Whether the file reads the command line as soon as it runs: nobody imports such a program."""
    return any(
        context.index.function(call) is None for call in context.index.calls.get("parse_args", ())
    )


def _is_at_rest(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement at the top of a file only defines something, or uses nothing of the
    file's: no model, no function that could run one."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)):
        return True
    return not any(
        isinstance(item, ast.Name)
        and isinstance(item.ctx, ast.Load)
        and context.names.owner(item.id, item) is not None
        for item in ast.walk(statement)
    )
