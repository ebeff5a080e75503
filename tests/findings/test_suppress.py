"""Which comments silence which findings."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.findings.suppress import Suppressions
from mpslint.model import Finding, Severity
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def finding(row: int, end_row: int | None = None) -> Finding:
    return Finding(
        "MPS201", "cuda-synchronize", "message", Severity.BREAKS, row, 1, end_row or row, 2
    )


def covers(text: str, row: int, end_row: int | None = None) -> bool:
    return Suppressions(SourceFile.from_text(text)).covers(finding(row, end_row))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NOQA",
        "# noqa: MPS201",
        "# noqa:MPS201",
        "# noqa: E501,MPS201",
        "# noqa: E501 MPS201",
        "# noqa: MPS2",
        "# noqa: mps201",
        "# type: ignore  # noqa: MPS201",
        "# mpslint: ignore",
        "# mpslint: ignore[MPS201]",
        "# mpslint: ignore[cuda-synchronize] the CI runner has CUDA",
        "# mpslint: ignore[MPS101, cuda-synchronize]",
        "#mpslint:ignore[MPS2]",
    ],
)
def test_a_comment_on_the_line_silences_the_finding(comment: str) -> None:
    assert covers(f"call()  {comment}\n", 1)


@pytest.mark.parametrize(
    "comment",
    [
        "#noqa",
        "# noqa: E501",
        "# noqa: MPS101",
        "# mpslint: ignore[MPS101]",
        "# mpslint: ignore[]",
        "# mpslint: ignored",
        "# see the noqa page",
    ],
)
def test_a_comment_about_something_else_silences_nothing(comment: str) -> None:
    assert not covers(f"call()  {comment}\n", 1)


def test_the_next_line_is_not_silenced() -> None:
    assert not covers("call()  # noqa\ncall()\n", 2)


def test_a_comment_on_the_last_line_of_a_finding_silences_it() -> None:
    text = "call(\n    x,\n)  # noqa: MPS201\n"
    assert covers(text, 1, 3)
    assert not covers(text, 1, 1)


def test_a_line_continued_by_a_backslash_is_one_line() -> None:
    assert covers("x = 1 + \\\n  call()  # noqa\n", 1)


def test_a_multi_line_string_is_one_line() -> None:
    assert covers('x = call("""one\ntwo""")  # noqa\n', 1)


def test_a_string_that_reads_like_a_comment_silences_nothing() -> None:
    assert not covers('x = call("# noqa")\n', 1)
    assert not Suppressions(SourceFile.from_text('"""\n# mpslint: skip-file\n"""\n')).whole_file


@pytest.mark.parametrize(
    "comment",
    ["# mpslint: skip-file", "# mpslint: cuda-only", "# flake8: noqa", "#mpslint:skip-file"],
)
def test_a_comment_of_its_own_line_silences_the_whole_file(comment: str) -> None:
    text = f"'''Doc.'''\nimport torch\n\n{comment}\ntorch.cuda.synchronize()\n"
    assert Suppressions(SourceFile.from_text(text)).whole_file
    assert lint(SourceFile.from_text(text), Settings()) == []


def test_a_whole_file_comment_must_stand_alone() -> None:
    assert not Suppressions(SourceFile.from_text("x = 1  # mpslint: skip-file\n")).whole_file


def test_codes_after_flake8_noqa_hold_for_the_whole_file_but_only_they() -> None:
    text = "# flake8: noqa: MPS201\n\ncall()\n"
    assert covers(text, 3)
    assert not covers("# flake8: noqa: E501\n\ncall()\n", 3)


def test_disabled_noqa_leaves_mpslints_own_comments_in_force() -> None:
    source = SourceFile.from_text("call()  # noqa\ncall()  # mpslint: ignore\n")
    suppressions = Suppressions(source, noqa=False)
    assert not suppressions.covers(finding(1))
    assert suppressions.covers(finding(2))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_rows_are_right_whatever_the_newline(newline: str) -> None:
    text = newline.join(["x = 1", "\f", "call()  # noqa", "call()"])
    assert covers(text, 3)
    assert not covers(text, 4)


def test_a_file_that_does_not_tokenise_silences_what_comes_before_the_fault() -> None:
    assert covers("call()  # noqa\nx = (\n", 1)
