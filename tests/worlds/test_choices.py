"""Devices that a Mac lacks where it needs one, and choices that leave its GPU out."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.worlds import choices as module
from mpslint.semantics.worlds.choices import offered, written
from mpslint.semantics.worlds.refused import needless_refusals

from .conftest import Program, found


def chosen(text: str) -> list[str]:
    """The tests that decide the choices of a program."""
    return [
        ast.unparse(test)
        for choice in module.choices(Program(text).worlds)
        for test in choice.tests
    ]


def devices(text: str) -> list[str]:
    """The devices that a program's choices choose."""
    return [
        ast.unparse(device)
        for choice in module.choices(Program(text).worlds)
        for device in choice.devices
    ]


def literals(text: str) -> list[str]:
    return [ast.unparse(one.node) for one in written(Program(text).worlds)]


ASK = "torch.cuda.is_available()"
USE = "\nx = torch.zeros(3, device=device)\n"


@pytest.mark.parametrize(
    "choice",
    [
        'device = "cuda" if torch.cuda.is_available() else "cpu"',
        'if torch.cuda.is_available():\n    device = "cuda"\nelse:\n    device = "cpu"',
        'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"',
        'ok = torch.cuda.is_available()\ndevice = "cuda" if ok else "cpu"',
        'def pick():\n    if torch.cuda.is_available():\n        return "cuda"\n    return "cpu"\n\ndevice = pick()',
        'device = ["cpu", "cuda"][torch.cuda.is_available()]',
        'device = torch.cuda.is_available() and "cuda" or "cpu"',
        'device = next(d for d, ok in (("cuda", torch.cuda.is_available()), ("cpu", True)) if ok)',
    ],
)  # fmt: skip
def test_a_choice_hangs_on_its_test_and_knows_its_device(choice: str) -> None:
    assert chosen(choice + USE) == [ASK]
    assert devices(choice + USE) == ["'cuda'"]


@pytest.mark.parametrize(
    "choice",
    [
        'if torch.cuda.is_available():\n    device = "cuda"\nelif torch.backends.mps.is_available():\n    device = "mps"\nelse:\n    device = "cpu"',
        'device = "mps" if torch.backends.mps.is_available() else "cuda" if torch.cuda.is_available() else "cpu"',
        'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"\nelif torch.mps.is_available():\n    device = "mps"',
        'device = torch.accelerator.current_accelerator() or "cpu"',
        'device = "cpu"',
        'device = "cuda" if torch.cuda.device_count() > 1 else "cpu"',
        'device = "cuda" if torch.cuda.is_available() else pick_another()',
    ],
)  # fmt: skip
def test_who_can_have_mps_is_left_out_of_nothing(choice: str) -> None:
    assert chosen(choice + USE) == []


def test_a_choice_that_is_only_printed_leaves_nobody_out() -> None:
    assert chosen('name = "cuda" if torch.cuda.is_available() else "cpu"\nprint(name)\n') == []


def test_a_choice_used_twice_is_told_once() -> None:
    text = f'device = "cuda" if {ASK} else "cpu"\n' + USE + "y = torch.ones(3, device=device)\n"
    assert chosen(text) == [ASK]


def test_a_flag_that_goes_elsewhere_is_a_choice() -> None:
    assert chosen(f"trainer = Trainer(use_gpu={ASK})\n") == [ASK]


def test_a_flag_that_does_no_harm_is_none() -> None:
    assert chosen(f"loader = DataLoader(data, pin_memory={ASK})\n") == []


def test_a_device_is_written_once_however_often_it_is_used() -> None:
    text = 'device = "cuda"\nx = torch.zeros(3, device=device)\ny = torch.zeros(3, device=device)\n'
    assert literals(text) == ["'cuda'"]


def test_two_devices_are_two() -> None:
    text = 'x = torch.zeros(3, device="cuda")\ny = torch.zeros(3, device="cuda:0")\n'
    assert sorted(literals(text)) == ["'cuda'", "'cuda:0'"]


