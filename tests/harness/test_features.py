"""Whatever a program does with the CPU works on the simulated devices, with the same numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from .conftest import PROGRAMS, run_program

# One worker runs the program once for all of these tests.
pytestmark = pytest.mark.xdist_group("harness_features")

DEVICES = ("mps", "cuda")
RELEASE = "2.13"  # whichever is installed
# It has no MPS kernel for these: a Mac raises too.
NO_MPS_KERNEL = {
    "ctc_loss": "aten::_ctc_loss",
    "singular_values": "aten::_linalg_svd",
}


def feature_names() -> list[str]:
    """Read from the programs, so that collecting tests needs no torch."""
    import ast

    names = []
    for path in sorted(PROGRAMS.glob("features_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(mark, ast.Name) and mark.id == "feature" for mark in node.decorator_list
            ):
                names.append(node.name)
    return names


GENERATED = ("optimizer_", "loader_")


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One process per device runs every feature."""
    found = {}
    for device in ("cpu", *DEVICES):
        folder = tmp_path_factory.mktemp(device)
        options = ("--device", device, "--steps", "0", "--torch-version", RELEASE)
        done = run_program(folder, PROGRAMS / "features.py", *options)
        found[device] = done.results()
    return found


def same(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-3, abs_tol=1e-4) or first != first
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    return bool(first == second)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", feature_names())
def test_feature_gives_the_numbers_of_the_cpu(
    results: dict[str, dict[str, Any]], name: str, device: str
) -> None:
    outcome = results[device][name]
    if device == "mps" and name in NO_MPS_KERNEL:
        assert NO_MPS_KERNEL[name] in outcome["error"]
        assert "not currently implemented for the MPS device" in outcome["error"]
        return
    assert "error" not in outcome, outcome
    assert same(outcome["value"], results["cpu"][name]["value"])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("group", GENERATED)
def test_every_optimizer_and_loader_gives_the_numbers_of_the_cpu(
    results: dict[str, dict[str, Any]], device: str, group: str
) -> None:
    names = [name for name in results["cpu"] if name.startswith(group)]
    assert len(names) >= 5
    for name in names:
        outcome = results[device][name]
        assert "error" not in outcome, (name, outcome)
        assert same(outcome["value"], results["cpu"][name]["value"]), name


def test_no_feature_fails_on_the_cpu(results: dict[str, dict[str, Any]]) -> None:
    assert [name for name, outcome in results["cpu"].items() if "error" in outcome] == []
