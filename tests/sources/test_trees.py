"""Parsed files that are kept for a while, and those that somebody else keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.sources import trees
from mpslint.sources.trees import Trees


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Trees:
    """Room for one small file."""
    monkeypatch.setattr(trees, "_IMPORTED_BYTES", 20)
    return Trees()


def test_a_file_whose_tree_somebody_holds_is_not_parsed_again(kept: Trees, tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    held = kept.read(path, b"first = 1\n")[1]
    kept.read(str(tmp_path / "b.py"), b"displacing = 'all others'\n")
    assert kept.read(path, b"first = 1\n")[1] is held


def test_another_text_of_the_same_file_is_parsed(kept: Trees, tmp_path: Path) -> None:
    path = str(tmp_path / "a.py")
    held = kept.read(path, b"first = 1\n")[1]
    assert kept.read(path, b"second = 1\n")[1] is not held


def test_a_tree_that_nobody_holds_goes_when_there_is_no_room(kept: Trees, tmp_path: Path) -> None:
    kept.read(str(tmp_path / "a.py"), b"first = 1\n")
    kept.read(str(tmp_path / "b.py"), b"displacing = 'all others'\n")
    kept.read(str(tmp_path / "c.py"), b"displacing = 'all others'\n")
    assert len(kept._alive) == 1
