"""What the documents say is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import Cli

from mpslint.cli import COMMANDS
from mpslint.settings.table import KEYS

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


def blocks() -> list[object]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [
        pytest.param(block, id=f"{page.stem}-{number}")
        for page in pages
        for number, block in enumerate(
            re.findall(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        )
        if "[tool.mpslint]" in block
    ]


@pytest.mark.parametrize("block", blocks())
def test_settings_that_a_page_shows_are_accepted(cli: Cli, project: Path, block: str) -> None:
    (project / "pyproject.toml").write_text(block)
    ran = cli("config")
    assert (ran.code, ran.err) == (0, "")


def test_every_command_that_a_page_shows_is_one(cli: Cli) -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for command in re.findall(r"^\$ mpslint (\S+)", page.read_text(), re.MULTILINE):
            assert command in COMMANDS, page.name


def test_every_option_that_a_page_shows_is_one_of_its_command(cli: Cli) -> None:
    known = {name: cli(name, "--help").out for name in COMMANDS}
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        shown = re.findall(r"(?:^\$ |`)mpslint (\w+)([^`\n>]*)", page.read_text(), re.MULTILINE)
        for command, rest in shown:
            for option in re.findall(r"(?<= )--?[a-z][\w-]*", rest.split(" -- ")[0]):
                assert option in known.get(command, option), f"{page.name}: {command} {option}"


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
        found = (page.parent / target).resolve()
        assert found.exists(), target
        # The site is made of this folder alone.
        assert ROOT / "docs" in found.parents, target


def test_every_page_is_in_the_menu_of_the_site() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"^ *- (?:.*: )?(\S+\.md)$", menu, re.MULTILINE))
    docs = ROOT / "docs"
    assert listed == {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}


def test_every_target_that_the_readme_names_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"`make (\w+)`", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    assert "exec make test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
