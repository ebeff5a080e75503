"""A fix is as safe beside few rules as beside all of them: what still raises on a Mac raises there,
whoever is told of it."""

from __future__ import annotations

import json
import shutil
from operator import attrgetter
from pathlib import Path

import pytest
from conftest import FIXTURES, NET_FILE, PROGRAM_OF_NET, Cli

from mpslint.checking.linter import linted
from mpslint.cli.fix import parser
from mpslint.cli.planning import plan_files
from mpslint.rules.registry import Rule, all_rules
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

Place = tuple[str, int, str]
"""A file, a row in it and a code."""

RAISES = "assert torch.cuda.get_device_properties(0)\n"
"""What raises on a Mac, and has no fix."""
FLOAT64 = """\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(torch.ones(2, device=device))
print(torch.as_tensor(np.random.rand(2), device=device))
"""


@pytest.fixture
def folder(project: Path) -> Path:
    (project / "pyproject.toml").write_text("[tool.mpslint]\n")
    (project / "net.py").write_text(NET_FILE)
    (project / "program.py").write_text(PROGRAM_OF_NET)
    return project


def levels(cli: Cli, *options: str) -> dict[Place, str]:
    """How safe `check` says that the fixes are which it offers."""
    found = json.loads(cli("check", "--no-cache", "--output-format", "json", *options).out)
    return {
        (Path(one["filename"]).name, one["location"]["row"], one["code"]): one["fix"][
            "applicability"
        ]
        for one in found
        if one["fix"] is not None
    }


def made(*options: str) -> set[Place]:
    """The safe fixes that `fix` makes."""
    work = plan_files(parser().parse_args(["--no-verify", "--no-cache", *options]))
    return {
        (Path(path).name, one.row, one.code)
        for path, file in work.planned.items()
        for one in file.result.applied
    }


def test_a_rule_alone_ports_what_all_rules_would_port(folder: Path, cli: Cli) -> None:
    assert set(levels(cli, "--select", "MPS102").values()) == {"safe"}
    assert {path for path, _, _ in made("--select", "MPS102")} == {"net.py", "program.py"}


@pytest.mark.parametrize(
    "options",
    [
        ["--select", "MPS102"],
        ["--select", "MPS1"],
        ["--ignore", "MPS206"],
        ["--ignore", "cuda-device-query", "--severity", "breaks"],
    ],
)
def test_what_nobody_is_told_of_keeps_a_port_half_way(
    folder: Path, cli: Cli, options: list[str]
) -> None:
    (folder / "program.py").write_text(PROGRAM_OF_NET + RAISES)
    assert set(levels(cli, *options).values()) == {"unsafe"}
    assert made(*options) == set()


def test_what_a_setting_silences_in_one_file_does_so_too(folder: Path, cli: Cli) -> None:
    (folder / "program.py").write_text(PROGRAM_OF_NET + RAISES)
    silent = "per-file-ignores = {'program.py' = ['MPS206']}"
    (folder / "pyproject.toml").write_text(f"[tool.mpslint]\n{silent}\n")
    assert set(levels(cli).values()) == {"unsafe"}
    assert made() == set()


def test_what_a_baseline_knows_does_so_too(folder: Path, cli: Cli) -> None:
    (folder / "program.py").write_text("import torch\n\n" + RAISES)
    cli("check", "--no-cache", "--baseline", "known.json", "--write-baseline", "program.py")
    (folder / "program.py").write_text(PROGRAM_OF_NET + RAISES)
    (folder / "pyproject.toml").write_text("[tool.mpslint]\nbaseline = 'known.json'\n")
    assert made() == set()


def test_what_a_comment_silences_its_author_has_looked_at(folder: Path, cli: Cli) -> None:
    (folder / "program.py").write_text(PROGRAM_OF_NET + RAISES.rstrip() + "  # noqa: MPS206\n")
    assert set(levels(cli).values()) == {"safe"}
    assert made() == made("--select", "MPS102") != set()


def test_what_no_fix_of_the_run_mends_must_not_come_to_mps(project: Path, cli: Cli) -> None:
    (project / "run.py").write_text(FLOAT64)
    assert levels(cli)["run.py", 4, "MPS103"] == "safe"
    assert levels(cli, "--select", "MPS103") == {("run.py", 4, "MPS103"): "unsafe"}
    assert made("--select", "MPS103") == set()


