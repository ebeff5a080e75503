"""What is loaded is followed to where it goes, by whatever name, key and function of the project:
where it is only copied it is loaded on the CPU, and where it is computed with it stays on CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

TRAINER = """\
import random
import torch
from peft import set_peft_model_state_dict


class Trainer:
    def __init__(self, model, rows):
        self.model = model.cuda()
        self.rows = torch.zeros(rows, 2)
        self.names = rows

    def load(self, checkpoint, other):
        state = torch.load(checkpoint)
        USE
"""
SETTINGS = Settings(extend_select=("MPS413",))
ON_HOST = 'torch.load(checkpoint, map_location="cpu")'


def fixed(use: str) -> str:
    text = TRAINER.replace("USE", use.replace("\n", "\n        "))
    return fix_source(SourceFile("trainer.py", text.encode()), SETTINGS).text


@pytest.mark.parametrize(
    "use",
    [
        "self.model.load_state_dict(dict((k[7:], v) for k, v in state.items()))",
        'state["net"] = dict([(k[7:], v) for k, v in state["net"].items()])\n'
        'self.model.load_state_dict(state["net"])',
        "for k in list(state.keys()):\n    state[k[7:]] = state.pop(k)\n"
        "self.model.load_state_dict(state)",
        'for k in state:\n    if k.startswith("net"):\n        print(state[k].shape)\n'
        "self.model.load_state_dict(state)",
        "new = {}\nfor k, v in state.items():\n"
        '    new[k] = v.squeeze(2) if "conv" in k else v\nself.model.load_state_dict(new)',
        'self.model.load_state_dict({"weight": state["w"].unsqueeze(1), "bias": state["b"]})',
        'state = state.get("model", state)\nif state:\n    self.model.load_state_dict(state)',
        'state = state["model"] if "model" in state else state\nself.model.load_state_dict(state)',
        'del state["net"]["head"]\nstate["args"]["size"] = 1\n'
        'self.model.load_state_dict(state["net"])',
        "kinds = next(iter(state.values())).dtype\nself.model.load_state_dict(state)",
        'self.model.load_state_dict(state["net"])\nrandom.setstate(state["python_rng"])',
        'self.rows[: state["rows"].shape[0]] = state["rows"]',
        'self.model.load_state_dict(state["net"])\nassert state["version"] != "1.0"',
        "set_peft_model_state_dict(self.model, state)",
        "self.model.load_state_dict(state, assign=True)\nself.model.to(self.device)",
        "self.model.load_state_dict(state, assign=True)\nself.model.eval()\nself.epoch = 1\n"
        "self.model = self.model.half()\nself.model.cuda()",
        'self.model.load_state_dict(state["net"])\nleast = float("inf")\nleast = state["least"]\n'
        "if other < least:\n    least = other",
        'w = torch.cat([state["w"], state["w"][:, 1:]])\nself.model.load_state_dict({"w": w})',
        "self.model.load_state_dict({k[7:]: v for k, v in list(state.items())})",
        "for k, v in sorted(tuple(state.items())):\n    state[k] = v\n"
        "self.model.load_state_dict(state)",
    ],
)
def test_a_checkpoint_that_is_copied_under_other_names_is_loaded_on_the_cpu(use: str) -> None:
    assert ON_HOST in fixed(use)


@pytest.mark.parametrize(
    "use",
    [
        "self.model.load_state_dict(dict((k[7:], v * other) for k, v in state.items()))",
        "for k in list(state.keys()):\n    other += state.pop(k)",
        "for k, v in list(state.items()):\n    other += v",
        "new = {}\nfor k, v in state.items():\n    new[k] = v.mul(other)\n"
        "self.model.load_state_dict(new)",
        'state["net"]["head"] += other\nself.model.load_state_dict(state["net"])',
        'self.rows[state["first"]] = state["rows"]',
        'print(state["rows"].shape)\nself.names[:2] = state["rows"]',
        'print(state["rows"].shape)\nrows = [None] * 8\nrows[:2] = state["rows"]\n'
        "self.model(rows[0])",
        'self.model.load_state_dict(state["net"])\nassert state["means"] < other',
        'self.model.load_state_dict(state["net"])\nself.model(self.x * (state["means"] > 0))',
        'self.model.load_state_dict(state["net"])\nself.model(self.x * (2 * state["means"]))',
        "self.model.load_state_dict(state, assign=True)",
        "self.model.load_state_dict(state, assign=True)\nself.model(other.cuda())\n"
        "self.model.to(self.device)",
        "self.model.load_state_dict(state, assign=True)\nself.validate()\n"
        "self.model.to(self.device)",
        "self.model.load_state_dict(state, assign=True)\nif other:\n    self.model.to(self.device)",
        'self.model.load_state_dict(state["net"])\nmean = 0.0\nmean = state["mean"]\n'
        "self.model(other - mean)",
        'other["mean"] = state["mean"]\nprint(other.keys())',
        'known = self.known\nknown["mean"] = state["mean"]\nprint(known.keys())',
        'w = torch.cat([state["w"], other])\nself.model.load_state_dict({"w": w})',
    ],
)
def test_a_checkpoint_that_is_computed_with_is_not(use: str) -> None:
    text = fixed(use)
    assert ON_HOST not in text
    assert "map_location=" in text


@pytest.mark.parametrize(
    "use",
    [
        'self.model.load_state_dict({"weight": state["w"]})\nself.model(state["x"].unsqueeze(1))',
        "for batch in state:\n    self.model(batch)",
        "for v in state.values():\n    self.model(v)",
    ],
)
def test_one_that_the_model_would_be_given_on_the_cpu_keeps_it_from_mps(use: str) -> None:
    assert "mps" not in fixed(use)
    assert "map_location" not in fixed(use)


PROGRAM = """\
import torch
from helpers import fill, renamed
from nets import Net

