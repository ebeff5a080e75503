"""Choices that leave a Mac's GPU out where they are hidden: among other ways, behind a call into
another file, in a flag that is handed on; and reads in the arm that a Mac takes once ported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

from .conftest import found

CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'


@pytest.mark.parametrize("given", ["config", "config: Config"])
def test_the_device_of_something_unknown_may_be_none(given: str) -> None:
    text = f"""
class Config:
    device: str = None

def train(model, {given}):
    if config.device is None:
        config.device = {CHOICE}
    model.to(config.device)
"""
    assert found(text, "MPS103") != []


def test_the_device_of_a_tensor_is_never_none() -> None:
    text = f"""
def train(model):
    x = torch.zeros(3)
    device = x.device
    if device is None:
        device = {CHOICE}
    model.to(device)
"""
    assert found(text, "MPS103") == []


TWO_WAYS = """
class Upscaler:
    def __init__(self, index, device=None):
        if index:
            self.device = torch.device(f"cuda:{{index}}" if torch.cuda.is_available() else "cpu")
        else:
            self.device = torch.device({other})
"""


def test_each_way_to_a_device_is_a_choice_of_its_own() -> None:
    assert len(found(TWO_WAYS.format(other=CHOICE), "MPS103")) == 2


def test_a_way_that_asks_for_mps_is_none() -> None:
    known = '"cuda" if torch.cuda.is_available() else "mps"'
    assert len(found(TWO_WAYS.format(other=known), "MPS103")) < 2


RANKS = """
import os

class State:
    def __init__(self, cpu):
        if os.environ.get("LOCAL_RANK") and not cpu:
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        else:
            self.device = torch.device({choice})
"""


def test_a_choice_beside_a_way_that_several_gpus_take_is_told() -> None:
    text = RANKS.format(choice='"cuda" if torch.cuda.is_available() and not cpu else "cpu"')
    assert any("torch.cuda.is_available()" in one for one in found(text, "MPS103"))


def test_the_cpu_beside_a_way_that_several_gpus_take_is_no_choice() -> None:
    assert found(RANKS.format(choice='"cpu"'), "MPS103") == []


@pytest.mark.parametrize(("index", "told"), [('"0"', 1), ("0", 1), ('"auto"', 0)])
def test_an_index_beside_a_device_names_a_gpu(index: str, told: int) -> None:
    text = f"""
def load(device=None):
    return build(({index} if torch.cuda.is_available() else "cpu") if device is None else device)
"""
    assert len(found(text, "MPS103")) == told


REFUSED = """
class Voice:
    def __init__(self, use_cuda=False):
        self.use_cuda = use_cuda
        if use_cuda:
            assert torch.cuda.is_available(), "CUDA is not here"

    def speak(self, x):
        device = {device}
        return x.to(device)
"""


def test_a_switch_that_another_function_refuses_on_a_mac_is_a_choice() -> None:
    text = REFUSED.format(device='"cuda" if self.use_cuda else "cpu"')
    assert found(text, "MPS103") != []


def test_what_a_refused_switch_does_not_decide_is_none() -> None:
    assert found(REFUSED.format(device='"cpu"'), "MPS103") == []


FLAG = """
import argparse
from exp import Experiment

