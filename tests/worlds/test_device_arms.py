"""Arms for each device: tables, enumerations of other files, tests of one device after another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import found


def _codes(text: str, *rules: str) -> list[str]:
    return sorted(one.partition(" ")[0] for one in found(text, *rules))


_TABLE = """
import torch


def fast(x):
    torch.cuda.synchronize()
    return x * torch.ones(1, device="cuda")


IMPL = {{{entries}}}


def run(x):
    return IMPL[x.device.type](x)
"""


@pytest.mark.parametrize(
    "entries",
    [
        '"cuda": fast, "mps": lambda x: x',
        '"cuda": lambda x: fast(x), "mps": lambda x: x',
        'torch.device("cuda"): fast, torch.device("mps"): lambda x: x',
    ],
)
def test_what_a_table_has_for_cuda_beside_an_arm_for_mps_is_for_cuda(entries: str) -> None:
    assert found(_TABLE.format(entries=entries)) == []


@pytest.mark.parametrize(
    "entries",
    [
        '"cuda": fast, "cpu": lambda x: x',
        '"cuda": lambda x: x, "mps": fast',
        '"cuda": fast, "mps": fast',
        '"fast": fast, "mps": lambda x: x',
    ],
)
def test_what_a_mac_finds_in_a_table_is_for_the_mac(entries: str) -> None:
    assert _codes(_TABLE.format(entries=entries)) == ["MPS101", "MPS201"]


def test_what_a_table_calls_at_once_is_called_everywhere() -> None:
    text = "NAMES = {'cuda': torch.cuda.get_device_name(), 'mps': 'Apple'}\n"
    assert found(f"import torch\n\n{text}") != []


_PLACES = """
import torch

PLACES = {{"cuda": {cuda}, "{other}": torch.device("{other}")}}


def run(net, device):
    return net.to(PLACES{asked})
"""


@pytest.mark.parametrize("cuda", ['torch.device("cuda")', '"cuda:0"'])
@pytest.mark.parametrize("asked", ['["cuda"]', '.get("cuda")', '.get("cuda", device)'])
def test_an_arm_that_is_asked_for_by_its_name_is_that_on_a_mac_as_well(
    cuda: str, asked: str
) -> None:
    assert _codes(_PLACES.format(cuda=cuda, other="mps", asked=asked)) == ["MPS101"]


@pytest.mark.parametrize("asked", ["[device.type]", ".get(device.type)", '["mps"]', '.get("cpu")'])
def test_an_arm_for_whoever_has_the_device_is_for_its_machine(asked: str) -> None:
    assert found(_PLACES.format(cuda='torch.device("cuda")', other="mps", asked=asked)) == []


_MEMORY = (
    "import torch\n\nMEMORY = {{'cuda': lambda: torch.cuda.max_memory_allocated(), {other}}}\n"
)


@pytest.mark.parametrize(
    ("other", "codes"),
    [
        ("'mps': lambda: torch.mps.current_allocated_memory()", []),
        ("'cpu': lambda: 0", ["MPS203"]),
    ],
)
def test_a_lambda_of_an_arm_is_for_its_device(other: str, codes: list[str]) -> None:
    assert _codes(_MEMORY.format(other=other), "MPS203", "MPS703") == codes


_READER = """
from defaults import DEFAULTS


def load(model, kind):
    return model.to(DEFAULTS[kind]["device"])
"""


def test_a_device_in_an_arm_is_no_device_of_others(cli: Cli, project: Path) -> None:
    (project / ".git").mkdir(exist_ok=True)
    (project / "load.py").write_text(_READER)
    told = {}
    for other in ("mps", "other"):
        arm = f"'{other}': dict(device='mps', n=2)"
        text = f"import torch\n\nDEFAULTS = {{'cuda': dict(device='cuda', n=1), {arm}}}\n"
        (project / "defaults.py").write_text(text)
        ran = cli("check", "--output-format", "json", "defaults.py")
        told[other] = [finding["code"] for finding in json.loads(ran.out)]
    assert told == {"mps": [], "other": ["MPS101"]}


_ATTENTION = """
import torch


def attention(q, k, v):
    kind = q.device.type
    if kind == "cuda":
        scratch = torch.empty(1, device="cuda")
        return torch.nn.functional.scaled_dot_product_attention(q, k, v) + scratch
    {other} kind == "{device}":
        return (q @ k.transpose(-1, -2)).softmax(-1) @ v
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)
"""


@pytest.mark.parametrize("other", ["if", "elif"])
def test_what_is_made_in_cudas_arm_is_not_missed_in_that_of_mps(other: str) -> None:
    assert found(_ATTENTION.format(other=other, device="mps"), "MPS101") == []
    assert found(_ATTENTION.format(other=other, device="cpu"), "MPS101") != []


_SAYS = """
import torch


