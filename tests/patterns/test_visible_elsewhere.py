"""`CUDA_VISIBLE_DEVICES` that a function of another file sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

SETTING = "import os\n\n\ndef set_gpu(gpu):\n    os.environ['CUDA_VISIBLE_DEVICES'] = gpu\n"
PROGRAM = """\
import argparse

import torch
import gpus


def more(x):
    return x.cuda() + 1


def main(args):
    model = torch.nn.Linear(2, 2).cuda()
    print(more(model(torch.ones(1, 2).cuda())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--gpu", default="0")
    args = parser.parse_args()
    CALL
    main(args)
"""


@pytest.mark.parametrize("call", ["gpus.set_gpu(args.gpu)", "gpus.show(args.gpu)"])
def test_no_device_is_asked_for_before_a_function_of_another_file_says_which_gpus_are_seen(
    cli: Cli, project: Path, call: str
) -> None:
    (project / "gpus.py").write_text(SETTING + "\n\ndef show(gpu):\n    print(gpu)\n")
    program = project / "main.py"
    program.write_text(PROGRAM.replace("CALL", call))
    cli("fix", "--no-verify", ".")
    top = program.read_text().partition("def more")[0]
    assert ("device = " in top) == ("show" in call)


BLOCK = """\
import os

import torch

if __name__ == "__main__":
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    model = torch.nn.Linear(2, 2).cuda()
    print(model(torch.ones(1, 2, device="cuda")))
"""


def test_a_program_asks_for_the_device_once_it_has_said_which_gpus_are_seen(
    cli: Cli, project: Path
) -> None:
    program = project / "main.py"
    program.write_text(BLOCK)
    assert "[*]" in cli("check", "main.py").out
    cli("fix", "--no-verify", "main.py")
    before, _, behind = program.read_text().partition('= "0"\n')
    assert "is_available" not in before
    assert behind.lstrip().startswith("if torch.backends.mps.is_available():")
    assert "Linear(2, 2).to(device)" in behind


def test_its_functions_ask_by_one_of_their_own(cli: Cli, project: Path) -> None:
    program = project / "main.py"
    call = 'import os\n    os.environ["CUDA_VISIBLE_DEVICES"] = args.gpu\n'
    call += "    net = torch.nn.Linear(2, 2).cuda()\n    print(net(torch.ones(1, 2).cuda()))"
    program.write_text(PROGRAM.replace("CALL", call).replace("import gpus\n", ""))
    cli("fix", "--no-verify", "main.py")
    before, _, behind = program.read_text().partition("if __name__")
    assert "return x.to(get_device()) + 1" in before
    assert "    device = get_device()\n    net = " in behind.partition("= args.gpu\n")[2]


def test_no_fix_is_promised_where_no_place_is_left_to_ask_for_the_device(
    cli: Cli, project: Path
) -> None:
    """The model moves to CUDA before the program says which GPUs it sees."""
    late = BLOCK.replace('    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n', "")
    late += '    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'
    program = project / "main.py"
    program.write_text(late)
    assert "[*]" not in cli("check", "main.py").out
    cli("fix", "--no-verify", "main.py")
    assert program.read_text() == late


WIDE = """\
import torch


def run(rows):
    device = torch.device("cuda")
    tensor = lambda row: torch.tensor(row, device=device).double()
    return [tensor(row) for row in rows]


print(run([[1.0], [2.0]]))
"""


def test_nothing_safe_brings_to_mps_what_check_says_raises_there(cli: Cli, project: Path) -> None:
    program = project / "main.py"
    program.write_text(WIDE)
    told = cli("check", "main.py").out
    assert "MPS401" in told
    assert "[*]" not in told
    cli("fix", "--no-verify", "main.py")
    assert program.read_text() == WIDE


USED = """\
import torch


def first(x):
    return x + torch.ones(2).cuda()


def second(x):
    return x + torch.zeros(2).cuda()


def third(x):
    return x + torch.zeros(3).cuda()
"""
STARTER = """\
import os
import sys

import torch

sys.path.append("../code")
import utils.used as used

if __name__ == "__main__":
    {setting}
    print(used.first(torch.ones(2).cuda()))
"""


@pytest.mark.parametrize(
    ("setting", "at_import"), [('os.environ["CUDA_VISIBLE_DEVICES"] = "1"', False), ("pass", True)]
)
def test_in_a_project_that_nobody_looks_through_programs_nearby_are_asked(
    cli: Cli, project: Path, setting: str, at_import: bool
) -> None:
    (project / ".git").mkdir(exist_ok=True)
    (project / "many").mkdir()
    for number in range(650):
        (project / "many" / f"m{number}.py").write_text("")
    for folder in ("utils", "training"):
        (project / "code" / folder).mkdir(parents=True)
    used = project / "code" / "utils" / "used.py"
    used.write_text(USED)
    (project / "code" / "training" / "train.py").write_text(STARTER.format(setting=setting))
    cli("fix", "--no-verify", "code")
    top = used.read_text().partition("def first")[0]
    assert ("device = " in top) == at_import


FUNCTIONS = """\
import os

import torch


def evaluate(model, batches):
    return [model(batch.cuda()) for batch in batches]


def main(gpu):
    os.environ["CUDA_VISIBLE_DEVICES"] = gpu
    model = torch.nn.Linear(2, 2).cuda()
    print(evaluate(model, [torch.ones(1, 2)]))


if __name__ == "__main__":
    main("0")
"""


def test_functions_of_a_program_that_says_so_in_its_main_ask_where_they_move(
    cli: Cli, project: Path
) -> None:
    program = project / "main.py"
    program.write_text(FUNCTIONS)
    cli("fix", "--no-verify", ".")
    text = program.read_text()
    assert ".cuda()" not in text
    assert text.index("def get_device()") < text.index("def evaluate")
    said = text.partition('os.environ["CUDA_VISIBLE_DEVICES"] = gpu')
    assert "get_device()" not in said[0].partition("def main")[2]
    assert "get_device()" in said[2]
