"""Which files are parted into words to find out who uses what a file defines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mpslint.project.layout import modules
from mpslint.project.layout.modules import Modules
from mpslint.settings.settings import Settings

MANY = 3 * modules._MOST_BESIDE


def test_only_files_with_the_words_are_parted_however_many_and_often_asked(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parted: Counter[bytes] = Counter()
    real = modules.names_in

    def counted(data: bytes) -> set[bytes]:
        parted[data] += 1
        return real(data)

    monkeypatch.setattr(modules, "names_in", counted)
    paths = []
    for number in range(MANY):
        path = project / f"file{number}.py"
        path.write_text("import helper\nhelper.run()\n" if number == 7 else f"x = {number}\n")
        paths.append(str(path))
    known = Modules(Settings())
    asked = frozenset({b"helper", b"run"})
    for _ in range(3):
        assert [path for path in paths if known.has_words(path, asked)] == [paths[7]]
    assert set(parted) == {b"import helper\nhelper.run()\n"}


def test_letters_of_a_longer_word_are_not_the_word(project: Path) -> None:
    path = project / "a.py"
    path.write_text("helpers.rerun()\n")
    assert not Modules(Settings()).has_words(str(path), frozenset({b"helper", b"run"}))
