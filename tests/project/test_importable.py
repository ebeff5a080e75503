"""A file that takes from a module of its project what that does not have, or that imports such a
file, ends there on every machine: nothing in it is told, and it is no user of anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

MODEL = """\
import torch
{imported}

def place(batch):
    return torch.nn.Linear(2, 2).cuda()(batch.cuda())

print(place(torch.zeros(2, 2)))
"""
PROJECT = {
    "README.md": "A program.\n",
    "main.py": "import lab.models.small.net\n",
    "lab/__init__.py": "",
    "lab/data.py": "import torch\n\n\nclass Pairs:\n    def load(self):\n        kept = 3\n",
    "lab/models/__init__.py": "",
    "lab/models/small/__init__.py": "",
    "lab/models/small/parts.py": "size = 3\n",
}
NET = "lab/models/small/net.py"


def write(folder: Path, files: dict[str, str]) -> None:
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / ".git").mkdir(exist_ok=True)


def found(folder: Path, imported: str, name: str = NET, **files: str) -> list[str]:
    """What is told of a module that imports this."""
    write(folder, {**PROJECT, name: MODEL.format(imported=imported), **files})
    return told(folder / name)


def told(path: Path, code: str = "MPS102") -> list[str]:
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=(code,))
    return [finding.code for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize(
    "imported",
    [
        "from .parts import width",
        "from .parts import (\n    size,  # kept\n    width,\n)",
        "from .parts import size, \\\n    width",
        "from ...data import Triples",
        "from lab.data import Triples",
        "from lab.data import Pairs, load_all",
        "from ..data import Pairs",
        "from ..utils.log import logger",
        "from .. import utils",
        "from lab.models import big",
        "from .parts import size\nimport lab.tools",
    ],
)
def test_nothing_is_told_where_the_project_lacks_what_it_imports(
    tmp_path: Path, imported: str
) -> None:
    assert found(tmp_path, imported) == []


@pytest.mark.parametrize(
    "imported",
    [
        "from .parts import size",
        "from .parts import *",
        "from .parts import size as width",
        "from ...data import Pairs",
        "from ... import data",
        "from . import parts",
        "from .parts import __name__ as width",
        "from ....data import Pairs",
        "from other.data import Triples",
        "import missing",
        "if torch.cuda.is_available():\n    from .parts import width",
        "try:\n    from .parts import width\nexcept ImportError:\n    width = 3",
        "def late():\n    from .parts import width\n    return width",
        "class Late:\n    from .parts import size",
        'note = """\nfrom .parts import width\n"""',
        "from ._parts import width",
    ],
)
def test_what_may_be_imported_is_told(tmp_path: Path, imported: str) -> None:
    assert found(tmp_path, imported)


@pytest.mark.parametrize(
    "text",
    [
        "if fast:\n    width = 3\n",
        "try:\n    from fast import width\nexcept ImportError:\n    width = 3\n",
        "def set_up():\n    global width\n    width = 3\n",
        "from numpy import *\n",
        "from far.away import *\n",
        "def __getattr__(name):\n    return 3\n",
        "globals().update(width=3)\n",
        "for name in names:\n    exec(f'{name} = 3')\n",
        "import sys\nsys.modules[__name__] = Lazy()\n",
        "import sys as s\nsetattr(s.modules[__name__], name, 3)\n",
        "from far.away import\\\n  *\n",
        "with open(place) as width:\n    pass\n",
        "for width in range(3):\n    pass\n",
        "(width := 3)\n",
        "import far.away as width\n",
        "import width.more\n",
        "size, (width, *rest) = given()\n",
        "class width:\n    pass\n",
    ],
)
def test_a_name_is_there_however_the_module_comes_by_it(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, "from .parts import width", **{"lab/models/small/parts.py": text})


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("lab/models/small/parts.pyi", "width: int\n"),
        ("lab/models/small/parts.cpython-312-darwin.so", ""),
        ("lab/models/small/parts.py.in", ""),
        ("patches.py", "from lab.models.small import parts\nparts.width = 3\n"),
        ("patches.py", "import parts\nsetattr(parts, 'width', 3)\n"),
        ("patches.py", "import parts\nparts.width, parts.size = 3, 4\n"),
        ("patches.py", "import parts\nfor name in ['width']:\n    parts.__dict__[name] = 3\n"),
        ("patches.py", "from helpers import put\nput(parts, width=3)\n"),
        ("install.sh", "cp -r lab/models/small $SITE/models\n"),
        ("Dockerfile", "COPY lab/models /opt/models\n"),
        ("start.py", "import sys\nsys.meta_path.insert(0, Finder())\n"),
    ],
)
def test_a_name_that_may_come_from_elsewhere_is_there(
    tmp_path: Path, place: str, text: str
) -> None:
    assert found(tmp_path, "from .parts import width", **{place: text})


def test_who_imports_such_a_file_ends_as_well(tmp_path: Path) -> None:
    files = {
        "lab/models/small/first.py": "from .second import size\n",
        "lab/models/small/second.py": "from . import first\nfrom .parts import width\nsize = 3\n",
    }
    assert found(tmp_path, "from .first import size", **files) == []


def test_an_import_in_an_example_leads_to_no_such_file(tmp_path: Path) -> None:
    example = (
        '"""Nets.\n\nfrom lab.dead import kept\n"""\nimport torch\n\nprint(torch.ones(1).cuda())\n'
    )
    dead = "from .nowhere import kept\n"
    write(tmp_path, {"lab/__init__.py": "", "lab/dead.py": dead, "lab/nets.py": example})
    assert told(tmp_path / "lab/nets.py") == ["MPS102"]
    imported = example.replace('"""\n', "", 1).replace('"""Nets.\n\n', "")
    write(tmp_path, {"lab/nets.py": imported})
    assert told(tmp_path / "lab/nets.py") == []


def test_modules_that_import_each_other_are_there(tmp_path: Path) -> None:
    files = {
        "lab/models/small/first.py": "from .second import size\n",
        "lab/models/small/second.py": "from . import first\nsize = 3\n",
    }
    assert found(tmp_path, "from .first import size", **files)


def test_a_package_that_ends_takes_its_modules_along_which_name_each_other_by_it(
    tmp_path: Path,
) -> None:
    package = {"lab/models/small/__init__.py": "from .parts import width\n"}
    assert found(tmp_path, "from .parts import size", **package) == []


def test_a_package_that_ends_leaves_what_is_imported_without_it(tmp_path: Path) -> None:
    files = {
        "lab/models/__init__.py": "from .gone import nothing\n",
        "run.py": "import sys\nsys.path.append('lab/models')\nimport small.net\n",
    }
    assert found(tmp_path, "from .parts import size", **files)


def test_of_several_modules_of_a_name_all_must_lack_it(tmp_path: Path) -> None:
    imported, files = "from util import width", {"util.py": "size = 3\n"}
    assert found(tmp_path, imported, "old.py", **files) == []
    assert found(tmp_path, imported, "old.py", **files, **{"more/util.py": "width = 3\n"})


def test_a_module_that_such_files_alone_import_is_not_told_of(tmp_path: Path) -> None:
    helper = "import torch\n\n\ndef place(x):\n    return x + torch.zeros(2).cuda()\n"
    files = {
        **PROJECT,
        "tools/kept.py": helper,
        "tools/run.py": "from kept import place\nfrom lab.data import Triples\nplace(Triples())\n",
    }
    write(tmp_path, files)
    assert told(tmp_path / "tools/kept.py") == []
    write(
        tmp_path,
        {"tools/other.py": "import torch\nfrom kept import place\nplace(torch.zeros(2))\n"},
    )
    assert told(tmp_path / "tools/kept.py")


def test_a_function_that_such_files_alone_call_is_left_over(tmp_path: Path) -> None:
    shape = "\n\ndef shape(x):\n    return x.shape\n"
    helper = f"import torch\n\n\ndef place(x):\n    return x + torch.zeros(2).cuda()\n{shape}"
    taken = "import torch\nfrom lab.data import Triples\nfrom lab.helper import place\n"
    user = f"{taken}\nplace(torch.zeros(2))\n"
    live = "from lab.helper import shape\n\nprint(shape([]))\n"
    write(tmp_path, {**PROJECT, "lab/helper.py": helper, "old.py": user, "main.py": live})
    assert told(tmp_path / "lab/helper.py") == []
    write(tmp_path, {"old.py": user.replace("Triples", "Pairs")})
    assert told(tmp_path / "lab/helper.py")


def test_a_file_that_one_line_mends_has_a_use_for_what_it_calls(tmp_path: Path) -> None:
    helper = "import torch\n\n\ndef place(x):\n    return x + torch.zeros(2).cuda()\n"
    user = "from lab.data import Triples\nfrom kept import place\nplace(Triples())\n"
    files = {**PROJECT, "tools/kept.py": helper, "tools/run.py": user}
    write(tmp_path, {**files, "lab/sets.py": "class Triples:\n    pass\n"})
    assert told(tmp_path / "tools/kept.py")
    write(tmp_path, {"lab/sets.py": "class Others:\n    pass\n"})
    assert told(tmp_path / "tools/kept.py") == []


def test_the_answer_rests_on_what_is_imported(tmp_path: Path) -> None:
    assert found(tmp_path, "from .parts import size")
    path, settings = tmp_path / NET, Settings(select=("MPS102",))
    neighbours = Neighbours(settings)
    lint(SourceFile(str(path), path.read_bytes()), settings, elsewhere=neighbours)
    parts = str(tmp_path / "lab/models/small/parts.py")
    assert parts in {one.path for one in neighbours.consulted()}


TRIED = """\
import torch


