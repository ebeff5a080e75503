"""What ran before a safe fix runs after it, on every machine, and prints the same.

The programs are generated, the same ones each time; `benchmarks/fixes_do_no_harm.py` tries as many
as one likes.
"""

from __future__ import annotations

import pytest

from .fixed_programs import MACHINES, Fixed, fixed_programs

SEEDS = [*range(120), 397]
"""They run in one process a device: starting torch is what costs."""

# One worker runs the programs for all of these tests.
pytestmark = pytest.mark.xdist_group("fixes_do_no_harm")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> list[Fixed]:
    return fixed_programs(SEEDS, tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("machine", MACHINES)
def test_many_fixed_programs_ran_before(tried: list[Fixed], machine: str) -> None:
    assert sum(one.ran_before for one in tried if one.machine == machine) > 10


@pytest.mark.parametrize("machine", MACHINES)
def test_a_program_that_ran_runs_fixed_and_prints_the_same(
    tried: list[Fixed], machine: str
) -> None:
    harmed = [one for one in tried if one.machine == machine and one.harmed]
    assert not harmed, "\n\n".join(map(str, harmed))


@pytest.mark.parametrize("machine", ["cpu", "mps"])
def test_fixes_cure_programs_that_raised(tried: list[Fixed], machine: str) -> None:
    assert sum(one.cured for one in tried if one.machine == machine) > 20
