"""The number of CUDA's devices, or whether there are any, is kept by the class of a configuration
or by a program, and asked of its objects in other files, which do not know what they are given."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from mpslint.project.neighbours import Neighbours
from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

_SETTINGS = """
import torch


class Settings:
    total_gpus = {count}
"""
_CODEC = """
import torch


class Codec:
    def __init__(self, config, centroids):
        self.use_gpu = config.total_gpus > 0
        self.centroids = centroids.cuda() if self.use_gpu else centroids.float()

    def binarize(self, residuals):
        if self.use_gpu:
            residuals = residuals.cuda()
        return residuals @ self.centroids
"""
_COUNT = "torch.cuda.device_count()"


def _messages(cli: Cli, project: Path, count: str, more: str = "") -> list[str]:
    (project / "setup.cfg").write_text("")
    (project / "settings.py").write_text(_SETTINGS.format(count=count))
    (project / "codec.py").write_text(_CODEC)
    (project / "more.py").write_text(more)
    ran = cli("check", "--output-format", "json", "codec.py")
    return [finding["message"] for finding in json.loads(ran.out)]


def test_what_a_count_of_cuda_decides_raises_nowhere(cli: Cli, project: Path) -> None:
    messages = _messages(cli, project, _COUNT)
    assert messages
    assert not any("raises" in message for message in messages)


@pytest.mark.parametrize(
    ("count", "more"),
    [
        ("1", ""),
        (_COUNT, "def run(config):\n    config.total_gpus = 2\n"),
        (
            _COUNT,
            "import codec\nfrom settings import Settings\n\nconfig = Settings(total_gpus=2)\n",
        ),
        (_COUNT, "def run(config):\n    setattr(config, 'total_gpus', 2)\n"),
    ],
    ids=["another number", "set elsewhere", "given to a class", "by a text"],
)
def test_a_number_that_somebody_else_may_set_is_anything(
    cli: Cli, project: Path, count: str, more: str
) -> None:
    assert any("raises" in message for message in _messages(cli, project, count, more))


_FLAG = """
import torch


class Settings:
    use_cuda = {flag}
"""
_STEPS = """
import torch


class Steps:
    def __init__(self, config):
        self.config = config

    def step(self, x):
        if self.config.use_cuda:
            x = x.cuda()
        return x
"""


def _told_of_steps(cli: Cli, project: Path, flag: str, more: str = "") -> list[str]:
    (project / "setup.cfg").write_text("")
    (project / "settings.py").write_text(_FLAG.format(flag=flag))
    (project / "steps.py").write_text(_STEPS)
    (project / "more.py").write_text(more)
    ran = cli("check", "--output-format", "json", "steps.py")
    return [finding["message"] for finding in json.loads(ran.out)]


def test_what_a_flag_of_cuda_decides_raises_nowhere(cli: Cli, project: Path) -> None:
    messages = _told_of_steps(cli, project, "torch.cuda.is_available()")
    assert messages
    assert not any("raises" in message for message in messages)


@pytest.mark.parametrize(
    ("flag", "more"),
    [
        ("True", ""),
        ("torch.cuda.is_available()", "parser.add_argument('--use-cuda', action='store_true')\n"),
        ("torch.cuda.is_available()", "def run(config):\n    config.use_cuda = True\n"),
    ],
    ids=["on", "an option", "set elsewhere"],
)
def test_a_flag_that_somebody_else_may_set_is_anything(
    cli: Cli, project: Path, flag: str, more: str
) -> None:
    assert any("raises" in message for message in _told_of_steps(cli, project, flag, more))


_PROGRAM = """
import argparse

import torch

from steps import Steps


def main():
    parser = argparse.ArgumentParser()
    {option}
    args = parser.parse_args()
    {switch}
    {{"plain": Steps}}[args.kind](args).step(torch.randn(4))


if __name__ == "__main__":
    main()
