"""A function that nothing in its project uses stops nobody, and is left alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.folders.discovery import Target
from mpslint.project.layout.whole import _MOST_FILES
from mpslint.project.neighbours import Neighbours
from mpslint.running.runner import check_all
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source
from mpslint.sources.source import SourceFile

LONG_AGO = 1_600_000_000
SELECT = ("MPS102",)
UTILS = """\
import torch


def to_gpu(x):
    return x.cuda()


def shape(x):
    return x.shape
"""
USER = {"show.py": "from utils import shape\n\nprint(shape(1))\n"}
NET = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x.cuda())

    def load(self, path):
        return torch.load(path, map_location="cpu")["x"].cuda()
"""


def project(folder: Path, files: dict[str, str], head: str = "README.md") -> Path:
    for name, text in {head: "A project.\n", **USER, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def found(path: Path) -> list[int]:
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=SELECT)
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


def test_a_function_that_no_file_of_the_project_names_is_left_alone(tmp_path: Path) -> None:
    project(tmp_path, {"utils.py": UTILS, "train.py": "import utils\nprint(utils)\n"})
    assert found(tmp_path / "utils.py") == []


@pytest.mark.parametrize(("used", "rows"), [("utils", []), ("utils.to_gpu(1)", [5])])
def test_a_function_is_looked_for_in_a_large_project_as_well(
    tmp_path: Path, used: str, rows: list[int]
) -> None:
    for number in range(_MOST_FILES):
        (tmp_path / f"more{number}.py").touch()
    project(tmp_path, {"utils.py": UTILS, "train.py": f"import utils\nprint({used})\n"})
    assert found(tmp_path / "utils.py") == rows


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.py", "from utils import to_gpu\nx = to_gpu(1)\n"),
        ("train.py", "import utils\nx = utils.to_gpu(1)\n"),
        ("train.py", "import utils as u\nx = u.to_gpu(1)\n"),
        ("train.py", "import utils\nutils = utils.to_gpu(1)\n"),
        ("train.py", "from utils import *\nx = to_gpu(1)\n"),
        ("train.py", "from utils import to_gpu as move\nx = move(1)\n"),
        ("train.py", "import utils\nx = getattr(utils, input())(1)\n"),
        ("train.py", "import utils\nx = utils.__dict__[input()](1)\n"),
        ("train.py", "from utils import to_gpu\nx = eval(input())(1)\n"),
        ("train.py", "from utils import *\nx = globals()[input()](1)\n"),
        ("train.py", "import utils\nx = getattr(utils, 'to_' + input())(1)\n"),
        ("train.py", "import utils\nx = getattr(utils, 'to_gpu')(1)\n"),
        ("train.py", "from utils import *\nx = eval(input())(1)\n"),
        ("train.py", "from importlib import import_module\nm = import_module('utils')\n"),
        ("train.py", "TABLE = {'move': 'utils.to_gpu'}\n"),
        ("run.sh", "python -c 'import utils; utils.to_gpu(1)'\n"),
        ("settings.yaml", "move: {_target_: utils.to_gpu}\n"),
        ("README.md", "Call `utils.to_gpu(x)` first.\n"),
        ("look.ipynb", '{"cells": [{"source": ["from utils import to_gpu"]}]}'),
    ],
)
def test_whatever_may_use_it_is_enough(tmp_path: Path, name: str, text: str) -> None:
    project(tmp_path, {"utils.py": UTILS, name: text})
    assert found(tmp_path / "utils.py") == [5]


@pytest.mark.parametrize(
    "text",
    [
        "def to_gpu(x):\n    return x\n\nprint(to_gpu(1))\n",
        "# utils.to_gpu(x) was too slow\n",
        "from utils import to_gpu\n",
        "import numpy as np\nx = np.to_gpu(1)\n",
        "import numpy as np\nnp = np.to_gpu(1)\n",
        "from utils import shape\nx = eval(input()), getattr(shape, input()), shape(1)\n",
        "import utils\nx = getattr(utils, 'size', None)\n",
        "from utils import shape\nx = eval(input())(shape(1))\n",
        "import utils\nargs = input()\nx = args.__dict__[utils.shape(1)]\n",
    ],
)
def test_a_namesake_a_comment_and_an_import_for_nothing_are_no_use(
    tmp_path: Path, text: str
) -> None:
    project(tmp_path, {"utils.py": UTILS, "train.py": text})
    assert found(tmp_path / "utils.py") == []


