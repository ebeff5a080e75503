"""What a project calls its files, and what it writes into them, is shown and never obeyed."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli

from mpslint.basics.printable import patch_name, printable, printable_path
from mpslint.cli import run
from mpslint.findings.results import FileResult
from mpslint.model import Finding, Label, Severity
from mpslint.output import FORMATS, Style, render
from mpslint.verify.report import Report, Run

ODD = {
    "escape": "x\x1b[2Jy",
    "newline": "x\nerror: y",
    "return": "x\rAll checks passed!",
    "command": "::error file=a.py,line=1::y",
    "command behind a blank": " ::stop-commands::y",
    "old command": "##[error]y",
    "control of eight bits": "x\x9b2Jy",
    "turned round": "x\u202ey",
    "line of unicode": "x\u2028y",
}
odd = pytest.mark.parametrize("text", ODD.values(), ids=ODD)


def shows_only(shown: str, lines: int | None = None) -> None:
    """There is nothing in the text that a terminal or a service would obey."""
    rows = shown.split("\n")
    assert all(row.isprintable() for row in rows), rows
    assert not any(row.lstrip().startswith("::") for row in rows)
    assert "##[" not in shown
    assert lines is None or len(rows) == lines + 1


@odd
@pytest.mark.parametrize("style", ["concise", "full"])
def test_a_files_name_is_shown(cli: Cli, project: Path, text: str, style: str) -> None:
    (project / f"{text}.py").write_text(CUDA_ONLY)
    ran = cli("check", "--output-format", style)
    assert ran.code == 1
    shows_only(ran.out)
    shows_only(ran.err)
    assert (style == "full") or ran.out.count("\n") == 3


@odd
@pytest.mark.parametrize("form", ["markdown", "json"])
def test_a_files_name_is_shown_in_a_report(cli: Cli, project: Path, text: str, form: str) -> None:
    (project / f"{text}.py").write_text(CUDA_ONLY)
    ran = cli("report", "--format", form)
    shows_only(ran.out)
    if form == "json":
        (finding,) = json.loads(ran.out)["findings"]
        assert finding["place"]["path"] == f"{text}.py"


@odd
def test_a_files_name_is_shown_where_it_is_fixed(cli: Cli, project: Path, text: str) -> None:
    (project / f"{text}.py").write_text(CUDA_ONLY)
    ran = cli("fix", "--no-verify", "--show-fixes", ".")
    assert (project / f"{text}.py").read_text() == PORTABLE
    shows_only(ran.out)


@odd
def test_a_files_name_is_shown_in_an_error_and_in_a_warning(
    cli: Cli, project: Path, text: str
) -> None:
    (project / f"{text}.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    ran = cli("check", ".")
    assert ran.code == 2
    shows_only(ran.err, lines=1)
    large = cli("fix", "--no-verify", "--no-cache", "--config", str(settings(project)), ".")
    shows_only(large.err, lines=1)
    shows_only(cli("check", f"absent{text}").err, lines=1)


def settings(project: Path) -> Path:
    (project / "mpslint.toml").write_text("max-file-size = 5\n")
    return project / "mpslint.toml"


@odd
def test_a_settings_files_folder_and_values_are_shown(cli: Cli, project: Path, text: str) -> None:
    (project / text).mkdir()
    (project / text / "mpslint.toml").write_text(f"ignore = [{json.dumps('MPS' + text)}]\n")
    shows_only(cli("config", text).err, lines=1)
    (project / text / "mpslint.toml").write_text(f"exclude = [{json.dumps(text)}]\n")
    shows_only(cli("config", text).out)


@odd
def test_a_line_of_code_is_shown(cli: Cli, project: Path, text: str) -> None:
    row = f"torch.cuda.synchronize()  # {text}".replace("\n", " ").replace("\r", " ")
    (project / "a.py").write_text(f"import torch\n{row}\n", encoding="utf-8")
    ran = cli("check", "--output-format", "full")
    assert ran.code == 1
    shows_only(ran.out)


@odd
@pytest.mark.parametrize("style", FORMATS)
def test_a_message_is_shown(text: str, style: str) -> None:
    finding = Finding(
        "MPS201", "cuda-synchronize", text, Severity.BREAKS, 1, 1, 1, 2, labels=(Label(1, 1, text),)
    )
    shown = render(style, [FileResult("a.py", (finding,))], Style())
    if style == "github":
        head, _, rest = shown.partition("::error title=mpslint (MPS201),file=a.py,")
        assert head == ""
        shown = rest
    shows_only(shown)
    if style == "json":
        assert json.loads(shown)[0]["message"] == text


@odd
@pytest.mark.parametrize("style", FORMATS)
def test_a_files_name_is_shown_in_every_format(text: str, style: str) -> None:
    finding = Finding("MPS201", "cuda-synchronize", "said", Severity.BREAKS, 1, 1, 1, 2)
    look = Style(read=lambda _: CUDA_ONLY)
    shown = render(style, [FileResult(f"{text}.py", (finding,))], look)
    if style == "github":
        shown = shown.removeprefix("::error ")
        assert shown.partition("::")[0].count(",") == 5  # a name adds no property
    shows_only(shown)


@pytest.mark.parametrize("style", FORMATS)
def test_a_file_whose_name_is_no_text_is_reported_in_every_format(
    cli: Cli, project: Path, style: str
) -> None:
    Path(os.fsdecode(b"x\xff.py")).write_text(CUDA_ONLY)
    ran = cli("check", "--output-format", style)
    assert (ran.code, ran.err.count("error")) == (1, 0)
    assert "MPS201" in ran.out


def test_sarif_names_the_bytes_of_a_name_that_is_no_text(cli: Cli, project: Path) -> None:
    Path(os.fsdecode(b"x\xff.py")).write_text(CUDA_ONLY)
    ran = cli("check", "--output-format", "sarif")
    (result,) = json.loads(ran.out)["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "x%FF.py"


@odd
def test_a_verdict_is_shown(text: str) -> None:
    run = Run(text, "real", "fail", text, notes=(text,))
    report = Report(text, (run,), "fail", text, control=text, notes=(text,))
    rows = report.to_text().split("\n")
    assert all(row.isprintable() for row in rows)
    assert not any("##[" in row for row in rows)
    assert len(rows) == 5
    assert json.loads(report.to_json())["reason"] == text


@odd
def test_flake8_gets_one_line_for_a_finding(flake8: Cli, project: Path, text: str) -> None:
    settings = f"ignore = [{json.dumps('MPS' + text)}]\n"
    (project / "mpslint.toml").write_text(settings)
    (project / "a.py").write_text(CUDA_ONLY)
    shown = flake8("--select", "MPS", "a.py").out
    assert shown.startswith("a.py:1:1: MPS999 ")
    shows_only(shown, lines=1)


@odd
def test_a_patch_has_the_name_as_git_writes_it(cli: Cli, project: Path, text: str) -> None:
    path = project / f"{text}.py"
    path.write_text(CUDA_ONLY)
    ran = cli("fix", "--no-verify", "--diff", ".")
    subprocess.run(["git", "apply", "-p0"], input=ran.out, text=True, check=True, cwd=project)
    assert path.read_text() == PORTABLE


@odd
def test_a_patch_on_a_terminal_only_shows(
    project: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    row = text.replace("\n", " ").replace("\r", " ")
    (project / "a.py").write_text(f"# {row}\n{CUDA_ONLY}", encoding="utf-8")
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb") as terminal:
        with os.fdopen(theirs, "w", encoding="utf-8") as out:
            monkeypatch.setattr(sys, "stdout", out)
            assert run(["fix", "--no-verify", "--diff", "-q", "a.py"]) == 1
            print("the end")  # It may come bit by bit.
        shown = b"".join(iter(terminal.readline, b"the end\r\n")).decode()
    assert "+elif torch.backends.mps" in shown
    shows_only(shown.replace("\r\n", "\n"))


@odd
def test_what_is_run_is_shown(cli: Cli, project: Path, text: str) -> None:
    (project / f"{text}.py").write_text("x = 1\n")
    no_python = shutil.which("false")
    assert no_python is not None
    ran = cli("verify", f"{text}.py", "--python", no_python)
    assert ran.code == 2
    shows_only(ran.out, lines=2)
    shows_only(ran.err, lines=1)


@pytest.mark.parametrize(
    "text", ["a.py", "größe.py", "日本語.py", "a b.py", "نص.py", "👩‍💻.py", "x\u3000y"]
)
def test_ordinary_names_of_all_languages_stay_as_they_are(text: str) -> None:
    assert printable(text) == printable_path(text) == text


def test_a_name_that_is_no_text_is_written_in_a_patch_byte_by_byte() -> None:
    assert patch_name("a\udcff\\.py") == '"a\\377\\\\.py"'
