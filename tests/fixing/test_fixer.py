"""Edits are applied together or not at all, until nothing more can be fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mpslint.fixing.fixer as fixer
from mpslint.checking.linter import Linted
from mpslint.fixing.fixer import MAX_PASSES, EditConflict, EditSet, fix_source
from mpslint.model import Applicability, Edit, Finding, Fix, Severity
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

TEXT = "abcdefghij"


def edit(start: int, end: int, text: str, source: str = TEXT) -> Edit:
    return Edit(start, end, text, source[start:end])


def fix(*edits: Edit, level: Applicability = Applicability.SAFE) -> Fix:
    return Fix("fix it", edits, level)


def finding(change: Fix, row: int = 1, code: str = "MPS201") -> Finding:
    return Finding(code, "a-rule", "message", Severity.BREAKS, row, 1, row, 2, fix=change)


@st.composite
def fixes(draw: st.DrawFn) -> list[Fix]:
    """Fixes of one or two edits at any places of TEXT; few of them fit together."""
    out = []
    for _ in range(draw(st.integers(1, 8))):
        edits = []
        for _ in range(draw(st.integers(1, 2))):
            start = draw(st.integers(0, len(TEXT)))
            end = draw(st.integers(start, min(start + 3, len(TEXT))))
            edits.append(edit(start, end, draw(st.sampled_from(["", "X", "YY"]))))
        out.append(fix(*edits))
    return out


def brute_force(edits: list[Edit]) -> str:
    """Apply edits from the back, which needs no arithmetic."""
    text = TEXT
    for one in sorted(set(edits), reverse=True):
        text = text[: one.start] + one.text + text[one.end :]
    return text


def contradict(one: Edit, two: Edit) -> bool:
    """As positions say: two edits touch the same character or the same gap."""
    touched = [
        set(range(e.start, e.end)) | {g - 0.5 for g in range(e.start + 1, e.end)}
        for e in (one, two)
    ]
    for at, e in enumerate((one, two)):
        if e.start == e.end:
            touched[at] = {e.start - 0.5}
    return bool(touched[0] & touched[1])


@settings(max_examples=500, derandomize=True, deadline=None)
@given(fixes())
def test_what_is_taken_is_what_comes_out_and_no_two_edits_contradict(several: list[Fix]) -> None:
    chosen, taken = EditSet(TEXT), list[Edit]()
    for one in several:
        own = sorted(set(one.edits))
        if any(contradict(a, b) for n, a in enumerate(own) for b in own[n + 1 :]):
            with pytest.raises(EditConflict):
                chosen.add(one)
            continue
        fits = not any(contradict(a, b) for a in own for b in taken if a != b)
        assert chosen.add(one) is fits
        if fits:
            taken += [e for e in own if e not in taken]
    assert chosen.apply() == brute_force(taken)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(fixes())
def test_bytes_outside_the_edits_stay(several: list[Fix]) -> None:
    chosen, covered = EditSet(TEXT), set[int]()
    for one in several:
        try:
            if chosen.add(one):
                covered |= {at for e in one.edits for at in range(e.start, e.end)}
        except EditConflict:
            continue
    kept = [char for at, char in enumerate(TEXT) if at not in covered]
    assert [char for char in chosen.apply() if char in TEXT] == kept


def test_an_insertion_that_two_fixes_share_is_made_once() -> None:
    chosen = EditSet(TEXT)
    assert chosen.add(fix(edit(0, 0, "import x\n"), edit(2, 3, "C")))
    assert chosen.add(fix(edit(0, 0, "import x\n"), edit(4, 5, "E")))
    assert chosen.apply() == "import x\nabCdEfghij"


def test_different_insertions_at_one_place_do_not_both_land() -> None:
    chosen = EditSet(TEXT)
    assert chosen.add(fix(edit(3, 3, "X")))
    assert not chosen.add(fix(edit(3, 3, "Y")))


def test_one_name_is_given_one_value_in_a_pass() -> None:
    chosen = EditSet(TEXT)
    assert chosen.add(fix(edit(0, 0, "device = one()\n"), edit(2, 3, "C")))
    assert not chosen.add(fix(edit(4, 4, "    device = another()\n"), edit(6, 7, "G")))
    assert chosen.add(fix(edit(4, 4, "    device = one()\n"), edit(6, 7, "G")))


def test_an_argument_gives_no_name_a_value() -> None:
    chosen = EditSet(TEXT)
    assert chosen.add(fix(edit(0, 0, "enabled=False")))
    assert chosen.add(fix(edit(4, 4, "enabled=True")))


def test_a_fix_is_taken_as_a_whole_or_not_at_all() -> None:
    chosen = EditSet(TEXT)
    assert chosen.add(fix(edit(2, 4, "X")))
    assert not chosen.add(fix(edit(0, 1, "A"), edit(3, 5, "Y")))
    assert chosen.apply() == "abXefghij"


@pytest.mark.parametrize(
    "wrong",
    [Edit(0, 2, "X", "zz"), Edit(5, 3, "X", ""), Edit(-1, 0, "X", ""), Edit(10, 12, "X", "")],
)
def test_an_edit_that_does_not_fit_the_text_is_refused(wrong: Edit) -> None:
    with pytest.raises(EditConflict):
        EditSet(TEXT).add(fix(wrong))


Rule = Callable[[SourceFile], Iterator[Finding]]


@pytest.fixture
def only_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rule], None]:
    """Replace the linter by one rule."""

    def use(rule: Rule) -> None:
        def linted(source: SourceFile, *_: object, **__: object) -> Linted:
            return Linted(list(rule(source)), [])

        monkeypatch.setattr(fixer, "linted", linted)

    return use


def replaces(old: str, new: str, level: Applicability = Applicability.SAFE) -> Rule:
    def rule(source: SourceFile) -> Iterator[Finding]:
        at = source.text.find(old)
        if at >= 0:
            change = Edit(at, at + len(old), new, old)
            yield finding(Fix("replace", (change,), level), source.position(at)[0])

    return rule


def run(text: str, *, unsafe: bool = False) -> fixer.FixResult:
    return fix_source(SourceFile.from_text(text), Settings(), unsafe=unsafe)


def test_passes_go_on_until_nothing_is_left_to_fix(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("old", "new"))
    result = run("old = 1\nold = 2\nold = 3\n")
    assert result.text == "new = 1\nnew = 2\nnew = 3\n"
    assert [applied.row for applied in result.applied] == [1, 2, 3]
    assert (result.passes, result.error, result.remaining) == (4, None, ())


def test_fixes_that_undo_each_other_change_nothing(only_rule: Callable[[Rule], None]) -> None:
    def swap(source: SourceFile) -> Iterator[Finding]:
        yield from replaces("left", "right")(source)
        yield from replaces("right", "left")(source)

    only_rule(lambda source: (f for f in swap(source)))
    result = run("left = 1\n")
    assert (result.text, result.applied) == ("left = 1\n", ())
    assert result.error == "the fixes undo each other"


def test_a_fix_without_end_changes_nothing(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("x", "x + x"))
    result = run("y = x\n")
    assert result.text == "y = x\n"
    assert result.error == f"no fixed point after {MAX_PASSES} passes"


def test_a_fix_that_breaks_the_file_changes_nothing(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("1", "(1"))
    result = run("x = 1\n")
    assert result.text == "x = 1\n"
    assert result.error is not None
    assert "would break the file" in result.error


def test_a_fix_that_expects_another_text_is_left_out_and_the_others_land(
    only_rule: Callable[[Rule], None],
) -> None:
    def rules(source: SourceFile) -> Iterator[Finding]:
        yield finding(fix(Edit(0, 1, "y", "z")))
        yield from replaces("1", "2")(source)

    only_rule(lambda source: (found for found in rules(source)))
    result = run("x = 1\n")
    assert (result.text, result.error) == ("x = 2\n", None)
    assert result.misfits == ("MPS201 at 1:1 does not fit (expected 'z', found 'x')",)
    assert [left.code for left in result.remaining] == ["MPS201"]


def test_a_fix_that_contradicts_itself_is_left_out(only_rule: Callable[[Rule], None]) -> None:
    both = fix(Edit(1, 1, "a", ""), Edit(1, 1, "b", ""))
    only_rule(lambda source: iter([finding(both)]))
    result = run("x = 1\n")
    assert (result.text, result.error) == ("x = 1\n", None)
    assert result.misfits == ("MPS201 at 1:1 does not fit (two edits at 1)",)


def test_rows_of_what_was_fixed_are_those_of_the_original_file(
    only_rule: Callable[[Rule], None],
) -> None:
    def rules(source: SourceFile) -> Iterator[Finding]:
        if "import x" not in source.text:
            yield finding(fix(Edit(0, 0, "import x\n\n", "")))
        else:
            yield from replaces("old", "new")(source)

    only_rule(lambda source: (found for found in rules(source)))
    result = run("a = 1\nb = old\n")
    assert result.text == "import x\n\na = 1\nb = new\n"
    assert [applied.row for applied in result.applied] == [1, 2]


def test_unsafe_fixes_are_applied_only_on_request(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("old", "new", Applicability.UNSAFE))
    assert run("old = 1\n").text == "old = 1\n"
    assert run("old = 1\n", unsafe=True).text == "new = 1\n"


def test_suggestions_are_never_applied(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("old", "new", Applicability.DISPLAY))
    assert run("old = 1\n", unsafe=True).text == "old = 1\n"


def test_a_safe_fix_that_would_drop_a_comment_becomes_unsafe(
    only_rule: Callable[[Rule], None],
) -> None:
    only_rule(replaces("1,  # one\n     2", "1, 2"))
    text = "x = (1,  # one\n     2)\n"
    assert run(text).text == text
    assert run(text, unsafe=True).text == "x = (1, 2)\n"


def test_a_safe_fix_that_carries_the_comment_along_stays_safe(
    only_rule: Callable[[Rule], None],
) -> None:
    only_rule(replaces("x = 1  # one", "y = 2  # one"))
    assert run("x = 1  # one\n").text == "y = 2  # one\n"


def test_a_hash_in_a_string_is_no_comment(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("'#1'", "'2'"))
    assert run("x = '#1'\n").text == "x = '2'\n"


def test_newlines_and_encoding_of_the_file_are_kept(only_rule: Callable[[Rule], None]) -> None:
    only_rule(replaces("old", "new"))
    data = "# coding: latin-1\r\nold = 'ä'\r\n".encode("latin-1")
    source = SourceFile("f.py", data)
    result = fix_source(source, Settings())
    assert source.encode(result.text) == data.replace(b"old", b"new")
