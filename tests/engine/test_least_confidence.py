"""A rule says how sure its findings have to be, unless somebody asks for the rule."""

from __future__ import annotations

import json

import pytest

from mpslint.checking.linter import lint, screen_for
from mpslint.cli import run
from mpslint.model import Confidence
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

INFERRED = "import torch\n\n\ndef load(model, path):\n    model.load_state_dict(torch.load(path))\n"
CERTAIN = INFERRED + "\n\ndef save(model, path):\n    torch.save(model.cuda().state_dict(), path)\n"


def codes(text: str, settings: Settings) -> list[str]:
    return [finding.code for finding in lint(SourceFile("net.py", text.encode()), settings)]


def test_a_certain_finding_is_there_by_default() -> None:
    assert "MPS413" in codes(CERTAIN, Settings())


def test_one_that_is_only_inferred_is_not() -> None:
    assert codes(INFERRED, Settings()) == []


@pytest.mark.parametrize("selector", ["MPS413", "load-map-location", "MPS4", "ALL"])
@pytest.mark.parametrize("key", ["select", "extend_select"])
def test_it_is_there_where_somebody_asks_for_the_rule(key: str, selector: str) -> None:
    assert "MPS413" in codes(INFERRED, Settings(**{key: (selector,)}))  # type: ignore[arg-type]


def test_to_ask_for_the_default_rules_or_for_another_is_not_to_ask_for_it() -> None:
    assert codes(INFERRED, Settings(select=("default",), extend_select=("MPS603",))) == []


def test_who_wants_certain_findings_alone_gets_no_others_of_a_rule_by_name() -> None:
    asked = Settings(extend_select=("MPS413",), min_confidence=Confidence.CERTAIN)
    assert codes(INFERRED, asked) == []


def test_a_comment_that_silences_such_a_finding_is_of_use() -> None:
    silenced = INFERRED.replace("(path))", "(path))  # noqa: MPS413")
    assert codes(silenced, Settings(select=("DEFAULT", "MPS900"))) == []


DECIDING = """
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(loader, best):
    for x in loader:
        loss = model(x.to(device)).mean()
        if {}:
            break
        loss.backward()
        optimizer.step()
"""
"""A loop of training that a test may end."""


@pytest.mark.parametrize(
    "watching", ["torch.isnan(loss)", "not torch.isfinite(loss).all()", "torch.any(loss.isinf())"]
)
def test_a_check_that_all_numbers_are_finite_is_told(watching: str) -> None:
    assert "MPS306" in codes(DECIDING.format(watching), Settings())


@pytest.mark.parametrize("deciding", ["loss < best", "loss.isnan() < best", "loss.max() > 1"])
def test_one_that_the_algorithm_goes_by_is_told_where_it_is_asked_for(deciding: str) -> None:
    text = DECIDING.format(deciding)
    assert "MPS306" not in codes(text, Settings())
    assert "MPS306" in codes(text, Settings(extend_select=("MPS306",)))


GUARDED = DECIDING.replace("            break\n", "            {}\n")
"""A loop of training in which a test guards something."""


@pytest.mark.parametrize(
    "done",
    [
        "raise ValueError(loss)",
        "print('diverged')",
        "import pdb; pdb.set_trace()",
        "state = model.state_dict(); torch.save(state, 'diverged.pt')",
        "state = model.state_dict(); state['at'] = loss; print(state)",
        "seen = loss; exit(1)",
    ],
)
def test_a_check_for_numbers_is_told_that_ends_all_or_tells_of_it(done: str) -> None:
    assert "MPS306" in codes(GUARDED.format("loss.isnan()", done), Settings())


@pytest.mark.parametrize(
    "done",
    [
        "continue",
        "loss.backward()",
        "loss = loss.nan_to_num()",
        "model.bad = True",
        "model[0] = loss",
    ],
)
def test_one_that_a_step_hangs_on_is_told_where_it_is_asked_for(done: str) -> None:
    text = GUARDED.format("torch.isfinite(loss)", done)
    assert "MPS306" not in codes(text, Settings())
    assert "MPS306" in codes(text, Settings(extend_select=("MPS306",)))


def rules_run_on(text: str, settings: Settings) -> list[str]:
    return [rule.code for rule in screen_for(settings, "net.py").select(text.encode())]


def test_a_file_without_words_for_a_certain_finding_is_not_looked_at_for_the_rule() -> None:
    text = DECIDING.format("loss < best")
    assert "MPS306" not in rules_run_on(text, Settings())


@pytest.mark.parametrize("watching", ["torch.isnan(loss)", "torch.equal(loss, best)"])
def test_one_with_such_a_word_is_looked_at(watching: str) -> None:
    assert "MPS306" in rules_run_on(DECIDING.format(watching), Settings())


def test_so_is_each_file_where_somebody_asks_for_the_rule() -> None:
    asked = Settings(extend_select=("MPS306",))
    assert "MPS306" in rules_run_on(DECIDING.format("loss < best"), asked)


@pytest.mark.parametrize(("deciding", "idle"), [("loss < best", False), ("step < best", True)])
def test_a_comment_is_of_use_that_silences_a_finding_which_would_not_count(
    deciding: str, idle: bool
) -> None:
    text = DECIDING.format(deciding).replace(f"{deciding}:", f"{deciding}:  # noqa: MPS306")
    told = codes(text, Settings(select=("DEFAULT", "MPS900")))
    assert ("MPS900" in told) is idle
    assert "MPS306" not in told


SELECTING = """
import torch
from torch import nn


class Block(nn.Module):
    def forward(self, x, y):
        mask = torch.relu(x) > 0
        {}
        return x
"""