@pytest.mark.parametrize(
    "text",
    [
        f'if {ASK}:\n    x = torch.zeros(3, device="cuda")\n',
        'device = "cuda"\nif device == "cuda":\n    print(device)\n',
        'try:\n    x = torch.zeros(3, device="cuda")\nexcept Exception:\n    x = torch.zeros(3)\n',
        'import flash_attn\n\nx = torch.zeros(3, device="cuda")\n',
        'message = "cuda"\nprint(message)\n',
    ],
)
def test_a_device_that_no_mac_is_given_is_not_told(text: str) -> None:
    assert literals(text) == []


def test_the_place_of_a_default_is_the_default() -> None:
    text = 'def run(x, device="cuda"):\n    return x.to(device)\n'
    (one,) = written(Program(text).worlds)
    assert (ast.unparse(one.node), one.default) == ("'cuda'", True)


def test_a_list_of_options_without_mps_is_offered() -> None:
    text = """
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--device", choices={choices})
    """
    shown = [
        [ast.unparse(node) for node in offered(Program(text.format(choices=choices)).worlds)]
        for choices in ('["cpu", "cuda"]', '["cpu", "cuda", "mps"]', '["sgd", "adam"]')
    ]
    assert shown == [["['cpu', 'cuda']"], [], []]


def test_a_refusal_of_a_program_that_could_run_is_needless() -> None:
    text = "assert torch.cuda.is_available()\nx = torch.zeros(3)\n"
    assert [ast.unparse(test) for test in needless_refusals(Program(text).worlds)] == [ASK]


def test_a_refusal_before_nccl_is_needed() -> None:
    text = 'assert torch.cuda.is_available()\ntorch.distributed.init_process_group("nccl")\n'
    assert needless_refusals(Program(text).worlds) == []


def test_moves_that_only_cuda_makes_are_a_choice() -> None:
    text = f"model = torch.nn.Linear(3, 3)\nif {ASK}:\n    model = model.cuda()\n"
    assert found(text, "MPS102", "MPS103")


def test_the_same_moves_beside_those_for_mps_are_none() -> None:
    text = f"""
        model = torch.nn.Linear(3, 3)
        if {ASK}:
            model = model.cuda()
        elif torch.backends.mps.is_available():
            model = model.to("mps")
    """
    assert found(text, "MPS102", "MPS103") == []


AUTOCAST = """
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Linear(2, 2).to(device)
for x in loader:
    with torch.autocast({}, dtype=torch.float16):
        y = model(x)
"""


def test_a_choice_that_autocast_alone_follows_is_told_beside_that_of_the_device() -> None:
    own = AUTOCAST.format('device_type="cuda" if torch.cuda.is_available() else "cpu"')
    assert [line.split()[1] for line in found(own, "MPS103")] == ["device", "with"]


def test_autocast_for_the_device_that_is_chosen_needs_nothing_of_its_own() -> None:
    assert len(found(AUTOCAST.format("device"), "MPS103")) == 1
    assert len(found(AUTOCAST.format("torch.device(device).type"), "MPS103")) == 1


def test_autocast_of_a_program_that_places_nothing_may_be_for_the_cpu() -> None:
    text = """
    def run(model, x):
        with torch.autocast("cuda" if torch.cuda.is_available() else "cpu"):
            return model(x)
    """
    assert found(text, "MPS103") == []


SCALER = """
try:
    from torch.cuda.amp import GradScaler
except{}:
    class GradScaler:
        def scale(self, loss):
            return loss

def train(args, model, loader):
    scaler = GradScaler(enabled=args.mixed_precision)
    for x in loader:
        scaler.scale(model(x.to(args.device))).backward()
"""


@pytest.mark.parametrize("caught", ["", " ImportError", " Exception", " (ImportError, OSError)"])
def test_what_stands_in_for_mixed_precision_in_an_old_torch_is_not_what_runs(caught: str) -> None:
    line = "MPS207 scaler = GradScaler(enabled=args.mixed_precision)"
    assert line in found(SCALER.format(caught), "MPS207")


