"""What a flag is that an object keeps, a loop does not touch, or a number stands for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_RAISES = "raises AssertionError"
_KEPT = """
import torch


class Base:
    def __init__(self):
        print("made")


class Net(Base):
    def __init__(self, rate, flag):
        super(Net, self).__init__()
        self.flag = flag
        self.create()

    def create(self):
        self.model = Layers()
        if self.flag:
            self.model.cuda()

    def fit(self, x):
        return self.model(moved(x, flag=self.flag))


class Layers(torch.nn.Module):
    def __init__(self):
        super(Layers, self).__init__()
        self.layer = torch.nn.Linear(2, 2)


def moved(x, flag):
    if flag:
        x = x.cuda()
    return x


on = {answer}
Net(1, on).fit(torch.ones(2))
"""


def _found(cli: Cli, project: Path, program: str) -> list[tuple[int, str]]:
    (project / "program.py").write_text(program)
    ran = cli("check", "--select", "MPS1,MPS2", "--output-format", "json", "program.py")
    return [(item["location"]["row"], item["message"]) for item in json.loads(ran.out)]


@pytest.mark.parametrize(
    ("answer", "raising"), [("torch.cuda.is_available()", 0), ("True", 2), ("input() == 'gpu'", 2)]
)
def test_methods_know_what_an_object_was_made_with(
    cli: Cli, project: Path, answer: str, raising: int
) -> None:
    found = _found(cli, project, _KEPT.format(answer=answer))
    assert sum(_RAISES in message for _, message in found) == raising
    assert sum("MPS" not in message for _, message in found) >= 2


_LOOP = """
import torch


def train(batches, model):
    shown = False
    for x in batches:
        model(x)
        if shown:
            print(torch.cuda.memory_allocated())
        {then}
"""


@pytest.mark.parametrize(("then", "found"), [("pass", 0), ("shown = len(x) > 2", 1)])
def test_a_loop_changes_only_the_flags_that_it_sets(
    cli: Cli, project: Path, then: str, found: int
) -> None:
    assert len(_found(cli, project, _LOOP.format(then=then))) == found


_RANK = """
import torch
import torch.distributed as dist


def train(model, local_rank=-1):
    if local_rank {first}:
        dist.init_process_group(backend="nccl")
        torch.cuda.set_device(local_rank)
    model.train()
    if local_rank {second}:
        torch.cuda.synchronize()
"""


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (">= 0", ">= 0", 0),
        ("!= -1", "!= -1", 0),
        (">= 0", "< 0", 1),
        ("!= -1", "== -1", 1),
        (">= 0", ">= 1", 1),
    ],
)
def test_a_number_under_which_a_process_group_starts_is_asked_once(
    cli: Cli, project: Path, first: str, second: str, found: int
) -> None:
    told = _found(cli, project, _RANK.format(first=first, second=second))
    assert sum("synchronize" in message for _, message in told) == found


_PROGRAM = """

if __name__ == "__main__":
    import options

    args = options.parse()
    assert args.only_eval {word} args.save
    train(args.net, local_rank=args.local_rank)
"""


@pytest.mark.parametrize(("second", "found"), [(">= 0", 0), (">= 1", 1)])
@pytest.mark.parametrize("word", ["and", "or"])
def test_other_flags_do_not_keep_the_test_of_a_rank_from_being_known(
    cli: Cli, project: Path, word: str, second: str, found: int
) -> None:
    program = _RANK.format(first=">= 0", second=second) + _PROGRAM.format(word=word)
    told = _found(cli, project, program)
    assert sum("synchronize" in message for _, message in told) == found


@pytest.mark.parametrize(("second", "found"), [(">= 0", 0), (">= 1", 1)])
def test_a_rank_that_callers_of_several_files_give_is_one_number_in_a_run(
    cli: Cli, project: Path, second: str, found: int
) -> None:
    (project / "search.py").write_text(
        "import torch\nimport train\n\n\ndef search(net):\n    if torch.cuda.is_available():\n"
        "        train.train(net)\n\n\nsearch(1)\n"
    )
    program = _RANK.format(first=">= 0", second=second) + _PROGRAM.format(word="or")
    (project / "train.py").write_text(program)
    ran = cli("check", "--output-format", "json", "train.py")
    told = [item["message"] for item in json.loads(ran.out)]
    assert sum("synchronize" in message for message in told) == found


def test_half_a_question_that_sends_no_mac_away_chooses_no_device(cli: Cli, project: Path) -> None:
    program = (
        "import torch\n\n\ndef moved(x, on):\n    if not x.is_cuda and on:\n        x = x.cuda()\n"
        "    return x\n\n\nmoved(torch.ones(2), torch.cuda.is_available())\n"
    )
    assert [row for row, _ in _found(cli, project, program)] == [6, 10]
