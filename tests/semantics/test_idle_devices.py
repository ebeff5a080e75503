"""A device that a module chooses, and that neither it nor another file reads, places nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
LONG = """\
if torch.cuda.is_available():
    device = "cuda:{}".format(0)
else:
    device = "cpu"
"""
LAYER = """\


class Layer(torch.nn.Module):
    def forward(self, x):
        return x + torch.ones(3, device=x.device)
"""
RUNNERS = "import code\nimport timeit\nfrom torch.utils import benchmark\nfrom jobs import work\n"
USER = "from layers import Layer\n\nprint(Layer())\n"


def found(folder: Path, layers: str, **others: str) -> list[int]:
    (folder / "README.md").write_text("A project.\n")
    (folder / "layers.py").write_text("import torch\n\n" + layers)
    user = USER if "class Layer" in layers else "import layers\n"
    for name, text in {"model": user, **others}.items():
        (folder / f"{name}.py").write_text(text)
    settings = Settings(select=("MPS101", "MPS103"))
    source = SourceFile(str(folder / "layers.py"), (folder / "layers.py").read_bytes())
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("choice", [CHOICE, LONG, 'device = torch.device("cuda")\n'])
def test_a_device_that_nobody_reads_is_left_alone(tmp_path: Path, choice: str) -> None:
    own = "import torch\nfrom layers import Layer\n" + CHOICE + "print(Layer().to(device))\n"
    assert found(tmp_path, choice + LAYER, train=own) == []


@pytest.mark.parametrize(
    "user",
    [
        "from layers import device\n\nprint(device)\n",
        "from layers import *\n\nprint(device)\n",
        "import layers\n\nprint(layers.device)\n",
        "import layers as l\n\nprint(l.device)\n",
        "import layers\n\nprint(getattr(layers, input()))\n",
    ],
)
def test_one_other_file_that_takes_it_is_enough(tmp_path: Path, user: str) -> None:
    assert found(tmp_path, CHOICE + LAYER, train=user) == [3]


@pytest.mark.parametrize(
    "use",
    [
        "\n\ndef move(x):\n    return x.to(device)\n",
        "\n\ndef move(x):\n    return x.to(globals()['device'])\n",
    ],
)
def test_a_function_of_the_module_that_reads_it_is_enough(tmp_path: Path, use: str) -> None:
    user = "from layers import Layer, move\n\nprint(move(Layer()))\n"
    assert found(tmp_path, CHOICE + LAYER + use, train=user) == [3]


def test_a_function_that_nobody_uses_reads_it_for_nobody(tmp_path: Path) -> None:
    left = "\n\ndef move(x):\n    return x.to(device)\n"
    user = "from layers import Layer, move\n\nprint(Layer())\n"
    assert found(tmp_path, CHOICE + LAYER + left, train=user) == []


@pytest.mark.parametrize(
    "use",
    [
        "net = eval('torch.nn.Linear(2, 2).to(device)')",
        "net = eval(f'torch.nn.{input()}(2, 2).to(device)')",
        "exec(open('more.py').read())",
        "timeit.timeit('x.to(device)', globals=globals())",
        "benchmark.Timer(stmt='x', setup='x = torch.ones(2).to(device)').timeit(3)",
        "code.interact(local=locals())",
        "work(**vars())",
        "print(globals()[input()])",
    ],
)
def test_a_text_that_is_run_may_read_it(tmp_path: Path, use: str) -> None:
    assert found(tmp_path, CHOICE + LAYER + f"\n\n{RUNNERS}{use}\n") == [3]


@pytest.mark.parametrize(
    "use",
    [
        "net = eval('torch.nn.Linear(2, 2)')",
        "size = eval(input())",
        "exec(open('version.py').read(), {})",
        "globals().update(size=3)",
        "globals()[input()] = 3",
        "print(globals()['size'], globals().get('size'), 'size' in globals())",
        "def show(size):\n    print(locals())",
        "print(vars(Layer))",
    ],
)
def test_a_text_that_is_run_for_something_else_reads_none(tmp_path: Path, use: str) -> None:
    assert found(tmp_path, CHOICE + LAYER + f"\n\n{use}\n") == []


def test_what_does_more_than_choose_is_told_whoever_reads_it(tmp_path: Path) -> None:
    assert found(tmp_path, 'ones = torch.ones(3, device="cuda")\n' + LAYER) == [3]


def test_a_file_of_no_known_project_may_be_read_by_anybody(tmp_path: Path) -> None:
    path = tmp_path / "layers.py"
    path.write_text("import torch\n\n" + CHOICE + LAYER)
    settings = Settings(select=("MPS103",))
    source = SourceFile(str(path), path.read_bytes())
    assert [one.row for one in lint(source, settings, elsewhere=Neighbours(settings))] == [3]


TYPES = """\
use_cuda = torch.cuda.is_available()
FloatTensor = torch.cuda.FloatTensor if use_cuda else torch.FloatTensor
Tensor = FloatTensor
"""
NET = """\


class Net:
    def __init__(self, gpus):
        self.kind = torch.cuda.FloatTensor if gpus else torch.Tensor


def make(gpus):
    return Net(gpus)
