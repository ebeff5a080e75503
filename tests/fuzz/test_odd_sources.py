"""Whatever stands in a file, it is checked and fixed, or refused in one line that names it.

The same examples on every machine; `make fuzz` tries others, and more of them.
"""

from __future__ import annotations

import ast
import warnings

import hypothesmith
from hypothesis import assume, given
from hypothesis import strategies as st

from mpslint.checking.checking import check_bytes, guarded
from mpslint.findings.results import FileResult
from mpslint.fixing.fixing import Planned, plan
from mpslint.model import Applicability
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source
from mpslint.sources.screening import speaks_of_torch

from .budget import tries
from .mutations import NOTEBOOKS, SOURCES, about_torch, mutated

EVERY_RULE = Settings(select=("ALL",))


def checked(path: str, data: bytes) -> FileResult:
    """As a run does it: what goes wrong is a line of that file."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing of the user's code is ours to warn about
        return guarded(path, lambda: check_bytes(path, data, EVERY_RULE, named=True, around={}))


def assert_understood_or_refused(path: str, result: FileResult) -> None:
    if result.error is None:
        return
    assert "internal error" not in result.error
    assert result.error.startswith(f"{path}:")
    assert len(result.error.splitlines()) == 1
    assert result.findings == ()


def fixed(path: str, data: bytes) -> Planned | None:
    """The file fixed with everything on offer; None where it is refused."""
    planned = plan(path, data, EVERY_RULE, unsafe=True)
    if isinstance(planned, str):
        assert "internal error" not in planned
        return None
    return planned


def test_there_is_something_to_change() -> None:
    assert len(SOURCES) > 200
    assert len(NOTEBOOKS) > 3


@tries(450)
@given(mutated())
def test_a_damaged_file_is_checked_or_refused_in_a_line(data: bytes) -> None:
    assert_understood_or_refused("a.py", checked("a.py", data))


@tries(120)
@given(mutated(NOTEBOOKS))
def test_a_damaged_notebook_is_checked_or_refused_in_a_line(data: bytes) -> None:
    assert_understood_or_refused("a.ipynb", checked("a.ipynb", data))


def is_python(data: bytes) -> bool:
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return True


@tries(250)
@given(mutated())
def test_a_damaged_file_that_still_parses_is_fixed_at_once_or_left_alone(data: bytes) -> None:
    assume(speaks_of_torch(data))  # others are never fixed
    assume(checked("a.py", data).error is None)
    once = fixed("a.py", data)
    assert once is not None
    assert once.result.error is None
    assert once.result.misfits == ()
    if is_python(data):
        ast.parse(once.result.text)
    else:  # `async` was a name until Python 3.7: such a file is read, and is read again.
        assert checked("a.py", once.after).error is None
    twice = fixed("a.py", once.after)
    assert twice is not None
    assert twice.after == once.after


@tries(120)
@given(st.data())
def test_any_syntax_that_python_has_is_understood(data: st.DataObject) -> None:
    program = data.draw(hypothesmith.from_node())
    try:
        text = about_torch(program, data.draw(st.integers(0, 2**31 - 1)))
        ast.parse(text)
    except (SyntaxError, ValueError, UnicodeEncodeError):
        assume(False)  # names were joined that must not be
    result = checked("a.py", text.encode())
    assert result.error is None, result.error
    once = fixed("a.py", text.encode())
    assert once is not None
    assert once.result.error is None


@tries(60)
@given(mutated())
def test_every_finding_points_into_the_file(data: bytes) -> None:
    result = checked("a.py", data)
    assume(result.error is None)
    lines = open_source("a.py", data).text.split("\n")
    for finding in result.findings:
        assert 1 <= finding.row <= finding.end_row <= len(lines) + 1
        assert finding.column >= 1
        fix = finding.fix
        if fix is not None and fix.applicability is Applicability.SAFE:
            assert all(edit.start <= edit.end for edit in fix.edits)
