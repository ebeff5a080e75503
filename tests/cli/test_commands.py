"""The other commands, usage errors, and help."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, FIXTURES, Cli

from mpslint import __version__
from mpslint.cli import COMMANDS, doctor
from mpslint.rules.registry import Rule, all_rules


def test_version(cli: Cli) -> None:
    assert cli("--version") == (0, f"mpslint {__version__}\n", "")


def test_help_names_every_command(cli: Cli) -> None:
    ran = cli("--help")
    assert ran.code == 0
    assert all(re.search(rf"^  {name} ", ran.out, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_of_its_own(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"usage: mpslint {command} ")


def test_no_command_at_all_shows_help_and_is_a_usage_error(cli: Cli) -> None:
    assert cli().code == 2


def test_a_mistyped_command_is_named_with_a_close_match(cli: Cli) -> None:
    assert cli("chekc").err == "error: no such command: 'chekc'; did you mean `mpslint check`?\n"
    assert cli("train.py").err == "error: no such command: 'train.py'; see `mpslint --help`\n"
    assert cli("chekc").code == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["check", "--selct", "MPS1"], "no such option"),
        (["check", "--output-format", "xml"], "invalid choice"),
        (["check", "--jobs", "0"], "expected a number of processes, not '0'"),
        (["fix", "--steps", "many", "a.py"], "expected a whole number above 0, not 'many'"),
        (["fix", "--timeout", "-1", "a.py"], "expected a number of seconds, not '-1'"),
        (["fix", "--device", "tpu", "a.py"], "expected a list of cpu, mps, cuda, not 'tpu'"),
        (["check", "--min-torch", "new"], "'min-torch' must be a torch version"),
        (["check", "--device-order", "mps"], "--device-order: 'device-order' must be a list"),
        (["check", "--config", "absent.toml"], "absent.toml: no such settings file"),
        (["check", "--select", "MPS999"], "unknown rule 'MPS999'"),
        (["check", "absent.py"], "absent.py: no such file or folder"),
        (["rule", "MPS999"], "unknown rule 'MPS999'"),
        (["rule"], "give a rule, or --all"),
        (["verify", "absent.py"], "absent.py: no such script"),
        (["verify", "x.py", "--env", "NAME"], "expected NAME=VALUE, not 'NAME'"),
        (["trace", "absent.py"], "absent.py: no such script"),
    ],
)
def test_a_mistake_in_usage_is_one_line_and_exit_2(
    cli: Cli, arguments: list[str], expected: str
) -> None:
    ran = cli(*arguments)
    assert ran.code == 2
    assert expected in ran.err.splitlines()[-1]
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_can_be_explained_by_code_and_by_name(cli: Cli, rule: object) -> None:
    by_code = cli("rule", rule.code)  # type: ignore[attr-defined]
    assert by_code.out.startswith(f"# {rule.code} {rule.name}\n")  # type: ignore[attr-defined]
    assert cli("rule", rule.name) == by_code  # type: ignore[attr-defined]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_page_of_a_rule_is_as_wide_as_the_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, rule: Rule
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    lines = cli("rule", rule.code).out.splitlines()
    too_wide = [line for line in lines if len(line) > 60]
    # What is code, a heading or an address stays as it is written.
    assert [line for line in too_wide if not line.startswith(("    ", "#", "|", rule.url))] == []


def test_the_page_of_a_rule_loses_no_word(cli: Cli) -> None:
    shown = cli("rule", "MPS413").out
    rule = next(rule for rule in all_rules() if rule.code == "MPS413")
    assert set(re.findall(r"\w+", rule.docs)) - {"python"} <= set(re.findall(r"\w+", shown))


def test_full_names_the_command_that_explains_a_rule(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    (project / "train.py").write_text(CUDA_ONLY)
    assert "`mpslint rule MPS" in cli("check").out


def test_what_a_rule_leaves_out_is_shown_as_a_list(cli: Cli) -> None:
    shown = cli("rule", "MPS102").out
    assert "\n- `torch.cuda` itself, `.cuda` of cupy, numba and other libraries\n" in shown


def test_all_rules_are_listed(cli: Cli) -> None:
    codes = [line.split()[0] for line in cli("rule", "--all").out.splitlines()]
    assert codes == [rule.code for rule in all_rules()]
    rows = json.loads(cli("rule", "--all", "--output-format", "json").out)
    assert [row["code"] for row in rows] == codes


def test_config_shows_what_holds_for_a_path_and_where_it_comes_from(
    cli: Cli, project: Path
) -> None:
    (project / "mpslint.toml").write_text('min-torch = "2.9"\nselect = ["MPS201"]\n')
    out = cli("config", "a.py").out
    assert out.startswith(f"# from {project / 'mpslint.toml'}\n")
    assert 'min-torch = "2.9"\n' in out
    assert out.endswith("# rules that are on for a.py: MPS201\n")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib came with Python 3.11")
def test_what_config_shows_can_be_used_as_a_settings_file(cli: Cli, project: Path) -> None:
    import tomllib

    text = '[per-file-ignores]\n"a/*" = ["MPS2"]\n'
    (project / "mpslint.toml").write_text(f'select = ["ALL"]\nmax-torch = "2.13"\n{text}')
    shown = cli("config").out
    assert tomllib.loads(shown)["per-file-ignores"] == {"a/*": ["MPS2"]}
    (project / "mpslint.toml").write_text(shown)
    assert cli("config").out == shown


def test_config_as_json(cli: Cli, project: Path) -> None:
    told = json.loads(cli("config", "--output-format", "json").out)
    assert told["file"] is None
    assert told["device-order"] == ["mps", "cuda", "cpu"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a Python that is named from the current folder says, where a file called `torch.py`
    lies: once, since it takes three processes that import torch."""
    folder = tmp_path_factory.mktemp("doctor")
    (folder / "torch.py").write_text("raise SystemExit('ran the project')\n")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("PYTORCH_ENABLE_MPS_FALLBACK", "1")
        return doctor.ask("./python")


