"""`mpslint check`: formats, exit codes, selection, stdin."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli

MESSAGE = "torch.cuda.synchronize() raises AssertionError where there is no CUDA"


@pytest.fixture
def train(project: Path) -> Path:
    path = project / "train.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    return path


def test_clean_code_says_so_and_exits_0(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(PORTABLE)
    assert cli("check") == (0, "All checks passed!\n", "")


def test_findings_exit_1_and_without_paths_the_current_folder_is_checked(
    cli: Cli, train: Path
) -> None:
    ran = cli("check", "--output-format", "concise")
    assert ran == (
        1,
        f"train.py:3:1: MPS201 [*] {MESSAGE}\nFound 1 error.\n[*] 1 fixable with `mpslint fix`.\n",
        "",
    )


def test_the_full_format_shows_the_line_with_a_caret_under_the_token(cli: Cli, train: Path) -> None:
    assert cli("check").out == (
        f"MPS201 [*] {MESSAGE}\n"
        " --> train.py:3:1\n"
        "  |\n"
        "3 | torch.cuda.synchronize()\n"
        "  | ^^^^^^^^^^^^^^^^^^^^^^\n"
        "help: Synchronise whichever device is there\n"
        "  |\n"
        "2\n"
        "  - torch.cuda.synchronize()\n"
        "3 + if torch.cuda.is_available():\n"
        "4 +     torch.cuda.synchronize()\n"
        "5 + elif torch.backends.mps.is_available():\n"
        "6 +     torch.mps.synchronize()\n"
        "  |\n"
        "\n"
        "Found 1 error.\n"
        "[*] 1 fixable with `mpslint fix`.\n"
    )


def test_the_caret_stands_under_the_token_after_tabs_and_wide_characters(
    cli: Cli, project: Path
) -> None:
    (project / "a.py").write_text("import torch\nif 1:\n\t'名前'; torch.cuda.synchronize()\n")
    lines = cli("check").out.splitlines()
    assert lines[3] == "3 |     '名前'; torch.cuda.synchronize()"
    # Each of the two wide characters takes two cells of a terminal.
    assert lines[4] == "  | " + " " * 12 + "^" * 22


def test_a_long_line_is_cut_around_the_token(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(f"import torch\nx = '{'x' * 500}'; torch.cuda.synchronize()\n")
    shown, caret = cli("check").out.splitlines()[3:5]
    assert len(shown) < 130
    assert shown[caret.index("^") :].startswith("torch.cuda.synchronize")


def test_json_has_ruffs_fields_and_severity(cli: Cli, train: Path) -> None:
    ran = cli("check", "--output-format", "json")
    (row,) = json.loads(ran.out)
    assert ran.code == 1
    assert row.pop("fix")["applicability"] == "safe"
    row.pop("cell", None)  # of notebooks
    assert row == {
        "code": "MPS201",
        "name": "cuda-synchronize",
        "message": MESSAGE,
        "filename": str(train),
        "location": {"row": 3, "column": 1},
        "end_location": {"row": 3, "column": 23},
        "severity": "breaks",
        "confidence": "certain",
        "no_fix": None,
        "related": [],
        "url": "docs/rules/cuda-synchronize.md",
    }


def test_the_edits_in_json_make_the_text_that_fix_writes(cli: Cli, train: Path) -> None:
    (row,) = json.loads(cli("check", "--output-format", "json").out)
    lines = CUDA_ONLY.splitlines(keepends=True)

    def offset(place: dict[str, int]) -> int:
        return sum(map(len, lines[: place["row"] - 1])) + place["column"] - 1

    text = CUDA_ONLY
    for edit in reversed(row["fix"]["edits"]):
        text = (
            text[: offset(edit["location"])]
            + edit["content"]
            + text[offset(edit["end_location"]) :]
        )
    cli("fix", "--no-verify", "train.py")
    assert text == train.read_text()


def test_json_of_nothing_is_an_empty_array(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(PORTABLE)
    assert cli("check", "--output-format", "json") == (0, "[]\n", "")


def test_github_shows_findings_as_workflow_commands(cli: Cli, project: Path) -> None:
    (project / "a,b.py").write_text(CUDA_ONLY)
    assert cli("check", "--output-format", "github").out == (
        "::error title=mpslint (MPS201),file=a%2Cb.py,line=3,col=1,endLine=3,endColumn=23"
        f"::a,b.py:3:1: MPS201 {MESSAGE}\n"
    )


def test_statistics_count_findings_per_rule(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY + "torch.cuda.synchronize()\n")
    assert cli("check", "--statistics", "--quiet") == (1, "2\tMPS201\t[*] cuda-synchronize\n", "")


def test_exit_zero_exits_0_with_findings(cli: Cli, train: Path) -> None:
    ran = cli("check", "--exit-zero", "-q", "--output-format", "concise")
    assert (ran.code, ran.out) == (0, f"train.py:3:1: MPS201 [*] {MESSAGE}\n")


def test_select_ignore_and_severity_narrow_what_is_reported(cli: Cli, train: Path) -> None:
    assert cli("check", "--select", "MPS1,MPS3").code == 0
    assert cli("check", "--ignore", "cuda-synchronize").code == 0
    assert cli("check", "--severity", "breaks").code == 1
    assert cli("check", "--select", "MPS1", "--extend-select", "MPS201").code == 1


def test_stdin_is_checked_under_the_name_that_is_given(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CUDA_ONLY.encode())))
    ran = cli("check", "-", "--stdin-filename", "pkg/a.py", "--output-format", "concise", "-q")
    assert ran == (1, f"pkg/a.py:3:1: MPS201 [*] {MESSAGE}\n", "")


def test_the_settings_of_the_stdin_filename_hold(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "mpslint.toml").write_text('[per-file-ignores]\n"tests/*" = ["MPS201"]\n')
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CUDA_ONLY.encode())))
    assert cli("check", "-", "--stdin-filename", "tests/a.py").code == 0


def test_colours_are_for_terminals_and_no_color_forbids_them(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\033[" not in cli("check").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\033[1;31mMPS201\033[0m" in cli("check").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033[" not in cli("check").out


def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    (project / "a.py").write_text("import torch\n" + "torch.cuda.synchronize()\n" * 3000)
    command = f"'{sys.executable}' -m mpslint check --output-format concise . | head -n 1"
    ran = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=project)
    assert ran.stdout.startswith("a.py:2:1: MPS201")
    assert ran.stderr == ""


def test_a_name_that_the_terminal_cannot_show_is_escaped(project: Path) -> None:
    (project / "größe.py").write_text(CUDA_ONLY)
    ran = subprocess.run(
        [
            sys.executable,
            "-m",
            "mpslint",
            "check",
            "-q",
            "--no-cache",
            "--output-format",
            "concise",
        ],
        capture_output=True,
        cwd=project,
        env={"PYTHONIOENCODING": "ascii", "PATH": "/usr/bin:/bin"},
    )
    assert ran.stdout.startswith(b"gr\\xf6\\xdfe.py:3:1: MPS201")


IMPORTED = """
import sys
sys.argv = ["mpslint", *sys.argv[1:]]
from mpslint.__main__ import main
code = main()
heavy = {"libcst", "torch", "numpy", "dataclasses", "inspect", "concurrent.futures", "subprocess",
         "logging", "asyncio", "multiprocessing", "typing_extensions"}
