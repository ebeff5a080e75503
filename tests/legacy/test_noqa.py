"""`--add-noqa` silences what is there, and MPS900 says what silences nothing any more."""

from __future__ import annotations

import ast
import contextlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, FIXTURES, Cli

from mpslint.checking.linter import lint
from mpslint.errors import BadSource
from mpslint.model import Severity
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import torch\n\n\ndef f(x):\n"


def added(cli: Cli, text: str, *arguments: str) -> str:
    path = Path("a.py")
    path.write_text(text)
    ran = cli("check", "--add-noqa", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return path.read_text()


def test_the_comment_stands_on_the_findings_line_and_silences_it(cli: Cli, project: Path) -> None:
    text = added(cli, CUDA_ONLY)
    assert text == "import torch\n\ntorch.cuda.synchronize()  # noqa: MPS201\n"
    assert cli("check").code == 0


def test_it_says_how_many_comments_it_added(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    (project / "b.py").write_text(CUDA_ONLY)
    assert cli("check", "--add-noqa").out == "Added 2 noqa comments to 2 files.\n"
    assert cli("check", "--add-noqa").out == "Added 0 noqa comments to 0 files.\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return x.cuda()  # noqa: E501", "return x.cuda()  # noqa: E501, MPS102"),
        ("return x.cuda()  # noqa:E501,W1 why", "return x.cuda()  # noqa:E501,W1, MPS102 why"),
        ("return x.cuda()  # type: ignore", "return x.cuda()  # type: ignore  # noqa: MPS102"),
        ("return x.cuda()   ", "return x.cuda()  # noqa: MPS102"),
        ("return x.cuda().to('cuda')", "return x.cuda().to('cuda')  # noqa: MPS101, MPS102"),
    ],
)
def test_codes_join_the_comment_that_is_there(
    cli: Cli, project: Path, line: str, expected: str
) -> None:
    assert added(cli, f"{HEAD}    {line}\n") == f"{HEAD}    {expected}\n"


def test_a_string_or_a_backslash_over_rows_gets_it_at_its_end(cli: Cli, project: Path) -> None:
    text = f'{HEAD}    y = x.cuda(), """one\ntwo"""\n    return x.cuda() \\\n        + 1\n'
    after = added(cli, text)
    assert 'two"""  # noqa: MPS102\n' in after
    assert "        + 1  # noqa: MPS102\n" in after
    assert cli("check").code == 0


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_newlines_and_a_missing_last_one_stay(cli: Cli, project: Path, newline: str) -> None:
    path = project / "a.py"
    text = newline.join(["import torch", "", "torch.cuda.synchronize()"])
    path.write_bytes(text.encode())
    cli("check", "--add-noqa")
    assert path.read_bytes().decode() == text + "  # noqa: MPS201"


def test_every_fixture_is_silenced_and_still_the_same_program(cli: Cli, project: Path) -> None:
    """Formats, strings and continuations of all kinds: nothing but comments changes."""
    before = {}
    for number, path in enumerate(sorted((FIXTURES / "rules").glob("*/alarm_*.py"))):
        source = SourceFile(str(path), path.read_bytes())
        with contextlib.suppress(BadSource):  # code that no Python of today reads
            before[project / f"f{number}.py"] = ast.dump(source.parse(strictly=True))
            (project / f"f{number}.py").write_bytes(source.data)
    options = ["--select", "ALL", "--ignore", "MPS900", "--no-cache"]
    ran = cli("check", "--add-noqa", *options)
    assert (ran.code, ran.err) == (0, "")
    assert {path: ast.dump(ast.parse(path.read_bytes())) for path in before} == before
    assert cli("check", *options).code == 0


def test_notebooks_get_comments_in_their_cells(cli: Cli, project: Path) -> None:
    cell = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "source": CUDA_ONLY.splitlines(True),
    }
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path = project / "a.ipynb"
    path.write_text(json.dumps(book))
    cli("check", "--add-noqa")
    (line,) = json.loads(path.read_text())["cells"][0]["source"][2:]
    assert line == "torch.cuda.synchronize()  # noqa: MPS201\n"
    assert cli("check").code == 0


def test_only_what_is_reported_gets_a_comment(cli: Cli, project: Path) -> None:
    text = f"{HEAD}    return x.cuda()\n"
    assert added(cli, text, "--ignore", "MPS102") == text


def test_a_file_that_is_broken_is_said_and_left(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY + "def f(:\n")
    ran = cli("check", "--add-noqa", "a.py")
    assert ran.code == 2
    assert "syntax error" in ran.err
    assert (project / "a.py").read_text() == CUDA_ONLY + "def f(:\n"


# unused ones