def test_a_module_below_a_folder_that_is_no_package_is_known_by_the_end_of_its_path(
    tmp_path: Path,
) -> None:
    user = "from core.utils import to_gpu\nx = to_gpu(1)\n"
    project(tmp_path, {"lib/core/utils.py": UTILS, "tools/train.py": user})
    assert found(tmp_path / "lib/core/utils.py") == [5]


def test_a_method_is_used_where_an_object_of_the_project_may_have_it(tmp_path: Path) -> None:
    project(tmp_path, {"net.py": NET, "train.py": "from net import Net\nx = Net()\n"})
    assert found(tmp_path / "net.py") == [10], "forward is torch's to call, load is nobody's"
    project(tmp_path, {"train.py": "from net import Net\nnet = Net()\nx = net.load('x')\n"})
    assert found(tmp_path / "net.py") == [10, 13]


def test_a_method_of_a_class_whose_base_is_not_known_may_be_called_by_that(tmp_path: Path) -> None:
    project(tmp_path, {"net.py": NET.replace("torch.nn.Module", "Trainer")})
    assert found(tmp_path / "net.py") == [10, 13]


def test_what_only_a_leftover_calls_is_one_as_well(tmp_path: Path) -> None:
    more = "\n\ndef old(x):\n    return to_gpu(x)\n"
    project(tmp_path, {"utils.py": UTILS + more})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"utils.py": UTILS + more + "\n\nprint(old(torch.ones(1)))\n"})
    assert found(tmp_path / "utils.py") == [5]


@pytest.mark.parametrize("decorator", ["register", "torch.jit.script"])
def test_who_decorates_a_function_may_call_it(tmp_path: Path, decorator: str) -> None:
    project(tmp_path, {"utils.py": UTILS.replace("def to_gpu", f"@{decorator}\ndef to_gpu")})
    assert found(tmp_path / "utils.py") == [6]


@pytest.mark.parametrize(
    ("imported", "decorator"),
    [
        ("from contextlib import contextmanager", "contextmanager"),
        ("import functools", "functools.lru_cache(maxsize=2)"),
        ("import torch.cuda.amp", "torch.cuda.amp.autocast()"),
    ],
)
def test_a_decorator_that_keeps_no_list_hands_a_function_to_nobody(
    tmp_path: Path, imported: str, decorator: str
) -> None:
    text = UTILS.replace("def to_gpu", f"@{decorator}\ndef to_gpu")
    project(tmp_path, {"utils.py": f"{imported}\n{text}"})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"train.py": "from utils import to_gpu\nx = to_gpu(1)\n"})
    assert found(tmp_path / "utils.py") == [7]


ENVIRONMENT = """\
import gym
import torch


class Grid(gym.Env):
    def step(self, action):
        return action.cuda()

    def goal(self, x):
        return x.cuda()
"""


def test_a_base_calls_its_own_hooks_and_nothing_else(tmp_path: Path) -> None:
    project(tmp_path, {"grid.py": ENVIRONMENT, "train.py": "from grid import Grid\nx = Grid()\n"})
    assert found(tmp_path / "grid.py") == [7]


def test_only_a_package_that_a_text_begins_with_is_reached_by_it(tmp_path: Path) -> None:
    user = "from importlib import import_module\nx = import_module('core.' + input())\n"
    files = {"core/__init__.py": "", "core/utils.py": UTILS, "core/sub/__init__.py": ""}
    user += "print(core.sub.utils)\n"
    project(tmp_path, {**files, "core/sub/utils.py": UTILS, "train.py": user})
    (tmp_path / "show.py").write_text("from core.sub.utils import shape\n\nprint(shape(1))\n")
    assert found(tmp_path / "core/utils.py") == [5]
    assert found(tmp_path / "core/sub/utils.py") == []


def test_a_project_of_many_files_is_looked_through(tmp_path: Path) -> None:
    settings = {f"runs/{number}.yaml": "lr: 1\n" for number in range(500)}
    project(tmp_path, {"utils.py": UTILS, **settings})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"runs/400.yaml": "move: utils.to_gpu\n"})
    assert found(tmp_path / "utils.py") == [5]


