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

_NAME = "__mpslint_rounds__"
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
        self._rounds = self._training = 0

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
        taken = done = nested = 0
        trains = is_short = False
        while (item := next(items, _END)) is not _END:
            before = self._done()
            yield item
            taken += 1
            after = self._done()
            if is_short or after.work == before.work:
                self._count(before, after)
                continue
            done += 1
            nested += _holds_a_loop(before, after)
            trains = trains or after.steps > before.steps
            self._count(before, after)
            epochs = 2 * nested > done
            keep = _OUTER if epochs else self.keep
            first, last = (keep + 1) // 2, keep // 2
            what = "epochs" if epochs and trains else "rounds"
            if total is None and done >= keep:
                RECORDER.went_in_part(what, done, None, place)
                return
            if total is not None and done >= first and total - taken > last:
                RECORDER.went_in_part(what, taken + last, total, place)
                items, is_short = _jump(iterable, items, taken, total - last), True

    def _done(self) -> _Done:
        work = RECORDER.steps + RECORDER.forwards + len(RECORDER.losses)
        return _Done(work, RECORDER.steps, self._rounds, self._training)

    def _count(self, before: _Done, after: _Done) -> None:
        self._rounds += after.work > before.work
        self._training += after.steps > before.steps


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
        self.path = path

    def visit_For(self, node: ast.For) -> ast.For:
        self.generic_visit(node)
        if any(isinstance(inner, ast.Call) for part in node.body for inner in ast.walk(part)):
            arguments = [node.iter, ast.Constant(self.path), ast.Constant(node.lineno)]
            call = ast.Call(ast.Name(_NAME, ast.Load()), arguments, [])
            node.iter = ast.copy_location(call, node.iter)
        return node


def install(options: Options) -> None:
    """Shorten the loops of the project, where the run is to be a sample."""
    if not options.sample or options.project is None:
        return
    loops = Loops(options.project, options.sample)
    setattr(builtins, _NAME, loops.rounds)
    rewriting.add(loops)
