"""Where CUDA's arm makes one of its types the default, MPS gets the default device, or no fix."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

CHOSEN = """import torch
from torch import nn

if torch.cuda.is_available():
    device = torch.device("cuda")
    {0}
else:
    device = torch.device("cpu")
    {1}
net = nn.Linear(2, 2).to(device)
print(net(torch.rand(3, 2)))
"""
ALONE = """import torch
from torch import nn

if torch.cuda.is_available():
    {0}
device = "cuda" if torch.cuda.is_available() else "cpu"
net = nn.Linear(2, 2).to(device)
print(net(torch.rand(3, 2)))
"""
BY_TEXT = 'torch.set_default_tensor_type("torch.cuda.FloatTensor")'
BY_CLASS = "torch.set_default_tensor_type(torch.cuda.FloatTensor)"
OF_CPU = 'torch.set_default_tensor_type("torch.FloatTensor")'


def fixed(cli: Cli, project: Path, *options: str, **texts: str) -> str:
    """The file `run` as fixes leave it."""
    for name, text in texts.items():
        (project / f"{name}.py").write_text(text)
    cli("fix", "--no-verify", "--no-cache", "--quiet", *options, ".")
    return (project / "run.py").read_text()


def told(cli: Cli) -> list[dict[str, object]]:
    output = cli("check", "--no-cache", "--output-format", "json", ".").out
    return [one for one in json.loads(output) if one["code"] == "MPS103"]


@pytest.mark.parametrize("setting", [BY_TEXT, BY_CLASS])
@pytest.mark.parametrize("other", [OF_CPU, "pass"])
def test_the_arm_for_mps_sets_the_default_device(
    cli: Cli, project: Path, setting: str, other: str
) -> None:
    text = fixed(cli, project, "--unsafe-fixes", run=CHOSEN.format(setting, other))
    arm = '    device = torch.device("mps")\n    torch.set_default_device(device)\n'
    assert f"    {setting}\nelif torch.backends.mps.is_available():\n{arm}else:\n" in text


def test_a_type_leaves_the_fix_unsafe(cli: Cli, project: Path) -> None:
    text = CHOSEN.format(BY_TEXT, OF_CPU)
    assert fixed(cli, project, run=text) == text


def test_a_default_device_in_front_of_the_choice_is_spelled_out(cli: Cli, project: Path) -> None:
    text = CHOSEN.format('device = torch.device("cuda")', "pass").replace(
        'device = torch.device("cuda")', 'torch.set_default_device("cuda")', 1
    )
    arm = '    torch.set_default_device("mps")\n    device = torch.device("mps")\n'
    assert arm in fixed(cli, project, run=text)


@pytest.mark.parametrize("setting", [BY_TEXT, BY_CLASS])
def test_a_test_for_the_type_alone_gets_an_arm_beside_the_choice(
    cli: Cli, project: Path, setting: str
) -> None:
    text = fixed(cli, project, "--unsafe-fixes", run=ALONE.format(setting))
    assert text.count("torch.backends.mps.is_available()") == 2
    assert '    torch.set_default_device("mps")\n' in text


@pytest.mark.parametrize(
    "text",
    [
        CHOSEN.format(BY_TEXT.replace("Float", "Double"), OF_CPU),
        CHOSEN.format(f"if net_of_floats:\n        {BY_TEXT}", "pass"),
        CHOSEN.format(f"{BY_TEXT}\n    mean = torch.Tensor([1])", "mean = torch.Tensor([1])"),
        ALONE.format(BY_CLASS.replace("Float", "Half")),
        ALONE.format(f"from numpy import ones\n    {BY_CLASS}"),
    ],
)
def test_a_choice_beside_a_type_that_has_no_counterpart_has_no_fix(
    cli: Cli, project: Path, text: str
) -> None:
    assert fixed(cli, project, "--unsafe-fixes", run=text) == text
    assert not any(one["fix"] for one in told(cli))


def test_a_type_that_another_file_makes_the_default_counts(cli: Cli, project: Path) -> None:
    types = f"if torch.cuda.is_available():\n    {BY_CLASS}\n    from numpy import ones\n"
    types = f"import torch\n\n{types}"
    text = "import types_of_floats\n" + ALONE.format("pass")
    assert fixed(cli, project, "--unsafe-fixes", run=text, types_of_floats=types) == text


def test_a_choice_without_a_type_is_opened_as_ever(cli: Cli, project: Path) -> None:
    text = CHOSEN.format("pass", "pass").replace("torch.rand(3, 2)", "torch.rand(3, 2).to(device)")
    assert "set_default_device" not in fixed(cli, project, run=text)
    assert "mps" in (project / "run.py").read_text()
