"""What `select`, `ignore` and `per-file-ignores` switch on and off."""

from __future__ import annotations

import pytest

from mpslint.errors import BadSettings
from mpslint.rules.registry import all_rules
from mpslint.settings.selectors import enabled_codes, matches
from mpslint.settings.settings import Settings

EVERY = {rule.code for rule in all_rules()}
DEFAULT = {rule.code for rule in all_rules() if rule.default}
GROUP_2 = {code for code in EVERY if code.startswith("MPS2")}


def test_without_a_selection_the_default_rules_are_on() -> None:
    assert Settings().enabled("a.py") == DEFAULT


def test_all_means_also_those_that_are_off_by_default() -> None:
    assert Settings(select=("ALL",)).enabled("a.py") == EVERY


@pytest.mark.parametrize("selector", ["MPS201", "mps201", "cuda-synchronize", " MPS201 "])
def test_a_rule_is_selected_by_code_or_name(selector: str) -> None:
    assert Settings(select=(selector,)).enabled("a.py") == {"MPS201"}


def test_a_prefix_selects_its_group() -> None:
    assert Settings(select=("MPS2",)).enabled("a.py") == GROUP_2


def test_a_code_goes_over_a_prefix_whichever_side_it_stands_on() -> None:
    off = Settings(select=("MPS2",), ignore=("MPS201",)).enabled("a.py")
    assert off == GROUP_2 - {"MPS201"}
    on = Settings(select=("MPS201",), ignore=("MPS2",)).enabled("a.py")
    assert on == {"MPS201"}


def test_at_the_same_length_ignore_goes_over_select() -> None:
    assert Settings(select=("MPS201",), ignore=("MPS201",)).enabled("a.py") == frozenset()


def test_ignoring_all_but_one_rule_leaves_that_one() -> None:
    assert enabled_codes(("MPS201",), (), ("ALL",)) == {"MPS201"}


def test_extend_select_adds_to_the_default_rules() -> None:
    assert Settings(extend_select=("ALL",)).enabled("a.py") == EVERY


def test_per_file_ignores_hold_for_their_files_only() -> None:
    settings = Settings(per_file_ignores=(("tests/*", ("MPS201",)),), root="/project")
    assert "MPS201" not in settings.enabled("/project/tests/unit/a.py")
    assert "MPS201" in settings.enabled("/project/src/a.py")


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("/p/tests/a.py", "tests/*.py", True),
        ("/p/tests/deep/a.py", "tests/*.py", True),
        ("/p/src/tests/a.py", "tests/*.py", False),
        ("/p/src/conftest.py", "conftest.py", True),
        ("/p/src/a.py", "!src/*.py", False),
        ("/p/other/a.py", "!src/*.py", True),
        ("/p/src/a.py", "/p/src/*", True),
    ],
)
def test_globs_match_base_names_and_paths_from_the_settings_folder(
    path: str, glob: str, expected: bool
) -> None:
    assert matches(path, glob, "/p") is expected


@pytest.mark.parametrize(
    ("selector", "advice"),
    [
        ("MPS210x", "unknown rule 'MPS210x'"),
        ("cuda-synchronise", "did you mean cuda-synchronize?"),
        ("zzz", "see `mpslint rule --all`"),
        ("M", "unknown rule 'M'"),
        ("", "unknown rule ''"),
    ],
)
def test_a_selector_without_a_rule_is_named_with_a_close_match(selector: str, advice: str) -> None:
    with pytest.raises(BadSettings) as caught:
        Settings(select=(selector,), origin="mpslint.toml").enabled("a.py")
    assert str(caught.value).startswith("mpslint.toml: unknown rule")
    assert advice in str(caught.value)
