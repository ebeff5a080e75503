"""A long run says on the terminal how far it is, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

import mpslint.cli.progress
from mpslint.cli.progress import Progress


def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)


@pytest.mark.parametrize("command", ["check", "fix --no-verify", "report"])
def test_a_long_run_shows_how_far_it_is_and_wipes_it_out(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setattr(mpslint.cli.progress, "_QUIET", 0)
    monkeypatch.setattr(mpslint.cli.progress, "_EVERY", 0)
    for name in ("a.py", "b.py"):
        (project / name).write_text(CUDA_ONLY)
    err = cli(*command.split(), "--no-cache").err
    shown = [text for text in err.split("\r") if text.strip()]
    assert shown == ["checked 1 of 2 files", "checked 2 of 2 files"]
    assert err.endswith(f"\r{' ' * len(shown[-1])}\r")


def test_a_short_run_shows_nothing(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch)
    monkeypatch.setattr(mpslint.cli.progress, "_QUIET", 3600)  # it is short on a slow machine, too
    (project / "a.py").write_text(CUDA_ONLY)
    assert cli("check", "--no-cache").err == ""


def test_nothing_is_shown_where_stderr_is_no_terminal(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mpslint.cli.progress, "_QUIET", 0)
    (project / "a.py").write_text(CUDA_ONLY)
    assert cli("check", "--no-cache").err == ""


def test_a_shorter_line_covers_the_longer_one(capfd: pytest.CaptureFixture[str]) -> None:
    line = Progress()
    line._show("a long line")
    line._show("short")
    assert capfd.readouterr().err == "\ra long line\r\rshort      \r"
