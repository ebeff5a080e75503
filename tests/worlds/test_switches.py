"""A user's switch is on or off everywhere at once: `args.cuda` here is `args.cuda` there."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import pytest

from .conftest import comes, found, on

OPTION = """
import argparse
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--cuda", action="store_true")
args = parser.parse_args()
"""
REFUSAL = """
if args.cuda and not torch.cuda.is_available():
    {leave}
"""
USE = """
x = torch.zeros(3)
if args.cuda:
    x = x.cuda()  # here
"""
FUNCTION = """
def run(x, {parameters}):
    if {refused} and not torch.cuda.is_available():
        raise RuntimeError("no CUDA")
    if {used}:
        x = x.cuda()  # here
    return x
"""


@pytest.mark.parametrize(
    "leave", ['raise RuntimeError("no CUDA")', "sys.exit(1)", "assert False", "parser.error('x')"]
)
def test_no_mac_with_the_switch_on_comes_behind_its_refusal(leave: str) -> None:
    assert comes(OPTION + REFUSAL.format(leave=leave) + USE) == "CUDA?|GPUS?|PORTED?"


def test_what_no_mac_comes_to_does_not_break_it() -> None:
    text = OPTION + REFUSAL.format(leave="sys.exit(1)") + USE
    assert found(text, "MPS102", severity="breaks") == []


@pytest.mark.parametrize(
    ("compared", "plain"),
    [
        ("args.cuda == True", "args.cuda"),
        ("args.cuda is True", "args.cuda"),
        ("True == args.cuda", "args.cuda"),
        ("args.cuda != False", "args.cuda"),
        ("args.cuda == False", "not args.cuda"),
        ("args.cuda is not True", "not args.cuda"),
    ],
)
def test_a_switch_that_is_compared_with_true_or_false_is_the_same_question(
    compared: str, plain: str
) -> None:
    text = OPTION + REFUSAL.format(leave="sys.exit(1)") + USE

    def used(test: str) -> str:
        return comes(text.replace("if args.cuda:", f"if {test}:"))

    assert used(compared) == used(plain)


def test_a_number_that_is_compared_is_another_question() -> None:
    text = (OPTION + REFUSAL.format(leave="sys.exit(1)") + USE).replace(
        "if args.cuda:", "if args.cuda == 2:"
    )
    assert comes(text) != comes(text.replace("args.cuda == 2", "args.cuda"))


def test_without_a_refusal_a_mac_comes_there_with_the_switch_on() -> None:
    assert comes(OPTION + USE) == "CUDA?|GPUS?|MAC?|PORTED?|CPU?"
    assert found(OPTION + USE, "MPS102", severity="breaks") == ["MPS102 x = x.cuda()  # here"]


def test_an_assertion_of_either_refuses_as_well() -> None:
    text = OPTION + "assert not args.cuda or torch.cuda.is_available()\n" + USE
    assert comes(text) == "CUDA?|GPUS?|PORTED?"


def test_a_switch_that_is_turned_off_stays_off() -> None:
    text = OPTION + REFUSAL.format(leave="args.cuda = False") + USE
    assert comes(text) == "CUDA?|GPUS?|PORTED?"


def test_a_switch_and_the_machine_make_a_flag() -> None:
    text = f"""
{OPTION}
use_cuda = args.cuda and torch.cuda.is_available()
if use_cuda:
    work()  # here
