"""`mpslint check --explain-silence`: what is held back, where, and by which row."""

from __future__ import annotations

import gc
import os
import shutil
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

from mpslint.checking import held_back
from mpslint.facts import priors

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "engine"
MARKED = (
    "import pytest\nimport torch\n\n\n"
    "@pytest.mark.require_cuda\ndef test_it():\n    torch.cuda.synchronize()\n"
)


def test_a_finding_that_a_row_holds_back_is_listed_with_the_row_and_its_reason(
    cli: Cli, project: Path
) -> None:
    (project / "suite.py").write_text(MARKED)
    assert cli("check").code == 0
    ran = cli("check", "--explain-silence")
    first, second, last = ran.out.splitlines()
    assert first == (
        "suite.py:7:5: MPS201 torch.cuda.synchronize() raises AssertionError where there is no CUDA"
    )
    assert second.startswith("  not reported: decorators/(require|")
    assert "marks of tests and functions for CUDA" in second
    assert "reaches the function; a guess)" in second
    assert last == "1 finding held back"
    assert (ran.code, ran.err) == (0, "")


def test_a_row_that_is_a_fact_names_its_source(cli: Cli, project: Path) -> None:
    (project / "kernels.py").write_text("import triton\n" + CUDA_ONLY)
    out = cli("check", "--explain-silence").out
    assert "  not reported: packages/triton (GPU kernels for NVIDIA (and AMD) alone;" in out
    assert "a fact: how each package is built and installed" in out


def test_a_row_that_speaks_in_another_file_of_the_project_is_named(cli: Cli, project: Path) -> None:
    (project / "ops.py").write_text("import torch\nimport triton\n")
    (project / "train.py").write_text("import ops\n" + CUDA_ONLY)
    out = cli("check", "--explain-silence", "train.py").out
    assert "train.py:4:1: MPS201" in out
    assert "packages/triton" in out


def test_the_trial_of_a_module_that_another_file_imports_is_listed(cli: Cli, project: Path) -> None:
    (project / "model.py").write_text(
        "import torch\n\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    pass\n\n\n"
        'if __name__ == "__main__":\n    print(torch.rand(2).cuda())\n'
    )
    (project / "train.py").write_text("from model import Net\n\nprint(Net())\n")
    assert cli("check", "model.py").out == "All checks passed!\n"
    listed = cli("check", "--explain-silence", "model.py").out
    assert "model.py:11:25: MPS102" in listed
    assert "its author tries what others import" in listed
    (project / "train.py").unlink()
    assert "model.py:11:25: MPS102" in cli("check", "--output-format", "concise", "model.py").out


def test_what_is_reported_is_not_listed(cli: Cli, project: Path) -> None:
    (project / "train.py").write_text(CUDA_ONLY)
    ran = cli("check", "--explain-silence")
    assert ran == (0, "0 findings held back\n", "")


def test_what_the_settings_leave_out_is_not_listed(cli: Cli, project: Path) -> None:
    (project / "suite.py").write_text(MARKED)
    ran = cli("check", "--explain-silence", "--ignore", "MPS201", "--quiet")
    assert ran == (0, "", "")


def test_a_file_that_cannot_be_parsed_is_an_error(cli: Cli, project: Path) -> None:
    (project / "suite.py").write_text(MARKED)
    (project / "broken.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    ran = cli("check", "--explain-silence")
    assert ran.code == 2
    assert ran.err.startswith("broken.py:")
    assert "suite.py:7:5: MPS201" in ran.out


def test_the_rows_are_all_there_again_afterwards(cli: Cli, project: Path) -> None:
    (project / "suite.py").write_text(MARKED)
    cli("check", "--explain-silence")
    assert cli("check").code == 0


def test_rows_that_hold_nothing_back_are_left_out_together_not_one_by_one(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = ("lightgbm", "xgboost", "catboost")
    imports = "".join(f"import {name}\n" for name in others)
    calls = "".join(f"{name}.run()\n" for name in others)
    (project / "train.py").write_text(imports + calls + CUDA_ONLY)
    looks: list[str] = []
    look = held_back._look
    monkeypatch.setattr(
        held_back, "_look", lambda source, settings: looks.append("") or look(source, settings)
    )
    with priors.heard() as heard:
        cli("check", "--no-cache")
    assert len(heard) > 2
    assert cli("check", "--explain-silence").out.startswith("0 findings")
    assert len(looks) == 2


def test_what_one_look_has_made_is_given_back_before_the_next_file(cli: Cli, project: Path) -> None:
    (project / "suite.py").write_text(MARKED)
    gc.disable()  # as `mpslint check` does for its own looks
    try:
        cli("check", "--explain-silence")
        assert gc.isenabled()
    finally:
        gc.enable()


def test_what_a_module_tries_of_itself_is_listed(cli: Cli, project: Path) -> None:
    shutil.copytree(FIXTURES / "own_try", project, dirs_exist_ok=True)
    assert cli("check").code == 0
    assert "not reported: trials-of-modules/__main__" in cli("check", "--explain-silence").out


MOVED = "print(torch.rand(2).cuda())\n"
NET = "from torch import nn\n\n\nclass Net(nn.Linear):\n    pass\n"


def test_a_file_that_imports_what_is_not_there_says_so(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").touch()
    (project / "nets.py").write_text(NET)
    (project / "train.py").write_text("import torch\nfrom nets import Nett\n\n" + MOVED)
    assert cli("check").code == 0
    out = cli("check", "--explain-silence").out
    assert "train.py:4:21: MPS102" in out
    assert "not reported: leftovers/module" in out
    assert "  the project: it imports what is not there: Nett of nets\n" in out


def test_a_file_that_needs_another_one_that_cannot_be_imported_names_it(
    cli: Cli, project: Path
) -> None:
    (project / "pyproject.toml").touch()
    (project / "nets").mkdir()
    (project / "nets" / "__init__.py").touch()
    (project / "nets" / "plain.py").write_text("from .gone import Layer\n" + NET)
    (project / "train.py").write_text("import torch\nfrom nets.plain import Net\n\n" + MOVED)
    assert cli("check").code == 0
    out = cli("check", "--explain-silence", "train.py").out
    assert f"nets{os.sep}plain.py, which it needs, imports what is not there: .gone\n" in out


def test_a_function_that_nothing_uses_is_listed(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").touch()
    (project / "moves.py").write_text(
        "import torch\n\n\ndef moved(x):\n    return x * 2\n\n\n"
        "def left():\n    return torch.rand(2).cuda()\n"
    )
    (project / "train.py").write_text("from moves import moved\n\nprint(moved(1))\n")
    assert cli("check").code == 0
    out = cli("check", "--explain-silence").out
    assert "moves.py:9:26: MPS102" in out
    assert "not reported: leftovers/definition (nothing in the project uses it any more" in out