def unused(text: str, **settings: object) -> list[str]:
    found = lint(SourceFile.from_text(text, "a.py"), Settings(**settings))  # type: ignore[arg-type]
    return [f"{f.row}:{f.column} {f.message}" for f in found if f.code == "MPS900"]


def test_the_message_says_which_code_is_of_no_use_and_why() -> None:
    text = "import torch\nx = 1  # noqa: MPS101, MPS201, MPS777, E501\n"
    assert unused(text) == [
        "2:8 MPS101, MPS201: there is nothing to silence here; MPS777 is no rule"
    ]


def test_a_rule_that_is_off_is_not_judged() -> None:
    text = "import torch\nx = 1  # noqa: MPS101\n"
    assert unused(text, ignore=("MPS101",)) == []
    assert unused(text, per_file_ignores=(("a.py", ("MPS101",)),)) == []


def test_a_finding_below_the_severity_that_is_asked_for_is_one_all_the_same() -> None:
    head = "import torch\nmodel = torch.nn.Linear(1, 1).to('mps')\n"
    loop = "for b in range(9):\n    loss = model(b)\n    loss.backward()\n    print(loss.item())"
    assert "MPS303" in {f.code for f in lint(SourceFile.from_text(head + loop), Settings())}
    text = f"{head}{loop}  # noqa: MPS303\n"
    assert unused(text) == []
    assert unused(text, severity=Severity.BREAKS) == []


def test_a_file_without_torch_can_hold_one(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text("x = 1  # noqa: MPS101\n")
    assert "a.py:1:8: MPS900 [*]" in cli("check", "--output-format", "concise").out


def test_fix_takes_it_away(cli: Cli, project: Path) -> None:
    path = project / "a.py"
    path.write_text("import torch\nx = 1  # noqa: MPS101\ny = 2  # mpslint: ignore\n")
    assert cli("fix", "--no-verify").code == 0
    assert path.read_text() == "import torch\nx = 1\ny = 2\n"


def test_a_bare_ignore_is_judged_when_all_default_rules_are_on() -> None:
    text = "import torch\nx = 1  # mpslint: ignore\n"
    assert unused(text) == ["2:8 this comment silences nothing"]
    assert unused(text, select=("MPS9",)) == []
    assert unused("import torch\nx = 1  # mpslint: ignore  # noqa\n") == []


def test_a_codes_list_for_the_whole_file_is_judged_too() -> None:
    text = "# flake8: noqa: MPS201\nimport torch\n"
    assert unused(text) == ["1:1 MPS201: there is nothing to silence here"]
    assert unused(text + "torch.cuda.synchronize()\n") == []


def test_flake8_says_the_same(cli: Cli, flake8: Cli, project: Path) -> None:
    (project / "a.py").write_text(
        "import torch\nx = 1  # noqa: MPS101\ny = 2  # noqa: MPS900, MPS1\n"
    )
    ran = cli("check", "--output-format", "concise", "-q").out
    out = flake8("--select=MPS", "a.py").out
    message = "MPS900 MPS101: there is nothing to silence here"
    assert out == f"a.py:2:8: {message}\n"
    assert ran == f"a.py:2:8: {message.replace('MPS900', 'MPS900 [*]', 1)}\n"
    assert "MPS900" not in flake8("--select=MPS", "--disable-noqa", "a.py").out


def test_ruff_leaves_our_codes_alone_with_the_setting_that_the_docs_name(project: Path) -> None:
    """And takes them for its own mistakes without it."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "ci.md").read_text(encoding="utf-8")
    block = page.split("```toml\n[tool.ruff.lint]")[1].split("```")[0]
    assert block.strip() == 'external = ["MPS"]'
    path = project / "a.py"
    line = "x = 1  # noqa: MPS101\n"

    def ruff(*arguments: str) -> str:
        path.write_text(line)
        command = [sys.executable, "-m", "ruff", "check", "--preview", "--fix", "--quiet"]
        subprocess.run([*command, "--select=RUF100,RUF102", *arguments, "a.py"])
        return path.read_text()

    assert ruff("--isolated") != line
    (project / "pyproject.toml").write_text(f"[tool.ruff.lint]{block}")
    assert ruff() == line


def test_a_link_out_of_what_was_named_is_not_written_through(cli: Cli, project: Path) -> None:
    outside = project.parent / "theirs.py"
    outside.write_text(CUDA_ONLY)
    (project / "link.py").symlink_to(outside)
    ran = cli("check", "--add-noqa", ".")
    assert ran.code == 2
    assert "link.py: not changed: a link to " in ran.err
    assert outside.read_text() == CUDA_ONLY
    assert cli("check", "--add-noqa", "link.py").code == 0
    assert "noqa" in outside.read_text()
