"""The generated index says what the rule modules declare, and saves importing them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY

from mpslint.rules.registry import Rule, all_rules, declared_rules
from mpslint.sources.screening import names_in

LISTED = """
import sys
from mpslint.cli import run
code = run(sys.argv[1:])
print("\\n" + " ".join(sys.modules), end="")
sys.exit(code)
"""


def imported_by(*arguments: str | Path) -> tuple[int, set[str]]:
    """The exit code of `mpslint ARGUMENTS` in a process of its own, and what it imported."""
    command = [sys.executable, "-c", LISTED, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return ran.returncode, set(ran.stdout.rsplit("\n", 1)[-1].split())


def rule_modules(modules: set[str]) -> set[str]:
    return {rule.module for rule in all_rules()} & modules


def speaks(rule: Rule, text: str) -> bool:
    words = text.encode()
    return rule.default and (
        all(any(word in words for word in group) for group in (rule.triggers, *rule.also))
        and (not rule.names or any(word in names_in(words) for word in rule.names))
    )


def test_the_index_is_what_the_modules_declare() -> None:
    stale = {rule.code for rule in set(all_rules()) ^ set(declared_rules())}
    assert stale == set(), "run `python docs/generate.py`"


def test_a_rule_whose_module_says_something_else_than_the_index_is_refused() -> None:
    changed = all_rules()[0]._replace(triggers=(b"other",))
    with pytest.raises(RuntimeError, match=r"run `python docs/generate\.py`"):
        _ = changed.check


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_one_module_declares_one_rule(rule: Rule) -> None:
    assert rule.module == f"mpslint.rules.{rule.name.replace('-', '_')}"
    assert rule.check.__module__ == rule.module


def test_a_file_imports_the_rules_whose_words_stand_in_it_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(CUDA_ONLY)
    code, modules = imported_by("check", "--isolated", "--no-cache", path)
    assert code == 1
    assert rule_modules(modules) == {rule.module for rule in all_rules() if speaks(rule, CUDA_ONLY)}
    assert "mpslint.rules.cuda_synchronize" in modules


@pytest.mark.parametrize("selector", ["MPS2", "cuda-synchronize"])
def test_selecting_rules_imports_none(tmp_path: Path, selector: str) -> None:
    path = tmp_path / "train.py"
    path.write_text("import torch\n")
    code, modules = imported_by("check", "--isolated", "--no-cache", "--select", selector, path)
    assert code == 0
    assert rule_modules(modules) == set()


HEAVY = {"argparse", "ast", "dataclasses", "inspect", "json", "libcst", "logging", "pathlib"} | {
    "concurrent.futures",
    "multiprocessing",
    "subprocess",
    "tokenize",
    "torch",
}


def test_a_file_without_torch_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("import os\n")
    code, modules = imported_by("check", "--isolated", "--no-cache", path)
    assert code == 0
    assert modules & HEAVY == set()
    assert {
        name for name in modules if name.startswith(("mpslint.rules", "mpslint.semantics"))
    } == set()


@pytest.mark.parametrize("style", ["full", "concise", "github", "json"])
def test_findings_are_reported_without_libcst_or_torch(tmp_path: Path, style: str) -> None:
    path = tmp_path / "train.py"
    path.write_text(CUDA_ONLY)
    code, modules = imported_by("check", "--isolated", "--output-format", style, "--no-cache", path)
    assert code == 1
    assert modules & {"libcst", "torch"} == set()
