"""Which files of a project may set an attribute is found out once for a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.project.neighbours import Neighbours
from mpslint.project.uses import numbers_around
from mpslint.settings.settings import Settings


def test_the_texts_are_gone_through_once_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    path = tmp_path / "train.py"
    path.write_text("import torch\n\nargs.gpu = 0\nx = torch.zeros(2).cuda(args.gpu)\n")
    numbers = Neighbours(Settings(root=str(tmp_path)))._numbers
    first, files = numbers.setting(str(path), "gpu")
    monkeypatch.setattr(numbers_around, "re", None)
    assert first is not None
    assert [one.source.path for one in first] == [str(path)]
    assert numbers.setting(str(path), "gpu") == (first, files)
