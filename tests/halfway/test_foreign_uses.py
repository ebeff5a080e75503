"""Whether a tensor may come to a package of others: it is followed by names, members, functions."""

from __future__ import annotations

import ast

import pytest

from mpslint.halfway.foreign_uses import ForeignUses
from mpslint.halfway.other_files import OtherFiles

PACKAGE = "warpnet"


class Files:
    """A file, and the modules of its project, by their names."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def text_of(self, path: str) -> bytes:
        return self._texts[path].encode()

    def tree_of(self, path: str) -> ast.Module:
        return ast.parse(self._texts[path])

    def file_of(self, path: str, module: str) -> str | None:
        return module if module in self._texts else None

    def others(self, path: str) -> tuple[str, ...]:
        return tuple(one for one in self._texts if one != path)

    def holding(self, path: str, files: tuple[str, ...], word: bytes) -> tuple[str, ...]:
        return tuple(one for one in files if word in self.text_of(one))


def is_apart(text: str, **modules: str) -> bool:
    """Whether no tensor has a part in anything that a text does with the package."""
    text = f"import numpy as np\nimport torch\nimport {PACKAGE}\n{text}"
    tree = ast.parse(text)
    around = OtherFiles(Files({"program": text, **modules})).around("program")
    foreign = ForeignUses(tree, {PACKAGE}, {"np"}, around)
    uses = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id == PACKAGE]
    assert uses
    return all(map(foreign.is_apart, uses))


NET = "net = torch.nn.Linear(2, 2)\nout = net(torch.zeros(1, 2))\n"
PARSED = "import argparse\n\ndef parsed():\n    return argparse.ArgumentParser().parse_args()\n\n"
PARSED_BY_NAME = PARSED.replace("import argparse", "from argparse import ArgumentParser")
PARSED_BY_NAME = PARSED_BY_NAME.replace("argparse.", "", 1)
ARGUMENTS = PARSED.replace("parsed", "parse_arguments")


@pytest.mark.parametrize(
    "text",
    [
        # What one foreign call gives is handed to what another one made.
        "rows = warpnet.rows(out.cpu().numpy())\nfield = warpnet.Field(3)\nfield.fill(rows)\n",
        "def shown(x):\n    rows = warpnet.rows(x.numpy())\n    rows = np.array(rows)\n"
        "    return rows\n\nshown(out)\n",
        # What a function of the file gives.
        PARSED + "args = parsed()\nprint(warpnet.read(args.path))\n",
        PARSED_BY_NAME + "args = parsed()\nprint(warpnet.read(args.path))\n",
        "def path_of(name):\n    return f'{name}.txt'\n\nprint(warpnet.read(path_of('a')))\n",
        "def path_of(name):\n    return f'{name}.txt'\n\nprint(warpnet.Files(path_of))\n",
        # What a function of the file is given.
        "def read(name):\n    return len(warpnet.read(name))\n\nread('a')\nread('b')\n",
        "import os\n\ndef read(folder):\n    print(os.path.join(folder, 'a'))\n"
        "    return len(warpnet.read(folder))\n\nread(net)\n",
        "def shown(rows):\n    print(len(rows))\n\nshown(warpnet.read('a'))\n",
        "def read():\n    return warpnet.read('a')\n\nprint(len(read()))\n",
        # What is kept.
        "class Files:\n    def __init__(self):\n        self.name = 'a'\n\n"
        "    def size(self):\n        return len(warpnet.read(self.name))\n",
        "class Files:\n    def __init__(self):\n        self.file = warpnet.read('a')\n\n"
        "    def size(self):\n        return len(self.file)\n",
        "class Files:\n    def __init__(self):\n        self.file = warpnet.read('a')\n\n"
        "    def add(self, x):\n        self.file.add(x.item())\n",
        "rows = []\nfor name in 'ab':\n    rows.append(warpnet.read(name))\nprint(len(rows))\n",
        "sizes = {}\nsizes['a'] = len(warpnet.read('a'))\nprint(warpnet.shown(sizes))\n",
        "view = warpnet.View()\nview.title = 'a'\nview.sizes['a'] = 3\n",
        # What is decorated.
        "@warpnet.cached('a')\ndef read(path):\n    return np.load(path)\n\nprint(read('a').x)\n",
    ],
)
def test_what_is_followed_on_the_host_comes_to_no_tensor(text: str) -> None:
    assert is_apart(NET + text)


@pytest.mark.parametrize(
    "text",
    [
        "rows = warpnet.rows(3)\nfield = warpnet.Field(3)\nfield.fill(rows, out)\n",
        "def shown(x):\n    rows = warpnet.rows(x.numpy())\n    print(net(rows))\n"
        "    rows = np.array(rows)\n    return rows\n\nshown(out)\n",
        "def shown(x):\n    for one in x.numpy():\n        rows = warpnet.rows(one)\n"
        "        if one:\n            continue\n        rows = np.array(rows)\n"
        "    return net(rows)\n\nshown(out)\n",
        PARSED + "args = parsed()\nargs.net = net\nprint(warpnet.read(args))\n",
        PARSED + "args = parsed()\n\ndef fill(given):\n    given.net = net\n\nfill(args)\n"
        "print(warpnet.read(args))\n",
        "def made(name):\n    return net(name)\n\nprint(warpnet.read(made('a')))\n",
        "def step(x):\n    return net(x)\n\nprint(warpnet.Files(step))\n",
        "def read(name):\n    return len(warpnet.read(name))\n\nread('a')\nread(out)\n",
        "def read(*names):\n    return len(warpnet.read(names))\n\nread(out)\n",
        "def read(name):\n    return len(warpnet.read(name))\n\nprint(list(map(read, [out])))\n",
        "def shown(rows):\n    print(net(rows))\n\nshown(warpnet.read('a'))\n",
        "def read():\n    return warpnet.read('a')\n\nprint(net(read()))\n",
        "def read():\n    return warpnet.read('a')\n\nprint(map(read, [out]))\n",
        "class Files:\n    def __init__(self):\n        self.name = 'a'\n\n"
        "    def set(self, x):\n        self.name = net(x)\n\n"
        "    def size(self):\n        return len(warpnet.read(self.name))\n",
        "class Files:\n    def __init__(self):\n        self.names = []\n\n"
        "    def set(self, x):\n        self.names.append(net(x))\n\n"
        "    def size(self):\n        return len(warpnet.read(self.names))\n",
        "class Files:\n    def __init__(self, **given):\n        self.name = 'a'\n"
        "        for name, one in given.items():\n            setattr(self, name, one)\n\n"
        "    def size(self):\n        return len(warpnet.read(self.name))\n",
        "class Files:\n    def __init__(self):\n        self.file = warpnet.read('a')\n\n"
        "    def run(self, x):\n        return self.file(x)\n",
        "class Layer(torch.nn.Module):\n    def __init__(self):\n"
        "        self.inner = warpnet.Mean()\n\n    def size(self):\n        len(self.inner)\n",
        "rows = []\nrows.append(out)\nprint(warpnet.shown(rows))\n",
        "rows = []\nothers = rows\nothers.append(out)\nprint(warpnet.shown(rows))\n",
        "rows = []\nrows.append(warpnet.read('a'))\nprint(net(rows[0]))\n",
        "def fill(rows):\n    rows.append(warpnet.read('a'))\n\nrows = []\nfill(rows)\nnet(rows)\n",
        "def shown(x):\n    rows = []\n\n    def add():\n        rows.append(net(x))\n\n"
        "    add()\n    print(warpnet.shown(rows))\n",
        "@dataclass\nclass Batch:\n    image: torch.Tensor\n\nprint(warpnet.shown(Batch(out)))\n",
        "print(warpnet.shown(lambda x: net(x)))\n",
        "sizes = {}\nsizes['a'] = out\nprint(warpnet.shown(sizes))\n",
        "view = warpnet.View()\nview.image = out\n",
        "rows = -warpnet.read('a')\nprint(net(rows))\n",
        "@warpnet.cached('a')\ndef read(x):\n    return 1\n\nprint(read(out))\n",
        "@warpnet.cached('a')\ndef read(path):\n    return torch.load(path)\n\nnet(read('a'))\n",
        "@warpnet.compiled(1)\ndef step(x):\n    return net(x)\n\nprint(step(1))\n",
        # What fails first is not taken to hold for what asks for it again.
        "def made(x):\n    return x\n\nprint(warpnet.read(made(out).size, made(out)))\n",
    ],
)
def test_where_a_tensor_may_be_given_or_come_out_there_is_a_doubt(text: str) -> None:
    assert not is_apart(NET + text)


READING = "from settings import path_of\nprint(len(warpnet.read(path_of('a'))))\n"
SHOWING = "from views import shown\nshown(warpnet.read('a'))\n"
DECORATED = (
    "from settings import Run\n\n@warpnet.wrap()\n"
    "def main(run: Run):\n    print(run.size)\n\nmain()\n"
)


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        (READING, {"settings": "def path_of(name):\n    return 'a' + '.txt'\n"}),
        (
            "from settings import parse_arguments\n"
            "args = parse_arguments()\nprint(warpnet.read(args.path))\n",
            {"settings": ARGUMENTS},
        ),
        (
            "from settings import args\nprint(warpnet.read(args.path))\n",
            {"settings": ARGUMENTS + "args = parse_arguments()\n"},
        ),
        (SHOWING, {"views": "def shown(rows):\n    print(len(rows))\n"}),
        (DECORATED, {"settings": "class Run:\n    size: int = 1\n"}),
        (
            "class Files:\n    def __init__(self):\n        self.name = 'a'\n\n"
            "    def size(self):\n        return len(warpnet.read(self.name))\n",
            {"views": "def shown(files):\n    print(files.name)\n"},
        ),
    ],
)
def test_it_is_followed_into_the_modules_of_the_project(text: str, modules: dict[str, str]) -> None:
    assert is_apart(text, **modules)


@pytest.mark.parametrize(
    ("text", "modules"),
    [
        (READING, {"settings": "def path_of(name):\n    return name\n"}),
        (READING, {"settings": "@changed\ndef path_of(name):\n    return 'a'\n"}),
        (READING, {}),
        (SHOWING, {"views": "def shown(rows):\n    print(net(rows))\n"}),
        (SHOWING, {"views": "def shown(rows):\n    return rows\n", "more": "import views\n"}),
        (
            DECORATED.replace("run.size", "run.net(out)"),
            {"settings": "class Run:\n    net: Net = 1\n"},
        ),
        (
            "class Files:\n    def __init__(self):\n        self.name = 'a'\n\n"
            "    def size(self):\n        return len(warpnet.read(self.name))\n",
            {"views": "def shown(files):\n    files.name = net\n"},
        ),
        (
            "class Files:\n    def __init__(self):\n        self.file = warpnet.read('a')\n",
            {"views": "def shown(files, x):\n    files.file(x)\n"},
        ),
        (
            "def read(name):\n    return len(warpnet.read(name))\n\nread('a')\n",
            {"views": "from program import read\n\nread(net)\n"},
        ),
        (
            "def read():\n    return warpnet.read('a')\n",
            {"views": "from program import read\n\nnet(read())\n"},
        ),
    ],
)
def test_what_other_modules_do_with_it_counts(text: str, modules: dict[str, str]) -> None:
    assert not is_apart(text, **modules)


REBOUND = "warpnet = torch.nn.Linear(2, 2)\n"


def is_last_foreign(text: str) -> bool:
    """Whether the last use of the package's name in a text stands for the package."""
    tree = ast.parse(f"import torch\nimport {PACKAGE}\n{text}")
    around = OtherFiles(Files({"program": text})).around("program")
    uses = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and one.id == PACKAGE]
    last = max(uses, key=lambda one: (one.lineno, one.col_offset))
    return ForeignUses(tree, {PACKAGE}, {"np"}, around).is_foreign(last)


