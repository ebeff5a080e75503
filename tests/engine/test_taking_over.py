"""What is known of a project's files lasts while other files become others."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.project.project import Project
from mpslint.semantics.elsewhere.elsewhere import Elsewhere
from mpslint.settings.settings import Settings

CUDA = 'import torch\n\n\ndef get_device():\n    return torch.device("cuda")\n'
CPU = CUDA.replace("cuda", "cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "first_device.py").write_text(CUDA)
    (tmp_path / "second_device.py").write_text(CUDA)
    (tmp_path / "main.py").write_text(
        "from first_device import get_device\nfrom second_device import get_device as other\n"
    )
    return tmp_path


def devices(project: Elsewhere, folder: Path) -> list[set[str]]:
    """The devices that main.py takes from its two modules."""
    found = []
    for name in ("first_device", "second_device"):
        value = project.device(str(folder / "main.py"), f"{name}.get_device", called=True)
        found.append(set(value.devices or ()) if value is not None else set())
    return found


def become(folder: Path, name: str, text: str) -> dict[str, bytes]:
    return {str(folder / name): text.encode()}


def test_what_rests_on_a_file_that_became_another_is_found_out_anew(folder: Path) -> None:
    before, texts = Project(Settings(root=str(folder))), become(folder, "first_device.py", CPU)
    assert devices(before, folder) == [{"cuda"}, {"cuda"}]
    after = Project(Settings(root=str(folder)), texts)
    after.take_over(before, frozenset(texts))
    assert devices(after, folder) == [{"cpu"}, {"cuda"}]


def test_what_rests_on_other_files_is_not_found_out_again(folder: Path) -> None:
    before, texts = Project(Settings(root=str(folder))), become(folder, "first_device.py", CPU)
    devices(before, folder)
    after = Project(Settings(root=str(folder)), texts)
    after.take_over(before, frozenset(texts))
    (folder / "second_device.py").unlink()
    assert devices(after, folder) == [{"cpu"}, {"cuda"}]


def test_a_module_that_imports_one_that_became_another_is_imported_anew(folder: Path) -> None:
    main, texts = str(folder / "main.py"), become(folder, "first_device.py", "import triton\n")
    (folder / "program.py").write_text("import main\n")
    before = Project(Settings(root=str(folder)))
    everywhere = before.imports_on(str(folder / "program.py"), "main")
    after = Project(Settings(root=str(folder)), texts)
    after.take_over(before, frozenset(texts))
    anew = Project(Settings(root=str(folder)), texts)
    asked = str(folder / "program.py"), "main"
    assert after.imports_on(*asked) == anew.imports_on(*asked) != everywhere
    assert main in {one.path for one in after.consulted()}


def test_a_helper_that_is_yet_to_be_made_hides_nothing_that_was_looked_for(folder: Path) -> None:
    (folder / "main.py").write_text("from made import get_device\n")
    before = Project(Settings(root=str(folder)))
    assert before.device(str(folder / "main.py"), "made.get_device", called=True) is None
    after = Project(Settings(root=str(folder), helper_module="made.py"))
    after.take_over(before, frozenset())
    assert after.device(str(folder / "main.py"), "made.get_device", called=True) is not None
