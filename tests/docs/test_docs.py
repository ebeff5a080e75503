"""What the documents say is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Cli

from mpslint.cli import COMMANDS
from mpslint.settings_table import KEYS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_names_every_command() -> None:
    assert set(re.findall(r"^\| `mpslint (\w+)", README, re.MULTILINE)) == set(COMMANDS)


def test_the_page_of_settings_names_every_key_and_no_other() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    table = page.split("| key |")[1].split("\n\n")[0]
    assert re.findall(r"^\| `([a-z-]+)` ", table, re.MULTILINE) == sorted(
        KEYS, key=[*re.findall(r"^\| `([a-z-]+)` ", table, re.MULTILINE)].index
    )
    assert len(KEYS) == table.count("\n| `")


def test_the_readmes_settings_are_accepted(cli: Cli, project: Path) -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (project / "pyproject.toml").write_text(block)
    assert cli("config").code == 0


def test_the_readmes_findings_are_those_of_the_example(cli: Cli, project: Path) -> None:
    (project / "train.py").write_bytes((ROOT / "examples" / "train.py").read_bytes())
    out = cli("check", "train.py", "--output-format", "concise").out
    shown = README.split("--output-format concise\n")[1].split("\n\n")[0].splitlines()
    printed = out.splitlines()
    assert shown[:2] == printed[:2]
    assert shown[3:] == printed[-2:]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_target_that_the_readme_names_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make (\w+)`", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert "exec make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
