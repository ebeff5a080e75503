"""A loop over a list that is filled for CUDA alone takes no turn elsewhere."""

from __future__ import annotations

import pytest

from .conftest import EVERYWHERE, NVIDIA, comes

_SEEDED = """
def seeded(device, seed, others):
    found = {start}
    if {test}:
        {fill}
    {looks}
    for index in {turns}:
        work(index)  # here
"""


def _comes(
    *,
    start: str = "[]",
    test: str = 'device.type == "cuda"',
    fill: str = "found.append(device.index)",
    looks: str = "pass",
    turns: str = "found",
) -> str:
    return comes(_SEEDED.format(start=start, test=test, fill=fill, looks=looks, turns=turns))


@pytest.mark.parametrize(
    "fill",
    [
        "found.append(device.index)",
        "found.extend([0, 1])",
        "found = [device.index]",
        "found += [device.index]",
    ],
)
@pytest.mark.parametrize("turns", ["found", "enumerate(found)"])
def test_a_list_that_is_filled_for_cuda_alone_has_turns_there_alone(fill: str, turns: str) -> None:
    assert _comes(fill=fill, turns=turns) == NVIDIA


@pytest.mark.parametrize(
    "looks",
    ["print(len(found))", "torch.random.fork_rng(devices=found)", "if not found: print(seed)"],
)
def test_who_only_looks_at_it_fills_nothing(looks: str) -> None:
    assert _comes(looks=looks) == NVIDIA


@pytest.mark.parametrize("start", ["[0]", "list(others)", "others"])
def test_a_list_that_holds_something_at_first_has_turns_everywhere(start: str) -> None:
    assert _comes(start=start) == EVERYWHERE


@pytest.mark.parametrize(
    "looks", ["fill(found)", "found.append(0)", "others.found = found", "other = found"]
)
def test_one_that_others_may_fill_has_turns_everywhere(looks: str) -> None:
    assert _comes(looks=looks) == EVERYWHERE


@pytest.mark.parametrize("test", ["seed", 'device.type != "cpu"'])
def test_one_that_a_mac_fills_as_well_has_turns_there(test: str) -> None:
    assert _comes(test=test) == EVERYWHERE
