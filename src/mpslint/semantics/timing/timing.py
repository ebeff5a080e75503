"""Timed spans: two reads of a clock that are subtracted, and what runs between them.

Work on a device is queued. A span is *unsynchronised* when device work lies in it and nothing after
the last of that work waits for the device: then the second read comes before the work has run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.records import NamedTuple
from mpslint.semantics.loops.loops import Loop, Loops
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS, FunctionNode, Index
from mpslint.semantics.timing.device_work import DeviceWork, Effect
from mpslint.semantics.timing.handed_work import HandedWork


class TimedSpan(NamedTuple):
    """`end - start`, two reads of a clock in one run of a block."""

    start: ast.Call
    end: ast.Call
    difference: ast.BinOp
    start_statement: ast.stmt
    end_statement: ast.stmt
    between: tuple[ast.AST, ...]
    """The statements (and tests of `if`) that run between the two reads, in order."""
    name: str
    """What the first read is bound to."""


class Timing:
    def __init__(
        self,
        index: Index,
        flow: Flow,
        work: DeviceWork,
        loops: Loops,
        handed: HandedWork,
        clock_reads: list[ast.Call],
    ) -> None:
        self._index = index
        self._flow = flow
        self._work = work
        self._loops = loops
        self._handed = handed
        self.clock_reads = clock_reads
        self._spans: list[TimedSpan] | None = None

    @property
    def spans(self) -> list[TimedSpan]:
        """The spans of the file whose two reads lie in one block, in source order."""
        if self._spans is None:
            self._spans = list(self._find()) if len(self.clock_reads) > 1 else []
        return self._spans

    def unsynchronised(self, span: TimedSpan) -> ast.AST | None:
        """The last device work of the span, where nothing after it waits; else None."""
        last = self._last_work(span)
        if last is None:
            return None
        loop = self._index.enclosing(span.start, *LOOPS, *FUNCTIONS)
        if isinstance(loop, LOOPS) and self._waits(span):
            # One wait at each turn: what a turn leaves queued, the next one waits for; but where
            # the turn waits behind the clock as well, it is waited for there, in no time taken.
            if self._waits_for_its_work(span) or not self._waits_behind(span, loop):
                return None
        return last

    def _last_work(self, span: TimedSpan) -> ast.AST | None:
        """What the span ends with, where that is device work. Asked from the end, since most
        spans end with a wait and what is in front of it does not matter then."""
        for statement in reversed(span.between):
            if isinstance(statement, ast.expr) and self._work.reads(statement):
                return None
            events = list(self._work.events(statement))
            if events:
                return events[-1].node if events[-1].effect is Effect.WORK else None
        return None

    def _waits(self, span: TimedSpan) -> bool:
        """Whether anything in the span waits, or may wait, for more than a batch to be copied."""
        return any(
            (isinstance(statement, ast.expr) and self._work.reads(statement))
            or any(event.effect.is_wait for event in self._work.events(statement))
            for statement in span.between
        )

    def _waits_for_its_work(self, span: TimedSpan) -> bool:
        """Whether a part of what the span queues is waited for in it, or may be: the time is that
        of most."""
        queued = False
        for statement in span.between:
            for event in self._work.events(statement):
                if event.effect is Effect.WORK:
                    queued = True
                elif queued:
                    return True
        return False

    def _waits_behind(self, span: TimedSpan, loop: Loop) -> bool:
        """Whether each turn of `loop` is sure to wait between the end of the span and its own."""
        return any(
            self._work.is_sure_wait(event) and self._loops.every_step(event.node, loop)
            for statement in self._behind(span.end_statement, loop)
            for event in self._work.events(statement)
        )

    def _behind(self, statement: ast.stmt, loop: Loop) -> Iterator[ast.stmt]:
        """What a turn of `loop` runs after `statement`, as far as no loop lies between."""
        current: ast.AST = statement
        while current is not loop:
            if not isinstance(current, ast.stmt) or isinstance(current, LOOPS):
                return
            block = self._index.block(current)
            yield from block[next(i for i, item in enumerate(block) if item is current) + 1 :]
            current = self._index.parents[current]

    def is_measurement(self, span: TimedSpan) -> bool:
        """Whether the time is that of some work, not of an epoch, a run or a whole program.

        Over a long time what is still queued at its end does not matter.
        """
        return not any(self._work.takes_long(statement) for statement in span.between)

    def is_read(self, span: TimedSpan) -> bool:
        """Whether anybody looks at the time: not where a function keeps it in a name alone."""
        kept = self._index.parents[span.difference]
        function = self._index.function(span.difference)
        if not isinstance(kept, ast.Assign) or function is None:
            return True
        if len(kept.targets) != 1 or not isinstance(kept.targets[0], ast.Name):
            return True
        name = kept.targets[0]
        uses = self._index.names.get(name.id, ())
        if any(self._index.function(use) is not function for use in uses):
            return True  # Of another function, or of a nested one: which of them is not asked.
        return any(
            binding.value is span.difference
            for use in uses
            if isinstance(use.ctx, ast.Load)
            for binding in self._flow.reaching(use)
        )

    def _find(self) -> Iterator[TimedSpan]:
        reads = {id(read) for read in self.clock_reads}
        for difference in self._index.of(ast.BinOp):
            if not isinstance(difference.op, ast.Sub):
                continue
            starts = self._reads_behind(difference.right, reads)
            if len(starts) != 1:
                continue
            for end in self._ends(difference.left, reads):
                if end is starts[0]:
                    continue
                span = self._span(starts[0], end, difference)
                if span is not None:
                    yield span
                yield from self._around_blocks(starts[0], end, difference)

    def _ends(self, node: ast.expr, reads: set[int]) -> list[ast.Call]:
        """The clock reads from which something is subtracted: also `total + end - start`, which is
        `(total + end) - start`."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return [*self._ends(node.left, reads), *self._ends(node.right, reads)]
        return self._reads_behind(node, reads)

    def _reads_behind(self, node: ast.expr, reads: set[int]) -> list[ast.Call]:
        """The clock reads that `node` is or was assigned from: several, where an arm reads the
        clock again."""
        if isinstance(node, ast.Call):
            return [node] if id(node) in reads else []
        if isinstance(node, ast.Name):
            bindings = self._flow.reaching(node)
            given = [item.value for item in bindings if item.kind == "assign"]
            found = [item for item in given if isinstance(item, ast.Call) and id(item) in reads]
            return found if len(found) == len(bindings) else []
        named = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        if isinstance(node, ast.Attribute) or named:
            read = self._kept_under_name(node, reads)
            return [read] if read is not None else []
        return []

    def _kept_under_name(self, node: ast.expr, reads: set[int]) -> ast.Call | None:
        """`self.start = time.time()` and `times["start"] = time.time()` in the same function, where
        that is the only such."""
        function = self._index.function(node)
        spelled = ast.unparse(node)
        found = []
        for read in self.clock_reads:
            statement = self._index.parents[read]
            if id(read) not in reads or not isinstance(statement, ast.Assign):
                continue
            if ast.unparse(statement.targets[0]) == spelled:
                found.append(read)
        if len(found) == 1 and self._index.function(found[0]) in (function, self._entry(function)):
            return found[0]
        return None

    def _entry(self, function: FunctionNode | None) -> FunctionNode | None:
        """The `__enter__` of the class of which a function is the `__exit__`."""
        klass = self._index.parents[function] if function is not None else None
        if function is None or function.name != "__exit__" or not isinstance(klass, ast.ClassDef):
            return None
        methods = (item for item in klass.body if isinstance(item, FUNCTIONS))
        return next((item for item in methods if item.name == "__enter__"), None)

    def _around_blocks(
        self, start: ast.Call, end: ast.Call, difference: ast.BinOp
    ) -> Iterator[TimedSpan]:
        """The times that an object takes of what stands under `with`."""
        entry, leaving = self._index.function(start), self._index.function(end)
        if entry is None or leaving is None or self._entry(leaving) is not entry:
            return
        first, last = self._index.statement(start), self._index.statement(end)
        outer, inside = self._sibling(last, leaving.body)
        if not isinstance(first, ast.Assign) or first not in entry.body or outer is None:
            return
        before = entry.body[entry.body.index(first) + 1 :]
        behind = (*leaving.body[: leaving.body.index(outer)], *inside, *self._in_front(end))
        name = ast.unparse(first.targets[0])
        klass = self._index.parents[entry]
        for block in self._handed.blocks_of(klass) if isinstance(klass, ast.ClassDef) else ():
            between = (*before, *block, *behind)
            yield TimedSpan(start, end, difference, first, last, between, name)

    def _span(self, start: ast.Call, end: ast.Call, difference: ast.BinOp) -> TimedSpan | None:
        first = self._index.statement(start)
        last = self._index.statement(end)
        if not isinstance(first, ast.Assign) or first is last:
            return None
        block = self._index.block(first)
        place = next(i for i, item in enumerate(block) if item is first)
        outer, inside = self._sibling(last, block)
        if outer is None:
            return None
        stop = next(i for i, item in enumerate(block) if item is outer)
        if stop <= place:
            return None  # The first read is that of the turn before: a meter of whole steps.
        between = (*block[place + 1 : stop], *inside, *self._in_front(end))
        name = ast.unparse(first.targets[0])
        return TimedSpan(start, end, difference, first, last, between, name)

    def _in_front(self, end: ast.Call) -> Iterator[ast.stmt]:
        """What its own statement evaluates before a clock is read: the first item of
        `{"loss": loss.item(), "time": time.time() - start}`."""
        found: list[ast.stmt] = []
        child: ast.AST = end
        for parent in self._index.ancestors(end):
            if isinstance(parent, ast.stmt | ast.Lambda | ast.IfExp | ast.BoolOp):
                break
            if isinstance(parent, ast.keyword):
                continue  # Its value is a part of the call.
            parts = evaluated(parent)
            place = next((at for at, part in enumerate(parts) if part is child), 0)
            found = [ast.Expr(part) for part in parts[:place]] + found
            child = parent
        yield from found

    def _sibling(
        self, statement: ast.stmt, block: list[ast.stmt]
    ) -> tuple[ast.stmt | None, tuple[ast.AST, ...]]:
        """The statement of `block` that holds `statement`, with what runs inside it before.

        None where a loop or a function lies between: the read is then one of many.
        """
        before: tuple[ast.AST, ...] = ()
        current: ast.stmt = statement
        while current not in block:
            parent = self._index.parents[current]
            if not isinstance(parent, ast.stmt) or isinstance(parent, (*LOOPS, *FUNCTIONS)):
                return None, ()
            own = self._index.block(current)
            before = (
                *_header(parent),
                *own[: next(i for i, s in enumerate(own) if s is current)],
                *before,
            )
            current = parent
        return current, before


def evaluated(node: ast.AST) -> list[ast.expr]:
    """The parts of an expression in the order in which Python evaluates them."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [part for pair in pairs for part in pair if part is not None]
    found: list[ast.expr] = []
    for part in ast.iter_child_nodes(node):
        if isinstance(part, ast.keyword):
            found.append(part.value)
        elif isinstance(part, ast.expr):
            found.append(part)
    return found


def _header(statement: ast.stmt) -> tuple[ast.AST, ...]:
    """What a compound statement evaluates before its body runs."""
    if isinstance(statement, ast.If):
        return (statement.test,)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return tuple(item.context_expr for item in statement.items)
    return ()
