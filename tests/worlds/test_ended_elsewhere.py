"""What ends a Mac's run in one file ends what that calls afterwards in others, also where the file
that calls names no device itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

_WORK = """\
import torch

def go(rank):
    return torch.ones(1, device="cuda") + rank
"""
_FUNCTION = """\
import os
import torch.distributed as dist

def start():
    dist.init_process_group("{backend}")
    return int(os.environ["RANK"])
"""
_MANAGER = _FUNCTION.replace("def", "@contextmanager\ndef").replace("return", "yield")
_MANAGER = "from contextlib import contextmanager\n" + _MANAGER
_CLASS = """\
import os
import torch.distributed as dist

class start:
    def {method}(self):
        dist.init_process_group("{{backend}}")

    def __exit__(self, *_):
        dist.destroy_process_group()
"""
_CALLED = "from ctx import start\nfrom work import go\n\nc = start()\ngo(c)\n"
_IN_MAIN = """\
from ctx import start
from work import go

def main():
    {way}
        go(c)

if __name__ == "__main__":
    main()
"""
_WITH = _IN_MAIN.format(way="with start() as c:")


_WAYS = [
    (_FUNCTION, _CALLED),
    (_FUNCTION, _IN_MAIN.format(way="c = start()\n    if True:")),
    (_MANAGER, _WITH),
    (_CLASS.format(method="__init__"), _CALLED),
    (_CLASS.format(method="__enter__"), _WITH),
]


@pytest.mark.parametrize(("context", "program"), _WAYS)
def test_behind_nccl_of_another_file_no_mac_comes_to_what_a_third_does(
    cli: Cli, project: Path, context: str, program: str
) -> None:
    files = {"run.py": program, "ctx.py": context.format(backend="nccl"), "work.py": _WORK}
    assert told_in_project(cli, files) == []


@pytest.mark.parametrize(("context", "program"), _WAYS)
def test_behind_gloo_of_another_file_it_istold_in_project(
    cli: Cli, project: Path, context: str, program: str
) -> None:
    files = {"run.py": program, "ctx.py": context.format(backend="gloo"), "work.py": _WORK}
    assert told_in_project(cli, files) == [("work.py", 4, "MPS101")]


@pytest.mark.parametrize(("started", "told"), [("c = start()", []), ("c = 0", [("work.py", 4)])])
def test_what_is_called_by_way_of_a_file_that_starts_nothing(
    cli: Cli, project: Path, started: str, told: list[tuple[str, int]]
) -> None:
    files = {
        "run.py": f"from ctx import start\nimport middle\n\n{started}\nmiddle.go(c)\n",
        "middle.py": "import work\n\ndef go(rank):\n    return work.go(rank)\n",
        "ctx.py": _FUNCTION.format(backend="nccl"),
        "work.py": _WORK,
    }
    assert [item[:2] for item in told_in_project(cli, files)] == told


@pytest.mark.parametrize("other", ["Work(0).run()", "Work(0)"])
def test_a_method_runs_where_somebody_makes_objects(cli: Cli, project: Path, other: str) -> None:
    method = "import part\n\nclass Work:\n    def __init__(self, rank):\n        self.rank = rank\n"
    method += "\n    def run(self):\n        return part.go(self.rank)\n"
    program = _CALLED.replace("import go", "import Work").replace("go(c)", "Work(c).run()")
    files = {
        "run.py": program,
        "ctx.py": _FUNCTION.format(backend="nccl"),
        "work.py": method,
        "part.py": _WORK,
    }
    assert told_in_project(cli, files) == []
    # One that is made in front of it, or by another program, works on a Mac as well.
    files["demo.py"] = f"from work import Work\n\n{other}\n"
    assert told_in_project(cli, files) == [("part.py", 4, "MPS101")]


def test_in_front_of_the_start_a_mac_comes_there(cli: Cli, project: Path) -> None:
    files = {
        "run.py": "from ctx import start\nfrom work import go\n\ngo(0)\nstart()\n",
        "ctx.py": _FUNCTION.format(backend="nccl"),
        "work.py": _WORK,
    }
    assert told_in_project(cli, files) == [("work.py", 4, "MPS101")]


def test_a_start_in_one_arm_alone_ends_nothing(cli: Cli, project: Path) -> None:
    program = "import sys\n" + _CALLED.replace("c = ", "c = 0\nif len(sys.argv) > 1:\n    c = ")
    files = {"run.py": program, "ctx.py": _FUNCTION.format(backend="nccl"), "work.py": _WORK}
    assert told_in_project(cli, files) == [("work.py", 4, "MPS101")]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("dist.init_process_group('nccl')", []),
        ("pass", [("run.py", 5, "MPS102")]),
        (
            "assert torch.cuda.is_available()",
            [("ctx.py", 6, "MPS118"), ("run.py", 5, "MPS102")],
        ),
    ],
)
def test_what_a_with_runs_is_met_by_what_stands_below_it(
    cli: Cli, project: Path, entry: str, told: list[tuple[str, int, str]]
) -> None:
    context = "import torch\nimport torch.distributed as dist\n\nclass Context:\n"
    context += f"    def __enter__(self):\n        {entry}\n\n"
    context += "    def __exit__(self, *_):\n        pass\n"
    program = "import torch\nfrom ctx import Context\n\nwith Context():\n    torch.rand(3).cuda()\n"
    assert told_in_project(cli, {"run.py": program, "ctx.py": context}) == told


@pytest.mark.parametrize(("asked", "told"), [("x.is_cuda", []), ("x.is_leaf", ["runner.py"])])
def test_what_is_imported_for_tensors_of_cuda_is_for_cuda(
    cli: Cli, project: Path, asked: str, told: list[str]
) -> None:
    program = f"def runner_of(x):\n    if {asked}:\n        from runner import Runner\n\n"
    program += "        return Runner()\n    return None\n"
    runner = "import torch\n\nclass Runner:\n    def __init__(self):\n"
    runner += '        self.buffer = torch.zeros(4, device="cuda")\n'
    files = {"app.py": program, "runner.py": runner}
    assert [name for name, _, _ in told_in_project(cli, files)] == told
