"""What only happens on MPS is told of no module whose data never get there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import found

_TRAINING = """
{needs}
import torch


def train(model, graph, labels, steps):
    device = torch.device({device})
    model.to(device)
    total = 0.0
    for _ in range(steps):
        loss = model(graph, torch.rand(3, device=device)).sum()
        loss.backward()
        total += loss.item()
    print(total, torch.cuda.max_memory_allocated())
"""
_CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'
_WITH_MPS = f'"mps" if torch.backends.mps.is_available() else {_CHOICE}'
_OPTIONAL = "try:\n    import dgl\nexcept ImportError:\n    dgl = None"


def _codes(needs: str, device: str = _CHOICE) -> list[str]:
    text = _TRAINING.format(needs=needs, device=device)
    rules = ("MPS103", "MPS203", "MPS303")
    return [rule for rule in rules if found(text, rule)]


@pytest.mark.parametrize("needs", ["import dgl", "from dgl.nn import GraphConv"])
def test_a_module_that_needs_graphs_without_mps_waits_for_no_gpu(needs: str) -> None:
    assert _codes(needs) == []


@pytest.mark.parametrize("needs", ["", _OPTIONAL, "import networkx"])
def test_a_module_that_does_without_them_does(needs: str) -> None:
    assert _codes(needs) == ["MPS103", "MPS203", "MPS303"]


def test_who_chooses_mps_computes_on_other_data() -> None:
    assert "MPS303" in _codes("import dgl", _WITH_MPS)


def test_what_raises_on_a_mac_raises_without_a_gpu() -> None:
    assert found("import dgl\nimport torch\n\nx = torch.rand(3).cuda()\n", "MPS102") != []


_CUDA = "import torch\n\n\ndef test_sampler():\n    assert torch.rand(3).cuda().sum() > 0\n"


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("tests/cuda", False),
        ("test/python/cuda/ops", False),
        ("tests", True),
        ("tests/gpu", True),
        ("tests/cudart", True),
        ("cuda", True),
        ("cuda/tests", True),
    ],
)
def test_tests_in_a_folder_for_cuda_run_where_cuda_is(
    cli: Cli, project: Path, folder: str, told: bool
) -> None:
    (project / folder).mkdir(parents=True)
    (project / folder / "test_sampler.py").write_text(_CUDA)
    assert ("MPS102" in cli("check", ".").out) is told


def test_a_test_in_such_a_folder_that_names_mps_means_that_as_well(cli: Cli, project: Path) -> None:
    (project / "tests" / "cuda").mkdir(parents=True)
    more = "\n\ndef test_mps():\n    assert torch.backends.mps.is_available()\n"
    (project / "tests" / "cuda" / "test_sampler.py").write_text(_CUDA + more)
    assert "MPS102" in cli("check", ".").out