@pytest.fixture
def told_before(monkeypatch: pytest.MonkeyPatch, told: dict[str, object]) -> list[str]:
    """`doctor` takes that answer; which Pythons it asked."""
    asked: list[str] = []

    def ask(python: str) -> dict[str, object]:
        asked.append(python)
        return told

    monkeypatch.setattr(doctor, "ask", ask)
    return asked


def test_doctor_says_what_torch_can_do(cli: Cli, told_before: list[str]) -> None:
    ran = cli("doctor", "--python", "some/python")
    assert (ran.code, ran.err, told_before) == (0, "", ["some/python"])
    lines = dict(line.split(": ", 1) for line in ran.out.splitlines() if ": " in line)
    assert lines["torch"].startswith("2.")
    assert {"MPS", "CUDA", "A selection (mps, then cuda, then cpu) takes"} <= set(lines)


def test_doctor_says_which_variables_are_set(cli: Cli, told_before: list[str]) -> None:
    ran = cli("doctor", "--python", "some/python", "--output-format", "json")
    assert (ran.code, told_before) == (0, ["some/python"])
    assert json.loads(ran.out)["variables"]["PYTORCH_ENABLE_MPS_FALLBACK"] == "1"


def test_doctor_is_not_fooled_by_a_file_named_torch(told: dict[str, object]) -> None:
    """Beside which it was asked."""
    assert "torch_error" not in told
    assert str(told["torch"]).startswith("2.")


def test_doctor_tries_a_python_that_is_named_from_the_current_folder(
    cli: Cli, told_before: list[str]
) -> None:
    assert "Verification on simulated mps: works." in cli("doctor").out
    assert len(told_before) == 1


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("#!/bin/sh\nexit 7\n", "which ended with exit code 7"),
        ("#!/bin/sh\necho nonsense\n", "which ended with exit code 0"),
    ],
)
def test_doctor_says_when_the_python_gives_no_answer(
    cli: Cli, project: Path, script: str, expected: str
) -> None:
    fake = project / "python"
    fake.write_text(script)
    fake.chmod(0o755)
    ran = cli("doctor", "--python", fake)
    assert ran.code == 2
    assert expected in ran.out


def test_doctor_says_when_there_is_no_such_python(cli: Cli) -> None:
    ran = cli("doctor", "--python", "/nowhere/python")
    assert (ran.code, "cannot be started: no such file" in ran.out) == (2, True)
    assert "`--python PY` asks another one" in ran.out


MAC = {
    "executable": "/usr/bin/python3",
    "python": "3.12.1",
    "system": "Darwin",
    "machine": "arm64",
    "mac": "14.5",
    "torch": "2.13.0",
    "mps_known": True,
    "mps_built": True,
    "cuda_built": None,
    "cuda": False,
    "variables": {},
}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (
            {"mps": True, "mps_works": True},
            "MPS: built in and available; a sum on it came out right.",
        ),
        (
            {"mps": True, "mps_works_error": "RuntimeError: out of memory"},
            "MPS: built in and available, but it does not work: RuntimeError: out of memory",
        ),
        ({"mps": False}, "MPS: built in, but not available: macOS 14.5 is too old for this torch"),
        ({"mps_built": False}, "MPS: not in this build of torch"),
        ({"mps_known": False}, "MPS: this torch is too old to know it"),
        ({"cuda_built": "12.4"}, "CUDA: built in (CUDA 12.4), but no device or driver was found."),
        (
            {"mps": True, "mps_works": True},
            "PYTORCH_ENABLE_MPS_FALLBACK is not set: an operator without an MPS kernel raises.",
        ),
    ],
)
def test_doctor_has_a_sentence_for_every_state(told: dict[str, object], expected: str) -> None:
    from mpslint.cli.doctor import sentences

    lines = sentences({**MAC, "selected": "mps", **told})
    assert any(line.startswith(expected) for line in lines)


def test_an_internal_error_is_one_line(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault")

    (project / "a.py").write_text(CUDA_ONLY)
    monkeypatch.setattr("mpslint.running.runner.check_all", broken)
    ran = cli("check")
    assert ran.code == 2
    assert ran.err.startswith("error: mpslint: internal error: ZeroDivisionError: a fault (please")
    assert ran.err.count("\n") == 1


def test_an_interrupt_is_exit_130(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mpslint.running.runner.check_all", interrupt)
    assert cli("check") == (130, "", "interrupted\n")


def test_a_diff_without_safe_fixes_names_the_unsafe_ones(cli: Cli, project: Path) -> None:
    path = project / "model.py"
    path.write_bytes((FIXTURES / "rules/item-in-loop/basic.py").read_bytes())
    ran = cli("fix", "--diff", "--select", "MPS303", path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("No safe fixes; ")
    assert ran.err.endswith(" more with `--unsafe-fixes`.\n")


def test_a_diff_of_what_has_no_fix_says_so(cli: Cli, project: Path) -> None:
    path = project / "model.py"
    path.write_text("import torch\n\nprint(1, torch.cuda.current_device())\n")
    ran = cli("fix", "--diff", "--min-torch", "2.5", path)
    assert (ran.code, ran.out, ran.err) == (0, "", "No fixes for 1 error.\n")
