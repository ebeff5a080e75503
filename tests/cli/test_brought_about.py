"""What the fix of one file brings about in another is fixed in the same run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Cli

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "brought_about"


@pytest.fixture
def train(project: Path) -> Path:
    """A program that is right until the helper that it imports chooses MPS."""
    shutil.copytree(FILES, project, dirs_exist_ok=True)
    return project / "train.py"


def test_who_uses_a_device_is_fixed_in_the_run_that_lets_it_be_mps(cli: Cli, train: Path) -> None:
    assert cli("check", "train.py").code == 0
    said = cli("fix", "--no-verify", ".")
    assert 'torch.autocast(device_type=device.type, enabled=device.type != "cpu")' in (
        train.read_text()
    )
    assert "2 fixed, 0 remaining" in said.out


def test_a_second_run_finds_nothing_to_do(cli: Cli, train: Path) -> None:
    cli("fix", "--no-verify", ".")
    assert cli("fix", "--no-verify", ".").out == "All checks passed!\n"


def test_a_patch_holds_both_files(cli: Cli, train: Path) -> None:
    assert "Would fix 2 errors in 2 files" in cli("fix", "--diff", ".").err


def test_a_file_that_was_not_named_stays_as_it_is(cli: Cli, train: Path) -> None:
    before = train.read_text()
    cli("fix", "--no-verify", "misc.py")
    assert train.read_text() == before


def test_what_a_comment_silences_is_not_taken_up(cli: Cli, train: Path) -> None:
    text = train.read_text().replace('"cpu"):', '"cpu"):  # noqa: MPS207')
    train.write_text(text)
    cli("fix", "--no-verify", ".")
    assert train.read_text() == text


def test_a_link_that_leads_out_of_what_was_named_is_not_written(
    cli: Cli, project: Path, train: Path
) -> None:
    (project / "run").mkdir()
    (project / "out").mkdir()
    (project / "misc.py").rename(project / "run" / "misc.py")
    target = train.rename(project / "out" / "train.py")
    (project / "run" / "train.py").symlink_to(target)
    before = target.read_text()
    cli("fix", "--no-verify", "run")
    assert target.read_text() == before
