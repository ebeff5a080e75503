"""A test for CUDA, taken apart into the machine's side and the user's."""

from __future__ import annotations

from pathlib import Path

import pytest
from probing import probe

from mpslint.patterns.switches import asked, joined
from tests.conftest import Cli

TORCH = "import torch\n"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("probe(torch.cuda.is_available())", []),
        ("probe(not args.no_cuda and torch.cuda.is_available())", ["not args.no_cuda"]),
        ("probe(torch.cuda.is_available() and (a or b))", ["(a or b)"]),
        ("probe(args.cuda)", ["args.cuda"]),
        ("ok = use and torch.cuda.is_available()\nprobe(ok)", ["use"]),
        (
            "args.cuda = not args.no_cuda and torch.cuda.is_available()\nprobe(args.cuda)",
            ["not args.no_cuda"],
        ),
        ("probe(args.gpu >= 0 and torch.cuda.is_available())", ["args.gpu >= 0"]),
        ("use = True\nprobe(torch.cuda.is_available() and use)", ["use"]),
        ("no_gpu = False\nprobe(torch.cuda.is_available() and not no_gpu)", ["not no_gpu"]),
        ("ok = torch.cuda.is_available()\nprobe(ok and torch.cuda.is_available())", []),
        (
            "args.cuda = not args.no_cuda and torch.cuda.is_available()\n"
            "del args.no_gpu\nprobe(args.cuda)",
            ["not args.no_cuda"],
        ),
    ],
)
def test_what_the_user_is_asked_stands_beside_the_machine(
    program: str, expected: list[str]
) -> None:
    context, node = probe(TORCH + program)
    assert asked(context, node) == expected


@pytest.mark.parametrize(
    "program",
    [
        "args.cuda = not args.no_cuda and torch.cuda.is_available(); del args.no_cuda\n"
        "probe(args.cuda)",
        "ok = use and torch.cuda.is_available()\ndel other, use\nprobe(ok)",
        'ok = args["gpu"] and torch.cuda.is_available()\ndel args["gpu"]\nprobe(ok)',
    ],
)
def test_what_is_deleted_cannot_be_asked_again(program: str) -> None:
    context, node = probe(TORCH + program)
    assert asked(context, node) is None


@pytest.mark.parametrize(
    "program",
    [
        "args.cuda = args.cuda and torch.cuda.is_available()\nprobe(args.cuda)",
        "probe(torch.cuda.device_count() > 1)",
        "probe(device == 'cuda' and torch.cuda.is_available())",
        "probe(x.is_cuda)",
        "ok = False\nif torch.cuda.is_available() and args.x:\n    ok = True\nprobe(ok)",
        "def f(use):\n    s.ok = use and torch.cuda.is_available()\ndef g():\n    probe(s.ok)",
        "probe(not torch.cuda.is_available())",
    ],
)
def test_two_sides_that_cannot_be_told_apart_are_left_alone(program: str) -> None:
    context, node = probe(TORCH + program)
    assert asked(context, node) is None


def test_the_opposite_of_or_asks_for_all_of_it() -> None:
    context, node = probe(TORCH + "probe(torch.cuda.device_count() == 0 or not use_gpu)")
    assert asked(context, node, False) == ["use_gpu"]


def test_what_is_asked_twice_is_written_once() -> None:
    assert joined(["a", "not b", "a"]) == "a and not b"


REPLAY = """\
import torch

from config import USE_CUDA


def sample(rows):
    batch = torch.stack(rows)
    if USE_CUDA:
        batch = batch.cuda()
    return batch
"""


@pytest.mark.parametrize(
    ("flag", "opened"),
    [
        ("torch.cuda.is_available()", True),
        ("not not torch.cuda.device_count()", True),
        ("True", False),
        ("read_flag()", False),
    ],
)
def test_a_flag_of_another_file_that_asks_the_machine_is_no_switch_of_the_users(
    cli: Cli, project: Path, flag: str, opened: bool
) -> None:
    header = "import torch\nfrom flags import read_flag\n\n"
    (project / "config.py").write_text(f"{header}USE_CUDA = {flag}\n")
    (project / "replay.py").write_text(REPLAY)

    cli("fix", "--no-verify", "replay.py")

    text = (project / "replay.py").read_text()
    assert ("\n    batch = batch.to(device)\n" in text) is opened