def test_what_a_torch_may_lack_is_taken_from_either_arm() -> None:
    text = SCALER.replace("torch.cuda.amp", "torch.newer").format("")
    assert not any("scaler" in line for line in found(text, "MPS207"))


FIRST = "device = next(d for d, ok in ({}) if ok)" + USE


def test_a_table_of_devices_that_has_mps_leaves_nothing_out() -> None:
    mps = '("mps", torch.backends.mps.is_available())'
    cuda, cpu = '("cuda", torch.cuda.is_available())', '("cpu", True)'
    assert chosen(FIRST.format(f"{cuda}, {cpu}")) == [ASK]
    assert not chosen(FIRST.format(f"{cuda}, {mps}, {cpu}"))
    assert not chosen(FIRST.format(f'{cpu}, ("cuda", True)'))


SEVERAL = """
import torch

def get_device(index=-1):
    if index != -1:
        return torch.device({first})
    return torch.device({second})
"""


def test_a_choice_is_told_beside_a_return_that_names_cuda() -> None:
    second = '"cuda" if torch.cuda.is_available() else "cpu"'
    text = SEVERAL.format(first='f"cuda:{index}"', second=second)
    assert chosen(text) == [ASK]
    assert chosen(text + "\nx = torch.rand(3).to(get_device())\n") == [ASK]


def test_a_choice_beside_a_return_that_knows_mps_is_meant() -> None:
    first = '"mps" if torch.backends.mps.is_available() else f"cuda:{index}"'
    second = '"cuda" if torch.cuda.is_available() else "cpu"'
    assert not chosen(SEVERAL.format(first=first, second=second))


def test_who_is_turned_away_without_cuda_has_insisted_on_it() -> None:
    refusing = """
        def pick(name):
            if name == "cuda" and torch.cuda.is_available():
                return torch.device("cuda")
            elif name == "cuda":
                raise RuntimeError("There is no CUDA here.")
            return torch.device("cpu")
    """
    assert chosen(refusing) == []
    lenient = refusing.replace("raise RuntimeError", "print")
    assert chosen(lenient) == [ASK]


@pytest.mark.parametrize(
    "text",
    [
        'device = "cuda" if name == "cuda" and torch.cuda.is_available() else "cpu"',
        'wanted = name == "cuda" and torch.cuda.is_available()\ndevice = "cuda" if wanted else "cpu"',
        'wanted = name == "cuda" and torch.cuda.is_available()\ndevice = "cpu" if not wanted else "cuda"',
        'device = "cuda"\nif name != "cuda" or not torch.cuda.is_available():\n    device = "cpu"',
    ],
)
def test_a_name_that_is_asked_for_beside_the_machine_is_a_switch(text: str) -> None:
    assert chosen(f"from settings import name\n{text}{USE}") == [ASK]


LEFT = [
    ("wanted > torch.cuda.device_count()", "wanted", "torch.cuda.device_count()", "wanted",
     'x = torch.zeros(3, device="cuda:0") if wanted > 0 else torch.zeros(3)'),
    ('args.device == "cuda" and not torch.cuda.is_available()', "device", '"cpu"', "args.device",
     "x = torch.zeros(3, device=device)"),
    ('not torch.cuda.is_available() and args.device.startswith("cuda")', "device", '"cpu"',
     "args.device", "x = torch.zeros(3, device=device)"),
]  # fmt: skip


@pytest.mark.parametrize(("test", "name", "holds", "fails", "use"), LEFT)
def test_a_conditional_leaves_of_a_device_what_a_statement_leaves(
    test: str, name: str, holds: str, fails: str, use: str
) -> None:
    head = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--device", default="cuda")\n'
        'parser.add_argument("--gpus", type=int, default=2)\n'
        "args = parser.parse_args()\nwanted = args.gpus\n"
    )
    short = f"{head}{name} = {holds} if {test} else {fails}\n{use}\n"
    long = f"{head}if {test}:\n    {name} = {holds}\nelse:\n    {name} = {fails}\n{use}\n"
    assert literals(short) == literals(long)
    assert chosen(short) == chosen(long) != []
