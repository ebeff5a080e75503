"""Edits of a cell's text become edits of the JSON strings that hold it."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.model import Edit
from mpslint.sources.edits import spliced
from mpslint.sources.notebook.document import Cell, parse
from mpslint.sources.notebook.splice import json_edits

LINES = ["import torch\n", "\n", "x = '\u00e9\\\\'  # \u2713\n", '\U0001f600 = "tab\t"\n', "last"]


def notebook(lines: list[str], *, in_list: bool, ascii_only: bool) -> tuple[str, Cell]:
    held: object = lines if in_list else "".join(lines)
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "source": held}
    raw = json.dumps({"cells": [code], "metadata": {}}, indent=1, ensure_ascii=ascii_only)
    return raw, parse(raw, "a.ipynb").cells[0]


@st.composite
def edits_of(draw: st.DrawFn, text: str) -> list[Edit]:
    """Up to three edits in order that touch nowhere."""
    out, at = [], 0
    for _ in range(draw(st.integers(1, 3))):
        if at > len(text):
            break
        start = draw(st.integers(at, len(text)))
        end = draw(st.integers(start, min(start + 9, len(text))))
        new = draw(st.sampled_from(["", "y", "a\n", "\nb", 'p "q"\n\u00fc\n', "\n"]))
        out.append(Edit(start, end, new, text[start:end]))
        at = end + 1
    return out


@settings(max_examples=600, derandomize=True, deadline=None)
@given(st.data(), st.booleans(), st.booleans(), st.integers(1, len(LINES)))
def test_the_cell_reads_as_edited_and_the_rest_is_untouched(
    data: st.DataObject, in_list: bool, ascii_only: bool, count: int
) -> None:
    raw, cell = notebook(LINES[-count:], in_list=in_list, ascii_only=ascii_only)
    edits = data.draw(edits_of(cell.text))
    after = spliced(raw, json_edits(raw, cell, edits))
    whole = json.loads(after)
    assert "".join(whole["cells"][0]["source"]) == spliced(cell.text, edits)
    whole["cells"][0]["source"] = None
    expected = json.loads(raw)
    expected["cells"][0]["source"] = None
    assert whole == expected


def test_added_lines_become_strings_of_their_own_in_the_layout_of_the_list() -> None:
    raw, cell = notebook(["a\n", "b"], in_list=True, ascii_only=True)
    after = spliced(raw, json_edits(raw, cell, [Edit(2, 2, "x\ny\n", "")]))
    expected, _ = notebook(["a\n", "x\n", "y\n", "b"], in_list=True, ascii_only=True)
    assert after == expected


def test_a_removed_line_takes_its_string_along() -> None:
    raw, cell = notebook(["a\n", "b\n", "c"], in_list=True, ascii_only=True)
    after = spliced(raw, json_edits(raw, cell, [Edit(2, 4, "", "b\n")]))
    assert after == notebook(["a\n", "c"], in_list=True, ascii_only=True)[0]
