"""A module's own try of itself below `if __name__ == "__main__":` is nobody's program."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_LAYER = """
{imports}
import torch


class Layer(torch.nn.Linear):
    pass


if __name__ == "__main__":
    {setup}
    layer = Layer(3, 3).cuda()
    y = layer({made}.cuda())
    print(y.shape)
    {more}
"""
TEMPORARY = "/".join(("", "tmp", "index.pt"))
"""What lies where each machine has a folder is nobody's own."""
_USER = "from layers import Layer\n\nprint(Layer(3, 3))\n"


def _told(
    folder: Path,
    made: str = "torch.rand(2, 3)",
    more: str = "",
    setup: str = "",
    imports: str = "",
    user: str = _USER,
) -> bool:
    (folder / "README.md").write_text("A project.\n")
    text = _LAYER.format(made=made, more=more, setup=setup, imports=imports)
    (folder / "layers.py").write_text(text)
    (folder / "model.py").write_text(user)
    settings = Settings(select=("MPS102",))
    path = folder / "layers.py"
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


@pytest.mark.parametrize("made", ["torch.rand(2, 3)", "torch.ones(2, 3)"])
def test_a_try_of_a_module_that_others_use_is_not_told(tmp_path: Path, made: str) -> None:
    assert not _told(tmp_path, made)


def test_what_nobody_imports_is_a_program(tmp_path: Path) -> None:
    assert _told(tmp_path, user="print(1)\n")


@pytest.mark.parametrize(
    "more",
    [
        "y.sum().backward(); torch.optim.SGD(layer.parameters(), 0.1).step()",
        'torch.save(layer.state_dict(), "layer.pt")',
        'open("result.txt", "w").write(str(y))',
    ],
)
def test_what_learns_or_writes_is_a_program(tmp_path: Path, more: str) -> None:
    assert _told(tmp_path, more=more)


def test_who_goes_back_through_the_graph_and_takes_no_step_has_learned_nothing(
    tmp_path: Path,
) -> None:
    assert not _told(tmp_path, more="y.sum().backward()")


def test_what_is_asked_for_more_is_a_program(tmp_path: Path) -> None:
    asked = "args = argparse.ArgumentParser().parse_args()"
    assert _told(tmp_path, imports="import argparse", setup=asked)


def test_what_computes_on_given_data_is_a_program(tmp_path: Path) -> None:
    assert _told(tmp_path, made="read()")


def test_who_checks_derivatives_may_ask_how(tmp_path: Path) -> None:
    asked = "args = argparse.ArgumentParser().parse_args()"
    checks = "torch.autograd.gradcheck(layer, (y,))"
    assert not _told(tmp_path, imports="import argparse", setup=asked, more=checks)


@pytest.mark.parametrize(
    ("place", "told"),
    [("/mnt/sets/points/index.pt", False), ("data/index.pt", True), (TEMPORARY, True)],
)
def test_what_reads_a_file_of_its_authors_own_machine_is_no_program(
    tmp_path: Path, place: str, told: bool
) -> None:
    assert _told(tmp_path, more=f"print(torch.load({place!r}))") is told


def test_what_asks_for_a_file_is_a_program_be_its_default_ones_own(tmp_path: Path) -> None:
    asked = "args = argparse.ArgumentParser().add_argument('x', default='/mnt/sets/points/x.pt')"
    assert _told(tmp_path, imports="import argparse", setup=asked, more="print(torch.load(args))")


def _told_without_a_project(folder: Path, *users: str) -> bool:
    (folder / "layers.py").write_text(
        _LAYER.format(made="torch.rand(2, 3)", more="", setup="", imports="")
    )
    for number, user in enumerate(users):
        (folder / f"user{number}.py").write_text(user)
    settings = Settings(select=("MPS102",))
    path = folder / "layers.py"
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


def test_a_file_without_a_project_that_nobody_beside_it_imports_is_a_program(
    tmp_path: Path,
) -> None:
    assert _told_without_a_project(tmp_path)
    assert _told_without_a_project(tmp_path, "print(1)\n")


def test_a_file_without_a_project_that_one_beside_it_imports_is_a_module(tmp_path: Path) -> None:
    assert not _told_without_a_project(tmp_path, _USER)
