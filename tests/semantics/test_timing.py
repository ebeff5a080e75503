"""Timed spans and device work, asked of small programs."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.timing.timing import TimedSpan
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEADER = """\
import time, torch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(2, 2).to(device)
x = torch.ones(2, 2, device=device)
def opaque_helper(y): return unknown(y)
def helper(): return model(x)
def waits(): return model(x).sum().item()
"""


def span_of(
    body: str, start: str = "t0 = time.time()", end: str = "time.time() - t0"
) -> tuple[Context, TimedSpan]:
    program = HEADER + f"{start}\n{textwrap.dedent(body)}\ntook = {end}\n"
    source = SourceFile("program.py", program.encode())
    context = Context(source, source.parse(), Settings())
    (span,) = context.timing.spans
    return context, span


@pytest.mark.parametrize(
    "body",
    [
        "y = model(x)",
        "y = x @ x",
        "for _ in range(10):\n    y = model(x)",
        "with torch.no_grad():\n    y = model(x)",
        "z = model(x).sum().item()\ny = model(x)",
        "helper()",
        "y = model(x)\nz = y.shape\nprint('done')",
        "y = [row.sum() for row in model(x)]",
        "later = (float(row) for row in model(x)[0])",
        "later = map(float, model(x)[0])",
        "y = [model(row) for row in x]",
        "y = model(x)[[0, 1]]",
        "y = torch.where(x > 0, model(x), x)",
        "y = model(x)\nknown = 3 in [1, 2]",
        "y = model(x)\ntext = '%s' % 3",
        "torch.save(model.state_dict(), 'a.pt')\ny = model(x)",
        "y = model(x)\ntorch.save({'epoch': 3, 'names': ['a', 'b']}, 'a.pt')",
        "y = model(x)\ntorch.save(3, 'a.pt')",
        "kept = torch.ones(3)\ny = model(x)\ntorch.save([kept, None], 'a.pt')",
        "y = model(x)\ntorch.save(obj={'epoch': 3}, f='a.pt')",
    ],
)
def test_work_that_nothing_waits_for_leaves_the_span_unsynchronised(body: str) -> None:
    context, span = span_of(body)
    assert context.timing.unsynchronised(span) is not None
    assert context.timing.is_measurement(span)


@pytest.mark.parametrize(
    "body",
    [
        "y = model(x).cpu()",
        "y = model(x)\nprint(y)",
        "y = model(x)\ntorch.cuda.synchronize()",
        "y = model(x)\nmy_sync()",
        "y = model(x)\nopaque_helper(y)",
        "y = model(x)\nunknown(y)",
        "y = model(x)\nz = float(y.sum())",
        "y = model(x)\nif y.sum() > 0:\n    pass",
        "y = model(x)\ntext = f'{y}'",
        "y = [float(v) for v in model(x)[0]]",
        "y = sum(float(v) for v in model(x)[0])",
        "y = {k: v.item() for k, v in enumerate(model(x)[0])}",
        "y = tuple(v.tolist() for v in model(x))",
        "y = list(map(float, model(x)[0]))",
        "y = torch.equal(model(x), x)",
        "y = '%.3f' % model(x).sum()",
        "y = '{}'.format(model(x))",
        "y = 1.5 in model(x)",
        "y = model(x).sum().__float__()",
        "torch.save(model(x), 'a.pt')",
        "y = model(x)\ntorch.save({'epoch': 3, 'net': model.state_dict()}, 'a.pt')",
        "y = model(x)\ntorch.save([3, y], 'a.pt')",
        "y = model(x)\ntorch.save(batches, 'a.pt')",
        "y = model(x)\ntorch.save(obj=y, f='a.pt')",
        "y = model(x)\nwhile y.sum() > 1e9:\n    y = y / 2",
        "y = model(x)\nassert not torch.isnan(y).any()",
        "y = model(x)\ny = y[y > 0]",
        "y = model(x).nonzero()",
        "y = torch.where(model(x) > 0)",
        "y = torch.unique(model(x))",
        "y = any(row.sum() > 1 for row in model(x))",
        "for _ in range(10):\n    y = model(x).sum().item()",
        "waits()",
        "y = 1 + 1",
        "y = x.view(4)",
    ],
)
def test_what_waits_or_may_wait_ends_the_work(body: str) -> None:
    context, span = span_of(body)
    assert context.timing.unsynchronised(span) is None


def test_reads_of_two_turns_of_a_loop_are_no_span() -> None:
    program = HEADER + textwrap.dedent(
        """
        end = time.time()
        for batch in batches:
            model(x)
            print(time.time() - end)
            end = time.time()
        """
    )
    source = SourceFile("program.py", program.encode())
    assert Context(source, source.parse(), Settings()).timing.spans == []


def test_a_read_inside_an_if_counts_what_its_test_reads() -> None:
    program = (
        HEADER + "t0 = time.time()\ny = model(x)\nif y.max() > 1:\n    took = time.time() - t0\n"
    )
    source = SourceFile("program.py", program.encode())
    context = Context(source, source.parse(), Settings())
    (span,) = context.timing.spans
    assert any(isinstance(item, ast.Compare) for item in span.between)
    assert context.timing.unsynchronised(span) is None


def told_in(program: str) -> list[int]:
    """The rows of the clock reads that come too early."""
    source = SourceFile("program.py", (HEADER + textwrap.dedent(program)).encode())
    context = Context(source, source.parse(), Settings())
    first = HEADER.count("\n")
    return [
        span.end.lineno - first
        for span in context.timing.spans
        if context.timing.unsynchronised(span) is not None
    ]


@pytest.mark.parametrize("sum_of", ["total + t1 - t0", "total + (t1 - t0)", "t1 + total - t0"])
def test_a_time_is_taken_in_a_sum_as_well(sum_of: str) -> None:
    program = f"""
        total = 0
        for batch in batches:
            t0 = time.time()
            y = model(x)
            t1 = time.time()
            total = {sum_of}
    """
    assert told_in(program) == [6]


def test_a_turn_that_waits_behind_the_clock_leaves_the_work_out_of_the_time() -> None:
    program = """
        for batch in batches:
            t0 = time.time()
            inputs = prepare(batch)
            loss = model(x).sum()
            loss.backward()
            t1 = time.time()
            spent = t1 - t0
            total += loss.item()
    """
    assert told_in(program) == [7]


@pytest.mark.parametrize(
    "behind",
    ["pass", "total.append(batch.numpy())", "if step % 10 == 0: print(loss.item())"],
)
def test_a_turn_that_need_not_wait_behind_the_clock_may_wait_in_the_span(behind: str) -> None:
    program = f"""
        for step, batch in enumerate(batches):
            t0 = time.time()
            inputs = prepare(batch)
            loss = model(x).sum()
            loss.backward()
            t1 = time.time()
            spent = t1 - t0
            {behind}
    """
    assert told_in(program) == []


@pytest.mark.parametrize("waits", ["total += loss.item()", "norm, _ = check_update(model)"])
def test_a_time_in_which_most_work_was_waited_for_is_near_enough(waits: str) -> None:
    program = f"""
        for batch in batches:
            t0 = time.time()
            loss = model(x).sum()
            {waits}
            loss.backward()
            t1 = time.time()
            spent = t1 - t0
            norm = loss.detach().cpu()
    """
    assert told_in(program) == []


def test_the_maximum_of_torch_is_no_read_as_that_of_python_is() -> None:
    program = """
        for batch in batches:
            t0 = time.time()
            both = {}(x, x)
            y = model(x)
            print(time.time() - t0)
    """
    assert told_in(program.format("torch.max")) == [6]
    assert told_in(program.format("max")) == []