print(sorted(heavy & set(sys.modules)), sorted(n for n in sys.modules if n.startswith("mpslint.")))
"""


def imported(project: Path, *arguments: str) -> list[str]:
    """What a run has imported: [heavy modules, modules of mpslint]."""
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTED, *arguments], capture_output=True, text=True, cwd=project
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()[-1].split("] [")


def test_the_version_is_said_without_importing_anything_else(project: Path) -> None:
    heavy, own = imported(project, "--version")
    assert (heavy, own) == ("[", "'mpslint.__main__']")


def test_a_file_without_torch_imports_neither_rules_nor_parsers(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    heavy, own = imported(project, "check", "--no-cache", "a.py")
    assert heavy == "["
    assert not any(
        name in own for name in ("mpslint.rules", "mpslint.checking.linter", "mpslint.semantics")
    )


def test_checking_never_imports_libcst_or_torch(project: Path, train: Path) -> None:
    heavy, own = imported(project, "check", "--output-format", "concise", "train.py")
    assert "mpslint.rules.cuda_synchronize" in own
    assert "libcst" not in heavy
    assert "torch" not in heavy


def test_a_change_that_mends_several_findings_is_shown_once(cli: Cli, project: Path) -> None:
    text = "import torch\n\nnet, other = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)\n"
    text += "if torch.cuda.is_available():\n    net = net.cuda()\n    other = other.cuda()\n"
    (project / "train.py").write_text(text)
    out = cli("check", "--ignore", "MPS103", "--output-format", "full", "train.py").out
    assert out.count("help: Move to the selected device") == 2
    assert out.count("net = net.to(") == 1
    assert out.count("help: Move to the selected device: the same change as at 5:") == 1


ENDED = """
import atexit, sys
sys.argv = ["mpslint", "check", "--no-cache", "a.py"]
atexit.register(print, "told at the end")
from mpslint.__main__ import main
sys.exit(main())
"""


def test_a_check_ends_with_its_code_and_whoever_waits_for_the_end_is_heard(project: Path) -> None:
    (project / "a.py").write_text("import torch\nx = torch.zeros(3).cuda()\n")
    ran = subprocess.run(
        [sys.executable, "-c", ENDED], capture_output=True, text=True, cwd=project, check=False
    )
    assert ran.returncode == 1
    assert "MPS102" in ran.stdout
    assert ran.stdout.endswith("told at the end\n")
    assert ran.stderr == ""
