"""A library that listens to Python's events while it is imported is no attack; a script's is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import FrameType, ModuleType

import pytest

from mpslint.verify.harness.installed import folders, judge

ASKS = "import sys\ndef ask(hear):\n    hear(sys._getframe())\n"


def imported(file: Path, text: str, heard: list[bool], places: str) -> ModuleType:
    """A module that asks for something, and whether that was its own doing."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    while_imported = judge((places,))

    def hear(frame: FrameType) -> None:
        heard.append(while_imported(frame))

    spec = importlib.util.spec_from_file_location("a_library", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module)["hear"] = hear
    sys.modules["a_library"] = module
    importlib.import_module("a_library")
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def places(tmp_path: Path) -> str:
    return str(tmp_path / "site") + "/"


@pytest.mark.parametrize("call", ["ask(hear)", "hear(sys._getframe())"])
def test_what_an_installed_module_does_while_it_is_imported_is_its_own(
    tmp_path: Path, places: str, call: str
) -> None:
    heard: list[bool] = []
    imported(tmp_path / "site" / "a_library.py", f"{ASKS}{call}\n", heard, places)
    assert heard == [True]


def test_what_it_does_later_for_somebody_else_is_not(tmp_path: Path, places: str) -> None:
    heard: list[bool] = []
    module = imported(tmp_path / "site" / "a_library.py", ASKS, heard, places)
    module.ask(module.hear)
    assert heard == [False]


def test_a_module_of_the_projects_is_not_installed(tmp_path: Path, places: str) -> None:
    heard: list[bool] = []
    imported(tmp_path / "project" / "a_library.py", f"{ASKS}ask(hear)\n", heard, places)
    assert heard == [False]


def test_code_under_the_name_of_an_installed_file_is_not_that_file(
    tmp_path: Path, places: str
) -> None:
    heard: list[bool] = []
    text = f"{ASKS}ask(hear)\n"
    file = tmp_path / "site" / "a_library.py"
    module = imported(file, "pass\n", heard, places)
    forged = compile(text, str(file), "exec")
    runs = compile("exec(forged, names)", "<frozen importlib._bootstrap>", "exec")
    exec(runs, {"forged": forged, "names": vars(module)})
    assert heard == [False]


def test_the_folder_of_installed_packages_is_known() -> None:
    assert pytest.__file__.startswith(folders())
