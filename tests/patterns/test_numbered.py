"""`.cuda(args.gpu)` becomes `.to(device)`, with a device selected once for the number."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.model import Applicability
from mpslint.semantics.context import Context
from mpslint.semantics.gpus import numbers_given
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

OBJECT = """\
import torch
from torch import nn


class Trainer:
    def __init__(self, model, gpu: int):
        self.gpu = gpu
        self.model = model.cuda(gpu)
        self.loss = nn.MSELoss().cuda(self.gpu)

    def step(self, x, y):
        x = x.cuda(self.gpu, non_blocking=True)
        return self.loss(self.model(x), y.cuda(self.gpu))
"""

SCRIPT = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--gpu", OPTION)
args = parser.parse_args()
model = torch.nn.Linear(2, 2).cuda(args.gpu)


def step(x):
    return model(x.cuda(args.gpu))


print(step(torch.ones(2, 2)))
"""

PLACED = """\
import torch
from data import load


class Trainer:
    def __init__(self, model, gpu: int):
        self.gpu = gpu
        self.model = model.to(gpu)

    def step(self, x):
        return self.model(x.to(self.gpu))


def main(device):
    model, batches = load()
    trainer = Trainer(model, device)
    for batch in batches:
        trainer.step(batch)


if __name__ == "__main__":
    device = 0  # cuda:0
    main(device)
"""


def fixed(text: str, *, unsafe: bool = False) -> str:
    return fix_source(SourceFile("a.py", text.encode()), Settings(), unsafe=unsafe).text


def levels(text: str) -> set[Applicability | None]:
    found = lint(SourceFile("a.py", text.encode()), Settings())
    return {one.applicability for one in found if one.code == "MPS102"}


def test_an_object_that_keeps_the_number_keeps_the_device_beside_it() -> None:
    text = fixed(OBJECT)
    assert text.count("is_available()") == 2
    assert '            self.device = torch.device("cuda", self.gpu)\n' in text
    assert text.count(".to(self.device)") == 3
    assert "x.to(self.device, non_blocking=True)" in text
    assert ".cuda(" not in text


def test_a_second_run_changes_nothing() -> None:
    text = fixed(OBJECT)
    assert fixed(text) == text


def test_a_device_that_is_selected_by_the_number_already_is_used() -> None:
    once = fixed(OBJECT)
    more = once + "\n    def more(self, x):\n        return x.cuda(self.gpu)\n"
    assert fixed(more) == more.replace("x.cuda(self.gpu)", "x.to(self.device)")


@pytest.mark.parametrize("option", ["type=int", "type=int, default=1"])
def test_a_script_selects_once_for_all_its_functions(option: str) -> None:
    text = fixed(SCRIPT.replace("OPTION", option))
    assert text.count('torch.device("cuda", args.gpu)') == 1
    assert text.count(".to(device)") == 2


@pytest.mark.parametrize("option", ["default='cuda:0'", "type=str", "default=0", "help='which'"])
def test_what_may_be_no_number_is_no_safe_matter(option: str) -> None:
    text = SCRIPT.replace("OPTION", option)
    assert Applicability.SAFE not in levels(text)
    assert "args.gpu)" in fixed(text)


def test_a_number_that_the_file_gives_another_value_is_selected_behind_that() -> None:
    text = SCRIPT.replace("OPTION", "type=int").replace(
        "parse_args()\n", "parse_args()\nargs.gpu = args.gpu or 0\n"
    )
    assert fixed(text).index("args.gpu or 0") < fixed(text).index("torch.device(")


def test_one_that_another_function_changes_is_left() -> None:
    change = "\n\ndef later():\n    args.gpu = 1\n\n\nlater()\n"
    text = SCRIPT.replace("OPTION", "type=int") + change
    assert 'torch.device("cuda", args.gpu)' not in fixed(text, unsafe=True)


SELECTED = """\
import torch


class Trainer:
    def __init__(self, model, gpu: int):
        self.gpu = gpu
        MOVE

    def step(self, x):
        return self.model(x.to(self.dev))

    def setup(self):
        OTHER
"""
MOVES = "self.model = model.cuda(self.gpu)"
SELECTS = 'self.dev = torch.device("cuda", self.gpu)'


