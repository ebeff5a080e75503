"""Registry, pages, fixtures, changelog and README name the same rules."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from conftest import Cli

from mpslint.rules.registry import Rule, all_rules

ROOT = Path(__file__).resolve().parents[2]
CODES = {rule.code for rule in all_rules()}
HEADINGS = ("## What it does", "## Why is this bad?", "## Example", "## References")


def generator() -> ModuleType:
    docs = str(ROOT / "docs")
    if docs not in sys.path:
        sys.path.append(docs)  # the generator's own modules lie beside it
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_what_the_rules_say() -> None:
    wanted = generator().pages()
    stale = [
        path.name for path, text in wanted.items() if not path.exists() or path.read_text() != text
    ]
    assert stale == [], "run `python docs/generate.py`"


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    pages = {path.stem for path in (ROOT / "docs" / "rules").glob("*.md")} - {"README"}
    assert pages == {rule.name for rule in all_rules()}


def test_every_rule_has_a_fixture_folder_and_every_folder_a_rule() -> None:
    folders = {path.name for path in (ROOT / "fixtures" / "rules").iterdir() if path.is_dir()}
    assert folders == {rule.name for rule in all_rules()}


def test_the_changelog_names_every_rule() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    named: set[str] = set(re.findall(r"MPS\d{3}", text))
    for first, last in re.findall(r"MPS(\d{3}) to (?:MPS)?(\d{3})", text):
        named |= {code for code in CODES if int(first) <= int(code[3:]) <= int(last)}
    assert named >= CODES


def test_the_index_of_rules_names_every_rule() -> None:
    index = (ROOT / "docs" / "rules" / "README.md").read_text()
    assert set(re.findall(r"MPS\d{3}", index)) >= CODES


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_the_example_of_a_page_does_what_the_page_says(rule: Rule, cli: Cli, project: Path) -> None:
    page = (ROOT / "docs" / "rules" / f"{rule.name}.md").read_text()
    tried = page.partition("## Try it\n")[2]
    (text,) = re.findall(r"```python\n(.*?)```", tried, re.DOTALL)
    ((command, said),) = re.findall(r"```console\n\$ mpslint (.*?)\n(.*?)```", tried, re.DOTALL)
    (project / "example.py").write_text(text)
    printed = cli(*command.split(), "--isolated", "--no-cache", "-q").out
    assert printed.replace(" [*]", "") == said
    shown = re.findall(r"`mpslint (.*?)` shows:\n\n```diff\n(.*?)```", tried, re.DOTALL)
    for command, diff in shown:
        assert cli(*command.split(), "--isolated", "--no-cache").out == diff
    assert rule.fix is not None or not shown


def test_the_address_of_a_rule_is_its_page_in_the_repository_until_a_site_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MPSLINT_DOCS_URL", raising=False)
    assert [rule.url for rule in all_rules() if not (ROOT / rule.url).is_file()] == []
    monkeypatch.setenv("MPSLINT_DOCS_URL", "https://docs.example/mpslint")
    assert all_rules()[0].url == "https://docs.example/mpslint/rules/hardcoded-cuda-device/"


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_rule_page_has_the_usual_headings(rule: Rule) -> None:
    assert [heading for heading in HEADINGS if heading not in rule.docs] == []
    assert rule.fix is None or "## Fix safety" in rule.docs
    assert rule.default or re.search(r"opt-in|not on by default|off by default", rule.docs, re.I)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_a_module_is_named_as_its_rule(rule: Rule) -> None:
    assert rule.module.rsplit(".", 1)[-1] == rule.name.replace("-", "_")
    assert re.fullmatch(r"MPS\d{3}", rule.code)
