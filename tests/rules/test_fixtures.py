"""Every rule does what its fixture folder says.

`fixtures/rules/NAME/` holds, for the rule of that name:

- `alarm_*.py`: every line that ends in `# CODE` has that finding, and no other line has it;
  `# CODE@5-27` also names the columns of the token, `# CODE CODE` says that there are two;
- `silent_*.py`: the rule says nothing;
- `X.py` with `X.fixed.py`: safe fixes of this rule turn the one into the other;
- `X.py` with `X.unsafe.py`: with unsafe fixes.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.rules.registry import all_rules
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
RULES = {rule.name: rule for rule in all_rules()}
EXPECTED = re.compile(r"MPS\d{3}(?:@(\d+)-(\d+))?")
COMMENT = re.compile(r"#((?:\s*MPS\d{3}(?:@\d+-\d+)?)+)\s*$")


def files(pattern: str) -> list[object]:
    found = sorted(FIXTURES.glob(f"*/{pattern}"))
    return [pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in found]


def read(path: Path) -> SourceFile:
    return SourceFile(str(path), path.read_bytes())


def only(path: Path) -> Settings:
    """Settings that run the rule of a fixture folder; a first line `# min-torch: 2.9` is obeyed,
    and so is `# also: MPS1`, which switches on more rules."""
    settings = Settings(select=(RULES[path.parent.name].code,))
    first = path.read_text(encoding="utf-8", errors="replace").split("\n", 1)[0]
    if first.startswith("# min-torch: "):
        major, minor = first.removeprefix("# min-torch: ").split(".")
        settings = settings._replace(min_torch=(int(major), int(minor)))
    if first.startswith("# also: "):
        settings = settings._replace(extend_select=(first.removeprefix("# also: "),))
    return settings


@pytest.mark.parametrize("path", files("alarm_*.py"))
def test_every_marked_line_and_no_other_is_flagged(path: Path) -> None:
    code = RULES[path.parent.name].code
    expected: Counter[int] = Counter()
    columns: dict[int, set[tuple[int, int]]] = {}
    for row, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        comment = COMMENT.search(line)
        for mark in EXPECTED.finditer(comment.group(1)) if comment else ():
            if mark.group().startswith(code):
                expected[row] += 1
                if mark.group(1):
                    columns.setdefault(row, set()).add((int(mark.group(1)), int(mark.group(2))))
    found = [finding for finding in lint(read(path), only(path)) if finding.code == code]
    assert expected, "an alarm file marks at least one line"
    assert Counter(f.row for f in found) == expected
    for row, places in columns.items():
        assert places <= {(f.column, f.end_column) for f in found if f.row == row}


@pytest.mark.parametrize("path", files("silent_*.py"))
def test_nothing_is_flagged_where_nothing_is_wrong(path: Path) -> None:
    found = [f"{f.row}:{f.column} {f.message}" for f in lint(read(path), only(path))]
    assert found == []


def pairs() -> list[object]:
    found = []
    for kind in ("fixed", "unsafe"):
        for after in sorted(FIXTURES.glob(f"*/*.{kind}.py")):
            before = after.with_name(after.name.replace(f".{kind}.py", ".py"))
            found.append(
                pytest.param(
                    before, after, kind == "unsafe", id=f"{after.parent.name}/{after.name}"
                )
            )
    return found


@pytest.mark.parametrize(("before", "after", "unsafe"), pairs())
def test_a_fix_writes_exactly_this_and_a_second_run_changes_nothing(
    before: Path, after: Path, unsafe: bool
) -> None:
    settings = only(before)
    result = fix_source(read(before), settings, unsafe=unsafe)
    assert result.error is None
    assert result.text == read(after).text
    ast.parse(result.text)
    again = fix_source(read(after), settings, unsafe=unsafe)
    assert again.text == result.text
    assert not again.applied


def of_old_python(path: Path) -> bool:
    """Whether a fixture has to be one that only Python before 3.7 compiles."""
    shows = not path.name.startswith("silent_") and ".fixed." not in path.name
    return path.parent.name == "async-argument" and shows


@pytest.mark.parametrize("path", files("*.py"))
def test_every_fixture_is_a_file_that_python_compiles(path: Path) -> None:
    data = path.read_bytes()
    if of_old_python(path):
        with pytest.raises(SyntaxError):
            compile(data, str(path), "exec", dont_inherit=True)
        data = re.sub(rb"\basync(?= ?=|\))", b"later", data)
    compile(data, str(path), "exec", dont_inherit=True)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.name)
def test_every_rule_has_three_alarms_and_five_silences(rule: object) -> None:
    folder = FIXTURES / rule.name  # type: ignore[attr-defined]
    marked = sum(
        len(re.findall(rf"{rule.code}", comment.group(1)))  # type: ignore[attr-defined]
        for path in folder.glob("alarm_*.py")
        for line in path.read_text(encoding="utf-8").split("\n")
        if (comment := COMMENT.search(line))
    )
    silences = sum(
        1
        for path in folder.glob("silent_*.py")
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.strip()
    )
    assert marked >= 3
    assert len(list(folder.glob("silent_*.py"))) >= 2
    assert silences >= 5