def test_a_device_that_another_method_selects_is_not_there_yet() -> None:
    text = fixed(SELECTED.replace("MOVE", MOVES).replace("OTHER", SELECTS), unsafe=True)
    assert "model.to(self.dev)" not in text
    assert "model.to(self.device)" in text or "model.to(self.torch_device)" in text


@pytest.mark.parametrize(
    ("first", "is_used"),
    [
        (f"{SELECTS}\n        {MOVES}", True),
        (f"{MOVES}\n        {SELECTS}", False),
        (f"if model:\n            {SELECTS}\n        {MOVES}", False),
        (f"{SELECTS}\n        {MOVES}\n        self.dev = model.device", True),
        (f"self.setup()\n        {SELECTS}\n        {MOVES}", True),
    ],
)
def test_a_device_is_used_where_the_constructor_selects_it_first(first: str, is_used: bool) -> None:
    text = fixed(SELECTED.replace("MOVE", first).replace("OTHER", "pass"), unsafe=True)
    is_bound_again = "model.device" in first
    assert ("model.to(self.dev)" in text) is (is_used and not is_bound_again)


def test_what_the_constructor_calls_first_does_not_have_the_device_yet() -> None:
    first = f"self.setup()\n        {SELECTS}"
    text = SELECTED.replace("MOVE", first).replace("OTHER", MOVES.replace("model.", "Model()."))
    assert "Model().to(self.dev)" not in fixed(text, unsafe=True)


MADE = """\
import argparse
import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", type=int, default=0)
    args = parser.parse_args()
    FIRST
    model = torch.nn.Linear(3, 3)
    model.cuda(args.gpu)
    LAST
    print(model(torch.ones(2, 3)))
"""


@pytest.mark.parametrize(
    ("first", "last", "is_used"),
    [
        ('dev = torch.device("cuda", args.gpu)', "pass", True),
        ("pass", 'dev = torch.device("cuda", args.gpu)', False),
        ('if args.gpu:\n        dev = torch.device("cuda", args.gpu)', "pass", False),
        ('dev = torch.device("cuda", args.gpu)', 'dev = "cpu"', False),
    ],
)
def test_a_device_of_the_function_is_used_where_it_is_there(
    first: str, last: str, is_used: bool
) -> None:
    text = fixed(MADE.replace("FIRST", first).replace("LAST", last), unsafe=True)
    assert ("model.to(dev)" in text) is is_used


def test_a_parameter_with_a_number_for_a_default_may_be_given_a_device() -> None:
    text = "import torch\n\n\ndef move(x, gpu=0):\n    return x.cuda(gpu)\n"
    assert levels(text) == {Applicability.UNSAFE}
    assert levels(text.replace("gpu=0", "gpu: int = 0")) == {Applicability.SAFE}


def test_a_negative_number_keeps_everything_where_it_is() -> None:
    text = SCRIPT.replace("OPTION", "type=int, default=-1")
    assert 'torch.device("cuda", args.gpu)' not in fixed(text, unsafe=True)


def test_what_goes_to_the_current_gpu_goes_along_where_the_number_makes_it_that() -> None:
    text = SCRIPT.replace("OPTION", "type=int").replace(
        "model(x.cuda(args.gpu))", "model(x.cuda(args.gpu)) + torch.ones(2).cuda()"
    )
    assert "torch.ones(2).cuda()" in fixed(text)
    current = text.replace("model =", "torch.cuda.set_device(args.gpu)\nmodel =", 1)
    assert "torch.ones(2).to(device)" in fixed(current) or "device=device)" in fixed(current)


def test_the_first_of_a_list_that_may_be_empty_is_not_asked_for_sooner() -> None:
    text = SCRIPT.replace("OPTION", "type=int, nargs='*', default=[]").replace(
        "model = torch.nn.Linear(2, 2).cuda(args.gpu)",
        "model = torch.nn.Linear(2, 2)\nif len(args.gpu) > 0:\n    model.cuda(args.gpu[0])",
    )
    text = text.replace("x.cuda(args.gpu)", "x")
    assert "torch.device(" not in fixed(text, unsafe=True)


FUNCTIONS = """\
import torch


def train(model, batches, args):
    for x in batches:
        model(x.cuda(args.gpu)).sum().backward()


def test(model, batches, args):
    for x in batches:
        print(model(x.cuda(args.gpu)))
MORE"""