def notebook(*cells: str) -> str:
    parts = [
        {"cell_type": "code", "source": [cell], "metadata": {}, "outputs": []} for cell in cells
    ]
    return json.dumps({"cells": parts, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.mark.parametrize(
    ("cells", "rows"),
    [
        (["print(1)"], []),
        (["print(to_gpu(torch.ones(1)))"], [5]),
        (["!python -c 'to_gpu(1)'"], [5]),
        (["#| export\nx = 1"], [5]),
    ],
)
def test_a_function_that_no_cell_of_a_notebook_names_is_only_shown(
    tmp_path: Path, cells: list[str], rows: list[int]
) -> None:
    project(tmp_path, {"look.ipynb": notebook(UTILS, *cells)})
    path, settings = tmp_path / "look.ipynb", Settings(select=SELECT)
    source = open_source(str(path), path.read_bytes())
    findings = lint(source, settings, elsewhere=Neighbours(settings))
    assert [finding.row for finding in findings] == rows


def test_what_others_install_they_may_use_but_for_private_names(tmp_path: Path) -> None:
    project(tmp_path, {"utils.py": UTILS}, head="setup.py")
    assert found(tmp_path / "utils.py") == [5]
    project(tmp_path, {"utils.py": UTILS.replace("to_gpu", "_to_gpu")}, head="setup.py")
    assert found(tmp_path / "utils.py") == []


def test_a_file_of_which_nothing_is_used_is_for_somebody_else(tmp_path: Path) -> None:
    project(tmp_path, {"utils.py": UTILS, "net.py": NET, "show.py": "print(1)\n"})
    assert found(tmp_path / "utils.py") == [5]
    assert found(tmp_path / "net.py") == [10, 13]


def test_a_file_of_no_known_project_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(UTILS)
    assert found(tmp_path / "utils.py") == [5]


@pytest.mark.parametrize(("place", "rows"), [("tests/test_utils.py", []), ("core/utils.py", [5])])
def test_what_a_library_has_in_its_tests_is_for_these(
    tmp_path: Path, place: str, rows: list[int]
) -> None:
    module = place.removesuffix(".py").replace("/", ".")
    show = f"from {module} import shape\n\nprint(shape(1))\n"
    inits = {"tests/__init__.py": "", "core/__init__.py": ""}
    project(tmp_path, {place: UTILS, **inits, "show.py": show}, head="setup.py")
    assert found(tmp_path / place) == rows


def test_a_name_that_many_files_have_of_their_own_is_looked_for_in_those_that_may_have_it_from_here(
    tmp_path: Path,
) -> None:
    own = "def to_gpu(x):\n    return x\n\n\nprint(to_gpu(1))\n"
    taken = "from others.moves import to_gpu\n\nprint(to_gpu(1))\n"
    files = {f"part_{number}.py": f"import os\n\n\n{own}" for number in range(12)}
    files |= {f"user_{number}.py": taken for number in range(12)}
    others = {"others/__init__.py": "", "others/moves.py": "def to_gpu(x):\n    return x\n"}
    project(tmp_path, {"utils.py": UTILS, **files, **others})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"train.py": "from utils import to_gpu\n\nprint(to_gpu(1))\n"})
    assert found(tmp_path / "utils.py") == [5]


def test_a_package_may_hand_on_what_another_file_takes_from_it(tmp_path: Path) -> None:
    own = "from core.moves import to_gpu\n"
    user = "from core import to_gpu\n\nprint(to_gpu(1))\n"
    files = {"core/__init__.py": own, "core/moves.py": "def to_gpu(x):\n    return x\n"}
    project(tmp_path, {"core/utils.py": UTILS, **files, "train.py": user})
    show = "from core.utils import shape\n\nprint(shape(1))\n"
    project(tmp_path, {"show.py": show})
    assert found(tmp_path / "core/utils.py") == []
    project(tmp_path, {"core/__init__.py": "from core.utils import *\n"})
    assert found(tmp_path / "core/utils.py") == [5]


def test_a_test_is_called_by_its_runner(tmp_path: Path) -> None:
    project(tmp_path, {"test_utils.py": UTILS.replace("to_gpu", "test_gpu")})
    assert found(tmp_path / "test_utils.py") == [5]


