"""`import lpips` in a folder that has an `lpips.py` may mean the package or the module."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.project.layout.modules import Modules
from mpslint.settings.settings import Settings


def found(folder: Path, text: str) -> str | None:
    inner = folder / "src" / "eval"
    inner.mkdir(parents=True)
    (inner / "lpips.py").write_text("x = 1\n")
    (inner / "helpers.py").write_text("x = 1\n")
    (inner / "metrics.py").write_text(text)
    modules = Modules(Settings(root=str(folder)))
    return modules.find(str(inner / "metrics.py"), "lpips")[0]


def test_who_names_its_own_folder_from_above_means_the_package(tmp_path: Path) -> None:
    assert found(tmp_path, "import lpips\nfrom src.eval.helpers import x\n") is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import lpips\nimport helpers\n", id="neighbours by their names"),
        pytest.param(
            "import sys\nsys.path.append('.')\nimport lpips\nfrom src.eval.helpers import x\n",
            id="a path of its own",
        ),
        pytest.param("import lpips\nfrom src.other import x\n", id="another folder from above"),
    ],
)
def test_anyone_else_means_the_module(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == str(tmp_path / "src" / "eval" / "lpips.py")
