"""Memory counters: the CUDA one on CUDA, the nearest that Metal keeps on MPS, 0 elsewhere.

Metal keeps no maxima. What the driver holds for the process is the nearest: memory that was used
once stays with it until `empty_cache()`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.availability import wants_mps
from mpslint.patterns.guard import guard_expression
from mpslint.patterns.insertion import insert_before
from mpslint.patterns.joined import Arms, above_it, after_its_like, joined
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.own_device import Tests, tests_at
from mpslint.patterns.shared_counters import shared_counter
from mpslint.patterns.text import (
    alone_on_lines,
    holds_comment,
    indent_unit,
    line_limit,
    replace_span,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context

_ALLOCATED = "{torch}.mps.current_allocated_memory()"
_DRIVER = "{torch}.mps.driver_allocated_memory()"
COUNTERS = {
    "memory_allocated": (_ALLOCATED, "allocated_memory"),
    "memory_reserved": (_DRIVER, "reserved_memory"),
    "memory_cached": (_DRIVER, "reserved_memory"),
    "max_memory_allocated": (_DRIVER, "peak_memory"),
    "max_memory_reserved": (_DRIVER, "peak_reserved_memory"),
    "max_memory_cached": (_DRIVER, "peak_reserved_memory"),
}
"""Per counter of `torch.cuda`: its counterpart, and a name for what it answers."""
_MESSAGE = "Ask the backend that is there (the backends do not count the same things)"
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return)
_NOT_ALWAYS_RUN = (
    ast.Lambda,
    ast.IfExp,
    ast.BoolOp,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.NamedExpr,
    ast.Await,
)


def ask_each_backend(
    context: Context, call: ast.Call, name: str, calls: Sequence[ast.Call] = ()
) -> Fix | None:
    """The fix for a counter that is read: a function where `calls`, all of the file that read it,
    are many; an expression where it fits its line, else a choice of statements in front. Unsafe,
    because the backends do not count the same things."""
    mps, variable = COUNTERS[name]
    if not wants_mps(context):
        return None
    torch = torch_name(context, call)
    if torch is None:
        return None
    tests, mps = tests_at(context, call, torch), mps.format(torch=torch)
    shared = shared_counter(context, call, calls, name, mps)
    if shared is not None:
        return Fix(_MESSAGE, shared[0], Applicability.UNSAFE, waits=shared[1].waits)
    other = f"{mps} if {tests.mps} else 0"
    if not _fits(context, call, f" if {tests.cuda} else {other}"):
        edits = _in_front(context, call, tests, mps, variable)
        if edits is not None:
            return Fix(_MESSAGE, edits, Applicability.UNSAFE, waits=tests.waits)
    fix = guard_expression(context, call, tests.cuda, other, _MESSAGE, Applicability.UNSAFE)
    return fix._replace(waits=tests.waits) if fix is not None else None


def _fits(context: Context, call: ast.Call, added: str) -> bool:
    """Whether the conditional expression stays on the line of the call."""
    source = context.source
    if context.index.enclosing(call, ast.JoinedStr) is not None:
        return False
    row = source.position(source.span(call)[0])[0]
    return len(source.line(row).rstrip()) + len(added) + 2 <= line_limit(source)


def _in_front(
    context: Context, call: ast.Call, tests: Tests, mps: str, variable: str
) -> tuple[Edit, ...] | None:
    statement, source = context.index.statement(call), context.source
    if not isinstance(statement, _SIMPLE) or not alone_on_lines(source, statement):
        return None
    same = _same_calls(context, call, statement)
    text = source.segment(call)
    if same is None or "\n" in text or "\r" in text:
        return None
    if isinstance(statement, ast.Assign) and statement.value is call:
        return _bound_each_way(context, statement, tests, text, mps)
    name = _free(context, variable)
    if name is None:
        return None
    arms = _arms(tests, f"{name} = ", text, mps)
    before = insert_before(context, statement, _lines(context, arms))
    if before is None:
        return None
    edits = [replace_span(source, *source.span(item), name) for item in same]
    above = above_it(context, statement, arms)
    return (above or after_its_like(context, statement, before), *edits)


def _bound_each_way(
    context: Context, statement: ast.Assign, tests: Tests, text: str, mps: str
) -> tuple[Edit, ...] | None:
    """`used = torch.cuda.memory_allocated()` becomes three assignments."""
    source = context.source
    start, end = source.span(statement)
    if holds_comment(source, start, end) or not isinstance(statement.targets[0], ast.Name):
        return None
    head = source.text[start : source.span(statement.value)[0]]
    indent = source.indentation(statement.lineno)
    arms = _arms(tests, head, text, mps)
    beside = joined(context, statement, arms)
    if beside is not None:
        return (beside,)
    whole = f"{source.newline}{indent}".join(_lines(context, arms))
    return (after_its_like(context, statement, replace_span(source, start, end, whole)),)


def _arms(tests: Tests, head: str, text: str, mps: str) -> Arms:
    return Arms(tests.cuda, f"{head}{text}", tests.mps, f"{head}{mps}", f"{head}0")


def _lines(context: Context, arms: Arms) -> list[str]:
    unit = indent_unit(context.source)
    return [
        f"if {arms.cuda}:",
        f"{unit}{arms.on_cuda}",
        f"elif {arms.mps}:",
        f"{unit}{arms.on_mps}",
        "else:",
        f"{unit}{arms.otherwise}",
    ]


def _same_calls(context: Context, call: ast.Call, statement: ast.stmt) -> list[ast.Call] | None:
    """The calls of the statement that read like `call`, each run once and each where its position
    says: inside f-strings that is not certain before Python 3.12."""
    wanted, source = ast.unparse(call), context.source
    same = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and ast.unparse(node) == wanted
    ]
    for item in same:
        between = []
        for parent in context.index.ancestors(item):
            if parent is statement:
                break
            between.append(parent)
        if any(isinstance(parent, _NOT_ALWAYS_RUN) for parent in between):
            return None
        if any(isinstance(p, ast.JoinedStr) for p in between) and source.segment(item) != wanted:
            return None
    return same if len({source.span(item) for item in same}) == len(same) else None


def _free(context: Context, name: str) -> str | None:
    taken = {bound for bound, _ in context.names.every_binding()}
    for candidate in (name, f"{name}_bytes", f"torch_{name}"):
        if candidate not in taken and candidate not in context.index.names:
            return candidate
    return None
