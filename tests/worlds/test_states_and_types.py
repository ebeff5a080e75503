"""What a name of the module says of the machine, and what the type of a device leaves over."""

from __future__ import annotations

import pytest

from tests.worlds.conftest import found

_STATE = """
import argparse
import torch
from enum import Enum

parser = argparse.ArgumentParser()
parser.add_argument("--always-cpu", action="store_true")
args = parser.parse_args()


class State({base}):
    GPU = 0
    CPU = 1
    MPS = 2


state = State.GPU
try:
    if torch.backends.mps.is_available():
        state = State.MPS
        import torch.mps
except {error}:
    {handler}

if args.always_cpu:
    state = State.CPU


def on_cpu():
    return state == State.CPU


def on_mps():
    global state
    return state == State.MPS


def is_new():
    if {test}:
        return False
    return torch.cuda.get_device_properties("cuda").major > 6


print(is_new())
"""


def _told(
    test: str = "on_cpu() or on_mps()",
    base: str = "Enum",
    error: str = "Exception",
    handler: str = "pass",
) -> list[str]:
    text = _STATE.format(test=test, base=base, error=error, handler=handler)
    return found(text, "MPS206")


@pytest.mark.parametrize("test", ["on_cpu() or on_mps()", "state in (State.CPU, State.MPS)"])
def test_a_mac_leaves_where_the_state_that_it_set_is_asked_for(test: str) -> None:
    assert _told(test) == []


@pytest.mark.parametrize("test", ["on_cpu()", "state is State.CPU", "False"])
def test_a_mac_goes_on_where_another_state_is_asked_for(test: str) -> None:
    assert _told(test) != []


def test_members_of_a_class_that_is_no_enumeration_may_be_set_anew() -> None:
    assert _told(base="object") != []


def test_a_handler_that_sets_the_state_back_does_so_for_an_old_torch_alone() -> None:
    assert _told(handler="state = State.GPU") == []


_MEMORY = """
import torch


def total(dev):
    {test}
        return 1
    {rest}


print(total(None))
"""
_ASK = "return torch.cuda.mem_get_info(dev)[0]"


@pytest.mark.parametrize(
    "test",
    [
        'if dev.type == "cpu" or dev.type == "mps":',
        'if hasattr(dev, "type") and (dev.type == "cpu" or dev.type == "mps"):',
        'if dev.type == "cpu":\n        return 0\n    if dev.type == "mps":',
        'if dev.type == "cpu":\n        return 0\n    elif "mps" == dev.type or dev.type == "mps":',
        'if dev.type in ("cpu", "mps"):',
    ],
)
def test_what_is_neither_the_cpu_nor_mps_is_on_no_mac(test: str) -> None:
    assert found(_MEMORY.format(test=test, rest=_ASK).replace("total(None)", ""), "MPS203") == []


@pytest.mark.parametrize(
    "test",
    [
        'if dev.type == "cpu":',
        'if dev.type == "cpu" or dev.type == "xpu":',
        'if dev.type == "cpu" or dev.index == "mps":',
        'if dev.type == "cpu" and dev.type == "mps":',
        'if hasattr(dev, "index") and (dev.type == "cpu" or dev.type == "mps"):',
        'if dev.type == "cpu":\n        return 0\n    dev = other()\n    if dev.type == "mps":',
    ],
)
def test_what_only_may_be_neither_is_told(test: str) -> None:
    assert found(_MEMORY.format(test=test, rest=_ASK).replace("total(None)", ""), "MPS203") != []


def test_what_a_walrus_binds_in_such_a_test_is_still_bound() -> None:
    text = """
import torch


def total(dev):
    if dev.type == "cpu" or (kind := torch.device("cuda")):
        pass
    return torch.zeros(3, device=kind)


total(None)
"""
    assert found(text, "MPS101") != []


_TRIALS = """
import itertools
import torch


def main():
    for size, cuda in itertools.product([128], {given}):
        trial(size, cuda)


def trial(size, cuda=True):
    x = torch.zeros(size)
    if cuda:
        x = x.cuda()
    return x


main()
"""


def test_a_product_gives_one_of_the_items_of_each() -> None:
    assert found(_TRIALS.format(given="[False]"), "MPS102") == []
    assert found(_TRIALS.format(given="[True, False]"), "MPS102") != []
    assert found(_TRIALS.format(given="options()"), "MPS102") != []
