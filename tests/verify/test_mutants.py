"""A sample of the seeded faults; benchmarks/mutants.py runs them all."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest

from mpslint.verify import Report, Request, verify

from .conftest import FIXTURES

PROGRAMS = {f.name: f / "patched.py" for f in sorted((FIXTURES / "programs").iterdir())}
BROKEN = (
    ("frozen_backbone", "loss_off_on_mps"),
    ("matrix_factorization", "early_exit_on_mps"),
    ("q_learning", "selection_falls_back_to_cpu"),
    ("timing_with_events", "skipped_synchronize"),
)


def mutations() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mutations", FIXTURES / "mutations.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(name: str, text: str, *devices: str, control: bool) -> Report:
    script = str(FIXTURES / "programs" / name / "original.py")
    request = Request(
        script,
        devices=devices,
        patched={script: text.encode()},
        root=str(FIXTURES / "programs" / name),
        negative_control=control,
    )
    return verify(request)


@pytest.mark.parametrize(("name", "fault"), BROKEN)
def test_a_broken_program_does_not_pass(name: str, fault: str) -> None:
    text = getattr(mutations(), fault)(PROGRAMS[name].read_text())
    report = check(name, text, "mps", control=False)
    assert report.verdict in ("fail", "inconclusive"), report.to_text()


@pytest.mark.parametrize("name", ["data_loader", "use_cuda_flag"])
def test_a_right_program_passes(name: str) -> None:
    report = check(name, PROGRAMS[name].read_text(), "cpu", "mps", control=True)
    assert report.verdict == "pass", report.to_text()


def test_there_are_60_programs_and_as_many_broken_ones_that_still_compile() -> None:
    texts = {name: path.read_text() for name, path in PROGRAMS.items()}
    broken = mutations().chosen(texts, 3)
    assert len(PROGRAMS) >= 60
    assert len(broken) >= 60
    assert len({fault for _, fault, _ in broken}) == len(mutations().ALL)
    for name, fault, text in broken:
        compile(text, f"{name}-{fault}", "exec")
