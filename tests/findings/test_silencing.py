"""A `noqa` stands where the finding's line ends, and silences it there."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.findings.silencing import noqa_edits
from mpslint.settings.settings import Settings
from mpslint.sources.edits import spliced
from mpslint.sources.source import SourceFile

CALL = "torch.cuda.synchronize()"


@pytest.mark.parametrize(
    ("line", "silenced"),
    [
        (CALL, f"{CALL}  # noqa: MPS201"),
        (f"{CALL}   ", f"{CALL}  # noqa: MPS201"),
        (f"{CALL}  # why", f"{CALL}  # why  # noqa: MPS201"),
        (f"{CALL}  # noqa: E501", f"{CALL}  # noqa: E501, MPS201"),
        (f"{CALL}  # noqa: E501 as it is", f"{CALL}  # noqa: E501, MPS201 as it is"),
        (f"{CALL}  # NOQA:E501, W291", f"{CALL}  # NOQA:E501, W291, MPS201"),
        (f"x = {CALL}, '''a\nb'''", f"x = {CALL}, '''a\nb'''  # noqa: MPS201"),
        (f"x = {CALL}, \\\n    1", f"x = {CALL}, \\\n    1  # noqa: MPS201"),
        (f"f(  # a\n    {CALL},\n    1,\n)", f"f(  # a\n    {CALL},  # noqa: MPS201\n    1,\n)"),
        (f"x = '# noqa: E501'; {CALL}", f"x = '# noqa: E501'; {CALL}  # noqa: MPS201"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_finding_is_silent_afterwards_and_nothing_else_is(
    line: str, silenced: str, newline: str
) -> None:
    text = f"import torch\n{line}\ntorch.cuda.synchronize()\n".replace("\n", newline)
    source = SourceFile.from_text(text)
    finding, other = lint(source, Settings())
    after = SourceFile.from_text(spliced(text, noqa_edits(source, [finding])))
    expected = f"import torch\n{silenced}\ntorch.cuda.synchronize()\n".replace("\n", newline)
    assert after.text == expected
    assert [one.message for one in lint(after, Settings())] == [other.message]


def test_a_file_without_a_last_newline_is_silenced_too() -> None:
    source = SourceFile.from_text(f"import torch\n{CALL}")
    edits = noqa_edits(source, lint(source, Settings()))
    assert spliced(source.text, edits).endswith(f"{CALL}  # noqa: MPS201")


def test_where_the_tokenizer_gives_up_there_is_no_edit() -> None:
    finding = lint(SourceFile.from_text(f"import torch\n{CALL}"), Settings())[0]
    assert noqa_edits(SourceFile.from_text("x = 1\nx = '''a\n"), [finding]) == []
