"""Settings on the command line mean what they mean in a settings file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

TWO = """\
import torch


def one():
    torch.cuda.synchronize()


def two(x):
    return x.cuda()
"""
TEST = "import torch\ntorch.ones(1).cuda()\n"


@pytest.fixture
def train(project: Path) -> Path:
    path = project / "train.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    return path


def codes(cli: Cli, *arguments: str) -> set[str]:
    return {row["code"] for row in json.loads(cli("check", "--output-format=json", *arguments).out)}


def test_per_file_ignores_on_the_command_line_replace_the_files(cli: Cli, train: Path) -> None:
    Path("mpslint.toml").write_text('[per-file-ignores]\n"train.py" = ["MPS201"]\n')
    assert codes(cli) == set()
    assert codes(cli, "--per-file-ignores", "tests/*:MPS201") == {"MPS201"}
    assert codes(cli, "--per-file-ignores", "tests/*:MPS1,train.py:MPS201") == set()


def test_extend_per_file_ignores_adds_to_the_files(cli: Cli, train: Path) -> None:
    Path("mpslint.toml").write_text('[per-file-ignores]\n"train.py" = ["MPS201"]\n')
    Path("other.py").write_text(TEST)
    assert codes(cli, "--extend-per-file-ignores", "other.py:MPS102") == set()


def test_a_malformed_per_file_ignore_is_one_line(cli: Cli, train: Path) -> None:
    ran = cli("check", "--per-file-ignores", "MPS201")
    assert ran.code == 2
    assert ran.err == (
        "error: --per-file-ignores: expected GLOB:RULE, such as \"tests/*:MPS101\", not 'MPS201'\n"
    )


@pytest.mark.parametrize(
    "setting",
    [
        "ignore=['MPS201']",
        "ignore = MPS201",
        "severity=slow",
        "min-torch=2.6",
        "style=helper",
        "max-file-size=4",
        "per-file-ignores={'train.py'=['MPS201']}",
    ],
)
def test_config_sets_one_key_as_toml_or_as_plain_text(cli: Cli, train: Path, setting: str) -> None:
    ran = cli("config", "--config", setting, "--output-format", "json")
    assert ran.err == ""
    key, _, value = (part.strip() for part in setting.partition("="))
    shown = json.loads(ran.out)[key]
    assert str(shown).replace('"', "'").strip("[]'") in (
        value.strip("[]'"),
        "{'train.py': ['MPS201']}",
    )


def test_an_option_goes_over_config_which_goes_over_a_variable(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_SEVERITY", "slow")

    def severity(*arguments: str) -> str:
        text = cli("config", "--output-format", "json", *arguments).out
        return str(json.loads(text)["severity"])

    assert severity() == "slow"
    assert severity("--config", "severity=ignores") == "ignores"
    assert severity("--config", "severity=ignores", "--severity", "breaks") == "breaks"


def test_a_mistake_in_config_names_it(cli: Cli, train: Path) -> None:
    ran = cli("check", "--config", "selct=['MPS1']")
    assert ran == (
        2,
        "",
        "error: --config selct=['MPS1']: unknown key 'selct'; did you mean 'select'?\n",
    )


def test_a_file_and_keys_may_be_given_together_but_not_two_files(cli: Cli, train: Path) -> None:
    Path("one.toml").write_text('select = ["MPS1"]\n')
    Path("two.toml").write_text("")
    assert codes(cli, "--config", "one.toml", "--config", "select=MPS2") == {"MPS201"}
    ran = cli("check", "--config", "one.toml", "--config", "two.toml")
    assert ran.err == "error: --config names two settings files, one.toml and two.toml\n"


def test_an_unknown_variable_is_said_with_the_nearest_name(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_SELCT", "MPS1")
    ran = cli("check", "-q")
    assert ran.code == 1
    assert ran.err == ("warning: MPSLINT_SELCT: no such variable; did you mean MPSLINT_SELECT?\n")


def test_options_that_are_no_settings_have_variables_too(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_OUTPUT_FORMAT", "json")
    monkeypatch.setenv("MPSLINT_OUTPUT_FILE", "out.json")
    monkeypatch.setenv("MPSLINT_NO_CACHE", "1")
    assert cli("check").out == ""
    assert json.loads(Path("out.json").read_text())[0]["code"] == "MPS201"
    assert not Path(".mpslint_cache").exists()


def test_a_mistake_in_such_a_variable_is_one_line(
    cli: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_OUTPUT_FORMAT", "xml")
    ran = cli("check")
    assert ran.code == 2
    assert ran.err.startswith("error: MPSLINT_OUTPUT_FORMAT must be one of full, concise, ")
    assert ran.err.count("\n") == 1
    monkeypatch.setenv("MPSLINT_OUTPUT_FORMAT", "json")
    monkeypatch.setenv("MPSLINT_JOBS", "many")
    ran = cli("check")
    assert ran == (2, "", "error: MPSLINT_JOBS: expected a number of processes, not 'many'\n")


def test_flake8_takes_variables_too(
    flake8: Cli, train: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_IGNORE", "MPS201")
    assert flake8("--select=MPS", "train.py") == (0, "", "")


# fixable


def test_the_fix_of_an_unfixable_rule_is_neither_offered_nor_applied(cli: Cli, train: Path) -> None:
    train.write_text(TWO)
    out = cli("check", "--unfixable", "MPS201", "--output-format", "concise").out
    assert "MPS201 torch" in out
    assert "MPS102 [*]" in out
    (finding,) = (
        row
        for row in json.loads(cli("check", "--unfixable=MPS201", "--output-format=json").out)
        if row["code"] == "MPS201"
    )
    assert finding["fix"] is None
    cli("fix", "--no-verify", "--unfixable", "MPS201")
    assert "    torch.cuda.synchronize()\n\n\ndef" in train.read_text()
    assert ".cuda()" not in train.read_text()


def test_only_fixable_rules_are_fixed(cli: Cli, train: Path) -> None:
    Path("mpslint.toml").write_text('fixable = ["MPS1"]\n')
    train.write_text(TWO)
    cli("fix", "--no-verify")
    assert "    torch.cuda.synchronize()\n\n\ndef" in train.read_text()
    assert ".cuda()" not in train.read_text()


def test_an_unknown_rule_in_unfixable_is_named(cli: Cli, train: Path) -> None:
    ran = cli("check", "--unfixable", "MPS2O1")
    assert ran.code == 2
    assert ran.err == "error: --unfixable: unknown rule 'MPS2O1'; did you mean MPS201?\n"
