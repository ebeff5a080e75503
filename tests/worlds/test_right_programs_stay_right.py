"""Programs that are right on a CPU run on a Mac as they did, once they are fixed, and mostly on its
GPU."""

from __future__ import annotations

import pytest

from .mac_programs import Fixed, fixed_programs

NEVER_ON_MPS = frozenset(
    {
        "batches_of_another_file",
        "buffers_by_a_lambda",
        "cast_on_the_host",
        "config_switch",
        "double_by_default",
        "double_from_a_library",
        "eigenvalues",
        "fractions_in_a_table_of_batches",
        "fractions_in_another_file",
        "fractions_moved_by_helper",
        "fractions_of_a_generator",
        "fractions_read_from_json",
        "moved_by_a_lambda",
        "statistics_in_a_module",
    }
)
"""What they compute in float64, or may move so, or with an operator that MPS lacks, or whose user
wants no GPU."""
ENOUGH = 0.85

# One worker runs the programs for all of these tests.
pytestmark = pytest.mark.xdist_group("right_programs_stay_right")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> list[Fixed]:
    return fixed_programs(tmp_path_factory.mktemp("safe"), unsafe=False)


def test_every_program_runs_as_it_is(tried: list[Fixed]) -> None:
    assert len(tried) >= 50
    assert [one for one in tried if one.before.raised or not one.before.printed] == []


def test_no_program_is_harmed_by_safe_fixes(tried: list[Fixed]) -> None:
    assert [one for one in tried if one.harmed] == []


def test_most_fixed_programs_use_the_gpu_of_the_mac(tried: list[Fixed]) -> None:
    able = [one for one in tried if one.name not in NEVER_ON_MPS]
    used = [one.name for one in able if one.after.on_gpu]
    assert len(used) >= ENOUGH * len(able), sorted({one.name for one in able} - {*used})


def test_what_cannot_be_on_mps_stays_on_the_cpu(tried: list[Fixed]) -> None:
    assert {one.name for one in tried if not one.after.on_gpu} >= NEVER_ON_MPS


def test_unsafe_fixes_that_harm_a_program_say_what_is_in_doubt(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    harmed = [
        one for one in fixed_programs(tmp_path_factory.mktemp("all"), unsafe=True) if one.harmed
    ]
    assert len(harmed) >= 3
    assert [
        one.name for one in harmed if not any(", line " in s or "(line " in s for s in one.said)
    ] == []
