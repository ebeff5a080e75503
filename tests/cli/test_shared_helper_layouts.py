"""A fixed program finds the shared helper in each way in which its project is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mpslint.cli.fix import run

TORCH = """\
class _Anything:
    def __getattr__(self, name):
        return self

    def __call__(self, *given, **named):
        return self


class _Cuda(_Anything):
    def is_available(self):
        return True


class device:
    def __init__(self, name):
        self.type = name


nn = backends = _Anything()
cuda = _Cuda()


def ones(*sizes):
    return _Anything()
"""
"""So much of torch that the fixed programs run: what they compute does not matter here."""
USES = """\
import torch
from torch import nn

net = nn.Linear(2, 2).cuda()
print(net(torch.ones(1, 2).cuda()))
"""
PROJECT = '[project]\nname = "model"\nversion = "1.0"\n'


def lay(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def fix(folder: Path, files: dict[str, str]) -> list[str]:
    """Lays out and fixes a project; the helper modules that were made."""
    lay(folder, files)
    before = set(folder.rglob("*.py"))
    run(["--no-verify", "--no-cache", "--quiet", "."])
    for path in folder.rglob("*.py"):
        assert ".cuda()" not in path.read_text()
    return sorted(
        path.relative_to(folder).as_posix() for path in set(folder.rglob("*.py")) - before
    )


def start(folder: Path, *command: str, away: Path, search: tuple[Path, ...] = ()) -> None:
    """Runs a program in `folder`, with `search` as what is installed."""
    lay(away, {"torch/__init__.py": TORCH})
    # Nothing but the stub: whatever torch is installed here is not looked for.
    paths = os.pathsep.join(map(str, (away, *search)))
    ran = subprocess.run(
        [sys.executable, "-S", "-B", *command],
        cwd=folder,
        env={"PYTHONPATH": paths, "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


@pytest.fixture
def away(tmp_path: Path) -> Path:
    return tmp_path / "installed"


def test_a_flat_repository(project: Path, away: Path) -> None:
    assert fix(project, dict.fromkeys(["train.py", "test.py", "demo.py"], USES)) == ["device.py"]
    start(project, "train.py", away=away)
    start(project.parent, "project/train.py", away=away)


@pytest.mark.parametrize("with_init", [True, False])
def test_folders_of_scripts_side_by_side_that_are_alike(
    project: Path, away: Path, with_init: bool
) -> None:
    """What is `model` depends on the folder that is entered; the one at the top is another."""
    files = {}
    for name in ("", "binary/", "ternary/"):
        if with_init:
            files[f"{name}model/__init__.py"] = ""
        files[f"{name}model/tree.py"] = "SIZE = 2\n"
        files[f"{name}model/net.py"] = f"from model.tree import SIZE\n{USES}"
        files[f"{name}model/trainer.py"] = f"from model.net import net\n{USES}"
        files[f"{name}train.py"] = "from model.trainer import net\n"
    fix(project, files)
    for name in ("", "binary", "ternary"):
        start(project / name, "train.py", away=away)
        start(project, os.path.join(name, "train.py"), away=away)


def test_each_folder_of_scripts_has_a_helper_of_its_own(project: Path, away: Path) -> None:
    names = ("train", "test", "demo")
    made = fix(project, {f"{one}/{name}.py": USES for one in "ab" for name in names})
    assert made == ["a/device.py", "b/device.py"]
    for one in "ab":
        start(project / one, "train.py", away=away)
        start(project, f"{one}/train.py", away=away)


@pytest.mark.parametrize("source", ["", "src/"])
def test_demos_of_an_installed_package(project: Path, away: Path, source: str) -> None:
    """It may be installed, so that its demos have the package and nothing that lies beside it."""
    files = {
        "pyproject.toml": PROJECT,
        f"{source}model/__init__.py": "",
        f"{source}model/parts.py": "SIZE = 2\n",
        f"{source}model/net.py": f"from model.parts import SIZE\n{USES}",
        **dict.fromkeys(
            ["train.py", "demo/app.py", "demo/server.py"], f"from model.parts import SIZE\n{USES}"
        ),
    }
    assert fix(project, files) == [f"{source}model/device.py"]
    installed = away.parent / "site"
    (installed / "model").mkdir(parents=True)
    for path in (project / source / "model").glob("*.py"):
        (installed / "model" / path.name).write_text(path.read_text())
    for folder, name in ((project, "demo/app.py"), (project / "demo", "app.py")):
        start(folder, name, away=away, search=(installed,))
    start(project, "train.py", away=away, search=(installed,))
    start(away, "-c", "import model.net", away=away, search=(installed,))


def test_a_package_with_relative_imports(project: Path, away: Path) -> None:
    files = {
        "model/__init__.py": "",
        "model/parts.py": "SIZE = 2\n",
        "model/inner/__init__.py": "",
        "model/inner/block.py": f"from ..parts import SIZE\n{USES}",
        "model/net.py": f"from .inner.block import SIZE\n{USES}",
        "model/loss.py": f"from .parts import SIZE\n{USES}",
        "main.py": "import model.net\nimport model.loss\n",
    }
    assert fix(project, files) == ["model/device.py"]
    start(project, "main.py", away=away)
    start(project, "-m", "model.net", away=away)


def test_modules_of_a_folder_that_another_program_imports(project: Path, away: Path) -> None:
    """A folder without `__init__.py` whose modules are named from the top, and import nothing."""
    files = dict.fromkeys(["parts/net.py", "parts/loss.py", "parts/data.py"], USES)
    program = "from parts import net, loss\nfrom parts.data import net as other\n"
    fix(project, {**files, "main.py": program})
    start(project, "main.py", away=away)


def test_a_program_in_a_package_that_is_run_by_its_path(project: Path, away: Path) -> None:
    program = f'{USES}\nif __name__ == "__main__":\n    print(net)\n'
    files = {
        "tools/__init__.py": "",
        **dict.fromkeys(["tools/measure.py", "tools/show.py", "tools/sum.py"], program),
        "main.py": "from tools.measure import net\n",
    }
    fix(project, files)
    start(project, "tools/measure.py", away=away)
    start(project / "tools", "show.py", away=away)
    start(project, "main.py", away=away)


DEFINES = """\
import torch


