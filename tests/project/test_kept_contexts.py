"""What modules of a project mean is kept from one question to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.project.layout import kept_contexts
from mpslint.project.layout.modules import Modules
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings

_SMALL = "import torch\nx = 1\n"
_COUNT = 20


def _asked_twice(folder: Path, text: str) -> tuple[Modules, list[str], int]:
    """Asks for each of some modules, one after another, and then for all of them again: what was
    known of how many is known still."""
    paths = [str(folder / f"m{number}.py") for number in range(_COUNT)]
    for path in paths:
        Path(path).write_text(text)
    modules = Modules(Settings())
    near = Neighbours(Settings(), modules)
    first = {path: modules.context(path, near) for path in paths}
    return modules, paths, sum((path, Neighbours) in modules._contexts for path in first)


def test_as_many_small_modules_are_kept_as_a_question_asks(tmp_path: Path) -> None:
    assert _asked_twice(tmp_path, _SMALL)[2] == _COUNT


def test_what_is_kept_is_given_again(tmp_path: Path) -> None:
    modules, paths, _ = _asked_twice(tmp_path, _SMALL)
    near = Neighbours(Settings(), modules)
    assert modules.context(paths[0], near) is modules.context(paths[0], near)


def test_of_large_modules_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_contexts, "_BYTES", len(_SMALL))
    assert _asked_twice(tmp_path, _SMALL)[2] == kept_contexts._LEAST


def test_one_that_is_asked_for_again_outlasts_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_contexts, "_BYTES", 0)
    path = tmp_path / "asked.py"
    path.write_text(_SMALL)
    modules = Modules(Settings())
    near = Neighbours(Settings(), modules)
    first = modules.context(str(path), near)
    for number in range(_COUNT):
        other = tmp_path / f"m{number}.py"
        other.write_text(_SMALL)
        modules.context(str(other), near)
        assert modules.context(str(path), near) is first
