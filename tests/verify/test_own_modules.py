"""A module that is not found and may be the project's own is not told to be installed alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.verify import own_modules
from mpslint.verify.outcome import classify

from .conftest import launch, raised

ELSE = ", so that it may be the project's own; else install it for that Python"


def project(folder: Path, *files: str, ignored: str = "") -> Path:
    """A repository with these files, and a script in it."""
    (folder / ".git").mkdir()
    (folder / ".gitignore").write_text(ignored)
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return folder / "train.py"


def way_out(script: Path, message: str, kind: str = "ModuleNotFoundError") -> str:
    error = {"type": kind, "message": message}
    return own_modules.way_out(error, str(script.parent), str(script))


@pytest.mark.parametrize(
    ("name", "files", "ignored", "said"),
    [
        ("data", [], "data/\n", f".gitignore leaves `data` out{ELSE}"),
        ("data.loader", [], "data\n", f".gitignore leaves `data` out{ELSE}"),
        ("secrets_", [], "secrets_.py\n", f".gitignore leaves `secrets_` out{ELSE}"),
        (
            "utils.blocks",
            ["utils/nets.py"],
            "",
            "it is the project's own: there is utils, but no `utils.blocks`",
        ),
        (
            "models.gen.net",
            ["models/__init__.py"],
            "gen/\n",
            "it is the project's own: there is models, but no `models.gen.net`",
        ),
        (
            "models.gen",
            ["models/__init__.py"],
            "/models/gen/\n",
            "it is the project's own: there is models, but no `models.gen`, which .gitignore "
            "leaves out",
        ),
        ("data", ["src/data/loader.py"], "", "there is src/data, where this script does not"),
        ("nets", ["src/lib/nets.py"], "", "there is src/lib/nets.py, where this script does not"),
        ("datasets.arrow", ["datasets/a.png"], "", "there is datasets, without any code in it, so"),
        ("kept", ["kept/a.py"], "", "there is kept, which was left out of the copy"),
    ],
)
def test_where_the_project_speaks_of_it_that_is_told(
    tmp_path: Path, name: str, files: list[str], ignored: str, said: str
) -> None:
    script = project(tmp_path, *files, ignored=ignored)
    assert way_out(script, f"No module named '{name}'").startswith(said)


@pytest.mark.parametrize(
    ("name", "files", "ignored"),
    [
        ("timm", ["utils/nets.py"], "*.pyc\n__pycache__/\n"),
        ("timm", ["assets/timm/logo.png"], ""),
        ("timm", [".venv/timm/a.py"], ""),
        ("timm", ["lib/python3/site-packages/timm/a.py"], ""),
        ("timm", ["timm_model.py"], "timm_*\n"),
    ],
)
def test_what_others_made_is_to_be_installed(
    tmp_path: Path, name: str, files: list[str], ignored: str
) -> None:
    script = project(tmp_path, *files, ignored=ignored)
    assert way_out(script, f"No module named '{name}'") == ""


def test_a_name_that_a_file_of_the_project_lacks_is_told_with_the_file(tmp_path: Path) -> None:
    script = project(tmp_path, "utils/nets.py")
    file = tmp_path / "utils" / "nets.py"
    message = f"cannot import name 'Net' from 'utils.nets' ({file})"
    said = way_out(script, message, "ImportError")
    assert said == "utils/nets.py, the project's own, has no `Net`"


def test_a_module_that_a_folder_of_the_project_lacks_is_told_with_the_folder(
    tmp_path: Path,
) -> None:
    script = project(tmp_path, "utils/nets.py")
    message = "cannot import name 'blocks' from 'utils' (unknown location)"
    said = way_out(script, message, "ImportError")
    assert said == "it is the project's own: there is utils, but no `utils.blocks`"


def test_a_name_that_a_package_lacks_is_none_of_the_projects(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    script = project(folder)
    message = f"cannot import name 'Net' from 'timm' ({tmp_path}/timm/__init__.py)"
    assert way_out(script, message, "ImportError") == ""


def test_it_takes_the_place_of_the_advice_to_install() -> None:
    error = raised("ModuleNotFoundError", "No module named 'data'")
    told = launch("mps", **error)._replace(way_out="it is the project's own")
    said = "cannot import what it needs (ModuleNotFoundError: No module named 'data'): "
    assert classify(told).said == f"{said}it is the project's own"
    assert classify(launch("mps", **error)).said.startswith(f"{said}install it for that Python")
