"""A text that was read is there for the next question, as long as there is room."""

from __future__ import annotations

import pytest

from mpslint.project.layout import kept_texts
from mpslint.project.layout.kept_texts import KeptTexts


class _Disk:
    def __init__(self) -> None:
        self.reads: list[str] = []

    def __call__(self, path: str) -> bytes | None:
        self.reads.append(path)
        return None if path == "absent" else path.encode() * 3


def test_a_text_is_read_once() -> None:
    disk, kept = _Disk(), KeptTexts()
    texts = [kept.of(path, disk) for path in ("a", "absent", "a", "absent")]
    assert (texts, disk.reads) == ([b"aaa", None, b"aaa", None], ["a", "absent"])


def test_what_was_read_first_goes_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_texts, "_MOST_BYTES", 6)
    disk, kept = _Disk(), KeptTexts()
    for path in ("a", "b", "c", "b", "a"):
        kept.of(path, disk)
    assert disk.reads == ["a", "b", "c", "a"]


def test_a_text_that_has_changed_is_read_anew() -> None:
    disk, known, kept = _Disk(), KeptTexts(), KeptTexts()
    for path in ("a", "b"):
        known.of(path, disk)
    kept.take_over(known, {"b"})
    for path in ("a", "b"):
        kept.of(path, disk)
    assert disk.reads == ["a", "b", "b"]