@pytest.mark.parametrize(
    "text",
    [
        f"{REBOUND}warpnet(out)\n",
        "warpnet = warpnet.Net()\nwarpnet(out)\n",
        f"{REBOUND}for x in data:\n    with torch.no_grad():\n        warpnet(x)\n",
        f"{REBOUND}def run(x):\n    return warpnet(x)\n",
        "warpnet: object = torch.nn.Linear(2, 2)\nwarpnet(out)\n",
        "loss, warpnet = 0, torch.nn.Linear(2, 2)\nwarpnet(out)\n",
        f"if big:\n    {REBOUND}    warpnet(out)\n",
        f"def run(x):\n    import {PACKAGE}\n    {REBOUND}    return warpnet(x)\n",
    ],
)
def test_a_name_that_is_given_anew_is_the_package_no_more(text: str) -> None:
    assert not is_last_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "warpnet(out)\n",
        f"if big:\n    {REBOUND}warpnet(out)\n",
        f"try:\n    {REBOUND}except ValueError:\n    warpnet(out)\n",
        f"for x in data:\n    {REBOUND}warpnet(out)\n",
        f"{REBOUND}import {PACKAGE}\nwarpnet(out)\n",
        "warpnet.net = torch.nn.Linear(2, 2)\nwarpnet(out)\n",
        "warpnet: object\nwarpnet(out)\n",
        "while going:\n    if warpnet(out):\n        net = warpnet\n",
    ],
)
def test_a_name_that_may_be_the_package_still_is(text: str) -> None:
    assert is_last_foreign(text)
