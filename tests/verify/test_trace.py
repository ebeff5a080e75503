"""The trace of one step: made from events by hand, and once from a real run."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from mpslint.verify import Request, timeline, tracing
from mpslint.verify.recorded import read_trace
from mpslint.verify.timeline import Event, Span, Step
from mpslint.verify.tracing import Trace


def event(kind: str, line: int, moment: float = 0.0, step: int = 0, **more: object) -> Event:
    given = {"name": kind, "file": "train.py", "duration": 0.0, "bytes": 0, **more}
    return Event(moment=moment, kind=kind, line=line, step=step, **given)  # type: ignore[arg-type]


def laid_out(*events: Event, follows: bool = True) -> list[Span]:
    return timeline.lay_out(Step("a step", events, follows))


def trace_of(*events: Event, ok: bool = True, **more: object) -> Trace:
    given = {"operations": 0, "lines": tracing._lines(events, tracing._Sources([]), None), **more}
    step = timeline.last_step(events, ended=ok)
    reason = "" if ok else "data is missing (<b>data.csv</b>)"
    return Trace("/project/<train>.py", "mps", "simulated", ok, reason, step, **given)  # type: ignore[arg-type]


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
    spans = laid_out(event("op", 1), event("sync", 2), follows=False)
    wait = next(span for span in spans if span.kind == "wait")
    work = next(span for span in spans if span.lane == "device")
    assert wait.end == work.end + timeline.ROUND_TRIP


def test_operations_are_queued_while_the_device_works() -> None:
    spans = laid_out(event("sync", 1), event("op", 2), event("op", 3))
    queued = [span for span in spans if span.kind == "queue"]
    worked = [span for span in spans if span.lane == "device" and span.event.line > 1]
    assert queued[1].end < worked[0].end
    assert worked[1].start == worked[0].end


def test_the_first_wait_of_a_step_is_for_what_the_step_before_left_behind() -> None:
    spans = laid_out(event("sync", 1), *[event("op", 2)] * 40)
    left = spans[0]
    wait = next(span for span in spans if span.kind == "wait")
    assert left.event.name == "work queued by the step before"
    assert wait.end == left.end + timeline.ROUND_TRIP


def test_what_no_step_came_before_begins_with_an_idle_device() -> None:
    spans = laid_out(event("h2d", 1), follows=False)
    assert [(span.lane, span.start) for span in spans] == [("host", 0.0), ("device", 10.0)]


def test_only_what_follows_a_step_is_said_to_follow_one() -> None:
    first, second = event("step", 9, step=1), event("step", 9, step=2)
    assert not timeline.last_step([event("op", 1)]).follows
    assert not timeline.last_step([event("op", 1), first]).follows
    assert timeline.last_step([event("op", 1), first, event("op", 1), second]).follows


def test_a_script_that_fails_early_is_not_said_to_have_run_as_a_whole() -> None:
    step = timeline.last_step([event("op", 1)], ended=False)
    assert step.title == "what ran before the script failed (no optimizer step)"


def test_a_page_of_a_script_that_did_nothing_says_that_nothing_can_be_said() -> None:
    page = trace_of(ok=False).to_html()
    assert "nothing can be said" in page
    assert "No wait, copy or fallback in this step" not in page
    assert "<svg" not in page


def test_a_page_of_a_script_that_failed_says_so_before_anything_else() -> None:
    page = trace_of(event("op", 3), ok=False).to_html()
    assert page.index("Did not run to its end") < page.index("device operations")
    assert "No wait, copy or fallback before the script ended" in page


def test_device_operations_are_counted_where_no_step_ran() -> None:
    page = trace_of(event("op", 3), operations=41).to_html()
    assert '<b>41</b><span class="soft">device operations</span>' in page


def test_the_axis_says_that_its_times_are_modelled() -> None:
    page = trace_of(event("op", 3)).to_html()
    drawing = page[page.index("<svg") : page.index("</svg>")]
    assert "modelled time, not measured" in drawing
    assert page.index("modelled, not measured") < page.index("<svg")


def test_every_colour_of_the_drawing_stands_in_the_legend() -> None:
    events = (event("h2d", 1, bytes=8), event("op", 2), event("sync", 3), event("fallback", 4))
    page = trace_of(*events).to_html()
    drawn = set(re.findall(r'<rect class="(\w+)"', page)) - {"lane", "pin"}
    assert drawn == {"queue", "copy", "op", "wait", "fallback", "veil"}
    assert set(re.findall(r"--tone:var\(--(\w+)\)", page)) == drawn
    assert "The orange bar" in page


def test_what_the_users_code_holds_is_escaped_in_the_page() -> None:
    page = trace_of(event("sync", 3, name="<b>op</b>"), ok=False).to_html()
    assert "<train>" not in page
    assert "<b>data.csv" not in page
    assert "<b>op" not in page
    assert "&lt;train&gt;.py" in page


def test_a_trace_for_chrome_has_a_process_for_the_host_and_one_for_the_device() -> None:
    document = json.loads(trace_of(event("op", 3), event("sync", 4)).to_chrome())
    events = document["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {1: "<train>.py", 0: "simulated mps"}
    bars = [(e["pid"], e["cat"], e["args"]["line"]) for e in events if e["ph"] == "X"]
    assert bars == [(1, "cpu_op", 3), (0, "kernel", 3), (1, "wait", 4)]
    on_device = [e for e in events if e["ph"] == "X" and e["pid"] == 0]
    assert all(e["args"]["device"] == 0 for e in on_device)
    assert "not measured" in document["otherData"]["times"]


def test_a_trace_for_chrome_links_each_call_to_what_the_device_does_for_it() -> None:
    one = event("op", 3)  # the same event object twice would be one call
    document = json.loads(trace_of(one, event("h2d", 4, bytes=8)).to_chrome())
    events = document["traceEvents"]
    starts = {e["id"]: e["ts"] for e in events if e["ph"] == "s"}
    ends = {e["id"]: e["ts"] for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys() == {1, 2}
    begins = {(e["pid"], e["ts"]) for e in events if e["ph"] == "X"}
    assert {(1, ts) for ts in starts.values()} | {(0, ts) for ts in ends.values()} <= begins


def test_a_trace_is_the_same_after_it_was_written_and_read(tmp_path: Path) -> None:
    steps = ({"step": 1, "device_ops": 3.0},)
    told = trace_of(event("op", 3), event("sync", 4), operations=3, steps=steps)
    path = tmp_path / "trace.json"
    path.write_text(told.to_json())
    assert read_trace(str(path)) == told


def test_the_dearest_line_comes_first_with_its_advice(tmp_path: object) -> None:
    events = [event("h2d", 3, bytes=4000), event("fallback", 8, name="aten::svd"), event("sync", 5)]
    lines = tracing._lines(events, tracing._Sources([str(tmp_path)]), None)
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
    assert set(re.findall(r"""(?:src|href)\s*=\s*"([^"]*)""", page)) == {"#main", "data:,"}
    assert not re.search(r"url\(|@import|<script", page)
    assert page.count("<svg") == 1

    data = json.loads(told.to_json())
    assert data["device"] == "mps"
    assert len(data["steps"]) == 3
