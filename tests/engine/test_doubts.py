"""A program that ran on a Mac's CPU comes to its GPU where all that it does there is understood."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from mpslint.cli.fix import run
from mpslint.halfway.program_files import ProgramFiles
from mpslint.settings.settings import Settings
from mpslint.together.withheld import Projects

CHOICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
START = f"import torch\nfrom torch import nn\n\n{CHOICE}net = nn.Linear(2, 2).to(device)\n"
CALL = "out = net(torch.zeros(1, 2).to(device))\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.mpslint]\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_opened(folder: Path, capsys: pytest.CaptureFixture[str], **texts: str) -> tuple[bool, str]:
    """Whether fixing the folder opens the choice of its program for MPS, and what is said."""
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    run(["--no-verify", "--no-cache", str(folder)])
    return "mps" in (folder / "program.py").read_text(), capsys.readouterr().out


def test_a_program_of_which_all_is_understood_is_opened(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    used = "import numpy as np\nimport timm\n"
    rest = 'print(np.mean(out.cpu().numpy()), timm.create_model("a").to(device)(out))\n'
    assert is_opened(folder, capsys, program=used + START + CALL + rest)[0]


@pytest.mark.parametrize(
    ("used", "call"),
    [
        ("import vision_datasets\n", "vision_datasets.TorchDataset(made, transform=net)"),
        ("import torch_lr_finder\n", "torch_lr_finder.LRFinder(net, None, None, device=device)"),
        ("from pyrallis import parse\n", "parse(config_class=made)"),
        ("from onnxsim import simplify\n", "simplify(made)"),
    ],
)
def test_data_sets_settings_and_exports_of_known_packages_keep_nothing_back(
    folder: Path, capsys: pytest.CaptureFixture[str], used: str, call: str
) -> None:
    rest = f"\ndef make(made):\n    return {call}\n\nprint(make(out))\n"
    assert is_opened(folder, capsys, program=used + START + CALL + rest)[0]


@pytest.mark.parametrize(
    ("used", "rest", "why"),
    [
        (
            "import warpnet\n",
            "print(warpnet.points(out))\n",
            "line 8: `warpnet` is not known to work with tensors on MPS",
        ),
        (
            "import numpy as np\n",
            "print(np.mean(out.detach()))\n",
            "np.mean(out.detach()) may be given a tensor on MPS, which raises TypeError",
        ),
        (
            "import numpy as np\n",
            "print(np.full((2, 2), out.detach()))\n",
            "np.full((2, 2), out.detach()) may be given a tensor on MPS",
        ),
        (
            "import dlib\n",
            "print(dlib.vector(out.detach()))\n",
            "dlib.vector(out.detach()) may be given a tensor on MPS",
        ),
        (
            "import numpy as np\n",
            "scores = torch.from_numpy(-np.load('scores.npy')).to(device)\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "def made(n):\n    mask = np.load('mask.npy')[:n]\n    return mask\n\n"
            "mask = torch.from_numpy(made(3)).to(device)\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "kept = np.load('a.npz')\n"
            "net(torch.tensor(np.expand_dims(kept['a'], axis=0)).to(device))\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "scores = torch.from_numpy(-np.load('scores.npy')).cuda()\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "kept = np.load('a.npy')\nkept = torch.from_numpy(kept).to(device)\nnet(kept)\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "kept = np.load('a.npy')\nprint(torch.from_numpy(kept).to(device=device)[0].mean())\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "kept = np.flip(np.load('a.npy'), 0)\nnet(torch.from_numpy(kept).to(device))\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "sizes = 10\nsizes /= 3\n"
            "print(torch.from_numpy(np.random.choice(sizes, 2)).to(device))\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "class Drawn:\n    def __init__(self, found):\n        self.size = found\n\n"
            "    def draw(self):\n"
            "        return torch.from_numpy(np.random.choice(self.size, 2)).to(device)\n\n"
            "print(Drawn([0.5, 2]).draw())\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "every = []\nevery.append(out.detach().cpu().numpy())\nevery.append(np.load('a.npy'))\n"
            "net(torch.from_numpy(np.concatenate(every)).to(device))\n",
            "may be given float64",
        ),
        (
            "import numpy as np\n",
            "both = np.stack([out.detach().cpu().numpy(), np.load('a.npy')])\n"
            "net(torch.from_numpy(both).to(device))\n",
            "may be given float64",
        ),
        (
            "from pathlib import Path\n",
            "rewards, names = Path('memory').sample(8)\nprint(torch.tensor(rewards).to(device))\n",
            "may be given float64",
        ),
        (
            "import numpy as np\nfrom pathlib import Path\n",
            "states, names = Path('memory').sample(8)\n"
            "print(torch.tensor(np.array(states)).to(device))\n",
            "may be given float64",
        ),
        (
            "import importlib\nimport sys\n",
            "importlib.import_module(sys.argv[1]).run(out)\n",
            "importlib.import_module(sys.argv[1]) imports what the text does not say",
        ),
        (
            "import hydra\nfrom settings import config\n",
            "print(hydra.utils.instantiate(config.model)(out))\n",
            "hydra.utils.instantiate(config.model) makes what a configuration names",
        ),
        ("", "print(torch.rfft(out, 1))\n", "is a function in no torch that has MPS"),
        (
            "from tensors import sent\n",
            "cuda = next(net.parameters()).is_cuda\nprint(net(sent(out, cuda)))\n",
            "sent(out, cuda) is told whether the device is CUDA",
        ),
        (
            "from simulation import Simulation\n",
            "run = Simulation()\nrun.to(device)\nrun.to(md_dtype)\n",
            "run.to(device) comes before the dtype is chosen",
        ),
    ],
    ids=lambda text: text.split("\n")[0][:30],
)
def test_what_nothing_explains_keeps_a_program_on_the_cpu_and_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], used: str, rest: str, why: str
) -> None:
    (folder / "settings.py").write_text("config = {}\n")
    (folder / "tensors.py").write_text("def sent(x, cuda):\n    return x.cuda() if cuda else x\n")
    (folder / "simulation.py").write_text("class Simulation:\n    pass\n")
    opened, said = is_opened(folder, capsys, program=used + START + CALL + rest)
    assert not opened
    assert why in said.replace("\n", " ")


@pytest.mark.parametrize(
    ("used", "rest"),
    [
        ("import numpy as np\n", "kept = np.zeros((1, 2))\nkept[0] = net(out).detach().cpu()\n"),
        ("import numpy as np\n", "print(np.mean([out.sum().item()]))\n"),
        ("import numpy as np\n", "print(np.ones((out.size(0), *net.shape)))\n"),
        ("import numpy as np\n", "print(np.random.normal(0, 1, (out.argmax(), 2)))\n"),
        ("import coqpit\n", "print(coqpit.Coqpit(out))\n"),
        ("import importlib\n", "print(importlib.import_module(type(net).__module__), out)\n"),
        (
            "import numpy as np\n",
            "scores = torch.from_numpy(np.load('a').astype(np.float32)).to(device)\n",
        ),
        (
            "import numpy as np\n",
            "def made(n):\n    mask = np.ones(n)\n    return mask\n\n"
            "mask = torch.from_numpy(made(3)).to(device)\n",  # It is moved as float32.
        ),
        (
            "import numpy as np\n",
            "def made(n):\n    mask = np.ones(n, dtype=np.float32)\n"
            "    mask[0] = 0\n    return mask\n\n"
            "mask = torch.from_numpy(made(3)).to(device)\n",
        ),
        (
            "import numpy as np\n",
            "kept = np.array([1.0, 2.0], dtype=np.float32)\n"
            "for at in range(2):\n    net(torch.from_numpy(kept[at : at + 1]).to(device))\n",
        ),
        (
            "import numpy as np\n",
            "kept = out.detach().cpu().numpy()\nnet(torch.from_numpy(kept[0]).to(device))\n",
        ),
        (
            "import numpy as np\n",
            "every = []\nfor _ in range(2):\n    every.append(out.detach().cpu().numpy())\n"
            "net(torch.from_numpy(np.concatenate(every, axis=0)).to(device))\n",
        ),
        (
            "import numpy as np\n",
            "both = np.stack([net(out).detach().cpu().numpy() for _ in range(2)])\n"
            "net(torch.from_numpy(np.vstack([both, both])).to(device))\n",
        ),
        (
            "import numpy as np\n",
            "for _ in range(2):\n    first, second = [1.0], [2.0]\n"
            "    print(np.array(first))\n    first = torch.tensor(first).to(device)\n",
        ),
        (
            "import numpy as np\n",
            "for first in [[1.0], [2.0]]:\n"
            "    print(np.array(first))\n    first = torch.tensor(first).to(device)\n",
        ),
        (
            "import numpy as np\n",
            "kept = np.flip(out.detach().cpu().numpy(), 0).copy()\n"
            "kept = torch.from_numpy(kept).to(device)\nnet(kept)\n",
        ),
        (
            "import numpy as np\n",
            "sizes = 10\nsizes = 20 * sizes\n"
            "print(torch.from_numpy(np.random.choice(sizes, 2)).to(device))\n",
        ),
        (
            "import numpy as np\n",
            "class Drawn:\n    def __init__(self, found):\n        self.size = len(found) - 1\n\n"
            "    def draw(self):\n"
            "        return torch.from_numpy(np.random.choice(self.size, 2)).to(device)\n\n"
            "print(Drawn([1, 2]).draw())\n",
        ),
        (
            "import numpy as np\n",
            "kept = np.load('a.npz')['a']\n"
            "net(torch.tensor(np.expand_dims(kept, axis=0)).float().to(device))\n"
            "net(torch.tensor(np.asarray(kept, dtype=np.float32)).to(device))\n",
        ),
        ("", "print(torch.fft.rfft(out))\n"),
        (
            "from fastprogress import progress_bar\n",
            "for number in progress_bar(range(2)):\n    net(out * number)\n",
        ),
        ("import warpnet\n", "\n\ndef trial():\n    return warpnet.points(out)\n"),
        ("import warnings\n", "warnings.warn(out.is_cuda)\n"),
        ("", "said = {}\nsaid['gpu'] = out.is_cuda\nprint(net(net(out)))\n"),
    ],
    ids=lambda text: text.split("\n")[0][:30],
)
def test_what_takes_the_tensor_off_the_device_or_is_not_run_keeps_nothing_back(
    folder: Path, capsys: pytest.CaptureFixture[str], used: str, rest: str
) -> None:
    assert is_opened(folder, capsys, program=used + START + CALL + rest)[0]


ABROAD = "import warpnet\nimport numpy as np\nimport argparse\nimport os\n" + START + CALL


@pytest.mark.parametrize(
    "rest",
    [
        "def shown(x) -> warpnet.Points:\n    return net(x)\n\nshown(out)\n",
        "print(isinstance(out, warpnet.Points), warpnet.__version__ > '1')\n",
        "try:\n    print(net(out))\nexcept (ValueError, warpnet.Failed):\n    raise\n",
        "argparse.ArgumentParser().add_argument('--size', action=warpnet.Sizes)\n",
        "settings = warpnet.read(os.path.join('a', 'b'))\nprint(net(out * int(settings.size)))\n",
        "bar = warpnet.Bar(len(out), title=f'{out}')\nfor one in range(3):\n    bar.update(one)\n",
        "net.load_state_dict(torch.load(warpnet.fetched('a'), map_location='cpu'))\n",
        "view = warpnet.View()\nview.add_image(out.cpu().numpy(), name='a')\n",
        "with warpnet.open('a', 'r') as file:\n    found = torch.from_numpy(np.array(file['a']))\n",
        "def sized(path: str, size=3):\n    for one in warpnet.tiles(path, size):\n"
        "        print(one, np.mean(one))\n\nsized('a')\n",
        "print(f'{warpnet.short(sum(one.numel() for one in net.parameters()))}')\n",
        "print(hasattr(warpnet, 'points'))\n",
        "def shown(warpnet):\n    return warpnet * 2\n\nprint(shown(net(out)))\n",
        "def shown(x):\n    warpnet = x * 2\n    return warpnet.sum()\n\nprint(shown(net(out)))\n",
        "def read():\n    import warpnet.files as x\n    return x.read('a').size\n\n"
        "def shown(x):\n    return x * 2\n\nprint(shown(net(out)), read())\n",
        "class Warp:\n    def set(self):\n        self.net = warpnet.load('a')\n\nWarp().set()\n",
        "def made():\n    return warpnet.load('a')\n\nprint(made())\n",
        "class Run:\n    sizes: list[int] = warpnet.field(default_factory=lambda: [1, 2])\n\n"
        "print(Run())\n",
        "class Run:\n    size: int = 1\n    names: list[str] = warpnet.field(default=['a'])\n\n\n"
        "@warpnet.wrap()\ndef main(run: Run):\n    print(net(out) * run.size)\n\nmain()\n",
    ],
)
def test_a_package_that_no_tensor_goes_to_or_comes_from_keeps_nothing_back(
    folder: Path, capsys: pytest.CaptureFixture[str], rest: str
) -> None:
    assert is_opened(folder, capsys, program=ABROAD + rest)[0]


@pytest.mark.parametrize(
    "rest",
    [
        "def drawn(x: warpnet.Points):\n    return net(x.values)\n\ndrawn(out)\n",
        "warpnet.patch()\n",
        "print(warpnet.points(out == 0))\n",
        "print(warpnet.item(out))\n",
        "warped = warpnet.load('a')\nwarped.to(device)\n",
        "warped = warpnet.load('a').eval()\nprint(warped)\n",
        "warped = warpnet.load('a')\nprint(warped(out))\n",
        "warped = warpnet.Net()\nprint(warped.layer(net(out)))\n",
        "place = 'cuda:0' if torch.cuda.is_available() else 'cpu'\nprint(warpnet.load(place))\n",
        "print(warpnet.load('a', device=torch.device('cpu')))\n",
        "class Warp:\n    def set(self):\n        self.net = warpnet.load('a')\n\n"
        "    def run(self, x):\n        return self.net(x)\n\nWarp().set()\n",
        "def made():\n    return warpnet.load('a')\n\nprint(made()(out))\n",
        "points = warpnet.read('a')\nprint(net(points))\n",
        "with warpnet.fast():\n    print(net(out))\n",
        "class Warped(warpnet.Net):\n    pass\n\nWarped()\n",
        "print(f'{warpnet.short(sum(one for one in net.parameters()))}')\n",
        "def shown(x):\n    global warpnet\n    return warpnet.points(x)\n\nprint(shown(out))\n",
        "def shown(x):\n    import warpnet as y\n    return y.points(x)\n\nprint(shown(out))\n",
        "import warpnet as x\n\ndef shown(x):\n    print(warpnet.size(x))\n\nshown(out)\n",
        "import warpnet as x\n\ndef shown(x):\n    print(warpnet.size(x.mean()))\n\nshown(out)\n",
        "class Run:\n    nets: list = warpnet.field(default_factory=lambda: [1, 2])\n\n"
        "print(Run())\n",
        "class Run:\n    sizes: list[int] = warpnet.field(default_factory=lambda: [out, out])\n\n"
        "print(Run())\n",
        "@warpnet.wrap()\ndef main(x):\n    print(net(x))\n\nmain(out)\n",
        "class Run:\n    net: torch.nn.Module\n\n\n"
        "@warpnet.wrap()\ndef main(run: Run):\n    print(run.net(out))\n\nmain()\n",
        "class Run:\n    size: int = 1\n\n\n"
        "@warpnet.wrap()\ndef main(run: Run):\n    return net(out) * run.size\n\nmain()\n",
        "class Run(warpnet.Run):\n    size: int = 1\n\n\n"
        "@warpnet.wrap()\ndef main(run: Run):\n    print(net(out) * run.size)\n\nmain()\n",
    ],
)
def test_a_package_that_a_tensor_may_go_to_or_come_from_keeps_its_programs_on_the_cpu(
    folder: Path, capsys: pytest.CaptureFixture[str], rest: str
) -> None:
    opened, said = is_opened(folder, capsys, program=ABROAD + rest)
    assert not opened
    assert "`warpnet` is not known to work with tensors on MPS" in said.replace("\n", " ")


KEPT = "import torch\nimport warpnet\n\nlayer = warpnet.read('a')\n"


@pytest.mark.parametrize(
    "used",
    [
        "from kept import layer\n" + START + CALL,
        "import kept\n" + START + CALL + "layer = kept.layer\n",
    ],
)
def test_what_a_module_keeps_of_a_package_may_be_used_by_who_imports_it(
    folder: Path, capsys: pytest.CaptureFixture[str], used: str
) -> None:
    assert not is_opened(folder, capsys, program=used + "print(layer(out))\n", kept=KEPT)[0]


def test_what_nobody_takes_from_a_module_keeps_no_program_from_mps(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "import kept\n" + START + CALL + "print(out, net.layers)\n"
    assert is_opened(folder, capsys, program=program, kept=KEPT)[0]


STEPS = "import torch\n\n\ndef step(x):\n    from mine.lost import bent\n\n    return bent(x)\n"


def is_opened_beside(folder: Path, capsys: pytest.CaptureFixture[str], **files: str) -> bool:
    """Whether a program is opened whose package lacks a module; `files` come in addition."""
    known = {"mine/__init__.py": "", "mine/steps.py": STEPS, **files}
    for name, text in known.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    program = f"from mine.steps import step\n{START}{CALL}print(step(out))\n"
    return is_opened(folder, capsys, program=program)[0]


def test_a_module_of_a_package_that_is_not_there_is_no_unknown_package(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert is_opened_beside(folder, capsys)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("setup.py", "setup(ext_modules=cythonize('mine/src/lost.pyx'))\n"),
        ("mine/__init__.py", "def __getattr__(name):\n    raise AttributeError(name)\n"),
        ("mine/steps.py", STEPS.replace("mine.lost", "mine.bend_cuda")),
        ("mine/steps.py", STEPS.replace("mine.lost", "yours.lost")),
        ("mine/lost.pyx", "def bent(x):\n    return x\n"),
        ("mine/lost/of_git.txt", ""),
    ],
)
def test_a_module_that_may_be_made_or_lies_elsewhere_is_in_doubt(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    assert not is_opened_beside(folder, capsys, **{name: text})


def test_a_module_that_another_package_of_the_project_lacks_is_no_unknown_package(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = STEPS.replace("mine.lost", "ours.lost")
    assert is_opened_beside(folder, capsys, **{"mine/steps.py": steps, "ours/__init__.py": ""})


def test_a_module_that_another_package_may_make_is_in_doubt(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = STEPS.replace("mine.lost", "ours.lost")
    made = "def __getattr__(name):\n    raise AttributeError(name)\n"
    assert not is_opened_beside(
        folder, capsys, **{"mine/steps.py": steps, "ours/__init__.py": made}
    )


@pytest.mark.parametrize(
    ("kept", "is_opened"),
    [
        ("def kept(x):\n    return x\n", True),
        ("import torch\nimport warpnet\n\nkept = warpnet.run\n", False),
    ],
)
def test_a_package_beside_a_program_in_a_package_is_the_projects_own_and_is_read(
    folder: Path, capsys: pytest.CaptureFixture[str], kept: str, is_opened: bool
) -> None:
    steps = "import torch\nimport ways\n\n\ndef step(x):\n    return ways.kept(x)\n"
    program = f"from ways.steps import step\n{START}{CALL}print(step(out))\n"
    texts = {"__init__": "", "ways/__init__": kept, "ways/steps": steps, "program": program}
    for name, text in texts.items():
        path = folder / "learning" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(["--no-verify", "--no-cache", str(folder)])
    assert ("mps" in (folder / "learning" / "program.py").read_text()) is is_opened


def test_what_a_module_has_by_a_star_is_no_compiled_module(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    areas = '__all__ = ["_area"]\n\n\ndef _area(x):\n    return x\n'
    program = "from shapes import _area\n" + START + CALL + "print(_area(out))\n"
    texts = {"shapes": "from areas import *\n", "areas": areas}
    assert is_opened(folder, capsys, program=program, **texts)[0]


MODEL = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x + torch.cuda.LongTensor([torch.cuda.current_device()])
"""