"""
    assert comes(text) == "CUDA?|GPUS?|PORTED?"


@pytest.mark.parametrize(
    ("test", "worlds"),
    [
        ("torch.cuda.is_available() & args.cuda", "CUDA?|GPUS?|PORTED?"),
        ("args.cuda & torch.cuda.is_available()", "CUDA?|GPUS?|PORTED?"),
        ("torch.cuda.is_available() | args.cuda", "CUDA|GPUS|MAC?|PORTED|CPU?"),
        ("torch.cuda.is_available() | False", "CUDA|GPUS|PORTED"),
        ("2 & args.flags", "CUDA|GPUS|MAC|PORTED|CPU"),
    ],
)
def test_operators_of_bits_join_truth_values(test: str, worlds: str) -> None:
    assert comes(f"{OPTION}\nuse_cuda = {test}\nif use_cuda:\n    work()  # here\n") == worlds


_AGENT = """
class Agent:
    def __init__(self, config):
        self.is_cuda = torch.cuda.is_available()
        self.cuda = {test}
        if self.cuda:
            torch.cuda.set_device(config.gpu)  # here
"""


def test_a_flag_of_both_bits_keeps_a_mac_from_what_only_cuda_has() -> None:
    assert found(_AGENT.format(test="self.is_cuda & config.cuda"), "MPS206") == []


def test_a_flag_of_either_bit_does_not() -> None:
    line = "torch.cuda.set_device(config.gpu)  # here"
    assert found(_AGENT.format(test="self.is_cuda | config.cuda"), "MPS206") == [f"MPS206 {line}"]


def test_a_switch_against_cuda_leaves_the_rest_to_the_machine() -> None:
    text = """
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--no-cuda", action="store_true")
        args = parser.parse_args()
        use_cuda = not args.no_cuda and torch.cuda.is_available()
        device = torch.device("cuda" if use_cuda else "cpu")
    """
    assert on("device", text) == "cuda/cpu cuda/cpu cpu mps/cpu cpu"


@pytest.mark.parametrize(
    ("said", "places"),
    [
        ('action="store_true", default=True', "cpu cpu cpu cpu cpu"),
        ('action="store_true", default=False', "cuda/cpu cuda/cpu cpu mps/cpu cpu"),
        ('action="store_false", default=True', "cuda/cpu cuda/cpu cpu mps/cpu cpu"),
    ],
)
def test_an_option_that_can_only_be_made_what_it_is_stays_so(said: str, places: str) -> None:
    text = f"""
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--no-cuda", {said})
        args = parser.parse_args()
        use_cuda = not args.no_cuda and torch.cuda.is_available()
        device = torch.device("cuda" if use_cuda else "cpu")
    """
    assert on("device", text) == places


@pytest.mark.parametrize("said", ["type=str, default=None", "default=None", "type=int"])
def test_an_option_that_is_none_by_default_may_be_given(said: str) -> None:
    text = f"""
        import argparse

        def parse_args():
            parser = argparse.ArgumentParser()
            parser.add_argument("--data", {said})
            parser.add_argument("--folder", {said})
            args = parser.parse_args()
            if args.data is None and args.folder is None:
                raise ValueError("needs a data set")
            return args

        def main():
            args = parse_args()
            work(args)  # here
    """
    assert comes(text) == "CUDA|GPUS|MAC|PORTED|CPU"


def test_the_other_arm_of_a_switch_is_not_reached_with_it() -> None:
    text = f"""
{OPTION}
if args.cuda:
    if not args.cuda:
        work()  # here