@pytest.mark.parametrize(
    ("place", "head", "rows"),
    [
        ("core/layers.py", "", []),
        ("core/layers.py", "import pytest\n", [6]),
        ("core/my_tests.py", "", [5]),
        ("tests/layers.py", "", [5]),
    ],
)
def test_no_runner_looks_for_tests_in_a_file_of_layers(
    tmp_path: Path, place: str, head: str, rows: list[int]
) -> None:
    project(tmp_path, {place: head + UTILS.replace("to_gpu", "test")})
    module = place.removesuffix(".py").replace("/", ".")
    (tmp_path / "show.py").write_text(f"from {module} import shape\n\nprint(shape(1))\n")
    assert found(tmp_path / place) == rows


def test_the_cache_forgets_a_leftover_that_somebody_calls_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    folder = project(tmp_path / "project", {"utils.py": UTILS})
    settings = Settings(select=SELECT, root=str(folder))

    def checked() -> int:
        for path in (folder / "README.md", folder / "utils.py", folder):
            os.utime(path, (LONG_AGO, LONG_AGO))
        target = Target(str(folder / "utils.py"), settings, named=True)
        (result,) = check_all([target], cache=True, jobs=1, with_fixes=False)
        return len(result.findings)

    assert checked() == 0
    (folder / "README.md").write_text("Call `utils.to_gpu(x)` first.\n")
    assert checked() == 1


FACE = """\
import torch


def detect(x, size=1, device="cuda"):
    return x.to(device)
"""


def defaults(path: Path) -> list[int]:
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS101",))
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("call", ["detect(x, 1, d)", "detect(x, device=d)", "detect(*a, device=d)"])
def test_a_default_that_all_callers_replace_is_nobodys_device(tmp_path: Path, call: str) -> None:
    text = f"from face import detect\n\ndef run(x, d, *a):\n    return {call}\n"
    project(tmp_path, {"face.py": FACE, "run.py": text})
    assert defaults(tmp_path / "face.py") == []


@pytest.mark.parametrize(
    "text",
    [
        "import face\n\ndef run(x):\n    return face.detect(x)\n",
        "from face import detect\n\ndef run(x, d):\n    return map(detect, x), detect(x, 1, d)\n",
        "from face import detect\n\ndef run(a, d):\n    return detect(*a, d)\n",
        "from face import detect\n\ndef run(a, d):\n    return detect(a, **d)\n",
        "x = 1\n",
    ],
)
def test_one_caller_who_leaves_it_out_is_enough_and_so_is_none_at_all(
    tmp_path: Path, text: str
) -> None:
    called = FACE + "\n\nprint(detect(torch.ones(1), 1, 'cpu'))\n" if "face" in text else FACE
    project(tmp_path, {"face.py": called, "run.py": text}, head="setup.py")
    assert defaults(tmp_path / "face.py") == [4]


def test_who_makes_an_object_gives_what_its_constructor_asks_for(tmp_path: Path) -> None:
    cls = 'class Face:\n    def __init__(self, device="cuda"):\n        self.device = device\n\n'
    cls += "    def detect(self, x):\n        return x.to(self.device)\n"
    user = "from face import Face\nprint(Face('cpu').detect(1))\n"
    project(tmp_path, {"face.py": f"import torch\n\n\n{cls}", "run.py": user})
    assert defaults(tmp_path / "face.py") == []
    project(tmp_path, {"face.py": f"import torch\n\n\n{cls}", "run.py": user.replace("'cpu'", "")})
    assert defaults(tmp_path / "face.py") == [5]


SCALER = """\
import torch


class Scaler:
    def __call__(self, loss):
        return loss.cuda()


def shape(x):
    return x.shape
"""


def test_a_class_that_nobody_names_is_left_alone(tmp_path: Path) -> None:
    project(tmp_path, {"utils.py": SCALER})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"train.py": "from utils import Scaler\nscale = Scaler()\n"})
    assert found(tmp_path / "utils.py") == [6]


@pytest.mark.parametrize("bases", ["Registered", "metaclass=Kept", "torch.nn.Module, Listed"])
def test_a_class_whose_bases_may_list_it_is_for_them_to_use(tmp_path: Path, bases: str) -> None:
    project(tmp_path, {"utils.py": SCALER.replace("Scaler:", f"Scaler({bases}):")})
    assert found(tmp_path / "utils.py") == [6]


def test_a_class_that_is_the_base_of_a_used_one_is_used(tmp_path: Path) -> None:
    more = "\n\nclass Finer(Scaler):\n    pass\n\n\nprint(Finer())\n"
    project(tmp_path, {"utils.py": SCALER + more})
    assert found(tmp_path / "utils.py") == [6]
    project(tmp_path, {"utils.py": SCALER + more.replace("print(Finer())\n", "")})
    assert found(tmp_path / "utils.py") == []


