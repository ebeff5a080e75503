"""What cannot be done is said in one line, with the way out."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli

from mpslint.cli import COMMANDS


@pytest.fixture
def train(project: Path) -> Path:
    path = project / "train.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    return path


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--selct", "MPS1"], "no such option: --selct; did you mean --select?"),
        (["check", "--no-forceexclude"], "no such option: --no-forceexclude; did you mean"),
        (["check", "--selct=MPS1"], "no such option: --selct; did you mean --select?"),
        (["verify", "a.py", "--pyton", "x"], "no such option: --pyton; did you mean --python?"),
        (["check", "--zzzz"], "no such option: --zzzz; see `mpslint check --help`"),
        (["config", "a", "b"], "unexpected argument 'b'; see `mpslint config --help`"),
        (["check", "--output-format", "xml"], "argument --output-format: invalid choice: 'xml'"),
        (["check", "--jobs", "0"], "argument -j/--jobs: expected a number of processes, not '0'"),
        (["verify", "--devcie", "cpu"], "no such option: --devcie; did you mean --device?"),
        (["trace", "--json", "--", "--epoch"], "no such option: --json; see `mpslint trace"),
        (["verify"], "the following arguments are required: SCRIPT"),
        (["rule"], "give a rule, or --all"),
    ],
)
def test_a_slip_in_the_options_is_one_line(cli: Cli, arguments: list[str], said: str) -> None:
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["check", "--output-format", "sarf"], "sarif"),
        (["check", "--color", "alway"], "always"),
        (["completions", "bsh"], "bash"),
    ],
)
def test_a_mistyped_value_is_told_with_the_nearest_one(
    cli: Cli, arguments: list[str], nearest: str
) -> None:
    ran = cli(*arguments)
    assert ran.code == 2
    assert ran.err.endswith(f"; did you mean {nearest}?\n")
    assert ran.err.count("\n") == 1


def test_settings_of_a_path_that_is_not_there_come_with_a_warning(cli: Cli, project: Path) -> None:
    ran = cli("config", "not_there.py")
    assert ran.code == 0
    assert ran.err.startswith("warning: not_there.py: no such file or folder")
    (project / "there.py").touch()
    assert cli("config", "there.py").err == ""


@pytest.mark.parametrize("command", ["check", "fix"])
def test_stdin_and_files_together_are_refused(cli: Cli, train: Path, command: str) -> None:
    ran = cli(command, "-", "train.py")
    assert ran.code == 2
    assert ran.err == (
        "error: `-` (stdin) and files cannot be given together; run mpslint once for each\n"
    )
    assert train.read_text() == CUDA_ONLY


@pytest.mark.parametrize("command", ["verify", "trace"])
def test_a_notebook_is_no_script(cli: Cli, project: Path, command: str) -> None:
    (project / "nb.ipynb").write_text("{}")
    ran = cli(command, "nb.ipynb")
    assert ran == (
        2,
        "",
        "error: nb.ipynb: notebooks are not run; make a script of it first, with "
        "`jupyter nbconvert --to script`\n",
    )


def test_an_excluded_name_of_stdin_is_left_alone_when_that_is_forced(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = ["--stdin-filename", "build/a.py"]
    feed(monkeypatch, CUDA_ONLY)
    assert cli("check", "-", *name, "-q").code == 1
    feed(monkeypatch, CUDA_ONLY)
    assert cli("check", "-", *name, "--force-exclude") == (0, "All checks passed!\n", "")
    feed(monkeypatch, CUDA_ONLY)
    assert cli("fix", "-", *name, "--force-exclude") == (0, CUDA_ONLY, "")
    feed(monkeypatch, CUDA_ONLY)
    assert cli("fix", "-", *name).out == PORTABLE


@pytest.mark.parametrize("command", [["check"], ["fix", "--no-verify"]])
def test_a_folder_without_python_files_warns(cli: Cli, project: Path, command: list[str]) -> None:
    (project / "empty").mkdir()
    (project / "empty" / "a.txt").write_text("x")
    ran = cli(*command, "empty")
    assert ran == (
        0,
        "All checks passed!\n",
        "warning: empty: no Python file or notebook found that is not excluded\n",
    )


def test_a_folder_with_a_clean_or_a_linked_file_does_not_warn(cli: Cli, project: Path) -> None:
    (project / "one").mkdir()
    (project / "one" / "a.py").write_text("x = 1\n")
    (project / "two").mkdir()
    (project / "two" / "a.py").symlink_to(project / "one" / "a.py")
    assert cli("check", "one", "two").err == ""


@pytest.mark.parametrize(
    "pair", [["--fix", "--add-noqa"], ["--write-baseline", "--add-noqa"], ["--diff", "--add-noqa"]]
)
def test_two_jobs_at_once_are_refused(cli: Cli, train: Path, pair: list[str]) -> None:
    ran = cli("check", *pair)
    assert ran.code == 2
    assert "cannot be given together; run mpslint twice" in ran.err
    assert train.read_text() == CUDA_ONLY


@pytest.mark.parametrize("job", ["--add-noqa", "--write-baseline"])
def test_jobs_about_files_refuse_stdin(cli: Cli, train: Path, job: str) -> None:
    ran = cli("check", "-", job)
    assert ran == (2, "", f"error: {job} is about files; stdin (`-`) is none\n")


# completions


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completions_know_commands_and_options(cli: Cli, shell: str) -> None:
    out = cli("completions", shell).out
    assert all(command in out for command in COMMANDS)
    assert "diff-base" in out
    assert "sarif" in out


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("mpslint check --write-b", "--write-baseline"),
        ("mpslint check --output-format sa", "sarif"),
        ("mpslint rule MPS90", "MPS900"),
    ],
)
def test_bash_takes_the_completions_and_completes(
    cli: Cli, project: Path, line: str, completed: str
) -> None:
    script = project / "completions.bash"
    script.write_text(cli("completions", "bash").out)
    *_, before, last = line.split()
    ask = (
        f"source {script}; COMP_WORDS=({line}); COMP_CWORD={line.count(' ')}; "
        f"COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; "
        f"$(complete -p mpslint | sed 's/.*-F \\([^ ]*\\).*/\\1/') mpslint {last} {before}; "
        "echo ${COMPREPLY[@]}"
    )
    ran = subprocess.run(["bash", "-c", ask], capture_output=True, text=True)
    assert ran.stdout == f"{completed}\n"


def test_without_shtab_completions_say_how_to_get_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    ran = cli("completions", "bash")
    assert ran.code == 2
    assert ran.err == (
        "error: completions need shtab; install it: pip install 'mpslint[completions]'\n"
    )
