"""Where a program starts processes while its main module is imported, which no spawned process
may do: Python raises in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.processes.drawn_loaders import DrawnLoaders
from mpslint.semantics.processes.main_module import MainModule, Place, definition, unguarded
from mpslint.semantics.processes.worker_counts import WorkerCounts
from mpslint.semantics.uses.switch_defaults import is_default, tests_around
from mpslint.semantics.worlds.machines import MACS
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PROCESSES = frozenset(
    f"{package}.{name}"
    for package in ("multiprocessing", "torch.multiprocessing")
    for name in ("Pool", "Process", "pool.Pool", "Manager")
) | {"concurrent.futures.ProcessPoolExecutor", "concurrent.futures.process.ProcessPoolExecutor"}
"""What starts processes in the way of the system."""
_WORKERS = "num_workers"
_SPEAKING_OF_LOADERS = (_WORKERS.encode(), b"oader")
"""One of these stands in what makes a loader, and in most of what calls that."""
_METHODS = ("fork", "spawn", "forkserver")
"""The ways to start a process: who names one has chosen."""
_CELLS = ("# In[", "# %%", "#%%", "get_ipython()")
"""What exports of notebooks and editors with cells write into a Python file: their code runs in a
kernel, not as a program."""
_BRANCHES = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)


class Start(NamedTuple):
    """A start of processes."""

    place: Place
    """The call that makes the loader, the pool or the process."""
    draws: Place
    """What draws from the loader; the same call for others."""
    led: ast.AST
    """The last node of the file itself on the way there."""

    @property
    def call(self) -> ast.Call:
        assert isinstance(self.place.node, ast.Call)
        return self.place.node

    @property
    def is_loader(self) -> bool:
        return self.draws is not self.place


def started_on_import(context: Context) -> list[Start]:
    """The starts of processes that an import of this file comes to, in the order of the text."""
    if not _works(context) or _has_cells(context) or not _may_start(context):
        return []
    program = MainModule(context, abroad=False)
    starts = _starts(context, program)
    # How many workers a loader of another file has may hang on what that is given.
    is_made_elsewhere = any(start.place.context is not context for start in starts)
    if not is_made_elsewhere and (starts or not _hands_on(program)):
        return starts
    return _starts(context, MainModule(context, abroad=True))


def _hands_on(program: MainModule) -> bool:
    """Whether a loader is given to a function or class of another file of the project, which may
    draw from it: only then are other files read."""
    drawn = DrawnLoaders(program)
    return any(
        isinstance(place.node, ast.Call)
        and drawn.in_call(place)
        and definition(place.context, place.node.func) is not None
        for place, _ in program.nodes()
    )


def _starts(context: Context, program: MainModule) -> list[Start]:
    counts, drawn = WorkerCounts(program.context, program), DrawnLoaders(program)
    found: dict[ast.AST, Start] = {}
    for place, led in program.nodes():
        if isinstance(place.node, ast.Call):
            if place.context.resolve(place.node.func) in _PROCESSES:
                found.setdefault(place.node, Start(place, place, led))
        for made in drawn.by(place):
            assert isinstance(made.node, ast.Call)
            if made.node not in found and counts.starts_some(made.context, made.node):
                found[made.node] = Start(made, place, led)
    return sorted(
        (start for start in found.values() if _is_reached(start, program)),
        key=lambda start: (start.place.context is not context, start.call.lineno),
    )


def _may_start(context: Context) -> bool:
    """Whether the file gives a number of workers, or makes processes: the cheap question first.
    Last whether it calls a function of the project that speaks of loaders."""
    if any(name.rpartition(".")[2] in context.index.calls for name in _PROCESSES):
        return True
    given = (k.arg for calls in context.index.calls.values() for c in calls for k in c.keywords)
    if any(name == _WORKERS for name in given) or bool(context.index.spelled(_WORKERS)):
        return True
    return any(_speaks_of_loaders(context, name) for name in _called(context))


def _called(context: Context) -> Iterator[str]:
    """The imported functions that a file calls."""
    for calls in context.index.calls.values():
        for name in {context.resolve(call.func) for call in calls}:
            if name is not None and not name.startswith("torch."):
                yield name


def _speaks_of_loaders(context: Context, qualified: str) -> bool:
    return context.definition_elsewhere(qualified, _SPEAKING_OF_LOADERS) is not None


def _works(context: Context) -> bool:
    """Whether the file does anything when it is imported, that could lead to a process."""
    return any(
        isinstance(item, _BRANCHES)
        or (isinstance(item, ast.Expr | ast.Assign) and isinstance(item.value, ast.Call))
        for item in unguarded(context.tree)
    )


def _has_cells(context: Context) -> bool:
    return is_notebook(context.source.path) or any(mark in context.source.text for mark in _CELLS)


def _is_reached(start: Start, program: MainModule) -> bool:
    """Whether a Mac comes to all of it unless somebody chooses otherwise, and nobody says how
    processes are to be started."""
    for place in (start.place, start.draws):
        context, node = place
        if any(context.index.spelled(method) for method in _METHODS):
            return False
        if isinstance(node, ast.comprehension):
            node = node.iter
        if not context.worlds.reach(node) & MACS:
            return False
        around = tests_around(context, node)
        if any(is_default(context, test, not outcome) for test, outcome in around):
            return False
    # A loader is for everybody; to a pool of processes there is often a way without them, and who
    # takes that is not known to start any.
    return start.is_loader or _is_sure(program, start.place, set())


def _is_sure(program: MainModule, place: Place, seen: set[ast.AST]) -> bool:
    """Whether a run in which nobody chooses comes to a place, by one way at least."""
    context, node = place
    around = tests_around(context, node)
    if not all(is_default(context, test, outcome) for test, outcome in around):
        return False
    function = context.index.function(node)
    if function is None:
        return True
    if function in seen:
        return False
    calls = program.calls_of.get(function)
    return not calls or any(_is_sure(program, call, seen | {function}) for call in calls)