"""
_OPTION = 'parser.add_argument("--cuda", action="store_true")'
_ON = 'parser.add_argument("--cuda", type=bool, default=True)'
_OFF = 'parser.add_argument("--no-cuda", action="store_true")'


def _told(
    cli: Cli, project: Path, option: str, switch: str, steps: str = "", **more: str
) -> dict[str, list[str]]:
    """The messages by file."""
    (project / "setup.cfg").write_text("")
    (project / "main.py").write_text(_PROGRAM.format(option=option, switch=switch))
    (project / "steps.py").write_text(steps or _STEPS.replace("use_cuda", "cuda"))
    for name, text in more.items():
        (project / name.replace("_", ".")).write_text(text)
    found: dict[str, list[str]] = {}
    for finding in json.loads(cli("check", "--output-format", "json").out):
        name = Path(finding["filename"]).name
        found.setdefault(name, []).append(finding["message"])
    return found


@pytest.mark.parametrize(
    ("option", "switch"),
    [
        ("", "args.cuda = torch.cuda.is_available()"),
        (_OFF, "args.cuda = not args.no_cuda and torch.cuda.is_available()"),
        (_OPTION, "args.cuda = args.cuda and torch.cuda.is_available()"),
        (_ON, "args.cuda = True if torch.cuda.is_available() and args.cuda else False"),
        ("", "args.cuda = torch.cuda.device_count() > 0"),
        ("", "args.seed, args.cuda = 1, torch.cuda.is_available()"),
    ],
    ids=["the machine", "unless off", "if asked for", "on by default", "a count", "with others"],
)
def test_what_a_program_decides_by_cuda_raises_in_none_of_its_parts(
    cli: Cli, project: Path, option: str, switch: str
) -> None:
    told = _told(cli, project, option, switch)
    assert told["steps.py"] == ["a Mac's GPU is never used: .cuda() is called only where CUDA is"]


@pytest.mark.parametrize(
    ("option", "switch", "more"),
    [
        (_ON, "pass", {}),
        (_OPTION, "pass", {}),
        (_OFF, "args.cuda = not args.no_cuda", {}),
        ("", "args.cuda = torch.cuda.is_available() or args.force", {}),
        (_ON, "if args.seed: args.cuda = torch.cuda.is_available()", {}),
        ("", "args.cuda = torch.cuda.is_available()", {"conf_yaml": "cuda: true\n"}),
        ("", "args.cuda = torch.cuda.is_available()", {"conf_json": '{"cuda": true}\n'}),
        (
            "",
            "args.cuda = torch.cuda.is_available()",
            {"test_py": _PROGRAM.format(option=_ON, switch="pass")},
        ),
        (
            "",
            "args.cuda = torch.cuda.is_available()",
            {"test_py": "from steps import Steps\n\nSteps(Namespace(cuda=True))\n"},
        ),
        (
            "",
            "args.cuda = torch.cuda.is_available()",
            {"test_py": "def run(args, flag):\n    args.cuda = flag\n"},
        ),
        (
            "",
            "args.cuda = torch.cuda.is_available()",
            {"test_py": 'def run(args):\n    setattr(args, "cuda", True)\n'},
        ),
        (
            "",
            "args.cuda = torch.cuda.is_available()",
            {"test_py": 'def run(args):\n    vars(args)["cuda"] = True\n'},
        ),
    ],
    ids=[
        "on by default",
        "an option",
        "on unless told",
        "or forced",
        "now and then",
        "a setting",
        "a table",
        "another program",
        "another object",
        "a parameter",
        "by a text",
        "by a key",
    ],
)
def test_a_switch_that_its_user_sets_raises_where_there_is_no_cuda(
    cli: Cli, project: Path, option: str, switch: str, more: dict[str, str]
) -> None:
    told = _told(cli, project, option, switch, **more)
    assert any("raises" in message for message in told["steps.py"])


_ANOTHERS = """
import os

import torch

gpu = os.environ.get("GPUS", "") != "" and torch.cuda.is_available()
"""


@pytest.mark.parametrize(
    ("taken", "switch"),
    [
        ("from machine import gpu", "args.cuda = gpu and not args.no_cuda"),
        ("from machine import *", "args.cuda = gpu and not args.no_cuda"),
        ("import machine", "args.cuda = machine.gpu"),
    ],
    ids=["by its name", "with all names", "of the module"],
)
def test_what_another_module_says_of_cuda_raises_in_none_of_the_parts_of_a_program(
    cli: Cli, project: Path, taken: str, switch: str
) -> None:
    (project / "options.py").write_text(f"{taken}\n\n\ndef narrowed(args):\n    {switch}\n")
    (project / "machine.py").write_text(_ANOTHERS)
    program = "import options; args = options.narrowed(args)"
    told = _told(cli, project, _OFF, program)
    assert told["steps.py"] == ["a Mac's GPU is never used: .cuda() is called only where CUDA is"]


def test_what_another_module_says_of_all_machines_raises_where_there_is_no_cuda(
    cli: Cli, project: Path
) -> None:
    (project / "options.py").write_text(
        "from machine import *\n\n\ndef narrowed(args):\n    args.cuda = gpu\n"
    )
    (project / "machine.py").write_text(_ANOTHERS.replace(" and ", " or "))
    told = _told(cli, project, _OFF, "import options; args = options.narrowed(args)")
    assert any("raises" in message for message in told["steps.py"])


def test_the_switch_itself_is_told_once_where_it_is_asked(cli: Cli, project: Path) -> None:
    steps = _STEPS.replace("self.config = config", "self.cuda = config.cuda").replace(
        "self.config.use_cuda", "self.cuda"
    )
    told = _told(cli, project, "", "args.cuda = torch.cuda.is_available()", steps)
    decided = "a Mac's GPU is never used: CUDA or something else is decided here"
    assert told["main.py"] == [decided]
    assert decided not in told["steps.py"]
    assert not any("raises" in message for message in told["steps.py"])


def test_a_flag_that_some_arms_switch_off_raises_nowhere(cli: Cli, project: Path) -> None:
    settings = """