FINDING = "from setuptools import setup, find_packages\nsetup(packages=find_packages({}){})\n"


@pytest.mark.parametrize(
    ("files", "place", "rows"),
    [
        ({"setup.py": FINDING.format("", "")}, "utils.py", []),
        ({"setup.py": FINDING.format("", "")}, "core/utils.py", []),
        ({"setup.py": FINDING.format("", ""), "core/__init__.py": ""}, "core/utils.py", [5]),
        ({"setup.py": FINDING.format("", ""), "core/sub/__init__.py": ""}, "core/sub/utils.py", []),
        ({"setup.py": FINDING.format("'lib'", "")}, "utils.py", [5]),
        ({"setup.py": FINDING.format("", ", py_modules=['utils']")}, "utils.py", [5]),
        ({"setup.py": FINDING.format("", ", **more")}, "utils.py", [5]),
        ({"setup.py": FINDING.replace("find_", "find_namespace_")}, "core/utils.py", [5]),
        ({"setup.py": FINDING.format("", ""), "setup.cfg": "py_modules = utils"}, "utils.py", [5]),
        ({"setup.py": FINDING.format("", ""), "pyproject.toml": "[tool.x]\n"}, "utils.py", []),
    ],
)
def test_others_install_the_packages_that_are_found_and_no_module_beside_them(
    tmp_path: Path, files: dict[str, str], place: str, rows: list[int]
) -> None:
    project(tmp_path, {place: UTILS, **files})
    folder = place.removesuffix("utils.py").replace("/", ".")
    (tmp_path / "show.py").write_text(f"from {folder}utils import shape\n\nprint(shape(1))\n")
    assert found(tmp_path / place) == rows


INCLUDING = "[build-system]\nbuild-backend = 'x'\n[tool.setuptools.packages.find]\n"


@pytest.mark.parametrize(
    ("build", "place", "rows"),
    [
        ("include = ['core*']", "tools/utils.py", []),
        ("where = ['src']", "tools/utils.py", []),
        ("include = ['core*']", "utils.py", []),
        ("include = ['core*']", "core/utils.py", [5]),
        ("include = ['core*']", "core/sub/utils.py", [5]),
        ("include = ['*']", "tools/utils.py", [5]),
        ("exclude = ['core*']", "tools/utils.py", [5]),
        ("where = ['src']", "src/core/utils.py", [5]),
        ("include = 'core'", "tools/utils.py", [5]),
        ("include = ['core*']\n[tool.setuptools]\npy-modules = ['utils']", "utils.py", [5]),
        ("include = [", "tools/utils.py", [5]),
    ],
)
def test_others_install_what_a_pyproject_includes_and_nothing_else(
    tmp_path: Path, build: str, place: str, rows: list[int]
) -> None:
    project(tmp_path, {place: UTILS, "pyproject.toml": f"{INCLUDING}{build}\n"})
    folder = place.removesuffix("utils.py").replace("/", ".")
    (tmp_path / "show.py").write_text(f"from {folder}utils import shape\n\nprint(shape(1))\n")
    assert found(tmp_path / place) == rows
    project(tmp_path, {"setup.py": "setup(packages=['tools'])\n"})
    assert found(tmp_path / place) == [5], "another file of the build names packages"


def test_an_attribute_that_is_looked_up_is_one_of_a_module_that_the_file_has(
    tmp_path: Path,
) -> None:
    looked_up = "import zoo\nfrom utils import *\nx = zoo.__dict__[input()](shape(1))\n"
    project(tmp_path, {"utils.py": UTILS, "zoo.py": "", "train.py": looked_up})
    assert found(tmp_path / "utils.py") == []
    through = looked_up.replace("zoo.__dict__", "sys.modules[__name__].__dict__")
    project(tmp_path, {"train.py": f"import sys\n{through}"})
    assert found(tmp_path / "utils.py") == [5]


@pytest.mark.parametrize(
    "use",
    [
        "{'utils': utils}[input()].to_gpu(1)",
        "[utils][0].to_gpu(1)",
        "table = {'utils': utils}\nchosen = table[input()]\nchosen.to_gpu(1)",
        "table = {'utils': utils}\ntable.get(input()).to_gpu(1)",
    ],
)
def test_a_function_of_a_module_that_lies_in_a_table_is_used(tmp_path: Path, use: str) -> None:
    project(tmp_path, {"utils.py": UTILS, "train.py": f"import utils\n{use}\n"})
    assert found(tmp_path / "utils.py") == [5]


