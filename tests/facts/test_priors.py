"""What is only likely stands in `priors.json`, each row with its reason and its worth."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpslint.facts import priors
from mpslint.facts.data import read_file

PACKAGE = Path(priors.__file__).resolve().parents[1]
TABLES: dict[str, dict[str, Any]] = {
    name: table for name, table in read_file(priors.FILE).items() if name != "measured"
}
ROWS = priors.rows()
SCOPES = {"test", "value", "call", "block", "function", "file", "module", "project"}
ASKING = {"find", "matches", "asks", "rows"}
MODULES = sorted(
    path for part in ("semantics", "rules", "patterns") for path in (PACKAGE / part).rglob("*.py")
)


def regular_expressions(tree: ast.Module) -> Iterator[ast.stmt]:
    """The innermost statements that make or use a regular expression."""
    around: dict[ast.AST, ast.stmt] = {}
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            around[child] = node if isinstance(node, ast.stmt) else around.get(node, tree.body[0])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "re":
                yield around[node]


def unmarked(text: str) -> list[int]:
    """The rows of regular expressions above which no comment says of whose making the text is."""
    lines = text.split("\n")
    found = []
    for statement in regular_expressions(ast.parse(text)):
        above = lines[statement.lineno - 2].strip()
        if re.fullmatch(r"# Fact: \w*.{10,}", above) is None:
            found.append(statement.lineno)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_regular_expression_in_code_is_a_fact_with_its_source(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert unmarked(text) == []
    assert "from re import" not in text
    assert "import re as" not in text


def test_a_guess_in_code_would_be_found() -> None:
    guess = (
        'import re\n\n_MODEL = re.compile(r"model|net")\n\n\n'
        'def f(x):\n    if re.search("a", x):\n        return any(re.match("b", y) for y in x)\n'
    )
    assert unmarked(guess) == [3, 7, 8]
    fact = "import re\n\n# Fact: Python's grammar, names.\n_NAME = re.compile(r'\\w+')\n"
    assert unmarked(fact) == []


def sections_asked_for() -> set[str]:
    """The names of sections that stand in calls of the functions that read them."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                texts = (a.value for a in node.args if isinstance(a, ast.Constant))
                if ast.unparse(node.func).removeprefix("priors.") in ASKING:
                    found |= {text for text in texts if isinstance(text, str)}
            elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.iter, ast.Tuple):
                items = (i.value for i in node.iter.elts if isinstance(i, ast.Constant))
                found |= {text for text in items if text in TABLES}
    return found


def test_every_section_is_asked_for_and_none_that_is_not_there() -> None:
    assert sections_asked_for() == set(TABLES)


@pytest.mark.parametrize("section", TABLES)
def test_a_section_says_what_it_looks_at_and_is_not_empty(section: str) -> None:
    table = TABLES[section]
    assert table["looks_at"]
    assert table["rows"]
    assert ("pattern" in table) == ("ignore_case" in table)
    assert "{}" in table.get("pattern", "{}")


def test_every_row_has_a_scope_and_a_reason() -> None:
    assert [str(row) for row in ROWS if row.scope not in SCOPES or not row.reason] == []


def test_every_guess_was_measured_and_changes_something() -> None:
    """Where it does not any more it goes, and with it the code that serves it alone."""
    idle = []
    for row in ROWS:
        worth = TABLES[row.section]["rows"][row.match].get("measured", {})
        if not row.source and not worth.get("repositories") and not worth.get("fixtures"):
            idle.append(str(row))
    assert idle == []


def test_it_is_said_when_and_on_how_many_repositories_rows_were_measured() -> None:
    measured = read_file(priors.FILE)["measured"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", measured["date"])
    most = max(
        row.get("measured", {}).get("repositories", 0)
        for table in TABLES.values()
        for row in table["rows"].values()
    )
    assert 0 < most <= measured["repositories"]


def test_a_row_is_found_by_its_words_within_the_pattern_of_its_section() -> None:
    assert priors.matches("device-names", "model_device")
    assert not priors.matches("device-names", "devices")
    assert not priors.matches("device-names", None)


def test_case_counts_where_the_section_says_so() -> None:
    assert priors.matches("device-names", "DEVICE")
    assert priors.matches("step-counters", "epoch")
    assert not priors.matches("step-counters", "EPOCH")


def test_only_a_row_that_decides_alone_is_heard() -> None:
    with priors.heard() as heard:
        assert priors.matches("checkpoint-words", "model_ckpt")
    assert heard == set()
    with priors.heard() as heard:
        assert priors.matches("checkpoint-words", "the_model")
        assert not priors.matches("checkpoint-words", "alone")
    assert {str(row) for row in heard} == {"checkpoint-words/model"}


def test_what_is_heard_inside_is_not_heard_outside() -> None:
    with priors.heard() as outer:
        with priors.heard() as inner:
            priors.matches("checkpoint-words", "the_model")
        priors.matches("checkpoint-words", "the_actor")
    assert {row.match for row in inner} == {"model"}
    assert {row.match for row in outer} == {"actor"}


def test_a_package_is_heard_of_though_it_was_asked_about_before() -> None:
    assert priors.package_worlds("apex") == "cuda"
    with priors.heard() as heard:
        assert priors.package_worlds("apex") == "cuda"
    assert {row.match for row in heard} == {"apex"}


def test_a_package_without_its_row_is_any_other_though_it_was_asked_about_before() -> None:
    assert priors.package_worlds("apex") == "cuda"
    (row,) = (row for row in priors.rows("packages") if row.match == "apex")
    with priors.without(row):
        assert priors.package_worlds("apex") is None
    assert priors.package_worlds("apex") == "cuda"


def test_the_file_is_spelled_as_the_measuring_tool_writes_it() -> None:
    """One line a row, so that a change of one row is a change of one line."""
    text = (PACKAGE / "facts" / priors.FILE).read_text(encoding="utf-8")
    rows = [line for line in text.split("\n") if line.startswith("   ")]
    assert len(rows) == len(ROWS)
