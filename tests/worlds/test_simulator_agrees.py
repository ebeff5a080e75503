"""What the analysis says of a Mac is what happens on the simulated one.

The programs are generated, the same ones each time; `benchmarks/simulator_agrees.py` compares as
many as one likes.
"""

from __future__ import annotations

import pytest

from .programs import Compared, compared, written

PROGRAMS = 60
"""They run in one process a device: starting torch is what costs."""

# One worker runs the programs for all of these tests.
pytestmark = pytest.mark.xdist_group("simulator_agrees")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> list[Compared]:
    programs = {f"program_{seed}": written(seed) for seed in range(PROGRAMS)}
    return compared(programs, tmp_path_factory.mktemp("programs"))


def shown(some: list[Compared]) -> str:
    return "\n" + "\n\n".join(map(str, some))


def test_a_seed_always_writes_the_same_program() -> None:
    assert [written(seed) for seed in range(5)] == [written(seed) for seed in range(5)]
    assert len({written(seed) for seed in range(PROGRAMS)}) == PROGRAMS


def test_some_programs_raise_on_the_simulated_mac_and_some_do_not(ran: list[Compared]) -> None:
    raised = sum(one.raised is not None for one in ran)
    assert PROGRAMS // 10 < raised < PROGRAMS * 9 // 10


def test_what_raises_there_has_a_finding_at_its_line_or_before(ran: list[Compared]) -> None:
    missed = [one for one in ran if one.missed]
    assert not missed, shown(missed)


def test_what_has_no_finding_that_it_raises_raises_nothing(ran: list[Compared]) -> None:
    unforeseen = [one for one in ran if one.unforeseen]
    assert not unforeseen, shown(unforeseen)


def test_what_runs_through_has_no_finding_that_it_surely_raises(ran: list[Compared]) -> None:
    alarmed = [one for one in ran if one.false_alarm]
    assert not alarmed, shown(alarmed)
