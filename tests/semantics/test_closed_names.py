"""The name of a device is looked up among names that leave MPS out, and a third one raises."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.closed_names import closed_names
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CHOICE = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.eye(3).to(device)
"""


def rows(text: str) -> list[int]:
    source = SourceFile("program.py", textwrap.dedent(text).encode())
    context = Context(source, source.parse(), Settings(), None)
    return sorted(getattr(node, "lineno", 0) for node in closed_names(context))


FAILING = {
    "an assertion": (3, 'def f(d):\n    assert d.type in ("cpu", "cuda")\n'),
    "a name of a set": (
        6,
        """\
        KNOWN = {"cpu", "cuda"}

        def f(d):
            if d not in KNOWN:
                raise ValueError(d)
        """,
    ),
    "two tests and a raise": (
        7,
        """\
        def f(d):
            if d.type == "cuda":
                return 2
            if d.type == "cpu":
                return 1
            raise ValueError(d)
        """,
    ),
    "two arms that end the program": (
        11,
        """\
        import sys

        def f(d):
            if d.type == "cuda":
                print(2)
                sys.exit()
            if d.type == "cpu":
                print(1)
                sys.exit()
            raise ValueError(d)
        """,
    ),
    "an else": (
        8,
        """\
        def f(x):
            if x.is_cuda:
                y = 2
            elif x.device.type == "cpu":
                y = 1
            else:
                raise ValueError(x)
            return y
        """,
    ),
    "an arm that binds": (
        3,
        """\
        def f(d):
            if d.startswith("cuda"):
                y = 2
            elif d == "cpu":
                y = 1
            return y
        """,
    ),
    "an arm that gives": (
        3,
        """\
        def f(d):
            if d == torch.device("cuda"):
                return 2
            elif d == torch.device("cpu"):
                return 1
        """,
    ),
    "a match": (
        9,
        """\
        def f(d):
            match d.type:
                case "cuda":
                    return 2
                case "cpu":
                    return 1
                case _:
                    raise ValueError(d)
        """,
    ),
    "a match and a raise": (
        8,
        """\
        def f(d):
            match d.type:
                case "cuda":
                    return 2
                case "cpu":
                    return 1
            raise ValueError(d)
        """,
    ),
    "a table": (3, 'T = {"cpu": 1, "cuda": 2}\ny = T[device.type]\n'),
    "a table of types": (
        3,
        'T = {"torch.FloatTensor": 1, "torch.cuda.FloatTensor": 2}\ny = T[x.type()]\n',
    ),
    "a table of a class": (
        6,
        """\
        class A:
            T = {"cpu": 1, "cuda": 2}

            def __init__(self, d):
                self.v = self.T[str(d).split(":")[0]]
        """,
    ),
    "a table of a registry": (
        12,
        """\
        T = {}

        def kernel(*devices):
            def wrap(f):
                T.update({d: f for d in devices})
                return f
            return wrap

        @kernel("cpu", "cuda")
        def scale(x):
            return T[x.device.type](x)
        """,
    ),
    "an index": (2, 'y = ["cpu", "cuda"].index(device.type)\n'),
    "an enum's value": (
        7,
        """\
        import enum
        class K(str, enum.Enum):
            A = "cpu"
            B = "cuda"
        def f(d):
            return K(d)
        """,
    ),
    "an enum's member": (
        7,
        """\
        import enum
        class K(enum.Enum):
            cpu = 1
            cuda = 2
        def f(d):
            return K[d.type]
        """,
    ),
    "a method by its name": (
        7,
        """\
        class K:
            def run_cpu(self):
                return 1
            def run_cuda(self):
                return 2
        y = getattr(K(), f"run_{device.type}")
        """,
    ),
    "a number": (
        3,
        'def f(d):\n    return int(str(d).replace("cuda:", "")) if str(d) != "cpu" else -1\n',
    ),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_third_device_fails(name: str) -> None:
    row, text = FAILING[name]
    assert rows("import torch\n" + textwrap.dedent(text)) == [row]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            """\
            def f(d):
                if d.type == "cuda":
                    return 2
                return 1
            """,
            id="all others alike",
        ),
        pytest.param(
            """\
            def f(d):
                if d.type == "cuda":
                    return 2
                elif d.type == "mps":
                    return 3
                elif d.type == "cpu":
                    return 1
                raise ValueError(d)
            """,
            id="MPS has its arm",
        ),
        pytest.param(
            """\
            def f(d):
                if d.type == "cuda":
                    return 2
                if d.type == "xla":
                    return 1
                raise ValueError(d)
            """,
            id="the CPU raises today",
        ),
        pytest.param('T = {"cpu": 1, "cuda": 2}\ny = T["cuda"]\n', id="a key that stands there"),
        pytest.param(
            'T = {"cpu": 1, "cuda": 2}\nfor name in T:\n    print(T[name])\n', id="its own keys"
        ),
        pytest.param('T = {"cpu": 1, "cuda": 2}\ny = T.get(device.type, 0)\n', id="a default"),
        pytest.param(
            """\
            seen = {"cpu": 0, "cuda": 0}
            def f(d):
                if d.type not in seen:
                    seen[d.type] = 0
                return seen[d.type]
            """,
            id="a table that grows",
        ),
        pytest.param(
            """\
            def f(d):
                try:
                    assert d.type in ("cpu", "cuda")
                except AssertionError:
                    print(d)
            """,
            id="caught",
        ),
        pytest.param(
            """\
            def f(d) -> int | None:
                if d.type == "cuda":
                    return 2
                elif d.type == "cpu":
                    return 1
            """,
            id="a function that may give nothing",
        ),
        pytest.param(
            """\
            import argparse
            parser = argparse.ArgumentParser()
            parser.add_argument("--device", default="cpu")
            args = parser.parse_args()
            assert args.device in ("cpu", "cuda")
            """,
            id="what a user says",
        ),
    ],
)
def test_a_third_device_goes_a_way_of_the_others(text: str) -> None:
    assert rows("import torch\n" + textwrap.dedent(text)) == []


