"""The trace of one step: made from events by hand, and once from a real run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from types import SimpleNamespace

from mpslint.verify import Request, timeline, tracing
from mpslint.verify.timeline import Event


def event(kind: str, line: int, moment: float = 0.0, step: int = 0, **more: object) -> Event:
    given = {"name": kind, "file": "train.py", "duration": 0.0, "bytes": 0, **more}
    return Event(moment=moment, kind=kind, line=line, step=step, **given)  # type: ignore[arg-type]


def test_the_last_whole_step_is_shown() -> None:
    events = [
        event("h2d", 1), event("step", 9, step=1), event("sync", 5), event("step", 9, step=2),
        event("sync", 6),
    ]  # fmt: skip
    step = timeline.last_step(events)
    assert step.title == "step 2, from the end of step 1 to its own end"
    assert [e.line for e in step.events] == [5, 9]


def test_without_a_step_the_whole_run_is_shown() -> None:
    events = [event("op", 1), event("sync", 2)]
    assert timeline.last_step(events).events == tuple(events)


def test_a_wait_lasts_until_the_device_is_done() -> None:
    spans = timeline.lay_out([event("op", 1), event("sync", 2)])
    wait = next(span for span in spans if span.kind == "wait")
    work = next(span for span in spans if span.lane == "device")
    assert wait.end == work.end + timeline.ROUND_TRIP


def test_operations_are_queued_while_the_device_works() -> None:
    spans = timeline.lay_out([event("sync", 1), event("op", 2), event("op", 3)])
    queued = [span for span in spans if span.kind == "queue"]
    worked = [span for span in spans if span.lane == "device" and span.event.line > 1]
    assert queued[1].end < worked[0].end
    assert worked[1].start == worked[0].end


def test_the_first_wait_of_a_step_is_for_what_the_step_before_left_behind() -> None:
    spans = timeline.lay_out([event("sync", 1), *[event("op", 2)] * 40])
    left = spans[0]
    wait = next(span for span in spans if span.kind == "wait")
    assert left.event.name == "work queued by the step before"
    assert wait.end == left.end + timeline.ROUND_TRIP


def test_the_dearest_line_comes_first_with_its_advice(tmp_path: object) -> None:
    events = [event("h2d", 3, bytes=4000), event("fallback", 8, name="aten::svd"), event("sync", 5)]
    lines = tracing._lines(events, None)
    assert [line.line for line in lines] == [8, 5, 3]
    assert lines[2].in_words() == "1 copy (4.0 kB)"


SCRIPT = """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
model = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(4, 3).to(device)
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("<loss>", loss.item())
"""


def test_a_real_script_is_traced_to_its_lines(script: Callable[[str, str], str]) -> None:
    path = script("train.py", SCRIPT)
    finding = SimpleNamespace(row=12, code="MPS303", message="`.item()` in a loop")
    told = tracing.trace(Request(path, devices=("mps",)), findings_for=lambda _file: [finding])
    assert told.ok, told.reason
    found = {line.line: line for line in told.lines}
    assert found[12].waits == 1
    assert found[12].advice == ("MPS303 `.item()` in a loop",)
    assert (found[7].copies, found[7].bytes) == (1, 48)

    text = told.to_text()
    assert "train.py:12  1 wait" in text
    assert "-> MPS303 `.item()` in a loop" in text

    page = told.to_html()
    assert "&lt;loss&gt;" in page
    assert "<loss>" not in page
    assert not re.search(r"""(src|href)\s*=|url\(|@import|<script""", page)
    assert page.count("<svg") == 1

    data = json.loads(told.to_json())
    assert data["device"] == "mps"
    assert len(data["steps"]) == 3