def draw(kind, seed):
    if kind == "mps":
        {says}
    if kind == "cuda":
        return torch.rand(3, device="cuda")
    return torch.rand(3)
"""


@pytest.mark.parametrize(
    ("says", "is_told"),
    [
        ('print("using MPS")', True),
        ("pass", True),
        ('"""The same."""\n        print(kind)', True),
        ('return torch.rand(3, device="mps")', False),
        ('kind = "cpu"', False),
        ('print("using MPS")\n        torch.mps.manual_seed(seed)', False),
    ],
)
def test_an_arm_that_only_says_which_device_it_is_is_none(says: str, is_told: bool) -> None:
    assert bool(found(_SAYS.format(says=says), "MPS101")) is is_told


_ENUMERATION = """
import enum


class Accelerator({base}):
    CPU = "cpu"
    CUDA = "cuda"
    MPS = "mps"
    FAST = "fast"
"""
_LOADING = """
import torch
from kinds import Accelerator


def load(model, accelerator: Accelerator):
    if accelerator == Accelerator.{member}:
        model = torch.compile(model.cuda())
        torch.cuda.synchronize()
    elif accelerator == Accelerator.MPS:
        model = model.to("mps")
    return model
"""


@pytest.mark.parametrize("base", ["enum.Enum", "str, enum.Enum", "enum.StrEnum"])
def test_a_member_of_another_files_enumeration_is_the_device_that_it_holds(
    cli: Cli, project: Path, base: str
) -> None:
    (project / "kinds.py").write_text(_ENUMERATION.format(base=base))
    told = {}
    for member in ("CUDA", "FAST"):
        (project / "loading.py").write_text(_LOADING.format(member=member))
        ran = cli("check", "--output-format", "json", "loading.py")
        told[member] = [finding["code"] for finding in json.loads(ran.out)]
    assert told == {"CUDA": [], "FAST": ["MPS102", "MPS201"]}


_ENGINES = """
import torch


class GpuEngine:
    def __init__(self):
        self.device = torch.device("cuda")

    def run(self, model, x):
        return model.to(self.device)(x.to("cuda"))


class Elsewhere:
    def run(self, model, x):
        {elsewhere}


def pick():
    {pick}
"""
_THERE = 'return model.to("{0}")(x.to("{0}"))'
_PICK = "return GpuEngine() if torch.cuda.is_available() else Elsewhere()"


def _told_of_engines(cli: Cli, project: Path, pick: str, elsewhere: str) -> list[str]:
    (project / ".git").mkdir(exist_ok=True)
    (project / "engine.py").write_text(_ENGINES.format(pick=pick, elsewhere=elsewhere))
    ran = cli("check", "--output-format", "json", "engine.py")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize(
    "pick",
    [
        _PICK,
        "if torch.cuda.is_available():\n        return GpuEngine()\n    else:\n"
        "        return Elsewhere()",
        "return Elsewhere() if not torch.cuda.is_available() else GpuEngine()",
        "if not torch.cuda.is_available():\n        return Elsewhere()\n    else:\n"
        "        return GpuEngine()",
    ],
)
def test_an_object_that_moves_to_mps_is_a_macs_arm(cli: Cli, project: Path, pick: str) -> None:
    told = {
        other: _told_of_engines(cli, project, pick, _THERE.format(other))
        for other in ("mps", "cpu")
    }
    assert told == {"mps": [], "cpu": ["MPS103"]}


@pytest.mark.parametrize(
    ("elsewhere", "is_told"),
    [
        ('"""As on mps."""\n        return model(x)', True),
        ('known = ("cpu", "mps")\n        return model(x), known', True),
        ('print("mps")\n        return model(x)', True),
        ('return model(x) if x.device.type != "mps" else model(x.cpu())', True),
        ('self.device = "mps"\n        return model.to(self.device)(x.to(self.device))', False),
        ("torch.mps.empty_cache()\n        return model(x)", False),
        ('return model.to(torch.device("mps:0"))(x)', False),
    ],
)
def test_a_class_that_only_speaks_of_mps_does_not_work_there(
    cli: Cli, project: Path, elsewhere: str, is_told: bool
) -> None:
    assert ("MPS103" in _told_of_engines(cli, project, _PICK, elsewhere)) is is_told


_ACCELERATORS = """
import torch


class Accelerator:
    def synchronize(self):
        torch.mps.synchronize()


def accelerator():
    if torch.{asked}.is_available():
        return Accelerator()
"""


@pytest.mark.parametrize(("asked", "count"), [("backends.mps", 0), ("xpu", 1)])
def test_what_has_no_constructor_does_its_work_where_it_is_made(asked: str, count: int) -> None:
    assert len(found(_ACCELERATORS.format(asked=asked), "MPS210")) == count