@pytest.mark.parametrize(
    "use",
    [
        "print(utils.shape(1))\nitems[0].to_gpu(1)",
        "{'utils': utils}[input()].shape(1)",
        "table = {'utils': utils}\nitems.to_gpu(table)",
    ],
)
def test_an_object_out_of_a_table_has_no_function_of_a_module_that_lies_in_none(
    tmp_path: Path, use: str
) -> None:
    project(tmp_path, {"utils.py": UTILS, "train.py": f"import utils\nitems = []\n{use}\n"})
    assert found(tmp_path / "utils.py") == []


def test_a_module_of_the_same_name_further_up_is_not_that_of_a_program_below(
    tmp_path: Path,
) -> None:
    user = "from core.utils import to_gpu\nx = to_gpu(1)\n"
    files = {
        "core/utils.py": UTILS,
        "core/look.py": "from core.utils import shape\n\nprint(shape(1))\n",
        "other/core/utils.py": UTILS,
        "other/core/train.py": user,
    }
    project(tmp_path, files)
    path = tmp_path / "other/core/utils.py"
    settings = Settings(select=SELECT, root=str(tmp_path))
    source = SourceFile(str(path), path.read_bytes())
    assert [one.row for one in lint(source, settings, elsewhere=Neighbours(settings))] == [5]


NAMED = "from setuptools import setup\nsetup(name='nice-tools', packages=['core'])\n"


@pytest.mark.parametrize(
    ("prose", "rows"),
    [
        ("Run `pip install -e .` and then `python show.py`.\n", []),
        ("conda create -n nice-tools && pip install -r requirements.txt\n", []),
        ("We compare with nice-tools.\n", []),
        ("pip install nice_tools\n", [5]),
        ("    pip3 install --upgrade Nice.Tools\n", [5]),
        ("pip install git+https://github.com/somebody/nice-tools.git\n", [5]),
        ("[![](https://badge.fury.io/py/x.svg)](https://pypi.org/project/nice-tools/)\n", [5]),
        ("```\nfrom core.utils import to_gpu_of_old\n```\n", [5]),
    ],
)
def test_others_install_what_is_shown_to_them(tmp_path: Path, prose: str, rows: list[int]) -> None:
    files = {"setup.py": NAMED, "core/__init__.py": "", "core/utils.py": UTILS, "README.md": prose}
    project(tmp_path, {**files, "show.py": "from core.utils import shape\n\nprint(shape(1))\n"})
    assert found(tmp_path / "core/utils.py") == rows


@pytest.mark.parametrize(
    ("place", "rows"), [("core/utils.py", []), ("utils.py", [5]), ("bare/utils.py", [5])]
)
def test_a_module_of_a_programs_package_that_nobody_imports_is_left_over(
    tmp_path: Path, place: str, rows: list[int]
) -> None:
    project(tmp_path, {place: UTILS, "core/__init__.py": "", "show.py": "print(1)\n"})
    assert found(tmp_path / place) == rows


@pytest.mark.parametrize(
    ("init", "user", "rows"),
    [
        ("from .net import Net\n", "getattr(import_module('core'), input())(1)", []),
        ("from .utils import shape\n", "getattr(import_module('core'), input())(1)", [5]),
        ("from .net import *\n", "getattr(import_module('core.utils'), input())(1)", [5]),
        ("from .net import Net\n", "getattr(import_module('core.' + input()), 'x')(1)", [5]),
        ("", "getattr(import_module(input()), 'encore')(1)", []),
        ("", "import core\ncore.__dict__[input()](1)", []),
        ("from . import utils\n", "import core\ncore.__dict__[input()](1)", [5]),
        ("import pkgutil\nx = [import_module(name) for name in pkgutil.iter()]\n", "1", [5]),
    ],
)
def test_a_text_reaches_what_the_module_that_it_names_has(
    tmp_path: Path, init: str, user: str, rows: list[int]
) -> None:
    files = {"core/__init__.py": init, "core/utils.py": UTILS, "core/net.py": NET}
    project(tmp_path, {**files, "train.py": f"{user}\n"})
    (tmp_path / "show.py").write_text("from core.utils import shape\n\nprint(shape(1))\n")
    assert found(tmp_path / "core/utils.py") == rows