args = argparse.ArgumentParser().parse_args()
args.{name} = {value}
print(args.{name})
Experiment(args).run()
"""


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("use_gpu", "torch.cuda.is_available()", 1),
        ("use_gpu", "True", 0),
        ("num_gpu", "torch.cuda.device_count()", 0),
        ("fast", "torch.cuda.is_available()", 0),
    ],
)
def test_a_flag_that_is_handed_on_decides_elsewhere(name: str, value: str, told: int) -> None:
    assert len(found(FLAG.format(name=name, value=value), "MPS103")) == told


def test_a_flag_that_also_chooses_here_is_told_where_it_chooses() -> None:
    text = FLAG.format(name="cuda", value="torch.cuda.is_available()")
    text += 'device = "cuda" if args.cuda else "cpu"\nx = torch.zeros(3, device=device)\n'
    (one,) = found(text, "MPS103")
    assert 'device = "cuda" if args.cuda else "cpu"' in one


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (CHOICE, 1),
        ('"mps"', 0),
        ('torch.device("cuda", 1) if several else None', 0),
    ],
)
def test_a_device_is_told_where_it_is_given_to_a_class_of_another_file(
    cli: Cli, project: Path, given: str, told: int
) -> None:
    (project / "voice.py").write_text(
        "import torch\n\n\nclass Voice:\n    def __init__(self, net, device='cpu'):\n"
        "        if 'cuda' in str(device):\n            assert torch.cuda.is_available()\n"
        "        self.net = net.to(device)\n"
    )
    (project / "app.py").write_text(
        "import sys\n\nimport torch\nfrom voice import Voice\n\nseveral = len(sys.argv) > 1\n"
        f"device = {given}\nvoice = Voice(torch.nn.Linear(2, 2), device=device)\n"
    )
    result = cli("check", "--output-format", "json", "--select", "MPS101,MPS103", "app.py")
    assert len(json.loads(result.out)) == told


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ('torch.device("cuda" if args.cuda else "cpu")', 1),
        ('"cuda" if args.cuda else "cpu"', 1),
        ('"mps" if args.cuda else "cpu"', 0),
    ],
)
def test_a_switch_for_cuda_is_told_where_what_it_chooses_is_given_to_another_file(
    cli: Cli, project: Path, device: str, told: int
) -> None:
    (project / "algorithm.py").write_text(
        "import torch\n\n\nclass Algorithm:\n    def __init__(self, net, device):\n"
        "        torch.cuda.manual_seed(1)\n        self.net = net.to(device)\n"
    )
    (project / "app.py").write_text(
        "import argparse\n\nimport torch\nfrom algorithm import Algorithm\n\n"
        "parser = argparse.ArgumentParser()\n"
        'parser.add_argument("--cuda", action="store_true")\n'
        "args = parser.parse_args()\n"
        f"print(Algorithm(torch.nn.Linear(2, 2), device={device}))\n"
    )
    result = cli("check", "--output-format", "json", "--select", "MPS101,MPS103", "app.py")
    assert len(json.loads(result.out)) == told


READ = """
class Model:
    def __init__(self, net):
        self.device = torch.device({device})
        self.use_gpu = {flag}
        self.net = net
        self.net.to(self.device)

    def predict(self, x):
        x = torch.from_numpy(x).to(self.device)
        if self.use_gpu:
            return self.net(x).detach().cpu().numpy()
        else:
            return self.net(x).detach(){copy}.numpy()  # read
"""
AVAILABLE = "torch.cuda.is_available()"
KNOWN = "torch.cuda.is_available() or torch.backends.mps.is_available()"


def reads(**parts: str) -> list[str]:
    said = {"device": CHOICE, "flag": AVAILABLE, "copy": ""}
    return found(READ.format(**{**said, **parts}), "MPS301")


def test_a_read_in_the_arm_that_a_ported_mac_takes_raises() -> None:
    (one,) = reads()
    assert "return self.net(x).detach().numpy()" in one


@pytest.mark.parametrize(
    "parts",
    [{"copy": ".cpu()"}, {"flag": KNOWN}, {"device": '"cuda" if self.use_gpu else "cpu"'}],
    ids=["copied", "the flag knows MPS", "the flag places"],
)
def test_a_read_that_a_ported_mac_does_not_come_to_with_its_gpu_does_not(
    parts: dict[str, str],
) -> None:
    if "device" in parts:
        text = READ.format(device='"cpu"', flag=AVAILABLE, copy="")
        text = text.replace(
            "        self.net = net\n",
            f"        self.device = torch.device({parts['device']})\n        self.net = net\n",
        )
        assert found(text, "MPS301") == []
    else:
        assert reads(**parts) == []


def test_who_asks_for_autocast_reckons_with_one_around() -> None:
    off = "with torch.cuda.amp.autocast(enabled=False):\n        return x * 2\n"
    asked = "    if torch.is_autocast_enabled():\n        x = x.half()\n"
    assert found(f"def scale(x):\n{asked}    {off}", "MPS207") != []
    assert found(f"def scale(x):\n    {off}", "MPS207") == []


def test_what_any_device_of_several_asks_for_is_a_choice() -> None:
    text = """
def device_of(values):
    any_cuda = any(value.device == torch.device("cuda") for value in values)
    return torch.device("cuda") if any_cuda else torch.device("cpu")
"""
    assert found(text, "MPS103") != []
