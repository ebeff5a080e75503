"""Sets of files as whole numbers."""

from __future__ import annotations

from mpslint.project.layout.file_sets import FileSets


def test_a_set_has_the_files_that_it_was_made_of() -> None:
    sets = FileSets()
    assert sets.paths(sets.of(("b.py", "a.py"))) == ["b.py", "a.py"]


def test_no_files_are_the_empty_set() -> None:
    assert FileSets().of(()) == 0
    assert FileSets().paths(0) == []


def test_what_is_in_two_sets_is_there_once_in_both_together() -> None:
    sets = FileSets()
    both = sets.of(("a.py", "b.py")) | sets.of(frozenset({"b.py", "c.py"}))
    assert sorted(sets.paths(both)) == ["a.py", "b.py", "c.py"]


def test_sets_without_a_common_file_have_no_common_bit() -> None:
    sets = FileSets()
    assert not sets.of(("a.py",)) & sets.of(["b.py"])
    assert sets.of(("a.py", "b.py")) & sets.of(["b.py"])


def test_the_same_files_are_the_same_set_however_often_others_were_asked_about() -> None:
    sets = FileSets()
    project = tuple(f"{number}.py" for number in range(200))
    first = sets.of(project)
    for number in range(100):
        sets.of((*project, f"other{number}.py"))
    assert sets.of(project) == first == sets.of(list(project))