def test_a_namesake_that_a_function_imports_from_elsewhere_is_no_use(tmp_path: Path) -> None:
    user = "def main():\n    from {} import to_gpu\n    to_gpu(1)\n\n\nmain()\n"
    project(tmp_path, {"utils.py": UTILS, "train.py": user.format("others")})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"train.py": user.format("utils")})
    assert found(tmp_path / "utils.py") == [5]


def test_a_package_that_is_not_found_may_hand_on_what_a_module_in_it_defines(
    tmp_path: Path,
) -> None:
    files = {"lib/core/__init__.py": "from .utils import *\n", "lib/core/utils.py": UTILS}
    user = "from lib.core import to_gpu\n\nto_gpu(1)\n"
    project(tmp_path, {**files, "lib/train.py": user, "show.py": "print(1)\n"})
    assert found(tmp_path / "lib/core/utils.py") == [5]


MIDDLE = """\
from utils import to_gpu


def move(x):
    return to_gpu(x)


def size(x):
    return x
"""
STEP = """\
from {module} import {name}


def {own}(x):
    return {name}(x)


def {own}_shown(x):
    return x


{own}_shown(1)
"""


def test_what_only_leftovers_of_other_files_use_is_one_as_well(tmp_path: Path) -> None:
    train = "from middle import size\nx = size(1)\n"
    project(tmp_path, {"utils.py": UTILS, "middle.py": MIDDLE, "train.py": train})
    assert found(tmp_path / "utils.py") == []
    project(tmp_path, {"train.py": train + "from middle import move\nx = move(1)\n"})
    assert found(tmp_path / "utils.py") == [5]


def test_users_of_users_are_asked_three_steps_and_no_further(tmp_path: Path) -> None:
    project(tmp_path, {"utils.py": UTILS})
    names = [("utils", "to_gpu"), ("a", "one"), ("b", "two"), ("c", "three"), ("d", "four")]
    for steps in range(1, 5):
        (module, name), (file, own) = names[steps - 1 : steps + 1]
        project(tmp_path, {f"{file}.py": STEP.format(module=module, name=name, own=own)})
        assert found(tmp_path / "utils.py") == ([] if steps <= 3 else [5])


def test_files_whose_functions_call_each_other_and_nobody_calls_are_taken_for_used(
    tmp_path: Path,
) -> None:
    one = (
        "from utils import to_gpu\n\n\ndef a(x):\n    from two import b\n    return b(to_gpu(x))\n"
    )
    two = "from one import a\n\n\ndef b(x):\n    return a(x)\n"
    project(tmp_path, {"utils.py": UTILS, "one.py": one, "two.py": two})
    assert found(tmp_path / "utils.py") == [5]


@pytest.mark.parametrize(
    ("user", "rows"),
    [
        ("def show(scaler: Scaler) -> Scaler:\n    return scaler\n\n\nshow(1)\n", []),
        ("def show(x):\n    return isinstance(x, (Scaler, int))\n\n\nshow(1)\n", []),
        ("def show(x):\n    y: Scaler = x\n    return y\n\n\nshow(1)\n", []),
        ("@app.get('/')\ndef show(scaler: Scaler):\n    return scaler\n\n\nshow(1)\n", [6]),
        ("class Kept:\n    scaler: Scaler\n\n\nKept()\n", [6]),
        ("def show(x: Scaler):\n    return Scaler()(x)\n\n\nshow(1)\n", [6]),
        ("scalers = isinstance(1, int), Scaler\n", [6]),
    ],
)
def test_a_class_that_only_annotations_and_questions_name_is_made_by_nobody(
    tmp_path: Path, user: str, rows: list[int]
) -> None:
    project(tmp_path, {"utils.py": SCALER, "train.py": f"from utils import Scaler\n\n\n{user}"})
    assert found(tmp_path / "utils.py") == rows


def test_the_cache_forgets_what_a_user_of_a_user_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
    train = "from middle import move, size\nx = {}(1)\n"
    files = {"utils.py": UTILS, "middle.py": MIDDLE, "train.py": train.format("move")}
    folder = project(tmp_path / "project", files)
    settings = Settings(select=SELECT, root=str(folder))

    def checked() -> int:
        for path in (*folder.iterdir(), folder):
            os.utime(path, (LONG_AGO, LONG_AGO))
        target = Target(str(folder / "utils.py"), settings, named=True)
        (result,) = check_all([target], cache=True, jobs=1, with_fixes=False)
        return len(result.findings)

    assert checked() == 1
    (folder / "train.py").write_text(train.format("size") + "# nothing else\n")
    assert checked() == 0