"""
    assert comes(text) == "none"


@pytest.mark.parametrize("parameter", ["use_cuda", "use_cuda=True"])
def test_a_parameter_is_a_switch_within_its_function(parameter: str) -> None:
    text = FUNCTION.format(parameters=parameter, refused="use_cuda", used="use_cuda")
    assert comes(text) == "CUDA?|GPUS?|PORTED?"


def test_an_attribute_of_the_object_is_a_switch_across_its_methods() -> None:
    text = """
        class Trainer:
            def __init__(self, use_cuda):
                self.use_cuda = use_cuda and torch.cuda.is_available()

            def step(self, x):
                if self.use_cuda:
                    x = x.cuda()  # here
                return x
    """
    assert comes(text) == "CUDA?|GPUS?|PORTED?"


def test_two_switches_are_two() -> None:
    text = FUNCTION.format(parameters="first, second", refused="first", used="second")
    assert comes(text) == "CUDA?|GPUS?|MAC?|PORTED?|CPU?"


def test_the_same_name_in_two_functions_is_two_switches() -> None:
    text = """
        def check(use_cuda):
            if use_cuda and not torch.cuda.is_available():
                raise RuntimeError("no CUDA")

        def run(x, use_cuda):
            if use_cuda:
                x = x.cuda()  # here
            return x
    """
    assert comes(text) == "CUDA?|GPUS?|MAC?|PORTED?|CPU?"


def test_more_switches_than_are_told_apart_lose_nobody() -> None:
    """What is not told apart may be on: the Mac is still in."""
    names = [f"switch_{at}" for at in range(6)]
    tests = "\n".join(f"    if {name}:\n        x = x + 1" for name in names)
    text = f"def run(x, {', '.join(names)}):\n{tests}\n    if switch_5:\n        x = x.cuda()  # here\n"
    assert "MAC" in comes(text)


def test_a_text_that_chooses_the_device_is_refused_likewise() -> None:
    text = """
        import argparse
        import sys

        parser = argparse.ArgumentParser()
        parser.add_argument("--device", default="cpu")
        args = parser.parse_args()
        if args.device == "cuda" and not torch.cuda.is_available():
            sys.exit("no CUDA")
        if args.device == "cuda":
            work()  # here
    """
    assert comes(text) in ("CUDA|GPUS", "CUDA|GPUS|PORTED", "CUDA?|GPUS?")


@pytest.mark.parametrize("name", ["args", "options"])
def test_a_switch_that_the_program_sets_below_its_test_is_so_in_what_it_calls(name: str) -> None:
    text = f"""
import argparse

def main(args):
    x = torch.zeros(3)
    if args.cuda:
        x = x.cuda()  # here

if __name__ == "__main__":
    {name} = argparse.ArgumentParser().parse_args()
    {name}.cuda = torch.cuda.is_available()
    main({name})
"""
    assert found(text, "MPS102", severity="breaks") == []
    assert found(text, "MPS103") == [f"MPS103 {name}.cuda = torch.cuda.is_available()"]


@pytest.mark.parametrize(
    "declared", ["default=None", "default=None, type=str", "type=str", 'default=""', "default=0"]
)
@pytest.mark.parametrize("asked", ["args.resume is not None", "args.resume"])
def test_an_option_that_nobody_need_give_may_be_given(declared: str, asked: str) -> None:
    text = f"""
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--resume", {declared})
        args = parser.parse_args()
        model = torch.nn.Linear(2, 2)
        if {asked}:
            model = model.cuda()  # here
    """
    assert found(text, "MPS102", severity="breaks") == ["MPS102 model = model.cuda()  # here"]


def test_what_is_refused_without_an_option_is_not_what_follows() -> None:
    text = """
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--scp", default=None)
        parser.add_argument("--dump", default=None)
        args = parser.parse_args()
        if args.scp is None and args.dump is None:
            raise ValueError("one of them")
        x = torch.zeros(3).cuda()  # here
    """
    assert found(text, "MPS102", severity="breaks") == ["MPS102 x = torch.zeros(3).cuda()  # here"]


GROUPS = """
import argparse
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--spread", type=int, default=1)
    args = parser.parse_args()
    spread = bool(args.spread)
    if args.verbose:
        print(args)
    if spread == True:
        torch.distributed.init_process_group(backend="nccl")
    x = torch.zeros(3)
    if {asked}:
        x = x + 1  # here
    print(x)


if __name__ == "__main__":
    main()
"""


def test_options_of_a_function_are_the_same_switches_however_often_it_is_run() -> None:
    assert comes(GROUPS.format(asked="spread == True")) == "CUDA?|GPUS?"


@pytest.mark.parametrize("asked", ["spread == False", "args.verbose"])
def test_its_other_switches_lead_a_mac_on(asked: str) -> None:
    assert "MAC" in comes(GROUPS.format(asked=asked))
