"""The formats that programs read say what `check` found, and are what those programs expect."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from conftest import CUDA_ONLY, FIXTURES, PORTABLE, Cli
from published import SARIF, published, validate

from mpslint.output import FOR_PEOPLE, FORMATS
from mpslint.rules.registry import all_rules

from .conftest import Printed

# One worker checks every fixture for these tests and those of the other formats.
pytestmark = pytest.mark.xdist_group("every_fixture")

SLOW = "import torch\nlosses = []\nfor x in range(9):\n    losses.append(torch.ones(1).item())\n"
LOOP = """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
model = torch.nn.Linear(2, 2).to(device)
for step in range(100):
    loss = model(torch.ones(2, device=device)).sum()
    loss.backward()
    print(loss.item())
"""
MEASURED = "import time\nbegan = time.time()\nmodel(loss)\nprint(time.time() - began)\n"
"""With an unsafe fix."""


@pytest.fixture
def train(project: Path) -> Path:
    path = project / "train.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    return path


def sarif(cli: Cli, *arguments: str | Path) -> dict[str, Any]:
    ran = cli("check", "--output-format", "sarif", *arguments)
    log: dict[str, Any] = json.loads(ran.out)
    return log


def results(log: dict[str, Any]) -> list[dict[str, Any]]:
    (run,) = log["runs"]
    found: list[dict[str, Any]] = run["results"]
    return found


def notebook(*cells: str) -> str:
    made = [
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
            "source": cell.splitlines(keepends=True),
        }
        for cell in cells
    ]
    book = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1)


# SARIF


def test_sarif_of_every_fixture_is_what_the_published_schema_describes(
    every_fixture: Printed,
) -> None:
    log = every_fixture("sarif", ".", "rules", "broken.py")
    validate(log, published(SARIF))
    assert len({item["ruleId"] for item in results(log)}) > 0.8 * len(all_rules())
    assert any("fixes" in item for item in results(log))
    assert any("relatedLocations" in item for item in results(log))


def test_sarif_of_nothing_is_valid_and_has_no_results(cli: Cli, project: Path) -> None:
    log = sarif(cli)
    validate(log, published(SARIF))
    assert results(log) == []


def test_a_sarif_fix_makes_the_text_that_fix_writes(cli: Cli, train: Path) -> None:
    ((item,)) = results(sarif(cli))
    ((change,)) = item["fixes"][0]["artifactChanges"]
    lines = CUDA_ONLY.splitlines(keepends=True)

    def offset(row: int, column: int) -> int:
        return sum(map(len, lines[: row - 1])) + column - 1

    text = CUDA_ONLY
    for replacement in reversed(change["replacements"]):
        region = replacement["deletedRegion"]
        start = offset(region["startLine"], region["startColumn"])
        end = offset(region["endLine"], region["endColumn"])
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    cli("fix", "--no-verify", "train.py")
    assert text == train.read_text()


def test_sarif_names_rule_level_and_place(cli: Cli, train: Path) -> None:
    log = sarif(cli)
    (item,) = results(log)
    (place,) = item["locations"]
    assert (item["ruleId"], item["level"]) == ("MPS201", "error")
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 23},
    }
    (described,) = log["runs"][0]["tool"]["driver"]["rules"]
    assert described["id"] == "MPS201"
    assert "## Why is this bad?" in described["help"]["markdown"]


def test_sarif_says_what_could_not_be_checked(cli: Cli, project: Path) -> None:
    (project / "broken.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    (invocation,) = sarif(cli)["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert "syntax error" in note["message"]["text"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("github", "::error title=mpslint (invalid-syntax),file=broken.py,line=2,col="),
        ("pylint", "broken.py:2: [invalid-syntax] syntax error"),
    ],
)
def test_lines_for_programs_name_the_place_at_which_a_file_could_not_be_read(
    cli: Cli, project: Path, name: str, said: str
) -> None:
    (project / "broken.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    ran = cli("check", "--output-format", name)
    assert ran.code == 2
    assert ran.out.startswith(said)


def test_gitlab_names_what_could_not_be_checked_as_a_blocker(cli: Cli, project: Path) -> None:
    (project / "latin.py").write_bytes(b"import torch\n# \xe9\ntorch.cuda.synchronize()\n")
    (row,) = json.loads(cli("check", "--output-format", "gitlab").out)
    assert (row["check_name"], row["severity"]) == ("io-error", "blocker")
    assert row["location"]["path"] == "latin.py"


def fingerprints(cli: Cli) -> list[str]:
    return [item["partialFingerprints"]["primaryLocationLineHash"] for item in results(sarif(cli))]


def test_fingerprints_survive_lines_above_and_a_formatter(cli: Cli, train: Path) -> None:
    before = fingerprints(cli)
    train.write_text("'''A head.'''\n\nimport torch\nx = 1\ntorch.cuda.synchronize( )  # so\n")
    assert fingerprints(cli) == before


def test_findings_on_lines_that_read_alike_have_fingerprints_of_their_own(
    cli: Cli, train: Path
) -> None:
    train.write_text(CUDA_ONLY + "torch.cuda.synchronize()\n")
    one, two = fingerprints(cli)
    assert one != two
    assert one.split(":")[0] == two.split(":")[0]


# GitLab


def gitlab(cli: Cli) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(cli("check", "--output-format", "gitlab").out)
    return found


def test_gitlab_has_the_fields_that_merge_requests_need(cli: Cli, train: Path) -> None:
    (row,) = gitlab(cli)
    assert row.pop("fingerprint")
    assert row == {
        "check_name": "MPS201",
        "description": "MPS201: torch.cuda.synchronize() raises AssertionError where there is no "
        "CUDA",
        "severity": "critical",
        "location": {
            "path": "train.py",
            "positions": {"begin": {"line": 3, "column": 1}, "end": {"line": 3, "column": 23}},
        },
    }


def test_gitlabs_fingerprints_differ_by_file_and_survive_lines_above(
    cli: Cli, project: Path
) -> None:
    (project / "a.py").write_text(CUDA_ONLY * 2)
    (project / "b.py").write_text(CUDA_ONLY)
    before = [row["fingerprint"] for row in gitlab(cli)]
    assert len(set(before)) == 3
    (project / "b.py").write_text("x = 1\n" + CUDA_ONLY)
    assert [row["fingerprint"] for row in gitlab(cli)] == before


def test_gitlabs_paths_start_at_the_projects_root(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(train.parent.parent))
    assert gitlab(cli)[0]["location"]["path"] == "project/train.py"


# the others


def test_junit_has_a_suite_a_file_and_a_failure_a_finding(cli: Cli, train: Path) -> None:
    (train.parent / "broken.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    root = Xml.fromstring(cli("check", "--output-format", "junit").out)
    assert {suite.get("name") for suite in root} == {"train.py", "broken.py"}
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("2", "1", "1")
    (failure,) = root.findall("testsuite/testcase/failure")
    assert failure.text is not None
    assert failure.text.startswith("train.py:3:1: MPS201 ")


def test_junit_of_clean_code_has_one_test_that_passes(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(PORTABLE)
    root = Xml.fromstring(cli("check", "--output-format", "junit").out)
    assert (root.get("tests"), root.get("failures")) == ("1", "0")


def test_junit_holds_what_xml_cannot_say(cli: Cli, project: Path) -> None:
    (project / "a\x01&<.py").write_text(CUDA_ONLY)
    root = Xml.fromstring(cli("check", "--output-format", "junit").out)
    assert [suite.get("name") for suite in root] == ["a\\x01&<.py"]


def test_pylint_prints_pylints_lines(cli: Cli, train: Path) -> None:
    assert cli("check", "--output-format", "pylint").out == (
        "train.py:3: [MPS201(cuda-synchronize)] torch.cuda.synchronize() raises AssertionError "
        "where there is no CUDA\n"
    )


def test_grouped_puts_findings_below_their_file(cli: Cli, train: Path) -> None:
    assert cli("check", "--output-format", "grouped").out == (
        "train.py:\n"
        "  3:1  MPS201 [*] torch.cuda.synchronize() raises AssertionError where there is no CUDA\n"
        "\n"
        "Found 1 error.\n"
        "[*] 1 fixable with `mpslint fix`.\n"
    )


@pytest.mark.parametrize(
    ("code", "command"), [("MPS201", "error"), ("MPS103", "warning"), ("MPS303", "notice")]
)
def test_github_shows_severities_as_error_warning_and_notice(
    cli: Cli, project: Path, code: str, command: str
) -> None:
    (project / "a.py").write_text(
        LOOP + CUDA_ONLY + "d = 'cuda' if torch.cuda.is_available() else 'cpu'\nmodel.to(d)\n"
    )
    out = cli("check", "--output-format", "github", "--select", code).out
    assert out.startswith(f"::{command} title=mpslint ({code}),")


def test_programs_that_know_no_cells_get_rows_of_the_notebooks_file(
    cli: Cli, project: Path
) -> None:
    path = project / "book.ipynb"
    path.write_text(notebook("x = 1\ny = 2\n", CUDA_ONLY))
    row = gitlab(cli)[0]["location"]["positions"]["begin"]["line"]
    assert path.read_text().splitlines()[row - 1].strip() == '"torch.cuda.synchronize()\\n"'
    (item,) = results(sarif(cli))
    assert item["locations"][0]["physicalLocation"]["region"]["startLine"] == row
    assert "fixes" not in item
    assert f",line={row}," in cli("check", "--output-format", "github").out


# where the output goes


@pytest.mark.parametrize("name", FORMATS)
def test_the_output_file_holds_what_stdout_would(cli: Cli, train: Path, name: str) -> None:
    printed = cli("check", "--output-format", name)
    ran = cli("check", "--output-format", name, "--output-file", "out.txt")
    assert (ran.code, ran.out, ran.err) == (printed.code, "", "")
    assert Path("out.txt").read_text() == printed.out


def test_an_output_file_has_no_colours(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    cli("check", "-o", "out.txt")
    assert "\033[" not in Path("out.txt").read_text()


def test_an_output_file_that_cannot_be_written_is_one_line(cli: Cli, train: Path) -> None:
    ran = cli("check", "--output-file", "absent/out.txt")
    assert ran == (2, "", "error: absent/out.txt: cannot be written: there is no folder absent\n")


def test_color_is_forced_and_forbidden_by_its_option(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\033[" in cli("check", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033[" not in cli("check", "--color", "never").out


# full


def test_full_shows_the_change_that_the_fix_makes(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text("import torch\n\nmodel = torch.nn.Linear(1, 1)\nmodel.cuda()\n")
    assert cli("check", "--quiet").out == (
        "MPS102 [*] .cuda() raises AssertionError where there is no CUDA; .to(device) works "
        "everywhere\n"
        " --> a.py:4:7\n"
        "  |\n"
        "4 | model.cuda()\n"
        "  |       ^^^^\n"
        "help: Move to the selected device\n"
        "   |\n"
        " 1   import torch\n"
        " 2\n"
        " 3 + if torch.backends.mps.is_available():\n"
        ' 4 +     device = torch.device("mps")\n'
        " 5 + elif torch.cuda.is_available():\n"
        ' 6 +     device = torch.device("cuda")\n'
        " 7 + else:\n"
        ' 8 +     device = torch.device("cpu")\n'
        " 9 +\n"
        "10   model = torch.nn.Linear(1, 1)\n"
        "   - model.cuda()\n"
        "11 + model.to(device)\n"
        "   |\n"
        "\n"
    )


def test_the_numbers_in_the_change_are_those_of_the_fixed_file(cli: Cli, project: Path) -> None:
    path = project / "a.py"
    path.write_text("import torch\n\nx = 1\n\n\n\n\n\ntorch.ones(1).cuda()\n")
    shown = cli("check", "--quiet").out.split("help: ")[1].splitlines()[1:]
    cli("fix", "--no-verify", "-q", "a.py")
    fixed = path.read_text().splitlines()
    numbered = [line.split(maxsplit=1) for line in shown if line.strip()[:1].isdigit()]
    assert len(numbered) > 5
    for number, *rest in numbered:
        text = rest[0].removeprefix("+").strip() if rest else ""
        assert fixed[int(number) - 1].strip() == text


def test_the_change_of_a_notebook_names_its_cells(cli: Cli, project: Path) -> None:
    (project / "book.ipynb").write_text(notebook("import torch\n", "torch.ones(1).cuda()\n"))
    out = cli("check", "--quiet").out
    assert "  | cell 1" in out
    assert "  | cell 2\n" in out
    assert "1 + torch.ones(1).to(device)" in out


def test_a_coloured_change_is_red_and_green(cli: Cli, train: Path) -> None:
    out = cli("check", "--color", "always").out
    assert "\033[31m- torch.cuda.synchronize()\033[0m" in out
    assert "\033[32m+ if torch.cuda.is_available():\033[0m" in out


COLUMNS = pytest.mark.parametrize("columns", [40, 60, 80])
READ_BY_PEOPLE = pytest.mark.parametrize("name", FOR_PEOPLE)


def cells(line: str) -> int:
    plain = re.sub("\033\\[[0-9;]*m", "", line)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in plain)


@READ_BY_PEOPLE
@COLUMNS
def test_no_finding_of_the_fixtures_is_wider_than_the_terminal(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, columns: int, name: str
) -> None:
    for path in sorted((FIXTURES / "rules").glob("*/alarm_*.py"))[::7]:
        (project / path.parent.name).mkdir(exist_ok=True)
        shutil.copy(path, project / path.parent.name / path.name)
    monkeypatch.setenv("COLUMNS", str(columns))
    paint = ("--color", "always") if columns == 60 else ()
    lines = cli("check", "--select", "ALL", "--output-format", name, *paint).out.splitlines()
    assert len(lines) > 100
    assert [line for line in lines if cells(line) > columns] == []


@pytest.mark.parametrize("name", ["concise", "grouped"])
def test_on_a_narrow_terminal_the_same_words_are_said(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shutil.copy(FIXTURES / "rules" / "cuda-method-call" / "alarm_plain.py", project / "a.py")
    (project / "b.py").write_text(LOOP)
    told = []
    for columns in ("40", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        told.append(cli("check", "--output-format", name, "--color", "always").out)
    narrow, wide = told
    assert narrow.split() == wide.split()
    assert narrow.count("\n") > wide.count("\n")


@READ_BY_PEOPLE
@COLUMNS
def test_no_line_is_wider_than_the_terminal(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, columns: int, name: str
) -> None:
    folder = project / ("a_folder_with_a_long_name_" * 3)
    folder.mkdir()
    (folder / "a.py").write_text(
        LOOP + MEASURED + f"x = '{'名' * 90}'; torch.ones(1).cuda(); y = '{'y' * 90}'\n" + CUDA_ONLY
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = cli("check", "--select", "ALL", "--output-format", name).out.splitlines()
    assert "unsafe-fixes`" in " ".join(lines)
    assert len(lines) > 10
    assert [line for line in lines if cells(line) > columns] == []


def test_what_is_no_terminal_gets_messages_in_one_line(project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    ran = subprocess.run(
        [sys.executable, "-m", "mpslint", "check"], cwd=project, capture_output=True, text=True
    )
    assert ran.stdout.splitlines()[0].endswith("raises AssertionError where there is no CUDA")


def test_control_characters_of_the_source_do_not_reach_the_terminal(
    cli: Cli, project: Path
) -> None:
    (project / "a.py").write_text("import torch\nx = '\033[2J'; torch.cuda.synchronize()\n")
    assert "\033" not in cli("check").out