def test_of_a_folder_that_a_program_imports_from_by_name_all_modules_are_on_its_way(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = "import importlib\nimport sys\n"
    rest = "print(importlib.import_module('models.' + sys.argv[1]).Net()(out))\n"
    (folder / "models").mkdir()
    (folder / "models" / "__init__.py").write_text("")
    opened, said = is_opened(
        folder, capsys, program=chosen + START + CALL + rest, models__near=MODEL
    )
    assert not opened
    assert "models/near.py, line 7" in said.replace("\n", " ")


def test_what_a_notebook_imports_is_on_its_way(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "near.py").write_text(MODEL)
    cells = ["from near import Net\n", START, CALL, "print(Net()(out))\n"]
    notebook = {
        "cells": [{"cell_type": "code", "metadata": {}, "source": [one]} for one in cells],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    path = folder / "program.ipynb"
    path.write_text(json.dumps(notebook))
    run(["--no-verify", "--no-cache", str(folder)])
    assert "mps" not in path.read_text()
    assert "near.py, line 7" in capsys.readouterr().out.replace("\n", " ")


SAMPLER = """\
import numpy as np
import torch


class Sampler:
    def __init__(self, model):
        self.model = model

    def register(self, name, values):
        if isinstance(values, torch.Tensor):
            values = values.to(self.model.device)
        setattr(self, name, values)

    def schedule(self, alphas):
        self.register("sigmas", np.sqrt(1 - alphas))
"""


def test_a_method_that_moves_what_numpy_made_keeps_its_programs_on_the_cpu(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "Sampler(net).schedule(torch.ones(3).double())\n"
    opened, said = is_opened(
        folder,
        capsys,
        sampler=SAMPLER,
        program="from sampler import Sampler\n" + START + CALL + rest,
    )
    assert not opened
    assert "sampler.py, line 11" in said.replace("\n", " ")


LOADER = """\
class Loader:
    def __init__(self, device):
        self.device = None
        is_cuda = device.type == "cuda"
        if is_cuda:
            self.device = device
"""


def test_a_device_that_is_kept_for_cuda_alone_keeps_its_programs_on_the_cpu(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened, said = is_opened(
        folder,
        capsys,
        loader="import torch\n\n\n" + LOADER,
        program="from loader import Loader\n" + START + CALL + "print(Loader(device).device)\n",
    )
    assert not opened
    assert "is done only where the device is CUDA" in said.replace("\n", " ")


def test_a_guard_is_not_written_beside_an_event_that_ends_the_program_without_cuda(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "torch.cuda.synchronize()\n"
    event = "start = torch.cuda.Event(blocking=True)\n"
    opened, said = is_opened(folder, capsys, program=f"import torch\n\n{event}{rest}print(start)\n")
    assert not opened
    assert "line 3: torch.cuda.Event(blocking=True) raises where there is no CUDA" in (
        said.replace("\n", " ")
    )


def test_an_event_behind_a_test_for_cuda_keeps_no_guard_back(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    event = "if torch.cuda.is_available():\n    torch.cuda.Event().record()\n"
    rest = "torch.cuda.synchronize()\n"
    assert is_opened(folder, capsys, program=f"import torch\n\n{event}{rest}")[0]


def test_a_module_that_does_nothing_itself_asks_for_the_device_when_it_is_called(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "scripts").mkdir()
    (folder / "scripts" / "train.py").write_text("print(1)\n")
    noise = "def noise(shape):\n    return torch.randn(shape).cuda()\n"
    more = "\n\ndef zeros(shape):\n    return torch.zeros(shape).cuda()\n"
    opened, _ = is_opened(folder, capsys, losses="", program=f"import torch\n\n\n{noise}{more}")
    assert opened
    assert "def get_device()" in (folder / "program.py").read_text()


TAKES = "import runpy\nimport sys\n\nrunpy.run_path(sys.argv[1])\n"
DEFINES = (
    f"import torch\nfrom torch import nn\n\n{CHOICE}\n\n"
    "def make():\n    return nn.Linear(2, 2).to(device)\n"
)


def test_a_file_that_only_defines_is_in_doubt_where_a_program_takes_files_by_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened, said = is_opened(folder, capsys, program=DEFINES, main=TAKES)

    assert not opened
    told = " ".join(said.split())
    assert "main.py, line 4: runpy.run_path(sys.argv[1]) runs files that it finds" in told


def test_a_file_that_an_import_leads_to_is_not_in_doubt_for_that(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    uses = (
        "import torch\nfrom program import device, make\n\nmake()(torch.zeros(1, 2).to(device))\n"
    )

    assert is_opened(folder, capsys, program=DEFINES, main=TAKES, uses=uses)[0]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("import torch\nimport numpy as np\n\nprint(np.mean(torch.ones(2)))\n", 0),
        ("import torch\nimport numpy as np\n\nprint(np.mean(torch.ones(2).to(device)))\n", 1),
    ],
)
def test_a_file_is_parsed_for_doubts_once_and_only_where_its_words_allow_one(
    folder: Path, text: str, asked: int
) -> None:
    path = folder / "program.py"
    path.write_text(text)
    trees: list[ast.Module] = []

    def tree_of() -> ast.Module:
        trees.append(ast.parse(text))
        return trees[-1]

    project = Projects().of(Settings(root=str(folder)))
    found = ProgramFiles(lambda _: project, [str(path)]).doubts(str(path), tree_of)
    assert (len(trees), len(found)) == (asked, asked)


BATCH = """import torch


class Agent:
    def __init__(self, net, device):
        self.net, self.device = net.to(device), device

    def learn(self, batch):
        states, rewards = batch
        states = torch.FloatTensor(states).to(self.device)
        rewards = MADE
        return (self.net(states).mean(1) - rewards).sum()
"""


@pytest.mark.parametrize(
    ("made", "opens"),
    [
        ("torch.tensor(rewards).to(self.device)", False),
        ("torch.as_tensor(rewards, device=self.device)", False),
        ("torch.tensor(rewards).float().to(self.device)", True),
        ("torch.tensor(rewards, dtype=torch.float32, device=self.device)", True),
        ("torch.tensor([0.0, 1.0]).to(self.device)", True),
    ],
)
def test_a_part_of_a_batch_may_be_float64_where_nothing_says_more(
    folder: Path, capsys: pytest.CaptureFixture[str], made: str, opens: bool
) -> None:
    program = START.replace("import torch\n", "import torch\nfrom agent import Agent\n", 1)
    program += "Agent(net, device).learn(([[0.0, 1.0]], [1.0]))\n"
    agent = BATCH.replace("MADE", made)
    opened, said = is_opened(folder, capsys, agent=agent, program=program)
    assert opened is opens
    assert ("agent.py, line 11" in said and "may be given float64" in said) is not opens


@pytest.mark.parametrize(
    ("kept", "opens"),
    [("np.random.rand(8, 2)", False), ("np.random.rand(8, 2).astype(np.float32)", True)],
)
def test_an_array_that_a_data_set_keeps_is_float64_if_numpy_made_it(
    folder: Path, capsys: pytest.CaptureFixture[str], kept: str, opens: bool
) -> None:
    rows = (
        "import numpy as np\n\n\nclass Rows:\n    def __init__(self):\n"
        f"        self.x, self.y = {kept}, np.zeros(8, dtype=np.float32)\n\n"
        "    def __len__(self):\n        return 8\n\n"
        "    def __getitem__(self, i):\n        return self.x[i], self.y[i]\n"
    )
    program = START.replace("import torch\n", "import torch\nfrom rows import Rows\n", 1)
    program += (
        "for x, y in torch.utils.data.DataLoader(Rows(), 4):\n"
        "    print(net((x.to(device) * 2).float()), y.to(device))\n"
    )
    assert is_opened(folder, capsys, rows=rows, program=program)[0] is opens


@pytest.mark.parametrize(
    ("labels", "opens"),
    [
        ("np.random.randint(0, 2, 4)", True),
        ("np.zeros(4).astype(np.int64)", True),
        ("read_labels()", False),
    ],
)
def test_an_array_of_which_the_file_says_the_dtype_is_not_in_doubt(
    folder: Path, capsys: pytest.CaptureFixture[str], labels: str, opens: bool
) -> None:
    program = START.replace("import torch\n", "import numpy as np\nimport torch\n", 1)
    program += f"labels = {labels}\ny = torch.from_numpy(labels).to(device)\n{CALL}"
    assert is_opened(folder, capsys, program=program)[0] is opens


def test_a_package_that_lies_where_a_file_finds_its_other_modules_is_the_projects_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "code" / "logs").mkdir(parents=True)
    (folder / "code" / "logs" / "__init__.py").write_text("def shown(x):\n    print(x.sum())\n")
    (folder / "code" / "parts").mkdir()
    for package in ("code", "code/parts"):
        (folder / package / "__init__.py").touch()
    _, said = is_opened(
        folder,
        capsys,
        program="print('starts code/parts/training.py')\n",
        code__parts__nets="import torch\n\nnet = torch.nn.Linear(2, 2)\n",
        code__parts__training="import torch\nfrom parts.nets import net\nfrom logs import shown\n\n"
        'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "net.to(device)\nshown(net(torch.ones(1, 2, device=device)))\n",
    )
    assert "`logs` is not known" not in said
    assert "mps" in (folder / "code" / "parts" / "training.py").read_text()
