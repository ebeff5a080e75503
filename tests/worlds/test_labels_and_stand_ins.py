"""Devices that place nothing: labels of records, what a mock is given, what is faked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import found

_RECORD = """
from dataclasses import dataclass

import torch


@dataclass
class Hardware:
    name: str
    device: str = "cpu"
"""
_PLAIN = """
import torch


class Hardware:
    def __init__(self, name, device="cpu"):
        self.name, self.device = name, device
"""
_KEPT = 'import torch\nfrom record import Hardware\n\nA100 = Hardware("a100", device="cuda")\n'
_COST = "from hardware import A100\n\n\ndef cost(net):\n    return {read}\n"


def _told(cli: Cli, folder: Path, record: str, read: str) -> list[str]:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "record.py").write_text(record.lstrip("\n"))
    (folder / "hardware.py").write_text(_KEPT)
    (folder / "cost.py").write_text(_COST.format(read=read))
    ran = cli("check", "--output-format", "json", ".")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize("hardware", [_RECORD, _PLAIN], ids=["dataclass", "class"])
@pytest.mark.parametrize(
    ("read", "codes"),
    [
        ("A100.name", []),
        ('A100.device == "cuda"', []),
        ('{"cuda": 3e12, "cpu": 1e12}[A100.device]', []),
        ('f"{A100.device} {A100.name}"', []),
        ("net.to(A100.device)", ["MPS101"]),
        ('net.to(getattr(A100, "device"))', ["MPS101"]),
    ],
)
def test_a_text_that_a_record_keeps_is_a_device_where_somebody_places_with_it(
    cli: Cli, project: Path, hardware: str, read: str, codes: list[str]
) -> None:
    assert _told(cli, project, hardware, read) == codes


def test_a_class_that_does_more_with_it_is_no_record(cli: Cli, project: Path) -> None:
    hardware = _PLAIN.replace("= name, device\n", "= name, device\n        place(device)\n")
    assert _told(cli, project, hardware, "A100.name") == ["MPS101"]


def test_neither_is_one_whose_base_somebody_else_wrote(cli: Cli, project: Path) -> None:
    hardware = _PLAIN.replace("class Hardware:", "class Hardware(torch.nn.Module):")
    assert _told(cli, project, hardware, "A100.name") == ["MPS101"]


def test_a_record_that_is_taken_as_a_whole_may_place_anything(cli: Cli, project: Path) -> None:
    record = (
        f"from dataclasses import asdict\n{_RECORD}\n\ndef run(net, one):\n    net(**asdict(one))\n"
    )
    assert _told(cli, project, record, "A100.name") == ["MPS101"]


_MOCKED = """
from unittest import mock

import torch


def test_moves():
    model = {made}
    model.cuda()
    model.to(device="cuda")
    model.cuda.assert_called_once()
"""


@pytest.mark.parametrize(
    ("made", "count"),
    [("mock.MagicMock()", 0), ("mock.Mock()", 0), ("torch.nn.Linear(1, 1)", 2)],
)
def test_a_mock_moves_nothing(made: str, count: int) -> None:
    assert len(found(_MOCKED.format(made=made), "MPS101", "MPS102")) == count


@pytest.mark.parametrize(("moved", "expected"), [("moved", False), ("torch.zeros(1).to", True)])
def test_what_a_mock_was_called_with_is_only_looked_at(moved: str, expected: bool) -> None:
    asks = 'moved.assert_called_once_with("cuda")' if not expected else f'{moved}("cuda")'
    assert bool(found(f"import torch\n\n\ndef test_it(moved):\n    {asks}\n", "MPS101")) is expected


_PATCHED = """
from unittest import mock

import torch


@mock.patch("{patched}")
def test_moves(to):
    torch.nn.Linear(1, 1).to("cuda")
"""


@pytest.mark.parametrize(
    ("patched", "is_told"),
    [
        ("torch.nn.Module.to", False),
        ("torch.nn.modules.module.Module.to", False),
        ("torch.Tensor.to", True),
        ("torch.save", True),
        ("os.stat", True),
    ],
)
def test_what_stands_in_for_torch_moves_nothing(patched: str, is_told: bool) -> None:
    assert bool(found(_PATCHED.format(patched=patched), "MPS101")) is is_told


_PATCHED_WAIT = """
from unittest import mock

import torch


@mock.patch("{patched}")
def waits(stand_in):
    {does}
"""
_CHOICE = 'return torch.device("cuda" if torch.cuda.is_available() else "cpu")'


@pytest.mark.parametrize(
    ("patched", "does", "is_told"),
    [
        ("torch.cuda.synchronize", "torch.cuda.synchronize()", False),
        ("torch.cuda", "torch.cuda.synchronize()", False),
        ("torch.cuda.empty_cache", "torch.cuda.synchronize()", True),
        ("torch.save", _CHOICE, True),
        ("torch.cuda.synchronize", "torch.nn.Linear(1, 1).cuda()", True),
        ("torch.cuda.Stream", 'fetch(stand_in, torch.device("cuda:0"))', False),
        ("torch.cuda.Stream", 'torch.ones(1, device=torch.device("cuda:0"))', True),
        ("torch.save", 'fetch(stand_in, torch.device("cuda:0"))', True),
    ],
)
def test_only_what_is_patched_is_not_the_real_one(patched: str, does: str, is_told: bool) -> None:
    assert bool(found(_PATCHED_WAIT.format(patched=patched, does=does))) is is_told


_FAKED = """
import torch
from torch._subclasses.fake_tensor import FakeTensorMode


def peak(run):
    with {mode}():
        x = torch.empty(4, 4, device="cuda")
        net = torch.nn.Linear(4, 4){move}
        return run(net(x)).shape
"""


@pytest.mark.parametrize(
    ("mode", "move", "codes"),
    [
        ("FakeTensorMode", "", []),
        ("FakeTensorMode", ".cuda()", ["MPS102"]),
        ("torch.no_grad", "", ["MPS101"]),
    ],
)
def test_what_is_faked_is_made_nowhere(mode: str, move: str, codes: list[str]) -> None:
    told = found(_FAKED.format(mode=mode, move=move), "MPS101", "MPS102")
    assert [one.partition(" ")[0] for one in told] == codes


_SAMPLER = """
import torch


class Sampler:
    def __init__(self, model, **named):
        self.model = model
        self.device = named.get("device", "cuda")

    def sample(self, n):
        return self.model(torch.randn(n, 3, device=self.device))
"""
_PROGRAM = """
import torch
from sampler import Sampler

place = "mps" if torch.backends.mps.is_available() else "cpu"
print(Sampler(torch.nn.Linear(3, 3).to(place){given}).sample(3))
"""


@pytest.mark.parametrize(("given", "codes"), [(", device=place", []), ("", ["MPS101"])])
def test_a_default_that_each_call_replaces_places_nothing(
    cli: Cli, project: Path, given: str, codes: list[str]
) -> None:
    (project / ".git").mkdir(exist_ok=True)
    (project / "sampler.py").write_text(_SAMPLER.lstrip("\n"))
    (project / "program.py").write_text(_PROGRAM.format(given=given).lstrip("\n"))
    ran = cli("check", "--output-format", "json", ".")
    assert [finding["code"] for finding in json.loads(ran.out)] == codes
