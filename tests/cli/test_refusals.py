"""What is asked for and cannot be is refused in one line with the way out, before anything is
analysed, run or written."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

from mpslint.basics.nearest import nearest


@pytest.fixture
def train(project: Path) -> Path:
    (project / "folder").mkdir()
    path = project / "train.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    return path


def refused(cli: Cli, *arguments: str) -> str:
    """The one line of a command line that is refused, without its `error: `."""
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    return ran.err[len("error: ") : -1]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("--selct", "--select"),
        ("--devcie", "--device"),
        ("--Output_Format", "--output-format"),
        ("--stat", "--statistics"),
        ("--bogus", None),
        ("--zork", None),
        ("--out", None),
        ("-x", None),
        ("", None),
    ],
)
def test_a_name_is_suggested_where_it_is_near_and_else_none(
    written: str, meant: str | None
) -> None:
    options = ["--jobs", "--color", "--select", "--statistics", "--device", "-o"]
    assert nearest(written, [*options, "--output-format", "--output-file"]) == meant


def test_an_option_without_a_near_name_points_to_the_help(cli: Cli, project: Path) -> None:
    said = refused(cli, "check", "--bogus")
    assert said == "no such option: --bogus; see `mpslint check --help`"


def test_an_option_of_another_command_is_told_with_that_command(cli: Cli, project: Path) -> None:
    said = refused(cli, "fix", "--add-noqa")
    assert said == "no such option: --add-noqa; it is one of `mpslint check`"


def test_an_option_before_any_command_is_no_command(cli: Cli, project: Path) -> None:
    said = refused(cli, "--verison")
    assert said == "no such option: '--verison'; did you mean `mpslint --version`?"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "--select"], "argument --select: needs a value; see `mpslint check --help`"),
        (["check", "--fix=1"], "argument --fix: takes no value, not '1'"),
        (["verify"], "the following arguments are required: SCRIPT; see `mpslint verify --help`"),
        (["verify", "a.py", "--steps", "0"], "argument --steps: expected a whole number above 0"),
        (["check", ""], "'': no such file or folder"),
        (["rule", "--all", "MPS101"], "give a rule, or --all alone"),
    ],
)
def test_a_value_too_few_or_too_many_is_told(
    cli: Cli, train: Path, arguments: list[str], said: str
) -> None:
    assert refused(cli, *arguments).startswith(said)


# settings


@pytest.mark.parametrize(
    "option", ["--select", "--ignore", "--extend-select", "--fixable", "--unfixable"]
)
def test_an_unknown_rule_is_told_of_the_option_and_not_of_the_settings_file(
    cli: Cli, train: Path, option: str
) -> None:
    Path("pyproject.toml").write_text("[tool.mpslint]\n")
    said = refused(cli, "check", option, "MPS2O1")
    assert said == f"{option}: unknown rule 'MPS2O1'; did you mean MPS201?"


def test_an_unknown_rule_of_a_variable_or_of_a_key_is_told_of_that(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pyproject.toml").write_text("[tool.mpslint]\n")
    assert refused(cli, "check", "--config", "select=['NOPE']").startswith(
        "--config select=['NOPE']: unknown rule 'NOPE'"
    )
    assert refused(cli, "check", "--per-file-ignores", "a.py:NOPE").startswith(
        "--per-file-ignores: unknown rule 'NOPE'"
    )
    monkeypatch.setenv("MPSLINT_SELECT", "NOPE")
    assert refused(cli, "check").startswith("MPSLINT_SELECT: unknown rule 'NOPE'")


def test_a_table_of_pyproject_in_another_file_is_told_how_to_write_it(
    cli: Cli, train: Path
) -> None:
    Path("bad.toml").write_text('[tool.mpslint]\nselect = ["MPS1"]\n')
    assert refused(cli, "check", "--config", "bad.toml") == (
        "bad.toml: unknown key 'tool'; [tool.mpslint] is for pyproject.toml; in any other file, "
        "write the keys without it, at the top level"
    )


@pytest.mark.parametrize("text", ["", "=1"])
def test_config_without_a_file_or_a_key_is_refused(cli: Cli, train: Path, text: str) -> None:
    assert refused(cli, "check", "--config", text).endswith(": expected a file or KEY=VALUE")


def test_a_settings_file_and_isolated_are_refused_together(cli: Cli, train: Path) -> None:
    Path("own.toml").write_text('select = ["MPS1"]\n')
    said = refused(cli, "check", "--isolated", "--config", "own.toml")
    assert said == "--isolated reads no settings file, not own.toml; leave out one"


def test_torch_versions_in_the_wrong_order_are_refused(cli: Cli, train: Path) -> None:
    said = refused(cli, "check", "--min-torch", "2.8", "--max-torch", "2.6")
    assert said == "--max-torch: max-torch 2.6 is older than min-torch 2.8"


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("no/device.py", "helper-module no/device.py: its folder does not exist; create it"),
        ("my device.py", "--helper-module: 'helper-module' must be the path of a Python module"),
        ("folder", "--helper-module: 'helper-module' must be the path of a Python module"),
    ],
)
@pytest.mark.parametrize("command", [["check"], ["fix", "--no-verify"]])
def test_a_helper_module_that_cannot_be_imported_or_made_is_refused_by_check_and_fix(
    cli: Cli, train: Path, command: list[str], module: str, said: str
) -> None:
    assert refused(cli, *command, "--helper-module", module).startswith(said)
    assert train.read_text() == CUDA_ONLY


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ('{"a": 1}', "is no baseline; name a file that --write-baseline made, or a new one"),
        ("[1]", "is no baseline; name a file that --write-baseline made, or a new one"),
        ('{"version": 9, "findings": []}', "is a baseline of version 9, not 1; delete it and use"),
        ("words", "is no JSON"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--write-baseline"]])
def test_a_baseline_with_other_content_is_named_and_kept(
    cli: Cli, train: Path, more: list[str], document: str, said: str
) -> None:
    Path("other.json").write_text(document)
    line = refused(cli, "check", "--baseline", "other.json", *more)
    assert said in line
    assert "other.json: " in line
    assert Path("other.json").read_text() == document


# rules


def test_a_prefix_of_several_rules_is_answered_with_their_codes(cli: Cli) -> None:
    said = refused(cli, "rule", "MPS10")
    assert said.startswith("'MPS10' names several rules, MPS101, MPS102, ")
    assert said.endswith("; name one")


def test_a_prefix_of_very_many_rules_is_answered_with_their_number(cli: Cli) -> None:
    said = refused(cli, "rule", "MPS")
    assert said.endswith(" rules; `mpslint rule --all` lists them")


# what options are about


@pytest.mark.parametrize("command", ["check", "fix"])
def test_a_name_for_stdin_beside_paths_is_refused(cli: Cli, train: Path, command: str) -> None:
    said = refused(cli, command, "--stdin-filename", "x.py", "folder")
    assert said == "--stdin-filename names what stdin holds; give `-` in place of the paths"


@pytest.mark.parametrize("name", ["folder", ""])
def test_a_name_for_stdin_that_is_no_files_name_is_refused(
    cli: Cli, train: Path, name: str
) -> None:
    said = refused(cli, "check", "-", "--stdin-filename", name)
    assert said == f"--stdin-filename {name!r}: is not the name of a file"


def test_a_name_for_stdin_alone_means_stdin(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CUDA_ONLY.encode())))
    ran = cli("check", "--stdin-filename", "typed.py", "--output-format", "concise", "-q")
    assert ran.code == 1
    assert ran.out.startswith("typed.py:3:1: MPS201")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("nope.py", "--entry nope.py: no such script; name the file to run"),
        ("", "--entry '': no such script; name the file to run"),
        ("folder", "--entry folder: is a folder; name the script in it that is to be run"),
    ],
)
def test_a_script_that_is_not_there_is_told_before_anything_is_analysed(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch, entry: str, said: str
) -> None:
    def analysed(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("mpslint.cli.fix.plan_files", analysed)
    assert refused(cli, "fix", "--entry", entry, ".") == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--entry", "train.py", "--no-verify", "."], "--entry and --no-verify cannot be given"),
        (["--steps", "3", "."], "--steps is about the run of a script, and none is run; name one"),
        ([".", "--", "--epochs", "1"], "what follows `--` is about the run of a script"),
        (["--no-verify", "--python", "x", "."], "--python is about the run of a script"),
        (["--entry", "train.py", "-"], "--entry is about files; stdin (`-`) is none"),
        (["--report", "r.json", "-"], "--report is about files; stdin (`-`) is none"),
        (["--report", "r.json", "--diff", "."], "--report tells what was written, and --diff"),
    ],
)
def test_options_about_what_is_not_done_are_refused(
    cli: Cli, train: Path, arguments: list[str], said: str
) -> None:
    assert refused(cli, "fix", *arguments).startswith(said)
    assert train.read_text() == CUDA_ONLY


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fix", "."], "--fix and --explain-silence cannot be given together"),
        (["-"], "--explain-silence is about files; stdin (`-`) is none"),
        (["--diff-base", "HEAD", "."], "--explain-silence is about whole files"),
    ],
)
def test_what_is_held_back_is_told_of_whole_files_alone(
    cli: Cli, train: Path, arguments: list[str], said: str
) -> None:
    assert refused(cli, "check", "--explain-silence", *arguments).startswith(said)


# where results go


RESULTS = [
    ["check", "train.py", "--output-file"],
    ["fix", "train.py", "--no-verify", "--report"],
    ["report", "train.py", "--format", "markdown", "--output"],
    ["trace", "train.py", "--html"],
    ["trace", "train.py", "--chrome"],
]


@pytest.mark.parametrize("command", RESULTS, ids=" ".join)
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("folder", "folder: cannot be written: is a directory"),
        ("no/out", "no/out: cannot be written: there is no folder no"),
        ("train.py", "train.py: is source code, which results do not go over; name another file"),
    ],
)
def test_results_that_cannot_be_written_or_would_go_over_code_are_refused_first(
    cli: Cli, train: Path, command: list[str], file: str, said: str
) -> None:
    assert refused(cli, *command, file) == said
    assert train.read_text() == CUDA_ONLY


# what is run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["folder"], "is a folder; name the script in it that is to be run"),
        (["train.py", "--original", "folder"], "folder: is a folder; it should be the original"),
        (["train.py", "--original", "no.py"], "no.py: no such file; it should be the original"),
        (
            ["train.py", "--python", "no"],
            "--python no: no program of that name; name a Python that",
        ),
        (
            ["train.py", "--python", "folder"],
            "--python folder: is a folder; name a Python that has",
        ),
    ],
)
def test_what_cannot_be_run_is_told_before_a_run_is_announced(
    cli: Cli, train: Path, arguments: list[str], said: str
) -> None:
    assert said in refused(cli, "verify", *arguments)
