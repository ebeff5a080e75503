"""A long session in the editor: whenever the typing pauses, what is shown is what `check` says."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from server.client import Editor, capabilities, in_editor, uri_of
from server.model import Buffer, checked
from server.typing_session import in_classes, real_sized, session


def type_along(
    folder: Path, text: str, *, edits: int, encoding: str = "utf-16", seed: int = 1
) -> int:
    """Type, and compare at each pause; how many different findings were compared."""
    path = folder / "train.py"
    uri, buffer = uri_of(path), Buffer(text, encoding)
    chance = random.Random(seed)

    async def scenario(editor: Editor) -> int:
        editor.open(uri, buffer.text)
        assert buffer.rows(await editor.diagnostics(uri)) == checked(path, buffer.text)
        version, seen = 1, set[object]()
        for changes in session(buffer, edits, seed):
            version += 1
            editor.change(uri, version, *changes)
            if chance.random() < 0.1:
                told = buffer.rows(await editor.diagnostics(uri, version))
                assert told == checked(path, buffer.text), f"after edit {version - 1}"
                seen.add(tuple(told))
        told = buffer.rows(await editor.diagnostics(uri, version))
        assert told == checked(path, buffer.text)
        assert told[0][4].startswith("MPS"), "in the end the text parses"
        versions = [one for one in editor.versions[uri] if one is not None]
        assert versions == sorted(set(versions)), "each version is told once, and none goes back"
        assert version > edits
        return len(seen)

    return in_editor(scenario, [folder], capabilities(encodings=(encoding,)))


def test_500_edits_of_a_real_sized_file_leave_nothing_wrong_or_stale(project: Path) -> None:
    text = real_sized()
    assert text.count("\n") >= 700
    assert type_along(project, text, edits=500) > 20


def test_edits_in_classes_and_functions_leave_nothing_wrong_or_stale(project: Path) -> None:
    assert type_along(project, in_classes(150), edits=150, seed=4) > 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_right_in_whatever_units_the_editor_counts(
    project: Path, encoding: str
) -> None:
    text = "import torch\n\nname = 'größer 😀'; x = x.cuda()\n\x0c\ny = '\u2028'; y.cuda()\n"
    assert type_along(project, text, edits=120, encoding=encoding, seed=2) > 4


def test_a_file_with_windows_newlines_is_followed(project: Path) -> None:
    text = real_sized(100).replace("\n", "\r\n")
    assert type_along(project, text, edits=80, seed=3) > 3
