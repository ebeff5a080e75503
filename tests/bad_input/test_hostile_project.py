"""A project that means harm: nothing of it is run, and what it holds is told and never obeyed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import PORTABLE
from hostile_project import CUDA_ONLY, TRAPS, Trap, mark_where_run, obeyed

ENDLESS = 120
"""Seconds; what has no end is ended then, and the test with it."""
COMMANDS = {
    "check": ["-m", "mpslint", "check", "--no-cache", "--output-format", "json"],
    "fix": ["-m", "mpslint", "fix", "--no-cache", "--no-verify", "--diff"],
    "fix all": ["-m", "mpslint", "fix", "--no-cache", "--no-verify", "--unsafe-fixes"],
    "report": ["-m", "mpslint", "report", "--format", "markdown"],
    "config": ["-m", "mpslint", "config", "a.py"],
}


def ran(project: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=project,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        stdin=subprocess.DEVNULL,
        timeout=ENDLESS,
    )


@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=COMMANDS)
def test_nothing_beside_the_code_is_run(project: Path, arguments: list[str]) -> None:
    mark = mark_where_run(project)
    done = ran(project, arguments)
    assert not mark.exists(), mark.read_text()
    assert done.returncode in (0, 1), done.stderr


def test_the_marks_are_left_by_what_is_run(project: Path) -> None:
    mark = mark_where_run(project)
    subprocess.run([sys.executable, "-c", "import json, conftest"], cwd=project, check=True)
    assert "conftest" in mark.read_text()


def test_what_is_checked_is_no_place_of_modules_where_it_is_started_as_a_module(
    project: Path,
) -> None:
    (project / "json.py").write_text("raise SystemExit('run')\n")
    (project / "a.py").write_text(CUDA_ONLY)
    done = ran(project, ["-m", "mpslint", "check", "--no-cache", "--output-format", "json"])
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)
def test_a_trap_is_told_or_passed_over(project: Path, trap: Trap) -> None:
    (project / "good.py").write_text(CUDA_ONLY)
    trap.make(project)
    done = ran(project, ["-m", "mpslint", "check", "--no-cache", "--output-format", "concise", "."])
    assert done.returncode in (1, 2)
    assert "internal error" not in done.stderr
    assert trap.named in done.stdout + done.stderr
    assert obeyed(done.stdout) == obeyed(done.stderr) == ""


def test_a_link_that_leads_out_is_not_written_through(project: Path) -> None:
    TRAPS["a link that leads out"].make(project)
    done = ran(project, ["-m", "mpslint", "fix", "--no-verify", "--no-cache", "."])
    assert "lies outside of what was named" in done.stderr
    assert (project.parent / "outside.py").read_text() == CUDA_ONLY


@pytest.mark.parametrize("trap", ["a name that is no text", "a name with an escape"])
def test_a_file_with_an_odd_name_is_fixed_like_any_other(project: Path, trap: str) -> None:
    TRAPS[trap].make(project)
    done = ran(project, ["-m", "mpslint", "fix", "--no-verify", "--no-cache", "."])
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = project.iterdir()
    assert file.read_text() == PORTABLE