class Kept(torch.nn.Module):
    def forward(self, x):
        return x.cuda()


class Tried(torch.nn.Module):
    def forward(self, x):
        return x.cuda()
"""


@pytest.mark.parametrize(
    "test",
    [
        "from lab.nets import Tried\n\n\ndef test_it():\n    assert Tried()\n",
        'MADE = {"_target_": "lab.nets.Tried"}\n',
    ],
)
def test_a_class_of_a_program_that_tests_alone_name_is_left_over(tmp_path: Path, test: str) -> None:
    program = "from lab.nets import Kept\n\nprint(Kept()(1))\n"
    files = {"lab/__init__.py": "", "lab/nets.py": TRIED, "main.py": program}
    write(tmp_path, {**files, "tests/test_nets.py": test})
    assert told(tmp_path / "lab/nets.py") == ["MPS102"]


def test_a_class_that_a_script_has_which_nothing_leads_to_is_not_left_over(tmp_path: Path) -> None:
    files = {"lab/__init__.py": "", "lab/nets.py": TRIED}
    files["main.py"] = "from lab.nets import Kept\n\nprint(Kept()(1))\n"
    files["lab/training.py"] = "from lab.nets import Tried\n\n\ndef train():\n    return Tried()\n"
    test = "from lab.nets import Tried\n\n\ndef test_it():\n    assert Tried()\n"
    write(tmp_path, {**files, "tests/test_nets.py": test})
    assert told(tmp_path / "lab/nets.py") == ["MPS102", "MPS102"]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("conf/net.yaml", "_target_: lab.nets.Tried\n"),
        ("other.py", "from lab.nets import Tried\n\nprint(Tried())\n"),
        ("setup.py", "from setuptools import setup\n\nsetup(name='lab', packages=['lab'])\n"),
        ("main.py", "import lab.nets as nets\n\nprint(getattr(nets, input()), nets.Kept)\n"),
    ],
)
def test_a_class_that_others_may_have_is_not_left_over(
    tmp_path: Path, place: str, text: str
) -> None:
    program = "from lab.nets import Kept\n\nprint(Kept()(1))\n"
    test = "from lab.nets import Tried\n\n\ndef test_it():\n    assert Tried()\n"
    files = {"lab/__init__.py": "", "lab/nets.py": TRIED, "main.py": program}
    write(tmp_path, {**files, "tests/test_nets.py": test, place: text})
    assert told(tmp_path / "lab/nets.py") == ["MPS102", "MPS102"]


def test_what_a_package_hands_on_by_a_name_of_its_modules_own_reaches_no_further(
    tmp_path: Path,
) -> None:
    parts = TRIED.replace("Kept", "Wide")
    files = {
        "lab/__init__.py": "from .nets import net\n",
        "lab/nets.py": "from .parts import *\n\n\ndef net():\n    return Wide()\n",
        "lab/parts.py": parts,
        "main.py": "import lab\n\nprint(getattr(lab, input())())\n",
    }
    write(tmp_path, files)
    assert told(tmp_path / "lab/parts.py") == ["MPS102"]
    write(tmp_path, {"lab/__init__.py": "from .nets import Tried\n"})
    assert told(tmp_path / "lab/parts.py") == ["MPS102", "MPS102"]