@pytest.mark.parametrize(
    ("statement", "told", "asked"),
    [("x[mask] = x[mask] * 2", True, True), ("return torch.nonzero(mask)", False, False)],
)
def test_a_selection_that_needs_no_size_is_told_without_asking(
    statement: str, told: bool, asked: bool
) -> None:
    text = SELECTING.format(statement)
    assert ("MPS307" in codes(text, Settings())) is told
    assert ("MPS307" in codes(text, Settings(extend_select=("MPS307",)))) is asked


FORWARD = """
import torch


class Block(torch.nn.Module):
    def forward(self, x):
        weights = torch.exp(x)
        {}
        return weights
"""


@pytest.mark.parametrize(
    "ending",
    [
        "assert (weights > 0).all()",
        "if torch.isnan(weights).any(): raise ValueError('not a number')",
        "if torch.isnan(weights).any(): exit(1)",
        "if torch.isnan(weights).any(): print('not a number')",
    ],
)
def test_a_check_that_ends_all_or_tells_of_it_is_told_in_forward_passes(ending: str) -> None:
    assert "MPS306" in codes(FORWARD.format(ending), Settings())


@pytest.mark.parametrize(
    "mending",
    [
        "if torch.isnan(weights).any(): weights = weights.nan_to_num()",
        "assert torch.is_autocast_enabled()",
        "assert torch.is_tensor(weights)",
    ],
)
def test_what_mends_its_numbers_is_told_where_it_is_asked_for(mending: str) -> None:
    assert "MPS306" not in codes(FORWARD.format(mending), Settings())


TIMED = """
import time

import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def timed(model, x):
    start = time.perf_counter()
    {}
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start
"""
"""A timer whose end waits for CUDA alone."""


def test_a_timer_is_told_where_work_is_known_to_be_queued_before_its_end() -> None:
    assert "MPS602" in codes(TIMED.format("model(x.to(device)).mean().backward()"), Settings())


def test_one_of_a_library_that_may_work_on_the_cpu_is_told_where_it_is_asked_for() -> None:
    text = TIMED.format("x.index.train(model)")
    assert "MPS602" not in codes(text, Settings())
    assert "MPS602" in codes(text, Settings(extend_select=("MPS602",)))


def test_one_that_has_waited_already_is_right() -> None:
    text = TIMED.format("out = model(x).cpu()")
    assert "MPS602" not in codes(text, Settings(extend_select=("MPS602",)))


MOVED = "import torch\n\n\ndef put(device, like: torch.Tensor):\n    x = {}\n    x.to(device)\n"


@pytest.mark.parametrize("made", ["torch.rand(3)", "torch.zeros_like(like)"])
def test_a_tensor_that_stays_where_it_is_is_told_where_that_is_asked_for(made: str) -> None:
    text = MOVED.format(made)
    assert "MPS802" not in codes(text, Settings())
    assert "MPS802" in codes(text, Settings(extend_select=("MPS802",)))


def test_that_it_is_on_the_cpu_for_certain_is_said() -> None:
    sure = Settings(extend_select=("MPS802",), min_confidence=Confidence.CERTAIN)
    assert "MPS802" in codes(MOVED.format("torch.rand(3)"), sure)
    assert "MPS802" not in codes(MOVED.format("torch.zeros_like(like)"), sure)


def test_the_page_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    run(["rule", "MPS413"])
    assert "on by default for findings that are certain." in capsys.readouterr().out


def test_and_so_does_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    run(["rule", "MPS413", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["default_confidence"] == "certain"


SPAN = """
import time

import torch
from library import step

MPS = torch.backends.mps.is_available()


def measure(model, x):
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    {work}
    return time.perf_counter() - start
"""


@pytest.mark.parametrize(
    ("work", "told"), [("y = model(x.to('mps'))", True), ("y = sorted(x)", False)]
)
def test_a_wait_is_missed_for_sure_where_the_time_of_queued_work_begins(
    work: str, told: bool
) -> None:
    assert ("MPS602" in codes(SPAN.format(work=work), Settings())) == told


STREAM = """
import torch


class Prefetcher:
    def __init__(self, loader):
        self.loader = loader
        self.stream = torch.cuda.Stream()

    def fetch(self):
        return next(self.loader){moved}
"""


def test_a_stream_is_told_where_somebody_asks() -> None:
    moved = STREAM.format(moved=".cuda()")
    assert codes(moved, Settings()) == ["MPS102"]
    assert codes(moved, Settings(extend_select=("MPS205",))) == ["MPS205", "MPS102"]


def test_a_stream_alone_is_there_where_somebody_asks() -> None:
    alone = STREAM.format(moved="")
    assert codes(alone, Settings()) == []
    assert codes(alone, Settings(extend_select=("MPS205",))) == ["MPS205"]


EVENT = """
import torch


def measure(model, x):
    start, end = torch.cuda.Event({timing}), torch.cuda.Event({timing})
    start.record()
    model(x)
    end.record()
    return start, end
"""


@pytest.mark.parametrize(("timing", "told"), [("enable_timing=True", 2), ("", 0)])
def test_an_event_that_measures_is_told_without_being_asked_for(timing: str, told: int) -> None:
    assert codes(EVENT.format(timing=timing), Settings()).count("MPS205") == told


def test_an_event_that_measures_what_no_port_has_is_not_told() -> None:
    own = EVENT.replace("model(x)", "torch.cuda._sleep(1000)")
    assert codes(own.format(timing="enable_timing=True"), Settings()).count("MPS205") == 0
