"""Notebooks are checked and fixed cell by cell; nothing but the cells' code changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Cli

from mpslint.checking.linter import lint
from mpslint.errors import BadSource
from mpslint.fixing.fixing import Planned, plan, unified_diff
from mpslint.model import Edit
from mpslint.settings.settings import Settings
from mpslint.sources.notebook.source import NotebookSource
from mpslint.sources.opening import located, open_source

NOTEBOOKS = FIXTURES / "notebooks"
GOOD = ("basic", "tight", "magics")


def data(name: str) -> bytes:
    return (NOTEBOOKS / f"{name}.ipynb").read_bytes()


def source(name: str) -> NotebookSource:
    found = open_source(f"{name}.ipynb", data(name))
    assert isinstance(found, NotebookSource)
    return found


def fixed(name: str) -> Planned:
    planned = plan(f"{name}.ipynb", data(name), Settings(), unsafe=False)
    assert isinstance(planned, Planned), planned
    assert planned.result.error is None
    return planned


def cells(raw: bytes) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(raw)["cells"]]


def without_sources(raw: bytes) -> Any:
    whole = json.loads(raw)
    for cell in whole["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = None
    return whole


def test_a_name_from_an_earlier_cell_is_known_in_a_later_one() -> None:
    planned = fixed("basic")
    assert "model = nn.Linear(8, 2).to(device)" in cells(planned.after)[2]
    assert "x = torch.rand(4, 8).to(device)" in cells(planned.after)[4]
    assert cells(planned.after)[1].count("device = torch.device(") == 3


def test_a_message_names_a_line_as_the_cell_counts_it() -> None:
    (finding,) = lint(source("chosen_later"), Settings())
    assert "(line 5 of cell 2)" in finding.message


def test_a_reason_names_a_line_as_the_cell_counts_it(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "left_behind.ipynb", project / "a.ipynb")
    why = "x + y would be given tensors of the CPU and of MPS"
    said = f"a.ipynb: left as it is: line 5 of cell 4: {why}"
    assert [one for one in cli("fix", "a.ipynb").err.splitlines() if "left" in one] == [said]


def test_magics_and_shell_lines_are_kept() -> None:
    after = cells(fixed("basic").after)
    assert after[1].startswith("%matplotlib inline\nimport torch\n")
    assert after[4].startswith("%%time\nfor step")
    assert "    !nvidia-smi --loop=1 \\\n        --query\n" in after[4]


@pytest.mark.parametrize("name", GOOD)
def test_nothing_but_sources_differs_after_a_fix(name: str) -> None:
    after = fixed(name).after
    assert after != data(name)
    assert without_sources(after) == without_sources(data(name))


def test_a_notebook_in_the_usual_layout_stays_in_it() -> None:
    after = fixed("basic").after
    rewritten = json.dumps(json.loads(after), indent=1, ensure_ascii=False) + "\n"
    assert after == rewritten.encode()


def test_odd_layout_and_escapes_outside_the_edit_stay_as_they_were() -> None:
    before, after = data("tight"), fixed("tight").after
    head, tail = before.index(b"device = "), before.index(b"\\nprint(")
    assert after.startswith(before[:head])
    assert after.endswith(before[tail:])
    assert b"\\u0022cuda\\u0022" in before


@pytest.mark.parametrize("name", GOOD)
def test_a_second_fix_changes_nothing(name: str) -> None:
    once = fixed(name).after
    again = plan(f"{name}.ipynb", once, Settings(), unsafe=False)
    assert isinstance(again, Planned)
    assert not again.changed


def test_findings_name_cell_row_and_column() -> None:
    found = source("basic")
    places = [(f.code, f.place) for f in located(found, lint(found, Settings()))]
    assert ("MPS102", "cell 3:1:25") in places
    assert ("MPS102", "cell 5:3:26") in places


def test_cells_of_other_programs_are_not_read() -> None:
    read = source("magics")
    assert sorted(read.cell_texts()) == [2, 3]
    assert read.unread == [(4, "row 1: syntax error: invalid syntax")]


@pytest.mark.parametrize(
    ("unread", "is_fixed"),
    [
        ("device = 'cuda' if net.weight.is_cuda else 'cpu'\nlayer = ", False),
        ("layer = nn.Linear(2, 2)\nscale = ", False),
        ("print 'epoch', epoch", True),
        ("size = 2", True),
    ],
)
def test_beside_a_cell_that_does_not_parse_and_names_tensors_nothing_goes_to_mps(
    unread: str, is_fixed: bool
) -> None:
    choice = "import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
    use = "x = torch.zeros(2).to(device)\n"
    texts = [choice, unread, use]
    made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": t} for t in texts]
    whole = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    planned = plan("blank.ipynb", json.dumps(whole).encode(), Settings(), unsafe=False)
    assert isinstance(planned, Planned)
    assert ("mps" in cells(planned.after)[0]) == is_fixed
    if not is_fixed:
        (left,) = planned.result.remaining
        assert left.reason.startswith("cell 2 does not parse, and names ")


def test_what_only_looks_like_a_magic_is_python() -> None:
    text = source("magics").text
    assert "\n%not a magic\n!nor this\n" in text
    assert "\n         % 7)" in text
    assert "torch.load?" not in text
    assert "!ls" not in text


def test_a_notebook_in_another_language_is_passed_over_in_silence(cli: Cli) -> None:
    ran = cli("check", NOTEBOOKS / "julia.ipynb", "--isolated", "--no-cache")
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("name", "reason"),
    [("broken", ":1:63: not valid JSON"), ("version3", "no cells of notebook format 4")],
)
def test_what_is_no_notebook_gets_one_clear_line(name: str, reason: str) -> None:
    with pytest.raises(BadSource) as raised:
        source(name)
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_check_shows_the_line_of_the_cell(cli: Cli) -> None:
    ran = cli("check", NOTEBOOKS / "magics.ipynb", "--isolated", "--no-cache")
    assert "magics.ipynb:cell 3:5:1\n" in ran.out
    assert "5 | torch.cuda.synchronize()" in ran.out
    assert "cell 4 is left out: row 1: syntax error" in ran.err


def test_json_output_carries_the_cell(cli: Cli) -> None:
    path = NOTEBOOKS / "magics.ipynb"
    ran = cli("check", path, "--isolated", "--no-cache", "--output-format", "json")
    last = json.loads(ran.out)[-1]
    assert (last["cell"], last["location"]) == (3, {"row": 5, "column": 1})
    assert last["fix"]["edits"][0]["location"] == {"row": 5, "column": 1}


def test_a_walk_takes_notebooks_up_and_fix_writes_them(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "basic.ipynb", project)
    assert cli("check", "--isolated", "--no-cache").code == 1
    cli("fix", "--isolated", "--no-cache", "--no-verify", ".")
    assert (project / "basic.ipynb").read_bytes() == fixed("basic").after
    assert cli("check", "--isolated", "--no-cache").code == 0


def test_a_notebook_is_written_unverified_and_that_is_said(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "basic.ipynb", project)
    ran = cli("fix", "--isolated", "--no-cache", "basic.ipynb")
    assert "basic.ipynb: NOT VERIFIED: notebooks are not run" in ran.err
    assert (project / "basic.ipynb").read_bytes() == fixed("basic").after


def test_a_notebook_cannot_be_asked_to_be_verified(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "basic.ipynb", project)
    ran = cli("fix", "--isolated", "--require-verified", "basic.ipynb")
    assert (ran.code, ran.out) == (2, "")
    assert "basic.ipynb: notebooks are not run; name a script with --entry" in ran.err
    assert (project / "basic.ipynb").read_bytes() == data("basic")


def test_fixes_and_the_report_name_cells(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "magics.ipynb", project)
    options = ("--isolated", "--no-cache", "--no-verify", "--show-fixes", "--report", "r.json")
    ran = cli("fix", *options, "magics.ipynb")
    assert "[cell 3:5]" in ran.out
    (file,) = json.loads((project / "r.json").read_text())["files"]
    assert {(fix["code"], fix["cell"], fix["row"]) for fix in file["fixes"]} >= {("MPS201", 3, 5)}


def test_a_diff_goes_cell_by_cell_and_writes_nothing(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "basic.ipynb", project)
    ran = cli("fix", "--diff", "--isolated", "--no-cache", "basic.ipynb")
    assert "--- basic.ipynb:cell 3\n" in ran.out
    assert "-torch.cuda.synchronize()\n" in ran.out
    assert "No newline" not in ran.out
    assert (project / "basic.ipynb").read_bytes() == data("basic")


def test_the_cache_remembers_cells(cli: Cli, project: Path) -> None:
    shutil.copy(NOTEBOOKS / "basic.ipynb", project)
    first = cli("check", "--isolated", "--output-format", "concise")
    assert cli("check", "--isolated", "--output-format", "concise") == first
    assert "basic.ipynb:cell 3:1:25" in first.out


def test_a_diff_of_a_notebook_is_empty_where_nothing_changes() -> None:
    planned = plan("b.ipynb", fixed("basic").after, Settings(), unsafe=False)
    assert isinstance(planned, Planned)
    assert list(unified_diff(planned, "b.ipynb")) == []


def test_edits_are_looked_up_once_each_however_many_cells_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["x = 1"]}
    raw = json.dumps({"cells": [cell] * 50, "metadata": {}, "nbformat": 4}).encode()
    book = NotebookSource("many.ipynb", raw)
    edits = [Edit(block.start, block.start + 1, "y", "x") for block in book.blocks]
    asked: list[int] = []
    look_up = NotebookSource._block

    def counted(self: NotebookSource, at: int) -> Any:
        asked.append(at)
        return look_up(self, at)

    monkeypatch.setattr(NotebookSource, "_block", counted)
    after = book.with_edits(edits)
    assert cells(after.on_disk) == ["y = 1"] * 50
    assert sorted(asked) == [block.start for block in book.blocks]


def test_lines_added_behind_a_cell_end_as_its_own_do(cli: Cli, project: Path) -> None:
    sources = [
        [
            *(f"import {name}\r\n" for name in ("json", "math", "sys", "torch")),
            "from torch import nn",
        ],
        ["net = nn.Linear(2, 2)\r\n", "net = net.cuda()\r\n", "print(net(torch.ones(2).cuda()))"],
    ]
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    document = {
        "cells": [{**cell, "source": source} for source in sources],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    path = project / "lines.ipynb"
    path.write_text(json.dumps(document, indent=1))
    cli("fix", path, "--isolated", "--no-cache", "--no-verify")
    fixed = json.loads(path.read_text())["cells"]
    assert len(fixed[0]["source"]) > len(sources[0])
    for one in fixed:
        assert all(line.endswith("\r\n") for line in one["source"][:-1])
