"""What a file leads to is told in the same order in each process: reasons name what is nearest."""

from __future__ import annotations

from pathlib import Path

from mpslint.project.project import Project
from mpslint.settings.settings import Settings

NAMES = ("delta", "alpha", "echo", "bravo", "charlie", "foxtrot", "golf")


def test_modules_are_told_in_the_order_in_which_they_are_imported(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("import far\n")
    (tmp_path / "far.py").write_text("x = 1\n")
    text = "".join(f"import {name}\n" for name in NAMES)
    (tmp_path / "program.py").write_text(text)
    found = Project(Settings(root=str(tmp_path))).led_to(str(tmp_path / "program.py"), text)
    assert found == [str(tmp_path / f"{name}.py") for name in (*NAMES, "far")]