def test_functions_that_need_a_device_each_have_one_function_for_it() -> None:
    text = fixed(FUNCTIONS.replace("MORE", ""), unsafe=True)
    assert text.count("is_available()") == 2
    assert text.count("    device = get_device(args.gpu)\n") == 2
    assert fixed(text, unsafe=True) == text


def test_what_goes_to_the_current_gpu_is_no_safe_matter_beside_such_a_function() -> None:
    once = fixed(FUNCTIONS.replace("MORE", ""), unsafe=True)
    more = once + "        print(torch.ones(2).cuda())\n"
    text = fixed(more)
    assert "torch.ones(2).to(device)" not in text
    assert "device=device" not in text


def test_a_number_given_to_to_takes_all_that_goes_there_along() -> None:
    text = fixed(PLACED)
    assert ".to(gpu)" not in text
    assert text.count(".to(self.device)") == 2


def test_an_option_of_another_file_is_a_number_if_nothing_of_the_project_says_otherwise(
    cli: Cli, project: Path
) -> None:
    (project / "pyproject.toml").touch()
    (project / "options.py").write_text(
        "import argparse\n\n\ndef parse():\n    parser = argparse.ArgumentParser()\n"
        "    parser.add_argument('--gpu', type=int, default=0, help='gpu')\n"
        "    return parser.parse_args()\n"
    )
    (project / "trainer.py").write_text(OBJECT.replace("gpu: int", "gpu"))
    program = project / "main.py"
    program.write_text(
        "import torch\nfrom options import parse\nfrom trainer import Trainer\n\n"
        "args = parse()\ntrainer = Trainer(torch.nn.Linear(2, 2), args.gpu)\n"
        "print(trainer.step(torch.ones(2, 2), torch.ones(2, 2)))\n"
    )
    unsure = "may be something else than the number of a GPU"
    assert unsure not in cli("check", "--output-format", "json", ".").out
    program.write_text(program.read_text().replace("args.gpu)", "input())"))
    assert unsure in cli("check", "--output-format", "json", ".").out


KEEPING = """\
import torch


class Net(torch.nn.Module):
    def __init__(self, gpu: int = 0):
        super().__init__()
        self.gpu = gpu

    def forward(self, x):
        return x.cuda(self.gpu)
"""


@pytest.mark.parametrize(
    ("use", "is_changed"),
    [
        ("class Sub(Net):\n    @property\n    def device(self):\n        return 0\n", True),
        ("class Sub(Net):\n    def setup(self):\n        self.gpu = 1\n", True),
        ("net = Net()\nnet.gpu = 1\n", True),
        ("class Sub(Net):\n    def setup(self):\n        self.rate = 1\n", False),
        ("args = input()\nargs.gpu = 1\nnet = Net()\n", False),
    ],
)
@pytest.mark.parametrize("is_project", [True, False])
def test_objects_that_another_file_changes_are_no_safe_matter(
    cli: Cli, tmp_path: Path, use: str, *, is_changed: bool, is_project: bool
) -> None:
    if is_project:
        (tmp_path / "pyproject.toml").touch()
    (tmp_path / "net.py").write_text(KEEPING)
    (tmp_path / "use.py").write_text(f"from net import Net\n\n{use}")
    told = cli("check", "--output-format", "json", str(tmp_path)).out
    assert ("objects of Net may get another" in told) is is_changed


def test_objects_that_their_own_file_changes_are_no_safe_matter() -> None:
    assert levels(KEEPING) == {Applicability.SAFE}
    assert levels(KEEPING + "\n\nnet = Net()\nnet.gpu = 1\n") == {Applicability.UNSAFE}
    other = "\n\nclass Sub(Net):\n    def more(self):\n        self.gpu = 1\n"
    assert levels(KEEPING + other) == {Applicability.UNSAFE}


@pytest.mark.parametrize(
    "unit", [KEEPING.partition("\n\n\n")[2], "def f(x, gpu):\n    x.cuda(gpu)\n"]
)
def test_each_move_is_looked_at_once_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    looked: list[object] = []
    look = numbers_given._number_of

    def noted(context: Context, value: ast.expr) -> numbers_given.Given | None:
        looked.append(value)
        return look(context, value)

    monkeypatch.setattr(numbers_given, "_number_of", noted)
    units = [unit.replace("Net", f"Net{i}").replace("f(", f"f{i}(", 1) for i in range(40)]
    assert levels("import torch\n\n\n" + "\n\n".join(units))
    assert len(looked) == 40
