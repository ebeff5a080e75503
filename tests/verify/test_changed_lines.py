"""Which lines a rewrite changed, and what is said of those that did not run."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import CodeType

import pytest

from mpslint.verify.changed_lines import AGREED, DID_NOT_RUN, RAN, ChangedLine, changed, judged
from mpslint.verify.harness.probes import Probes
from mpslint.verify.harness.recorder import RECORDER
from mpslint.verify.recorded import read_report
from mpslint.verify.report import Report, Run, covering

from .conftest import launch

TERNARY = b"""\
device = pick(
    "cuda"
    if cuda
    else "mps"
    if mps
    else "cpu"
)
"""


def with_probes(probes: Probes, text: bytes) -> CodeType:
    tree = probes.change(ast.parse(text), "/program.py")
    return compile(ast.fix_missing_locations(tree), "/program.py", "exec", dont_inherit=True)


def ran(text: bytes, **names: object) -> list[int]:
    """The rows of a program that ran, of all that hold code."""
    probes = Probes({"/program.py": list(range(1, 100))})
    reached: set[int] = set()
    exec(with_probes(probes, text), {"__mpslint_reached__": reached.add, **names})
    return [row for _, row in probes.reached(reached)]


class TestWhatChanged:
    def test_a_line_that_is_new_and_one_that_says_something_else(self) -> None:
        assert changed(b"a = 1\nb = 2\n", b"a = 1\nc = 0\nb = 3\n") == [2, 3]

    def test_another_format_and_comments_say_the_same(self) -> None:
        assert changed(b"a = f(1, 2)\nb = 2\n", b"# why\na = f(\n    1,\n    2,\n)\nb = 2\n") == []

    def test_only_the_new_lines_of_a_statement_that_changed(self) -> None:
        assert changed(b"f(\n    1,\n    2,\n)\n", b"f(\n    1,\n    3,\n)\n") == [3]

    def test_a_statement_that_moved_out_of_its_block_is_not_the_same(self) -> None:
        before = b"with no_grad():\n    a = 1\n    b = 2\n"
        assert changed(before, b"with no_grad():\n    a = 1\nb = 2\n") == [3]

    def test_what_holds_no_code_is_not_asked_about(self) -> None:
        after = b'try:\n    a = 1\nfinally:\n    # so\n    b = 2\n"""text"""\n'
        assert changed(b"", after) == [2, 5]

    def test_a_removed_line_leaves_none(self) -> None:
        assert changed(b"assert cuda\na = 1\n", b"a = 1\n") == []


class TestWhatRan:
    def test_of_two_branches_the_one_that_was_taken(self) -> None:
        text = b"if x:\n    a = 1\nelif y:\n    a = 2\nelse:\n    a = 3\n"
        assert ran(text, x=False, y=True) == [1, 3, 4]

    def test_operands_on_lines_of_their_own_by_themselves(self) -> None:
        assert ran(TERNARY, pick=str, cuda=False, mps=True) == [1, 3, 4, 5, 7]

    def test_a_function_that_is_made_is_not_one_that_runs(self) -> None:
        text = b'@deco\ndef f(\n    a=1,\n):\n    """Text."""\n    return a\n'
        assert ran(text, deco=lambda f: f) == [1, 2, 3, 4]

    def test_a_lambda_and_a_comprehension_over_nothing(self) -> None:
        text = b"f = lambda: (\n    1\n)\na = [\n    f()\n    for _ in rows\n]\n"
        assert ran(text, rows=[]) == [1, 3, 4, 6, 7]
        assert ran(text, rows=[0]) == [1, 2, 3, 4, 5, 6, 7]

    def test_the_program_computes_what_it_would_without_probes(self) -> None:
        found: dict[str, object] = {"__mpslint_reached__": RECORDER.reached.add}
        text = b"from __future__ import annotations\na = [\n    0 or\n    i for i in range(3)]\n"
        exec(with_probes(Probes({"/program.py": [1, 2, 3, 4]}), text), found)
        assert found["a"] == [0, 1, 2]

    def test_a_file_that_nobody_asks_about_is_left_alone(self) -> None:
        assert not Probes({"/program.py": [1]}).wants("/other.py")


def test_a_line_for_one_machine_has_run_when_it_ran_there() -> None:
    on_mps, on_cuda = launch("mps", lines=[["t.py", 4]]), launch("cuda", lines=[["t.py", 3]])
    lines = judged({"t.py": [3, 4, 5]}, [(on_cuda, True), (on_mps, False)])
    assert [(line.line, line.state) for line in lines] == [(3, AGREED), (4, RAN), (5, DID_NOT_RUN)]
    assert [line.devices for line in lines] == [("simulated cuda",), ("simulated mps",), ()]


def report(*states: str, verdict: str = "pass", left_out: tuple[str, ...] = ()) -> Report:
    lines = tuple(ChangedLine("/x/t.py", row, state, ()) for row, state in enumerate(states, 1))
    word, reason = covering((verdict, ""), lines, left_out)
    return Report("t.py", (Run("mps", "simulated", verdict, "3 steps"),), word, reason, lines=lines)


class TestTheFirstLine:
    def test_a_pass_of_which_all_lines_ran_is_just_that(self) -> None:
        assert report(AGREED, RAN).to_text().splitlines()[0] == "t.py: pass"

    def test_lines_that_did_not_run_are_named(self) -> None:
        made = report(AGREED, DID_NOT_RUN, DID_NOT_RUN, AGREED, DID_NOT_RUN)
        assert made.verdict == "partial"
        said = "t.py: pass (2 of 5 changed lines ran; did not run: t.py:2-3, 5)"
        assert made.to_text().splitlines()[0] == said

    def test_what_was_not_compared_is_named(self) -> None:
        made = report(AGREED, left_out=("a.bin", "b.bin"))
        assert made.to_text().splitlines()[0] == "t.py: pass (not compared: a.bin, b.bin)"
        assert made.verdict == "pass"

    def test_a_run_without_a_comparison_is_not_called_a_pass(self) -> None:
        made = report(DID_NOT_RUN, verdict="ran")
        assert made.verdict == "partial"
        assert made.headline.startswith("ran (0 of 1")

    @pytest.mark.parametrize("verdict", ["fail", "inconclusive"])
    def test_a_verdict_that_is_no_success_stays_what_it_is(self, verdict: str) -> None:
        assert report(DID_NOT_RUN, verdict=verdict).verdict == verdict


def test_the_lines_and_what_was_left_out_survive_the_file(tmp_path: Path) -> None:
    made = report(AGREED, DID_NOT_RUN, left_out=("a.bin",))
    file = tmp_path / "verdict.json"
    file.write_text(made.to_json())
    assert read_report(str(file)) == made
    assert json.loads(made.to_json())["changed_lines"][1]["state"] == "did not run"
