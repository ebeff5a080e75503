"""A cell that a notebook shows to fail, in front of the one that is right, needs no repair."""

from __future__ import annotations

import json

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source

MAKING = "import torch\nx = torch.ones(3).to('cuda')"


def codes(*cells: str) -> list[str]:
    notebook = {
        "cells": [
            {
                "cell_type": "code",
                "source": cell.splitlines(keepends=True),
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for cell in cells
        ],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    source = open_source("a.ipynb", json.dumps(notebook).encode())
    return [finding.code for finding in lint(source, Settings(select=("MPS301",)))]


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("back = x.numpy()", "back = x.cpu().numpy()"),
        ("x.numpy()", "x.detach().cpu().numpy()"),
    ],
)
def test_what_the_next_cell_does_with_a_copy_is_shown_to_fail(wrong: str, right: str) -> None:
    assert codes(MAKING, wrong, right) == []


@pytest.mark.parametrize("following", ["print(x)", "other = x.cpu().numpy()", "back = x.numpy()"])
def test_another_cell_behind_it_leaves_the_finding(following: str) -> None:
    assert "MPS301" in codes(MAKING, "back = x.numpy()", following)


def test_nor_does_a_right_cell_in_front_of_it() -> None:
    assert codes(MAKING, "back = x.cpu().numpy()", "back = x.numpy()") == ["MPS301"]


def test_in_a_program_nobody_comes_to_the_line_that_is_right() -> None:
    text = f"{MAKING}\nback = x.numpy()\nback = x.cpu().numpy()\n"
    source = open_source("a.py", text.encode())
    assert [f.code for f in lint(source, Settings(select=("MPS301",)))] == ["MPS301"]
