"""A row of the priors can be switched off from outside, and what that changes is counted."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mpslint.facts import priors

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "ablation.py"


@pytest.fixture(scope="module")
def ablation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ablation", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["ablation"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "kernels.py").write_text("import torch\nimport triton\n\ntorch.zeros(3).cuda()\n")
    (tmp_path / "plain.py").write_text("import torch\n\ntorch.zeros(3).cuda()\n")
    return tmp_path


def row_of(section: str, match: str) -> priors.Prior:
    (row,) = (row for row in priors.rows(section) if row.match == match)
    return row


def test_a_row_that_is_off_matches_nothing_and_is_back_afterwards() -> None:
    row = row_of("packages", "triton")
    assert priors.package_worlds("triton") == "cuda"
    with priors.without(row):
        assert priors.package_worlds("triton") is None
        assert priors.package_worlds("apex") == "cuda"
    assert priors.package_worlds("triton") == "cuda"


def test_findings_that_a_row_holds_back_come_without_it(
    ablation: ModuleType, repository: Path
) -> None:
    found = ablation.effects(repository, ["packages"])
    assert set(found) == {row_of("packages", "triton")}
    assert found[row_of("packages", "triton")].come > 0


def test_a_repository_that_no_row_speaks_of_does_not_change(
    ablation: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "plain.py").write_text("import torch\n\ntorch.zeros(3).cuda()\n")
    assert ablation.effects(tmp_path, []) == {}


def test_a_row_matters_to_files_that_import_what_it_matches(
    ablation: ModuleType, tmp_path: Path
) -> None:
    """The word stands in another file than the finding."""
    (tmp_path / "checks.py").write_text(
        "import torch\nfrom transformers import is_torch_cuda_available\n\n\n"
        "def pick():\n"
        '    return torch.device("cuda" if is_torch_cuda_available() else "cpu")\n'
    )
    (tmp_path / "train.py").write_text(
        "import torch\nfrom checks import pick\n\nx = torch.zeros(3, device=pick())\n"
        "if x.is_cuda:\n    torch.cuda.synchronize()\n"
    )
    row = row_of("helpers", "is_torch_cuda_available")
    (train,) = [f for f in ablation.first_look(tmp_path) if f.path.endswith("train.py")]
    assert b"is_torch_cuda_available" not in train.data
    assert row in train.heard


def test_every_row_can_be_switched_off(ablation: ModuleType) -> None:
    for row in priors.rows():
        with priors.without(row):
            assert row not in ablation.rows([])
        assert row in ablation.rows([])


def test_a_row_that_is_not_there_is_said_so(
    ablation: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="has no nonsense"):
        ablation.rows(["nonsense"])


def test_the_table_names_each_row_once(ablation: ModuleType) -> None:
    rows = ablation.rows(["packages"])
    effect = ablation.Effect(2, 1, 3)
    text = ablation.table(rows, {"one": {rows[0]: effect}, "two": {}}, {rows[0]: effect})
    assert f"| packages | `{rows[0].match}` | 1 | 2 | 1 | 3 | 6 |" in text
    assert text.count("| packages |") == len(rows)
    assert f"{len(rows) - 1} of {len(rows)} rows change nothing" in text


def test_a_fix_that_is_another_counts(ablation: ModuleType, tmp_path: Path) -> None:
    """The row changes no finding, only where a checkpoint is loaded to."""
    (tmp_path / "load.py").write_text(
        "import torch\n\n\ndef load(model):\n"
        '    model.load_state_dict(torch.load("model.pth"))\n    return model.cuda()\n'
    )
    found = ablation.effects(tmp_path, ["copying-objects"])
    assert found == {row_of("copying-objects", "model"): ablation.Effect(0, 0, 1)}


def test_what_was_measured_is_written_into_the_file_as_it_is_spelled(
    ablation: ModuleType, tmp_path: Path
) -> None:
    text = (Path(priors.__file__).parent / priors.FILE).read_text(encoding="utf-8")
    file = tmp_path / priors.FILE
    file.write_text(text, encoding="utf-8")
    (row,) = ablation.rows(["packages/triton"])
    ablation.record([row], {"one": {row: ablation.Effect(2, 1)}}, {}, "2000-01-01", file)
    changed = [
        new
        for old, new in zip(text.split("\n"), file.read_text().split("\n"), strict=True)
        if old != new
    ]
    assert len(changed) == 2
    assert '"date": "2000-01-01", "repositories": 1' in changed[0]
    assert '"repositories": 1, "held_back": 2, "made": 1, "fixes": 0, "fixtures": 0' in changed[1]
