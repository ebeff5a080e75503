"""Over every file below fixtures/: fixing once is enough, breaks nothing and loses no comment."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from conftest import FIXTURES

from mpslint.errors import BadSource
from mpslint.findings.suppress import comments, may_be_unused
from mpslint.fixing.fixer import fix_source
from mpslint.model import Edit
from mpslint.settings.settings import Settings
from mpslint.sources.edits import kept_outside, origin, spliced
from mpslint.sources.opening import open_source
from mpslint.sources.source import SourceFile

REFUSED = [FIXTURES / "notebooks" / name for name in ("broken.ipynb", "version3.ipynb")]
"""Broken on purpose; every other file must open."""
OLD_NAMES = [
    FIXTURES / "rules" / "async-argument" / name
    for name in ("alarm_own_method.py", "alarm_wrapped.py")
]
"""These define what has `async` for a name, which no fix can know another for."""
FILES = sorted(
    path
    for path in FIXTURES.rglob("*")
    if path.suffix in (".py", ".ipynb") and b"torch" in path.read_bytes() and path not in REFUSED
)
FOR_US = [path for path in FILES if may_be_unused(path.read_bytes())]
"""Their comments silence rules: one that silences nothing is removed by a fix of its own."""
EVERY_RULE = Settings(select=("ALL",))


def opened(path: Path) -> SourceFile:
    source = open_source(str(path), path.read_bytes())
    source.parse()
    return source


def words(source: SourceFile) -> Counter[str]:
    return Counter(comment.text for comment in comments(source))


def named(path: Path) -> str:
    return str(path.relative_to(FIXTURES))


def test_there_are_files_to_try() -> None:
    assert len(FILES) > 100


@pytest.mark.parametrize("path", REFUSED, ids=named)
def test_what_is_broken_on_purpose_is_refused_by_name(path: Path) -> None:
    with pytest.raises(BadSource) as raised:
        opened(path)
    assert str(raised.value).startswith(f"{path}:")


@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
@pytest.mark.parametrize("path", FILES, ids=named)
def test_fixing_twice_is_fixing_once(path: Path, unsafe: bool) -> None:
    source = opened(path)
    once = fix_source(source, EVERY_RULE, unsafe=unsafe)
    assert (once.error, once.misfits) == (None, ())
    if once.text == source.text and not once.applied:
        return  # Twice would be the very same once more.
    if path in OLD_NAMES:
        with pytest.raises(SyntaxError):
            ast.parse(once.text)
        once.source.parse()
    else:
        ast.parse(once.text)
    twice = fix_source(once.source, EVERY_RULE, unsafe=unsafe)
    assert (twice.text, twice.applied) == (once.text, ())
    if not unsafe and path not in FOR_US:
        assert not words(source) - words(once.source), "a comment is lost"


@pytest.mark.parametrize("path", FOR_US, ids=named)
def test_safe_fixes_lose_no_comment_but_those_for_us(path: Path) -> None:
    source = opened(path)
    # MPS900 is about comments; its own fixtures say which of them go.
    fixed = fix_source(source, EVERY_RULE._replace(ignore=("MPS900",))).source
    assert not words(source) - words(fixed)


BEFORE = "one\ntwo\nthree\n"
EDITS = (Edit(0, 0, "zero\n", ""), Edit(4, 7, "2", "two"), Edit(8, 14, "", "three\n"))


def test_what_stands_outside_the_edits_is_compared_with_the_file() -> None:
    assert kept_outside(BEFORE, spliced(BEFORE, EDITS), EDITS)
    assert not kept_outside(BEFORE, "zero\nONE\n2\n", EDITS)
    assert not kept_outside(BEFORE, "zero\none\n2\nmore\n", EDITS)


def test_an_offset_is_traced_back_through_edits() -> None:
    after = spliced(BEFORE, EDITS)
    assert origin(after.index("one"), EDITS) == BEFORE.index("one")
    assert origin(after.index("2"), EDITS) == BEFORE.index("two")
    assert origin(after.index("zero"), EDITS) == 0
