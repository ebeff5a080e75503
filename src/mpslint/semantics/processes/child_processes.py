"""Programs that leave all work on a device to processes which they start: the parent has nothing
there itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PROCESSES = ("multiprocessing.Process", "torch.multiprocessing.Process")
_SPAWNERS = ("torch.multiprocessing.spawn",)
_KNOWN = "work of child processes"


def is_left_to_children(context: Context, node: ast.AST) -> bool:
    """Whether a node runs in a process that has put nothing on a device: what the file puts there
    stands in functions that others alone run, which it starts."""
    if _KNOWN not in context.memo:
        context.memo[_KNOWN] = _processes(context)
    processes = cast("list[list[FunctionNode]]", context.memo[_KNOWN])
    if not processes:
        return False
    uses = context.placement.all_uses()
    own = [one for one in processes if _stands_in(context, node, one)]
    if not own:
        return bool(uses) and all(_runs_in_any(context, use, processes) for use in uses)
    return bool(uses) and not any(_runs_in_any(context, use, own) for use in uses)


def _processes(context: Context) -> list[list[FunctionNode]]:
    """The functions that each kind of process runs which the file starts; none where somebody else
    calls one of them as well."""
    started = list(_started(context))
    processes: list[list[FunctionNode]] = []
    for _, first in started:
        run: list[FunctionNode] = []
        waiting = [first]
        while waiting:
            function = waiting.pop()
            if function not in run:
                run.append(function)
                waiting += _called_by(context, function)
        processes.append(run)
    handed = [name for name, _ in started]
    for function in {one for run in processes for one in run}:
        for use in context.index.names.get(function.name, ()):
            if isinstance(use.ctx, ast.Load) and not any(use is name for name in handed):
                if not _runs_in_any(context, use, processes):
                    return []
    return processes


def _runs_in_any(context: Context, node: ast.AST, processes: list[list[FunctionNode]]) -> bool:
    return any(_stands_in(context, node, run) for run in processes)


def _started(context: Context) -> Iterator[tuple[ast.Name, FunctionNode]]:
    """What processes are started with, and the function of this file that it is."""
    for call in context.calls_of(*_PROCESSES, *_SPAWNERS):
        given = keyword(call, "target") or keyword(call, "fn")
        if given is None and call.args and context.resolve(call.func) in _SPAWNERS:
            given = call.args[0]
        if isinstance(given, ast.Name):
            for function in _named(context, given):
                yield given, function


def _called_by(context: Context, function: FunctionNode) -> Iterator[FunctionNode]:
    for item in ast.walk(function):
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name):
            yield from _named(context, item.func)


def _named(context: Context, name: ast.Name) -> Iterator[FunctionNode]:
    for binding in context.names.bindings(name.id, name):
        if isinstance(binding.node, FUNCTIONS):
            yield binding.node


def _stands_in(context: Context, node: ast.AST, functions: list[FunctionNode]) -> bool:
    return any(context.index.within(node, function) for function in functions)
