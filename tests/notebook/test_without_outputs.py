"""What is kept of a notebook beside other files has its cells, not the pictures it has drawn."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from conftest import Cli

from mpslint.sources.notebook.document import without_outputs
from mpslint.sources.notebook.source import NotebookSource

PICTURE = "A" * 1_500_000


def notebook(source: object = ("import torch\n", "x = torch.ones(2).cuda()  # größer")) -> bytes:
    shown = {"output_type": "display_data", "data": {"image/png": PICTURE}, "metadata": {}}
    cells = [
        {"cell_type": "markdown", "source": "# drawn", "metadata": {}},
        {"cell_type": "code", "source": source, "outputs": [shown], "metadata": {}},
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}).encode()


@pytest.mark.parametrize("source", [["import torch\n", "y = 1"], "import torch\ny = 'ä'"])
def test_the_cells_stand_where_they_stood(source: object) -> None:
    whole, light = notebook(source), without_outputs(notebook(source))
    before, after = NotebookSource("n.ipynb", whole), NotebookSource("n.ipynb", light)
    assert after.text == before.text
    assert [after.place(row) for row in (1, 2)] == [before.place(row) for row in (1, 2)]
    assert len(light) < len(whole) / 100


@pytest.mark.parametrize(
    "data",
    [b"[" * 100_000, b"{}" + b" " * 100_000, b'{"cells": [1]}' + b" " * 100_000, b"\xff" * 100_000],
    ids=["nested", "no cells", "a cell that is none", "no text"],
)
def test_what_is_no_notebook_stays_as_it_is(data: bytes) -> None:
    assert without_outputs(data) == data


def test_a_check_keeps_no_pictures(cli: Cli, project: Path) -> None:
    for number in range(30):
        (project / f"drawn_{number}.ipynb").write_bytes(notebook())
    tracemalloc.start()
    try:
        found = cli("check", "--no-cache", "-j", "1", "--output-format", "json").out
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(json.loads(found)) == 30
    assert peak < 25 * len(PICTURE)
