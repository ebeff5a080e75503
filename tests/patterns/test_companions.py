"""Where a parameter tells the device of one thing that a function makes, it tells that of all."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SAMPLER = """
import torch


class ErrorBoundSampler:
    near, far, count = 0.0, 2.0, 64

    def get_z_vals(self, ray_dirs, cam_loc, model):
        {first}
        near = self.near * torch.ones(ray_dirs.shape[0], 1){float}.cuda()
        steps = {steps}.cuda()
        return points, near, steps
"""
"""After volsdf's `code/model/ray_sampler.py`."""
MET = "points = cam_loc + ray_dirs.unsqueeze(2) * torch.linspace(0.0, 1.0, 3).cuda()"


def fixed(first: str, steps: str, more: str = "") -> str:
    text = SAMPLER.format(first=first, steps=steps, float=more)
    return fix_source(SourceFile("sampler.py", text.encode()), Settings()).text


@pytest.mark.parametrize("steps", ["torch.rand(self.count)", "torch.Tensor([-1, 1]).float()"])
def test_what_a_function_makes_goes_where_all_else_goes_that_it_makes(steps: str) -> None:
    text = fixed(MET, steps, ".float()")
    assert text.count(".device)") == 3
    assert len({line.split(".to(")[1] for line in text.splitlines() if ".to(" in line}) == 1
    assert "mps" not in text


@pytest.mark.parametrize(
    ("first", "steps"),
    [
        pytest.param("points = cam_loc", "torch.rand(self.count)", id="nothing tells"),
        pytest.param(MET, "model", id="given from elsewhere"),
        pytest.param(MET, "torch.load('steps.pt')", id="read from a file"),
        pytest.param(
            "ray_dirs = ray_dirs.cpu(); cam_loc = cam_loc.cpu(); points = cam_loc",
            "torch.rand(self.count)",
            id="taken elsewhere",
        ),
    ],
)
def test_what_comes_from_elsewhere_goes_to_a_device_of_its_own(first: str, steps: str) -> None:
    text = fixed(first, steps)
    line = next(line for line in text.splitlines() if "steps = " in line)
    assert "mps" in text
    assert ".to(ray_dirs" not in line
    assert ".to(cam_loc" not in line