def start():
    return torch.ones(1, 2).cuda()


def end():
    return torch.ones(2, 1).cuda()
"""


def test_modules_that_nobody_names_yet_beside_one_that_is_named_by_its_folder(
    project: Path, away: Path
) -> None:
    """Who takes another of the models writes its name as that of the first is written."""
    files = dict.fromkeys(["models/gru.py", "models/lstm.py", "models/cnn.py"], DEFINES)
    first = "import torch\n\n\ndef start():\n    return torch.ones(1, 2)\n"
    fix(project, {**files, "models/rnn.py": first, "main.py": "from models.rnn import start\n"})
    start(project, "main.py", away=away)
    start(project, "-c", "import models.gru, models.lstm, models.cnn", away=away)


def test_modules_that_nobody_names_beside_a_program(project: Path, away: Path) -> None:
    """A program that takes them by a text has its own folder to find them in."""
    files = dict.fromkeys(["run/gru.py", "run/lstm.py", "run/cnn.py"], DEFINES)
    program = (
        "import importlib\nimport sys\n\n"
        'if __name__ == "__main__":\n    importlib.import_module(sys.argv[1])\n'
    )
    assert fix(project, {**files, "run/main.py": program}) == ["run/device.py"]
    start(project, "run/main.py", "gru", away=away)


OPTIONS = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", type=str, default="cuda")
args = parser.parse_args()
net = nn.Linear(2, 2).to(args.device)
print(net(torch.ones(1, 2).to(args.device)))
"""


def test_scripts_share_what_their_options_have_by_default(project: Path, away: Path) -> None:
    made = fix(project, dict.fromkeys(["train.py", "test.py", "demo.py"], OPTIONS))
    assert made == ["device.py"]
    assert "default=str(get_device())" in (project / "train.py").read_text()


def test_one_script_asks_in_place_for_its_own(project: Path) -> None:
    assert fix(project, {"train.py": OPTIONS}) == []
    assert "is_available()" in (project / "train.py").read_text()


ASKED = """\
import torch


class Model:
    def __init__(self, cpu):
        self.device = torch.device("cpu" if cpu else "cuda")
        self.net = torch.nn.Linear(2, 2).to(self.device)
"""


def test_packages_of_one_file_beside_the_program_that_imports_them(
    project: Path, away: Path
) -> None:
    """Only the program shows where their names start."""
    program = "import loss\nimport model\nimport trainer\n\n"
    program += "for one in (loss, model, trainer):\n    one.Model(False)\n"
    made = fix(
        project,
        {
            "loss/__init__.py": ASKED,
            "model/__init__.py": ASKED,
            "trainer.py": ASKED,
            "main.py": f'{program}\nif __name__ == "__main__":\n    print(model.Model(True))\n',
        },
    )
    assert made == ["device.py"]
    assert "torch.device('cpu' if cpu else get_device().type)" in (
        (project / "loss/__init__.py").read_text().replace('"', "'")
    )
    start(project, "main.py", away=away)


def test_one_gpu_of_several_is_asked_for_in_place(project: Path) -> None:
    numbered = OPTIONS.replace('"cuda"', '"cuda:0"')
    assert fix(project, dict.fromkeys(["train.py", "test.py", "demo.py"], numbered)) == []
    assert "def get_device" not in (project / "train.py").read_text()


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_folder_that_others_hold_by_a_link_gets_no_helper_from_beside_it(
    project: Path, tmp_path_factory: pytest.TempPathFactory, is_linked: bool
) -> None:
    files = {
        "util/__init__.py": "",
        "util/one.py": USES,
        "models/__init__.py": "",
        "models/two.py": f"from util import one\n{USES}",
        "models/three.py": f"from util import one\n{USES}",
        "run.py": "import models.two\nimport models.three\n",
        "notebooks/look.py": "from models import two, three\n",
    }
    if is_linked:
        for name in ("util", "models"):
            (project / "notebooks").mkdir(exist_ok=True)
            (project / "notebooks" / name).symlink_to(Path("..") / name)
    made = fix(project, files)
    start(project, "run.py", away=tmp_path_factory.mktemp("away"))
    if is_linked:
        assert made == ["models/device.py"]  # which comes with the folder
        start(project / "notebooks", "look.py", away=tmp_path_factory.mktemp("away"))
    else:
        assert made == ["device.py"]


def test_a_helper_inside_the_folder_that_is_linked_comes_with_it(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    files = {
        "util/__init__.py": "",
        "util/one.py": USES,
        "util/two.py": f"from util import one\n{USES}",
        "util/three.py": f"from util import two\n{USES}",
        "run.py": "import util.three\n",
        "notebooks/look.py": "import util.three\n",
    }
    (project / "notebooks").mkdir()
    (project / "notebooks" / "util").symlink_to(Path("..") / "util")
    assert fix(project, files) == ["util/device.py"]
    for folder, name in ((project, "run.py"), (project / "notebooks", "look.py")):
        start(folder, name, away=tmp_path_factory.mktemp("away"))
