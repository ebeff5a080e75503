"""A text that comes back was looked at already: what was found is told again while it holds."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from lsprotocol import types

from mpslint.server.analysis import Analysis, Analyst
from mpslint.server.documents import Part, Snapshot
from mpslint.server.positions import Text
from mpslint.server.workspace import Options, Workspace
from server.client import uri_of

FIRST = "import torch\nfrom helpers import device\n\ntorch.cuda.synchronize()\n"
SECOND = FIRST + "x = torch.ones(2).cuda()\n"
_stamps = itertools.count(1)


def snapshot(path: Path, text: str, language: str = "python") -> Snapshot:
    part = Part(uri_of(path), next(_stamps), Text(text, types.PositionEncodingKind.Utf16), language)
    return Snapshot(part.uri, str(path), part.version, {None: part})


def codes(analysis: Analysis) -> list[str]:
    return [finding.code for finding in analysis.findings]


class Typed:
    """Two texts one after the other, and how often an analysis got as far as a rule."""

    def __init__(self, path: Path) -> None:
        self.path, self.workspace = path, Workspace()
        self.analyst = Analyst(self.workspace)
        self.looks = 0
        self.told = [self.check(FIRST), self.check(SECOND)]
        self.looks = 0

    def check(self, text: str, language: str = "python") -> Analysis:
        return self.analyst.check(snapshot(self.path, text, language), self._pause)

    def _pause(self) -> None:
        self.looks += 1


@pytest.fixture
def typed(project: Path) -> Typed:
    helpers = project / "helpers.py"
    helpers.write_text("import torch\n\ndevice = torch.device('cpu')\n")
    os.utime(helpers, (0, 0))  # What changed a moment ago could change again unnoticed.
    return Typed(project / "train.py")


def test_a_change_that_is_taken_back_is_answered_by_what_was_told_before(typed: Typed) -> None:
    again = typed.check(FIRST)
    assert typed.looks == 0
    assert again.findings == typed.told[0].findings
    assert codes(again) != codes(typed.told[1])
    assert again.snapshot.parts[None].version > typed.told[1].snapshot.parts[None].version
    assert again.number not in {one.number for one in typed.told}


def helper_refuses(typed: Typed) -> None:
    refusing = "import torch\n\nassert torch.cuda.is_available()\ndevice = torch.device('cuda')\n"
    typed.path.with_name("helpers.py").write_text(refusing)


def settings_file(typed: Typed) -> None:
    typed.path.with_name("mpslint.toml").write_text('ignore = ["MPS201"]\n')


def editor_ignores(typed: Typed) -> None:
    typed.workspace.use(Options(overrides={"ignore": ["MPS201"]}), {})


@pytest.mark.parametrize("change", [helper_refuses, settings_file, editor_ignores])
def test_what_was_told_before_is_not_told_again_where_it_holds_no_longer(
    typed: Typed, change: Callable[[Typed], None]
) -> None:
    change(typed)
    again = typed.check(FIRST)
    assert typed.looks
    assert codes(again) != codes(typed.told[0])


def test_after_a_save_everything_is_looked_at_again(typed: Typed) -> None:
    typed.analyst.forget()
    assert codes(typed.check(FIRST)) == codes(typed.told[0])
    assert typed.looks


def test_the_same_text_in_another_file_or_language_is_another_text(typed: Typed) -> None:
    plain = typed.path.with_name("notes")
    analyst = typed.analyst
    assert codes(analyst.check(snapshot(plain, FIRST), lambda: None))
    assert not codes(analyst.check(snapshot(plain, FIRST, "markdown"), lambda: None))


def test_only_the_last_texts_are_kept(typed: Typed) -> None:
    for number in range(50):
        typed.check(FIRST + f"# {number}\n")
    typed.looks = 0
    typed.check(FIRST)
    assert typed.looks


def test_an_analysis_that_a_fault_of_ours_ended_is_not_told_again(typed: Typed) -> None:
    third = SECOND + "y = x.cuda()\n"

    def fault() -> None:
        raise ZeroDivisionError("a fault")

    failed = typed.analyst.check(snapshot(typed.path, third), fault)
    assert [problem.is_internal for problem in failed.problems] == [True]
    assert codes(failed) == []
    again = typed.check(third)
    assert typed.looks > 0
    assert not again.problems
    assert len(again.findings) > len(typed.told[1].findings)
