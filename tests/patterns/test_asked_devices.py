"""What moves behind a test of a device for CUDA goes to that device, and the test is gone."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(4, 2).to(device)
mean = torch.zeros(4)
std = torch.ones(4)
MOVE
print(net((torch.ones(3, 4, device=device) - mean) / std))
"""


def fixed(move: str) -> str:
    source = SourceFile("program.py", PROGRAM.replace("MOVE", move).encode())
    return fix_source(source, Settings()).text


@pytest.mark.parametrize(
    "test",
    [
        'device.type == "cuda"',
        'device == torch.device("cuda")',
        '"cuda" in str(device)',
        'str(device).startswith("cuda")',
        '"cuda" == device.type',
    ],
)
def test_the_device_that_is_asked_is_where_it_goes(test: str) -> None:
    text = fixed(f"if {test}:\n    mean, std = mean.cuda(), std.cuda()")
    assert "\nmean, std = mean.to(device), std.to(device)\n" in text
    assert 'torch.device("mps")' in text


def test_a_choice_between_two_values_does_the_same() -> None:
    text = fixed('mean = mean.cuda() if device.type == "cuda" else mean\nstd = std.to(device)')
    assert "\nmean = mean.to(device)\n" in text
    assert 'torch.device("mps")' in text


OF_AN_OBJECT = """\
import torch


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg

    def hidden(self, n):
        h = torch.zeros(1, n)
        if self.cfg.device == "cuda":
            h = h.cuda()
        return h

    def start(self, model):
        MORE
"""
SELECTED = """\
import torch


class Trainer:
    def __init__(self, model, device=None):
        SET
        self.model = model

    def step(self, x):
        if "cuda" in self.device:
            x = x.cuda()
        return self.model(x)
"""


def changed(program: str, *, unsafe: bool = False) -> str:
    return fix_source(SourceFile("step.py", program.encode()), Settings(), unsafe=unsafe).text


@pytest.mark.parametrize(
    "more",
    [
        "self.model = model.to(self.cfg.device)",
        "self.device = torch.device(self.cfg.device)",
        "with self.lock:\n            self.model = model.to(device=self.cfg.device)",
    ],
)
def test_who_asks_a_device_of_an_object_that_places_things_goes_there(more: str) -> None:
    text = changed(OF_AN_OBJECT.replace("MORE", more))
    assert "        h = h.to(self.cfg.device)\n        return h\n" in text


@pytest.mark.parametrize(
    "more",
    [
        "return model",
        'if self.cfg.device != "auto":\n            model.to(self.cfg.device)',
        "return model.send(self.cfg.device)",
    ],
)
def test_where_nothing_says_that_a_device_is_one_of_torch_the_user_decides(more: str) -> None:
    program = OF_AN_OBJECT.replace("MORE", more)
    assert changed(program) == program
    assert "h = h.to(self.cfg.device)" in changed(program, unsafe=True)


@pytest.mark.parametrize(
    "sets", ['self.device = "cuda" if torch.cuda.is_available() else "cpu"', 'self.device = "cuda"']
)
def test_a_device_of_which_all_texts_are_written_is_one_of_torch(sets: str) -> None:
    assert "        x = x.to(self.device)\n" in changed(SELECTED.replace("SET", sets))


@pytest.mark.parametrize(
    "sets",
    [
        'self.device = "auto"',
        'self.device = ["cuda", "cpu"]',
        'self.device = "cuda" if torch.cuda.is_available() else "numpy"',
    ],
)
def test_what_is_written_and_is_none_of_torch_is_nowhere_to_go(sets: str) -> None:
    text = changed(SELECTED.replace("SET", sets), unsafe=True)
    assert ".to(self.device)" not in text


@pytest.mark.parametrize(
    ("options", "goes"),
    [
        ('default="cuda"', True),
        ('choices=["cpu", "cuda"], required=True', True),
        ('default="auto"', False),
        ('choices=["auto", "cuda"], default="cuda"', False),
        ('nargs="+", default=["cuda"]', False),
    ],
)
def test_an_option_that_may_be_no_device_is_nowhere_to_go(options: str, goes: bool) -> None:
    text = changed(
        "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\n"
        f'parser.add_argument("--device", {options})\n'
        "args = parser.parse_args()\nx = torch.ones(3)\n"
        'if args.device == "cuda":\n    x = x.cuda()\nprint(x)\n',
        unsafe=True,
    )
    assert ("x = x.to(args.device)" in text) is goes


def test_a_device_that_may_be_text_is_not_asked_for_its_type() -> None:
    text = changed(
        "import torch\n\n\ndef step(model, train_loader, args):\n"
        "    model.to(args.device)\n"
        "    for batch, target in train_loader:\n"
        '        if args.device == "cuda":\n'
        "            batch = batch.cuda(non_blocking=True)\n        model(batch)\n"
    )
    assert "batch.to(args.device, non_blocking=torch.cuda.is_available())" in text


@pytest.mark.parametrize(
    "move",
    [
        'if device.type == "cuda" and std.sum() > 3:\n    mean, std = mean.cuda(), std.cuda()',
        'if device.type == "cuda":\n    mean, std = mean.cuda(), std.cuda()\n    print("on CUDA")',
        'kind = read()\nif kind == "cuda":\n    mean, std = mean.cuda(), std.cuda()',
    ],
)
def test_a_test_that_decides_more_than_the_place_stays(move: str) -> None:
    assert move in fixed(move)


@pytest.mark.parametrize(
    "loop",
    [
        "for key in batch:\n        batch[key] = batch[key].cuda()",
        "for key, value in batch.items():\n        if torch.is_tensor(value):\n"
        "            batch[key] = value.cuda()",
    ],
)
def test_a_loop_that_only_moves_goes_along(loop: str) -> None:
    text = fixed(
        "batch = read()\nif torch.cuda.is_available():\n"
        f"    mean, std = mean.cuda(), std.cuda()\n    {loop}"
    )
    assert ".to(device)\nprint" in text
    assert "cuda()" not in text


def test_a_loop_that_does_more_than_move_keeps_its_test() -> None:
    move = (
        "batch = read()\nif torch.cuda.is_available():\n    for key, value in batch.items():\n"
        "        batch[key] = value.cuda() * 2"
    )
    assert move in fixed(move)