def test_nothing_else_is_looked_at_where_nothing_can_be_ported(folder: Path) -> None:
    source = SourceFile("program.py", (PROGRAM_OF_NET + RAISES).encode())
    assert linted(source, Settings(select=("MPS303", "MPS110"))).both == ([], [])
    beside = linted(source, Settings(select=("MPS206",))).untold
    assert {one.code for one in beside} == {"MPS102"}


def test_a_check_looks_no_further_where_no_fix_asks_for_it(folder: Path) -> None:
    asked = linted(SourceFile("a.py", RAISES.encode()), Settings(select=("MPS102",)), whole=False)
    assert (asked.both, asked.is_whole) == (([], []), False)
    source = SourceFile("program.py", (PROGRAM_OF_NET + RAISES).encode())
    asked = linted(source, Settings(select=("MPS102",)), whole=False)
    assert ([one.code for one in asked.untold], asked.is_whole) == (["MPS206"], True)


def test_what_another_file_has_is_looked_for_where_a_fix_asks_for_it(
    folder: Path, cli: Cli
) -> None:
    (folder / "raising.py").write_text(f"import torch\n\n\ndef tell():\n    {RAISES}")
    (folder / "program.py").write_text(f"{PROGRAM_OF_NET}\nimport raising\n\nraising.tell()\n")
    assert set(levels(cli, "--select", "MPS102").values()) == {"unsafe"}
    for _ in range(2):  # The second time from the cache.
        ran = cli("check", "--select", "MPS102", "--output-format", "json")
        assert {one["fix"]["applicability"] for one in json.loads(ran.out)} == {"unsafe"}
    assert made("--select", "MPS102") == set()


def test_what_was_remembered_of_another_file_goes_with_its_text(folder: Path, cli: Cli) -> None:
    tells = "import torch\n\n\ndef tell():\n    {}\n"
    (folder / "program.py").write_text(f"{PROGRAM_OF_NET}\nimport raising\n\nraising.tell()\n")
    for body, level in (("pass", "safe"), (RAISES, "unsafe"), ("print(1)", "safe")):
        (folder / "raising.py").write_text(tells.format(body))
        for _ in range(2):
            ran = cli("check", "--select", "MPS102", "--output-format", "json")
            assert {one["fix"]["applicability"] for one in json.loads(ran.out)} == {level}


def test_with_all_rules_nothing_is_untold() -> None:
    source = SourceFile("program.py", (PROGRAM_OF_NET + RAISES).encode())
    told, untold = linted(source, Settings()).both
    assert {one.code for one in told} == {"MPS102", "MPS206"}
    assert untold == []


def projects() -> list[Path]:
    return [path for path in sorted((FIXTURES / "harm").iterdir()) if path.is_dir()]


@pytest.mark.parametrize("path", projects(), ids=lambda path: path.name)
def test_a_fix_is_no_safer_for_what_is_not_selected(path: Path, project: Path, cli: Cli) -> None:
    shutil.copytree(path, project, dirs_exist_ok=True)
    whole = levels(cli)
    all_made = made() if whole else set()
    for code in sorted({code for _, _, code in whole}):
        alone = levels(cli, "--select", code)
        safe = {place for place, level in alone.items() if level == "safe"}
        assert safe <= {place for place in whole if whole[place] == "safe"} | (
            alone.keys() - whole.keys()
        )
        assert made("--select", code) <= all_made


@pytest.mark.parametrize(
    "rule", list(filter(attrgetter("default"), all_rules())), ids=attrgetter("name")
)
def test_beside_what_a_rule_tells_of_a_port_is_as_safe_without_the_rule(
    rule: Rule, folder: Path, cli: Cli
) -> None:
    texts = sorted((FIXTURES / "rules" / rule.name).glob("*.py"))
    for path in [one for one in texts if one.stem.startswith(("alarm", "basic"))][:5]:
        text = path.read_text()
        (folder / "program.py").write_text(f"{text}\n{PROGRAM_OF_NET}")
        whole = levels(cli)
        alone = levels(cli, "--select", "MPS102")
        assert {place: whole.get(place, level) for place, level in alone.items()} == alone
        alone = levels(cli, "--select", "MPS103")
        assert all(level != "safe" or whole[place] == level for place, level in alone.items())