def fixed(folder: Path, text: str, **modules: str) -> tuple[str, str]:
    """What becomes of a program, and what its finding says of a fix, or why there is none."""
    for name, module in modules.items():
        (folder / f"{name}.py").write_text(f"import torch\n{module}")
    settings = Settings(root=str(folder))
    source = SourceFile(str(folder / "program.py"), text.encode())
    result = fix_source(source, settings, elsewhere=Project(settings))
    (finding,) = result.remaining
    return result.text, finding.unfixed if finding.fix is None else finding.fix.message


def test_no_safe_fix_makes_a_choice_where_its_file_looks_for_the_name(tmp_path: Path) -> None:
    text = CHOICE + 'y = {"cpu": 1, "cuda": 2}[device.type]\n'
    became, message = fixed(tmp_path, text)
    assert became == text
    assert "line 5: {" in message
    assert "fails for a device named mps" in message


TABLES = {
    "a table": ('T = {"cpu": 1, "cuda": 2}\n', "y = T[device.type]\n", "line 6: T[device.type]"),
    "an enum": (
        'import enum\nclass T(enum.Enum):\n    A = "cpu"\n    B = "cuda"\n',
        "y = T(device.type)\n",
        "line 6: T(device.type)",
    ),
    "methods": (
        "class T:\n    def on_cpu(self): ...\n    def on_cuda(self): ...\n",
        'y = getattr(T(), "on_" + device.type)()\n',
        "line 6: getattr(T(), ",
    ),
    "an assertion": (
        'def T(d):\n    assert d.type in ("cpu", "cuda")\n',
        "T(device)\n",
        "lib.py, line 3: assert d.type",
    ),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("what", ["T", "*"])
def test_no_safe_fix_makes_a_choice_where_another_file_has_the_names(
    tmp_path: Path, name: str, what: str
) -> None:
    module, use, place = TABLES[name]
    text = f"from lib import {what}\n{CHOICE}{use}"
    became, message = fixed(tmp_path, text, lib=module)
    assert became == text
    assert place in message
