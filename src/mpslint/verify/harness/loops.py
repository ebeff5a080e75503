"""Long loops of the user's, gone through in part, so that a run of hours comes to its end.

A round counts when something was computed in it: a forward pass, a backward pass or a step of an
optimizer. Of a loop's rounds the first and the last are run. What decides is counted, never timed:
the same program leaves out the same rounds on every device.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import operator
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from . import rewriting
from .options import Options
from .recorder import RECORDER

_NAME, _CONDITION = "__mpslint_rounds__", "__mpslint_goes_on__"
_OUTER = 2  # rounds of a loop whose rounds are loops themselves: the first epoch and the last
_MADE_OF_OTHERS = (enumerate, zip, map)
_END = object()


class _Done(NamedTuple):
    """What was computed so far; in how many rounds of any loop, and in how many of these the model
    was trained.
    """

    work: int
    steps: int
    rounds: int
    training: int


class Loops:
    """Hands out the rounds of loops. keep: how many of an innermost one."""

    def __init__(self, folder: str, keep: int) -> None:
        self.folder = os.path.join(os.path.realpath(folder), "")
        self.keep = keep
        self.rounds_done = self.training = 0

    def wants(self, path: str) -> bool:
        return os.path.realpath(path).startswith(self.folder)

    def change(self, tree: ast.Module, path: str) -> ast.Module:
        changed: ast.Module = _Through(path).visit(tree)
        return changed

    def rounds(self, iterable: Iterable[Any], file: str, line: int) -> Iterator[Any]:
        """The rounds of one loop; what cannot be iterated over raises what it raises anywhere."""
        total = length(iterable)
        return self._part(iterable, iter(iterable), total, (file, line))

    def _part(
        self, iterable: Iterable[Any], items: Iterator[Any], total: int | None, place: Any
    ) -> Iterator[Any]:
        taken, loop = 0, _Loop(self, place)
        is_short = False
        while (item := next(items, _END)) is not _END:
            loop.begins()
            yield item
            taken += 1
            if not loop.counts(is_short):
                continue
            first, last = (loop.keep + 1) // 2, loop.keep // 2
            if total is None and loop.is_over():
                return
            if total is not None and loop.done >= first and total - taken > last:
                RECORDER.went_in_part(loop.what, taken + last, total, place)
                items, is_short = _jump(iterable, items, taken, total - last), True

    def condition(self, file: str, line: int) -> Iterator[bool]:
        """Whether a loop goes on that has a condition: as one of which nobody knows the length.
        Asked before each round.
        """
        loop = _Loop(self, (file, line))
        while True:
            loop.begins()
            yield True
            if loop.counts() and loop.is_over():
                break
        yield from itertools.repeat(False)

    def done(self) -> _Done:
        work = RECORDER.steps + RECORDER.forwards + len(RECORDER.losses)
        return _Done(work, RECORDER.steps, self.rounds_done, self.training)


class _Loop:
    """What was computed in the rounds of one loop, and how many of them are enough."""

    def __init__(self, loops: Loops, place: Any) -> None:
        self.loops, self.place = loops, place
        self.done = self._nested = 0
        self._trains = False

    def begins(self) -> None:
        self._before = self.loops.done()

    def counts(self, is_short: bool = False) -> bool:
        """A round is over: whether it is one of those that decide."""
        before, after = self._before, self.loops.done()
        decides = not is_short and after.work != before.work
        if decides:
            self.done += 1
            self._nested += _holds_a_loop(before, after)
            self._trains = self._trains or after.steps > before.steps
        self.loops.rounds_done += after.work > before.work
        self.loops.training += after.steps > before.steps
        return decides

    @property
    def _holds_loops(self) -> bool:
        return 2 * self._nested > self.done

    @property
    def keep(self) -> int:
        return _OUTER if self._holds_loops else self.loops.keep

    @property
    def what(self) -> str:
        return "epochs" if self._holds_loops and self._trains else "rounds"

    def is_over(self) -> bool:
        """Of a loop whose length nobody knows the first rounds are run."""
        if self.done < self.keep:
            return False
        RECORDER.went_in_part(self.what, self.done, None, self.place)
        return True


def _holds_a_loop(before: _Done, after: _Done) -> bool:
    """Whether a round was itself made of rounds: those that train, where it trained. An evaluation
    after each step does not make an epoch of a step.
    """
    if after.steps > before.steps:
        return after.training - before.training > 1
    return after.rounds - before.rounds > 1


def length(iterable: Any) -> int | None:
    """How many rounds a loop over something will have, where that can be known beforehand."""
    try:
        return len(iterable)
    except Exception:  # what a class of the user's answers is its own business
        pass
    hint = operator.length_hint(iterable, -1) if isinstance(iterable, Iterator) else -1
    if hint >= 0:
        return hint
    if type(iterable) not in _MADE_OF_OTHERS:
        return None
    parts = iterable.__reduce__()[1]
    known = [length(part) for part in parts if isinstance(part, Iterator)]
    return min((one for one in known if one is not None), default=None)


def _jump(iterable: Any, items: Iterator[Any], taken: int, to: int) -> Iterator[Any]:
    """The items from one position on; those before it are not made where that can be helped."""
    if isinstance(iterable, range):
        return iter(iterable[to:])
    if type(items) is _BY_INDEX:
        items.__setstate__(to)  # type: ignore[attr-defined]
        return items
    return itertools.islice(items, to - taken, None)


class _Indexed:
    def __getitem__(self, index: int) -> int:
        raise IndexError


_BY_INDEX = type(iter(_Indexed()))


class _Through(ast.NodeTransformer):
    """Has each loop in which something may be computed ask for its rounds."""

    def __init__(self, path: str) -> None:
        self.path, self._count = path, 0

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if _computes(node.body):
            call = ast.Call(ast.Name(_NAME, ast.Load()), [node.iter, *self._place(node)], [])
            node.iter = ast.copy_location(call, node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.While | list[ast.stmt]:
        self.generic_visit(node)
        if not _computes(node.body) or not _can_end_at_its_condition(node):
            return node
        self._count += 1
        name = f"{_CONDITION}{self._count}"
        begin = ast.Call(ast.Name(_CONDITION, ast.Load()), self._place(node), [])
        goes_on = ast.Call(ast.Name("next", ast.Load()), [ast.Name(name, ast.Load())], [])
        node.test = ast.copy_location(ast.BoolOp(ast.And(), [goes_on, node.test]), node.test)
        made = ast.Assign([ast.Name(name, ast.Store())], begin)
        return [ast.copy_location(made, node), node]

    def _place(self, node: ast.stmt) -> list[ast.expr]:
        return [ast.Constant(self.path), ast.Constant(node.lineno)]


def _computes(body: list[ast.stmt]) -> bool:
    return any(isinstance(inner, ast.Call) for part in body for inner in ast.walk(part))


def _can_end_at_its_condition(node: ast.While) -> bool:
    """Whether what follows the loop is meant to follow: not after one that only returns."""
    if not isinstance(node.test, ast.Constant) or not node.test.value:
        return True
    return any(map(_breaks, node.body))


def _breaks(node: ast.AST) -> bool:
    """Whether a statement of a loop's body ends that loop."""
    if isinstance(node, ast.Break):
        return True
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return False
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return any(map(_breaks, node.orelse))
    return any(map(_breaks, ast.iter_child_nodes(node)))


def install(options: Options) -> None:
    """Shorten the loops of the project, where the run is to be a sample."""
    if not options.sample or options.project is None:
        return
    loops = Loops(options.project, options.sample)
    setattr(builtins, _NAME, loops.rounds)
    setattr(builtins, _CONDITION, loops.condition)
    rewriting.add(loops)
