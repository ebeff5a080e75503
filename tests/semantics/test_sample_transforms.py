"""An operator that MPS lacks raises nothing in a transform of a data set, whose samples lie on the
CPU."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_TRANSFORM = """
import torch


class Spectrum{base}:
    def __call__(self, data):
        {stored}
        return {returned}


def spectrum(laplacian):
    return torch.linalg.eigh(laplacian)[1]
"""


def _codes(cli: Cli, project: Path, *, other: str = "", **parts: str) -> list[str]:
    given = {"base": "", "stored": "data.vectors = spectrum(data.laplacian)", "returned": "data"}
    (project / "spectra.py").write_text(_TRANSFORM.format(**(given | parts)))
    (project / "README.md").write_text("# Spectra\n")
    (project / "train.py").write_text(f"import spectra\n\nfound = spectra.Spectrum()\n{other}\n")
    ran = cli("check", "--output-format", "json", "spectra.py")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize("place", ["data.vectors", 'data["vectors"]'])
def test_what_a_transform_of_samples_runs_is_not_told(cli: Cli, project: Path, place: str) -> None:
    assert _codes(cli, project, stored=f"{place} = spectrum(data.laplacian)") == []


def test_a_module_that_gives_back_what_it_is_given_is_told(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, base="(torch.nn.Module)") == ["MPS501"]


def test_an_object_that_gives_back_something_else_is_told(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, returned="spectrum(data.laplacian)") == ["MPS501"]


def test_a_function_that_others_use_as_well_is_told(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, other="print(spectra.spectrum(found))") == ["MPS501"]
