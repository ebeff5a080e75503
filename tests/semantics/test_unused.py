"""Names that get a value, and decide nothing."""

from __future__ import annotations

import ast
import json

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.uses.unused import never_used
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source


def is_unused(name: str, *cells: str, path: str = "demo.ipynb") -> bool:
    """Whether the first assignment to `name` is used by nothing, in a notebook of these cells."""
    if path.endswith(".ipynb"):
        code = [
            {"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells
        ]
        data = json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    else:
        data = "\n".join(cells)
    source = open_source(path, data.encode())
    context = Context(source, source.parse(), Settings())
    target = next(use for use in context.index.names[name] if isinstance(use.ctx, ast.Store))
    return never_used(context, target)


SET = "device = pick()"


@pytest.mark.parametrize(
    "said",
    ["print(device)", "print(f'{device = }')", "device", "log.info('%s', str(device.type))"],
)
def test_a_device_that_a_notebook_only_shows_is_not_used(said: str) -> None:
    assert is_unused("device", SET, said)


@pytest.mark.parametrize(
    "cell",
    [
        "print(run(device))",
        "print(device, file=open(device))\nrun(device)",
        "other = f'{device}'",
        "!python train.py --device {device}",
        "%run train.py $device",
        "globals()['device']",
        "this is (no python",
    ],
)
def test_a_device_that_another_cell_may_use_is_used(cell: str) -> None:
    assert not is_unused("device", SET, cell)


def test_a_name_of_a_module_may_be_used_by_other_files() -> None:
    assert not is_unused("device", SET, "print(device)", path="devices.py")


def test_a_name_of_a_function_is_used_in_it_or_not_at_all() -> None:
    program = "def run():\n    device = pick()\n    print(device)"
    assert is_unused("device", program, path="devices.py")
    assert not is_unused("device", f"{program}\n    return device", path="devices.py")
