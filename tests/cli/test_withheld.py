"""`[*]` tells the truth where a project holds MPS back, and `fix` says why it changes nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from conftest import Cli

PROJECTS = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "held_back"


@pytest.fixture(params=["policy", "switch", "sparse", "graph"])
def withholding(request: pytest.FixtureRequest, project: Path) -> Path:
    shutil.copytree(PROJECTS / str(request.param), project, dirs_exist_ok=True)
    return project


def test_check_promises_no_fix_that_a_project_holds_back(cli: Cli, withholding: Path) -> None:
    out = cli("check", "--output-format", "concise", ".").out
    assert "[*]" not in out
    assert "No safe fixes; 3 more with `--unsafe-fixes`." in out


def test_nor_does_it_where_it_takes_its_results_from_the_cache(cli: Cli, withholding: Path) -> None:
    cli("check", "--output-format", "concise", ".")
    assert "[*]" not in cli("check", "--output-format", "concise", ".").out


def test_nor_does_json(cli: Cli, withholding: Path) -> None:
    found = json.loads(cli("check", "--output-format", "json", ".").out)
    assert {one["fix"]["applicability"] for one in found if one["fix"]} == {"unsafe"}


@pytest.mark.parametrize("how", [["--no-verify"], ["--diff"]])
def test_fix_says_in_one_line_why_nothing_was_done(
    cli: Cli, withholding: Path, how: list[str]
) -> None:
    texts = {path: path.read_bytes() for path in withholding.glob("*.py")}
    said = cli("fix", *how, ".").err.splitlines()
    (line,) = [line for line in said if "left as it is" in line]
    assert line.startswith("embed.py and 1 other file: left as it is: ")
    assert {path: path.read_bytes() for path in withholding.glob("*.py")} == texts


def test_a_line_that_is_in_the_way_of_its_own_file_and_of_others_is_told_once(
    cli: Cli, project: Path
) -> None:
    chosen = 'import torch\ndevice = "cuda" if torch.cuda.is_available() else "cpu"\n'
    (project / "helper.py").write_text(
        f"import torch_warped\n{chosen}\n\ndef conv(x):\n"
        "    return torch_warped.nn.GCNConv(3, 3).to(device)(x.to(device))\n"
    )
    (project / "main.py").write_text(
        f"from helper import conv\n{chosen}print(conv(torch.ones(3, 3).to(device)))\n"
    )
    said = cli("fix", "--diff", "--quiet", "helper.py", "main.py").err.splitlines()
    (line,) = [one for one in said if "torch_warped" in one]
    assert line == (
        "helper.py and 1 other file: left as it is: helper.py, line 7: "
        "`torch_warped` is not known to work with tensors on MPS"
    )


def test_a_project_that_lets_its_users_opt_out_keeps_its_promises(cli: Cli, project: Path) -> None:
    shutil.copytree(PROJECTS / "opted_out", project, dirs_exist_ok=True)
    assert cli("check", "--output-format", "concise", ".").out.count("[*]") == 3 + 1
    cli("fix", "--no-verify", ".")
    assert "[*]" not in cli("check", "--output-format", "concise", ".").out


def test_what_is_left_after_fixes_is_not_said_to_have_none(cli: Cli, project: Path) -> None:
    (project / "model.py").write_text(
        "import torch\n\nnet = torch.nn.Linear(1, 1).cuda()\n"
        "total = 0.0\nfor x in torch.ones(3, 1).cuda():\n    total += net(x).item()\nprint(total)\n"
    )
    out = cli("fix", "--no-verify", ".").out
    assert "No other safe fixes; 1 more with `--unsafe-fixes`." in out