BASE = """\
import torch
from abc import ABC, abstractmethod


class Base(ABC):
    def __init__(self, x):
        self.x = x.cuda()

    @abstractmethod
    def run(self):
        pass

    def move(self, x):
        return x.cuda()
"""
DERIVED = """\
from base import Base


class Trainer(Base):
    def __init__(self, x):
        self.x = x

    def run(self):
        return self.move(self.x)


Trainer(1).run()
"""
CONCRETE = BASE.replace("    @abstractmethod\n", "\n")


def test_a_method_that_all_derived_classes_replace_runs_on_no_object(tmp_path: Path) -> None:
    project(tmp_path, {"base.py": BASE, "train.py": DERIVED})
    assert found(tmp_path / "base.py") == [14]
    project(tmp_path, {"base.py": CONCRETE})
    assert found(tmp_path / "base.py") == [14]


@pytest.mark.parametrize(
    ("base", "derived"),
    [
        (BASE, DERIVED.replace("self.x = x", "super().__init__(x)")),
        (BASE, DERIVED.replace("self.x = x", "super(Trainer, self).__init__(x)")),
        (BASE, DERIVED.replace("self.x = x", "Base.__init__(self, x)")),
        (BASE, DERIVED.replace("def __init__(self, x)", "def other(self, x)")),
        (BASE, DERIVED + "\n\nclass Other(Base):\n    def run(self):\n        pass\n"),
        (BASE, "print(1)\n"),
        (CONCRETE, DERIVED + "\n\nBase(1)\n"),
        (CONCRETE, DERIVED + "\n\nKINDS = [Base, Trainer]\n"),
        (CONCRETE, DERIVED + "\n\nKINDS = ['base.Base']\n"),
        (CONCRETE + "\n\nprint(Base(torch.ones(1)))\n", DERIVED),
    ],
)
def test_a_method_of_a_base_that_somebody_may_run_is_told(
    tmp_path: Path, base: str, derived: str
) -> None:
    project(tmp_path, {"base.py": base, "train.py": derived})
    assert 7 in found(tmp_path / "base.py")


def test_a_class_that_is_derived_from_a_derived_one_may_ask_for_the_first_ones(
    tmp_path: Path,
) -> None:
    own = "from train import Trainer\nfrom base import Base\n\n\nclass Own(Trainer):\n"
    asking = own + "    def __init__(self, x):\n        Base.__init__(self, x)\n\n\nOwn(1)\n"
    project(tmp_path, {"base.py": BASE, "train.py": DERIVED, "own.py": asking})
    assert found(tmp_path / "base.py") == [7, 14]
    around = asking.replace("Base.__init__(self, x)", "super(Trainer, self).__init__(x)")
    project(tmp_path, {"own.py": around})
    assert found(tmp_path / "base.py") == [7, 14]


@pytest.mark.parametrize(
    ("named", "told"), [("train.Timer", True), ("tools.train.Timer", True), ("main.Timer", False)]
)
def test_a_class_that_its_own_file_names_as_others_do_is_used(
    tmp_path: Path, named: str, told: bool
) -> None:
    (tmp_path / ".git").mkdir()
    program = tmp_path / "train.py"
    program.write_text(
        "import torch\nfrom pytorch_lightning import Callback\nfrom making import make\n\n\n"
        "class Net(torch.nn.Module):\n    pass\n\n\n"
        "class Timer(Callback):\n    def on_train_start(self, trainer, module):\n"
        "        torch.cuda.synchronize()\n\n\n"
        f"if __name__ == '__main__':\n    print(Net(), make({{'target': '{named}'}}))\n"
    )
    (tmp_path / "making.py").write_text("def make(setting):\n    return setting\n")
    (tmp_path / "main.py").write_text("class Timer:\n    pass\n")
    settings = Settings(root=str(tmp_path), select=("MPS201",))
    source = SourceFile(str(program), program.read_bytes())
    found = lint(source, settings, elsewhere=Neighbours(settings))
    assert bool(found) is told
