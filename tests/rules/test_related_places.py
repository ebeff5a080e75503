"""Where else a finding says that a Mac cannot pass."""

from __future__ import annotations

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def related(code: str, program: str) -> list[int]:
    (finding,) = lint(SourceFile("program.py", program.encode()), Settings(select=(code,)))
    return [label.row for label in finding.labels]


def test_a_count_of_no_gpus_points_at_what_is_nothing_by_it_and_the_empty_batches() -> None:
    program = """\
import torch
from torch.utils.data import DataLoader
def loaders(args, data):
    gpus = torch.cuda.device_count()
    args.size = args.batch_size * gpus
    return DataLoader(data, batch_size=args.size)
"""
    assert related("MPS206", program) == [5, 6]


def test_a_count_that_does_harm_on_its_own_line_points_nowhere() -> None:
    program = """\
import torch
def share(size):
    return size // torch.cuda.device_count()
"""
    assert related("MPS206", program) == []


REFUSING = """\
import sys
import torch
def main(args, model):
    if not torch.cuda.is_available():
        sys.exit(1)
    {between}
    torch.cuda.set_device(args.gpu)
    model.cuda()
"""


def test_a_gpu_that_is_set_behind_a_refusal_points_at_it() -> None:
    assert related("MPS206", REFUSING.replace("{between}", "print(args)")) == [4]


def test_a_gpu_that_is_set_behind_a_refusal_and_tried_is_silent() -> None:
    program = REFUSING.replace("    {between}\n", "").replace(
        "    torch.cuda.set_device(args.gpu)\n",
        "    try:\n        torch.cuda.set_device(args.gpu)\n"
        "    except Exception:\n        print(args)\n",
    )
    source = SourceFile("program.py", program.encode())
    assert lint(source, Settings(select=("MPS206",))) == []


SCATTERED = """\
import torch
def validate(loader, network, criterion):
    network.eval()
    for inputs, targets in loader:
        targets = targets.cuda()
        loss = criterion(network(inputs), targets)
def main(loader, net, criterion):
    validate(loader, {wrapped}, criterion)
"""


def test_a_batch_that_only_a_wrapper_moves_is_pointed_at_where_its_other_part_is_moved() -> None:
    program = SCATTERED.replace("{wrapped}", "torch.nn.DataParallel(net)")
    assert related("MPS102", program) == [6]


def test_a_batch_that_no_wrapper_moves_is_not_pointed_at() -> None:
    assert related("MPS102", SCATTERED.replace("{wrapped}", "net")) == []


def test_a_selection_by_a_flag_points_at_the_question_that_decides_the_flag() -> None:
    program = """\
import torch
def main(args, model):
    use_cuda = not args.no_cuda and torch.cuda.is_available()
    print(args)
    device = torch.device("cuda" if use_cuda else "cpu")
    model.to(device)
"""
    assert related("MPS103", program) == [5, 3]


def test_a_selection_that_asks_itself_points_at_what_a_mac_gets_alone() -> None:
    program = """\
import torch
def main(model):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.to(device)
"""
    assert related("MPS103", program) == [3]


MOVED_BEHIND_A_TEST = """\
import torch
def run(model, x):
    w = torch.zeros(3)
    if torch.cuda.is_available():
        w = w.cuda()
        x = x.cuda()
    return model(x) * w
"""


def told(program: str, **settings: object) -> list[tuple[str, int]]:
    source = SourceFile("program.py", program.encode())
    return [(one.code, one.row) for one in lint(source, Settings(**settings))]  # type: ignore[arg-type]


def test_moves_that_an_if_alone_keeps_from_a_mac_are_told_with_it() -> None:
    assert told(MOVED_BEHIND_A_TEST) == [("MPS103", 4)]
    assert related("MPS103", MOVED_BEHIND_A_TEST) == [5, 6]


def test_who_asks_for_moves_alone_is_told_of_each() -> None:
    assert told(MOVED_BEHIND_A_TEST, select=("MPS102",)) == [("MPS102", 5), ("MPS102", 6)]


def test_moves_are_told_by_themselves_where_the_test_is_not_told() -> None:
    assert told(MOVED_BEHIND_A_TEST, ignore=("MPS103",)) == [("MPS102", 5), ("MPS102", 6)]


def test_a_move_behind_a_condition_that_has_a_name_is_told_with_it() -> None:
    program = MOVED_BEHIND_A_TEST.replace(
        "    if torch.cuda.is_available():\n",
        "    gpu = torch.cuda.is_available()\n    if gpu:\n",
    )
    assert told(program) == [("MPS103", 4)]


def test_a_move_behind_a_flag_that_others_ask_as_well_is_told_by_itself() -> None:
    program = MOVED_BEHIND_A_TEST.replace(
        "    if torch.cuda.is_available():\n",
        "    gpu = torch.cuda.is_available()\n    print(gpu)\n    if gpu:\n",
    )
    assert ("MPS102", 7) in told(program)


def test_a_move_points_at_no_test_that_only_lies_on_the_way() -> None:
    program = """\
import sys
import torch
def test(data):
    return data.cuda()
def train(data):
    return data.cuda()
if args.test:
    test(torch.ones(2))
    sys.exit()
train(torch.ones(2))
"""
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS102",)))
    assert [[label.row for label in one.labels] for one in found][1] == []


def test_a_move_points_at_the_switch_around_it() -> None:
    program = """\
import torch
def train(data, args):
    if args.cuda:
        data = data.cuda()
    return data
"""
    assert related("MPS102", program) == [3]
