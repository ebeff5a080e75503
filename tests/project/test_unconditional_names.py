"""Names that a module has on every machine on which it can be imported."""

from __future__ import annotations

from pathlib import Path

from mpslint.project.layout.modules import Modules
from mpslint.project.layout.unconditional_names import UnconditionalNames
from mpslint.settings.settings import Settings


def names(folder: Path, text: str) -> frozenset[str]:
    path = folder / "parts.py"
    path.write_text(text, encoding="utf-8")
    return UnconditionalNames(Modules(Settings())).of(str(path))


def test_what_stands_at_the_margin_is_there_everywhere(tmp_path: Path) -> None:
    text = "from .other import one as two\nclass Net: ...\n@cached\ndef model(): ...\n"
    assert names(tmp_path, text) == {"two", "Net", "model"}


def test_what_a_test_or_a_try_defines_may_not_be_there(tmp_path: Path) -> None:
    text = (
        "try:\n    from .kernels import run\nexcept ImportError:\n    pass\n"
        "if fast:\n    def model(): ...\n"
    )
    assert names(tmp_path, text) == frozenset()


def test_what_is_deleted_further_down_may_not_be_there(tmp_path: Path) -> None:
    assert names(tmp_path, "def model(): ...\nif slow:\n    del model\n") == frozenset()


def test_nothing_is_known_of_what_does_not_parse(tmp_path: Path) -> None:
    assert names(tmp_path, "def model(:\n") == frozenset()
