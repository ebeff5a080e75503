"""Who leaves out the option for a GPU, and so gets the CPU on a machine with CUDA, gets the CPU on
a Mac as well once the program is fixed, however the program asks for the option."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixing import Planned, plan
from mpslint.settings.settings import Settings

from .asked_programs import programs
from .programs import Ended, ended

MACHINES = ("cpu", "cuda", "mps")
Runs = dict[str, tuple[str, dict[str, Ended], dict[str, Ended]]]

# One worker runs the programs for all of these tests.
pytestmark = pytest.mark.xdist_group("asked_for_the_cpu")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """By program: the fixed text, and how both end on each machine."""
    folder = tmp_path_factory.mktemp("programs")
    before, after = dict(programs()), dict[str, str]()
    for name, text in before.items():
        planned = plan(f"{name}.py", text.encode(), Settings(), unsafe=False)
        assert isinstance(planned, Planned), planned
        if planned.changed:
            after[f"{name}_fixed"] = planned.after.decode()
    texts = before | after
    outcomes = {machine: ended(texts, machine, folder / machine) for machine in MACHINES}
    return {
        name: (
            after[f"{name}_fixed"],
            {machine: outcomes[machine][name] for machine in MACHINES},
            {machine: outcomes[machine][f"{name}_fixed"] for machine in MACHINES},
        )
        for name in before
        if f"{name}_fixed" in after
    }


def test_most_programs_get_a_fix(runs: Runs) -> None:
    assert len(runs) > len(dict(programs())) / 2


@pytest.mark.parametrize("machine", MACHINES)
def test_what_ran_runs_fixed(runs: Runs, machine: str) -> None:
    harmed = [
        (name, text, after[machine])
        for name, (text, before, after) in runs.items()
        if before[machine].raised is None and after[machine].raised is not None
    ]
    assert not harmed, harmed[0]


def test_on_cuda_the_fixed_program_does_the_same(runs: Runs) -> None:
    other = [
        (name, text)
        for name, (text, before, after) in runs.items()
        if before["cuda"].raised is None and before["cuda"].printed != after["cuda"].printed
    ]
    assert not other, other[0]


def test_what_stays_on_the_cpu_beside_cuda_stays_there_beside_mps(runs: Runs) -> None:
    moved = [
        (name, text)
        for name, (text, before, after) in runs.items()
        if before["cuda"].raised is None
        and before["cuda"].printed.split()[-1] == "cpu"
        and after["mps"].raised is None
        and after["mps"].printed.split()[-1] != "cpu"
    ]
    assert not moved, moved[0]
