"""Sets of worlds are sets of machines times the answers to a few switches."""

from __future__ import annotations

from functools import reduce
from itertools import combinations

import pytest

from mpslint.semantics.worlds import machines
from mpslint.semantics.worlds.machines import (
    ALL,
    CPU,
    CUDA,
    GPUS,
    MAC,
    MACHINES,
    MACS,
    NVIDIA,
    PARTS,
    PORTED,
    SWITCH,
    mac_of_cuda,
    mac_of_ported,
    ported_of_cuda,
    ported_of_mac,
    spell,
)


def test_no_two_machines_share_a_world() -> None:
    assert not any(a & b for a, b in combinations(MACHINES, 2))


def test_all_machines_together_are_all_worlds() -> None:
    assert reduce(int.__or__, MACHINES) == ALL
    assert NVIDIA | MACS | CPU == ALL


@pytest.mark.parametrize("machine", MACHINES, ids=spell)
@pytest.mark.parametrize("switch", SWITCH)
def test_each_switch_parts_each_machine_in_halves(machine: int, switch: int) -> None:
    on, off = machine & switch, machine & ~switch
    assert on
    assert bin(on).count("1") == bin(off).count("1")


def test_the_switches_are_independent_of_each_other() -> None:
    for first, second in combinations(SWITCH, 2):
        for a in (first, ~first):
            for b in (second, ~second):
                assert CUDA & a & b


@pytest.mark.parametrize("switch", [ALL, *SWITCH, *(ALL & ~switch for switch in SWITCH)])
def test_the_mac_that_corresponds_to_a_machine_has_its_switches(switch: int) -> None:
    assert mac_of_cuda(CUDA & switch) == MAC & switch
    assert ported_of_cuda(CUDA & switch) == PORTED & switch
    assert ported_of_mac(MAC & switch) == PORTED & switch
    assert mac_of_ported(PORTED & switch) == MAC & switch


def test_other_machines_have_no_mac_that_corresponds_to_them() -> None:
    assert mac_of_cuda(ALL & ~CUDA) == 0
    assert ported_of_cuda(ALL & ~CUDA) == 0
    assert ported_of_mac(ALL & ~MAC) == 0
    assert mac_of_ported(ALL & ~PORTED) == 0


def test_sets_of_worlds_are_spelt_by_their_machines() -> None:
    assert spell(0) == "none"
    assert spell(ALL) == "CUDA|GPUS|MAC|PORTED|CPU"
    assert spell(CUDA | MAC & SWITCH[0]) == "CUDA|MAC?"
    assert spell(GPUS) == "GPUS"


def test_the_number_of_worlds_stays_small_enough_for_an_int_of_two_digits() -> None:
    assert ALL.bit_length() == len(PARTS) * 2**machines.SWITCHES <= 60