net = Net().cuda()
fill(net, renamed(torch.load("model.pth")))
"""
HELPERS = """\
def renamed(checkpoint):
    state = checkpoint["state_dict"].copy()
    for k in checkpoint["state_dict"]:
        if k.startswith("avg."):
            state[k[4:]] = state.pop(k)
    return {"state_dict": state, "optimizers": [checkpoint["optimizer"]]}


def fill(model, checkpoint):
    own = model.state_dict()
    for name, value in checkpoint["state_dict"].items():
        COPY
"""
NETS = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def take(self, weights):
        KEEP
"""


@pytest.mark.parametrize(
    ("copy", "on_host"),
    [("own[name].copy_(value)", True), ("own[name] += value", False)],
)
def test_functions_of_other_files_say_what_becomes_of_it(
    cli: Cli, project: Path, copy: str, on_host: bool
) -> None:
    (project / "helpers.py").write_text(HELPERS.replace("COPY", copy))
    (project / "nets.py").write_text(NETS.replace("KEEP", "pass"))

    assert _is_on_host(cli, project, PROGRAM) is on_host


@pytest.mark.parametrize(
    ("keep", "on_host"),
    [("self.load_state_dict(weights)", True), ('self.mean = weights["mean"]', False)],
)
def test_so_do_methods_of_their_classes(cli: Cli, project: Path, keep: str, on_host: bool) -> None:
    (project / "nets.py").write_text(NETS.replace("KEEP", keep))
    program = (
        "import torch\nfrom nets import Net\n\nnet = Net().cuda().eval()\n"
        'net.take(torch.load("model.pth"))\n'
    )

    assert _is_on_host(cli, project, program) is on_host


READER = """\
import torch


def read(checkpoint):
    state = torch.load(checkpoint)
    return state["net"]


net = torch.nn.Linear(2, 2).cuda()
"""


@pytest.mark.parametrize(
    ("rest", "others", "on_host"),
    [
        ('net.load_state_dict(read("model.pth"))\n', "", True),
        ('net(read("model.pth"))\n', "", False),
        (
            'net.load_state_dict(read("model.pth"))\n',
            "from program import read\n\nread(1)\n",
            False,
        ),
    ],
    ids=["copied", "computed with", "by others as well"],
)
def test_what_a_function_returns_is_followed_to_those_who_call_it(
    cli: Cli, project: Path, rest: str, others: str, on_host: bool
) -> None:
    (project / ".git").mkdir()
    (project / "other.py").write_text(others)

    assert _is_on_host(cli, project, READER + rest) is on_host


def test_a_module_that_goes_to_the_device_at_hand_is_loaded_there(cli: Cli, project: Path) -> None:
    program = (
        "import torch\n\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        'saved = torch.load("model.pth")\n'
        'net = saved["net"]\noptimizer = saved["optimizer"]\n'
        "net = net.to(device)\noptimizer.step()\n"
    )

    assert 'torch.load("model.pth", map_location=device)' in _fixed(cli, project, program)


def _is_on_host(cli: Cli, project: Path, program: str) -> bool:
    text = _fixed(cli, project, program)
    # What would meet a tensor of MPS on the CPU is left as it is, with all that would go there.
    assert "map_location=" in text or text == program
    return 'map_location="cpu"' in text or "map_location='cpu'" in text


def _fixed(cli: Cli, project: Path, program: str) -> str:
    (project / "program.py").write_text(program)
    cli("fix", "program.py", "--no-verify", "--extend-select", "MPS413")
    return (project / "program.py").read_text()