"""

USES_OF_TORCH = "import torch\n\nprint(torch.Tensor(3))\n"


def types(folder: Path, text: str, **others: str) -> list[int]:
    found(folder, text, **others)
    settings = Settings(select=("MPS111",))
    source = SourceFile(str(folder / "layers.py"), (folder / "layers.py").read_bytes())
    return [finding.row for finding in lint(source, settings, elsewhere=Neighbours(settings))]


def test_a_type_that_is_only_given_another_name_is_left_alone(tmp_path: Path) -> None:
    assert types(tmp_path, TYPES + LAYER) == []
    assert types(tmp_path, f"{TYPES}x = Tensor(3)\n{LAYER}") == [4]


def test_an_attribute_that_nobody_reads_is_left_alone(tmp_path: Path) -> None:
    assert types(tmp_path, NET) == []
    assert types(tmp_path, NET.replace("Net:", "Net(Unknown):")) == [7]
    assert types(tmp_path, f"{NET}\n\ndef show(net):\n    print(net.kind)\n") == [7]
    assert types(tmp_path, NET, user="from layers import make\n\nx = make(1).kind(3)\n") == [7]


@pytest.mark.parametrize(("used", "rows"), [("print(shape(1))", []), ("print(ones(1))", [3])])
def test_a_device_that_only_a_leftover_reads_places_nothing(
    tmp_path: Path, used: str, rows: list[int]
) -> None:
    user = (
        "import torch\nfrom layers import device\n\n\n"
        "def ones(x):\n    return torch.ones(x, device=device)\n\n\n"
        f"def shape(x):\n    return x\n\n\n{used}\n"
    )
    assert found(tmp_path, CHOICE + LAYER, user=user) == rows


def test_a_name_of_torchs_reads_no_attribute_that_is_called_so(tmp_path: Path) -> None:
    net = NET.replace("self.kind", "self.Tensor")
    assert types(tmp_path, net, **{f"other{n}": USES_OF_TORCH for n in range(20)}) == []
    assert types(tmp_path, net, user="import torch\n\n\ndef f(x):\n    x.Tensor(3)\n") == [7]


CONFIG = f"""\
class Config:
    def __init__(self):
        self.width = 4
        self.{CHOICE}

class Wider(Config):
    pass


class Other:
    def __init__(self):
        self.width = 8


def work(width, **more):
    print(width, more)


config, other = Config(), Other()
"""


@pytest.mark.parametrize(
    "use",
    [
        "work(**vars(config))",
        "work(**Config().__dict__)",
        "work(**vars(Wider()))",
        "for name in config.__dict__:\n    print(config.__dict__[name])",
        "def show(given):\n    work(**vars(given))",
    ],
)
def test_who_takes_all_attributes_of_an_object_reads_its_device(tmp_path: Path, use: str) -> None:
    assert found(tmp_path, f"{CONFIG}\n\n{use}\n") == [6]


@pytest.mark.parametrize(
    "use",
    [
        "work(**vars(other))",
        "work(**Other().__dict__)",
        "config.__dict__.update(width=3)",
        "config.__dict__['width'] = 3",
        "print(config.__dict__['width'], config.width)",
    ],
)
def test_who_takes_other_attributes_does_not(tmp_path: Path, use: str) -> None:
    assert found(tmp_path, f"{CONFIG}\n\n{use}\n") == []


def test_a_base_in_another_file_may_take_all_attributes_of_its_object(tmp_path: Path) -> None:
    base = "import torch\n\n\nclass Base:\n    def all(self):\n        return vars(self).items()\n"
    text = "from base import Base\n\n\n" + CONFIG.replace("Config:", "Config(Base):")
    assert found(tmp_path, text, base=base) == [9]
    assert found(tmp_path, text, base=base.replace("vars(self).items()", "{}")) == []


TYPED = """\
class Player:
    def __init__(self, cuda):
        self.FloatTensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor

    def play(self):
        return torch.ones(3)


print(Player(torch.cuda.is_available()).play())
"""
MAKER = """\
import torch
{more}

class Maker{bases}:
    def __init__(self, cuda):
        self.FloatTensor = torch.FloatTensor

    def make(self):
        return self.FloatTensor(3)
"""


@pytest.mark.parametrize(
    ("layers", "more", "bases", "rows"),
    [
        (TYPED, "", "", []),
        (TYPED, "import layers\n", "(torch.nn.Module)", []),
        (TYPED.replace("class Player", "class Player(Maker)"), "", "", [5]),
    ],
)
def test_a_type_is_read_by_its_own_class_or_one_that_it_is_derived_from(
    tmp_path: Path, layers: str, more: str, bases: str, rows: list[int]
) -> None:
    (tmp_path / "README.md").write_text("A program.\n")
    (tmp_path / "maker.py").write_text(MAKER.format(more=more, bases=bases))
    program = tmp_path / "play.py"
    program.write_text("import torch\nfrom maker import Maker\n" + layers)
    settings = Settings(select=("MPS111",))
    source = SourceFile(str(program), program.read_bytes())
    found = lint(source, settings, elsewhere=Neighbours(settings))
    assert [finding.row for finding in found] == rows