import torch


class Settings:
    def __init__(self, agent):
        if agent == "dqn":
            self.use_cuda = torch.cuda.is_available()
        else:
            self.use_cuda = False
"""
    (project / "setup.cfg").write_text("")
    (project / "settings.py").write_text(settings)
    (project / "steps.py").write_text(_STEPS)
    messages = json.loads(cli("check", "--output-format", "json", "steps.py").out)
    assert [finding["message"].partition(":")[0] for finding in messages] == [
        "a Mac's GPU is never used"
    ]


def test_a_flag_is_told_where_it_is_asked_though_another_arm_switches_it_off(
    cli: Cli, project: Path
) -> None:
    (project / "settings.py").write_text(
        "import torch\n\n\nclass Settings:\n    def __init__(self, agent):\n"
        "        if agent == 'dqn':\n            self.use_cuda = torch.cuda.is_available()\n"
        "        else:\n            self.use_cuda = False\n"
    )
    found = json.loads(cli("check", "--output-format", "json", "settings.py").out)
    assert [(one["code"], one["location"]["row"]) for one in found] == [("MPS103", 7)]


def test_the_flag_of_a_program_is_told_in_a_function_that_is_called_as_a_test_is(
    cli: Cli, project: Path
) -> None:
    steps = """
import torch


def test_epoch(args, loader, net):
    for x in loader:
        if args.cuda:
            x = x.cuda()
        print(net(x))
"""
    program = (
        "import torch\n\nfrom options import parse\nfrom steps import test_epoch\n\n\n"
        "def main(args, loader, net):\n"
        "    args.cuda = torch.cuda.is_available()\n    runs = [test_epoch]\n"
        "    runs[0](args, loader, net)\n\n\nmain(*parse())\n"
    )
    (project / "setup.cfg").write_text("")
    (project / "steps.py").write_text(steps)
    (project / "main.py").write_text(program)
    found = json.loads(cli("check", "--output-format", "json", "steps.py").out)
    assert [one["message"] for one in found] == [
        "a Mac's GPU is never used: .cuda() is called only where CUDA is"
    ]


def test_a_constant_of_a_module_is_no_attribute_of_an_object(cli: Cli, project: Path) -> None:
    (project / "setup.cfg").write_text("")
    (project / "settings.py").write_text(_FLAG.format(flag="torch.cuda.is_available()"))
    (project / "config.py").write_text("use_cuda = True\n")
    (project / "steps.py").write_text(
        "import torch\n\nimport config\n\n\ndef step(x):\n"
        "    return x.cuda() if config.use_cuda else x\n\n\nstep(torch.ones(2))\n"
    )
    messages = json.loads(cli("check", "--output-format", "json", "steps.py").out)
    assert any("raises" in finding["message"] for finding in messages)


def test_programs_that_belong_to_no_project_are_asked_beside(cli: Cli, project: Path) -> None:
    told = _told(cli, project, "", "args.cuda = torch.cuda.is_available()")
    (project / "setup.cfg").unlink()
    assert told == _told(cli, project, "", "args.cuda = torch.cuda.is_available()")


@pytest.mark.parametrize(
    ("given", "known"),
    [("torch.cuda.is_available()", frozenset({"cuda"})), ("False", frozenset())],
    ids=["an answer", "a constant"],
)
def test_of_all_names_of_a_module_answers_of_torch_are_known_and_constants_are_the_users(
    project: Path, given: str, known: frozenset[str]
) -> None:
    (project / "setup.cfg").write_text("")
    (project / "core.py").write_text(
        f"import torch\n\nswitch = {given}\nkinds = torch.cuda.is_available\n"
    )
    steps = project / "steps.py"
    steps.write_text("from core import *\n\nif switch:\n    print(1)\n")
    source = SourceFile(str(steps), steps.read_bytes())
    context = Context(source, source.parse(), Settings(), Neighbours(Settings()))
    (choice,) = context.index.of(ast.If)
    assert context.guards.implied(choice.test, True) & {"cuda", "impossible"} == known
