"""A program in other words has the same findings.

The files are the fixtures of the rules of devices and of CUDA's APIs, and the examples. What is
compared is the code of a finding, the text that it stands on, and the kind of its message; where
it stands moves.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.rules.registry import all_rules
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

from .transformations import APPENDED, NEUTRAL, WRITTEN, Transformation

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
SETTINGS = Settings(select=("MPS1", "MPS2"))
CODES = {rule.name: rule.code for rule in all_rules()}

Seen = Counter[tuple[str, str, str, tuple[str, ...]]]
"""Code, severity, text and the words of the message of each finding."""


def _folders() -> dict[str, list[Path]]:
    """Files by the rule that they are of; the examples are a group of their own."""
    groups: dict[str, list[Path]] = {}
    for path in sorted((FIXTURES / "rules").glob("*/*.py")):
        code = CODES.get(path.parent.name, "")
        if code.startswith(("MPS1", "MPS2")) and path.name.startswith(("alarm_", "silent_")):
            groups.setdefault(path.parent.name, []).append(path)
    groups["examples"] = sorted((ROOT / "examples").glob("*.py"))
    return groups


GROUPS = _folders()
FEW = [path for group in GROUPS.values() for path in group[:2]]
"""An alarm and another file of each rule."""
_LINKS = re.compile(r"\bth\b")
_MEMBERS = re.compile(r"(?<![\w.])(?:torch\.)?(cuda|nn|backends)\.")
_CHOICE = re.compile(r"\bif (.*?) else\b", re.S)
_WORDS = re.compile(r"(?<![\w.`'\"(])[a-z]{3,}(?![\w.(`'\"])")


def _plain(text: str) -> str:
    """The text of a finding as the original has it: of a whole choice its test alone, whichever
    form it has."""
    choice = _CHOICE.search(text)
    if choice:
        text = choice.group(1)
    text = text.partition(":\n")[0]
    text = NEUTRAL.sub(r"\1", text)
    text = _MEMBERS.sub(r"torch.\1.", _LINKS.sub("torch", text))
    text = "".join(text.split()).replace('"', "'")
    while text.startswith("not") or (text.startswith("(") and text.endswith(")")):
        text = text[3:] if text.startswith("not") else text[1:-1]
    return text.strip("()")


def _kind(message: str, names: frozenset[str]) -> tuple[str, ...]:
    """The words of the first clause of a message; the rest says more of the place."""
    first = re.split(r"[:;,(]", NEUTRAL.sub(r"\1", message))[0]
    return tuple(word for word in _WORDS.findall(first) if word not in names)


@cache
def _names(text: str) -> frozenset[str]:
    """Words of a message that are names of the program tell of it, not of the finding."""
    return frozenset(
        word
        for node in ast.walk(ast.parse(text))
        for word in (getattr(node, key, None) for key in ("id", "arg", "name"))
        if isinstance(word, str)
    )


def _asked(text: str) -> dict[str, str]:
    """The conditions that a transformation has named, by their names."""
    return {
        node.targets[0].id: ast.unparse(node.value)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id.startswith("asked_")
    }


def seen(text: str, path: str, names: frozenset[str], *, blank: bool = False) -> Seen:
    """What is found in a text; `blank`: without the text that findings stand on."""
    asked = _asked(text) if "asked_" in text else {}
    source = SourceFile(path, text.encode())
    lines = text.split("\n")
    found: Seen = Counter()
    for one in lint(source, SETTINGS):
        rows = lines[one.row - 1 : one.end_row]
        rows[-1] = rows[-1][: one.end_column - 1]
        rows[0] = rows[0][one.column - 1 :]
        stands_on = "" if blank else _plain("\n".join(rows))
        stands_on = _plain(asked[stands_on]) if stands_on in asked else stands_on
        found[one.code, one.severity.label, stands_on, _kind(one.message, names)] += 1
    return found


@cache
def original(path: Path) -> str:
    """A fixture as `ast` writes it, which is what transformed ones are beside."""
    return ast.unparse(ast.parse(path.read_bytes()))


@cache
def _before(path: Path, blank: bool = False) -> Seen:
    return seen(original(path), path.name, _names(original(path)), blank=blank)


def differences(before: Seen, after: Seen) -> list[str]:
    return [
        f"{sign} {code} {severity} {text or '...'}"
        for sign, some in (("lost", before - after), ("new", after - before))
        for code, severity, text, _ in some.elements()
    ]


def changes(path: Path, written: Transformation, *, blank: bool) -> list[str]:
    """The findings that come or go when a file is written differently."""
    text = original(path)
    other = written(ast.parse(text))
    if other is None:
        return []
    compile(other, str(path), "exec", dont_inherit=True)
    before = _before(path, blank)
    after = seen(other, path.name, _names(text), blank=blank)
    return [f"{path.parent.name}/{path.name}: {line}" for line in differences(before, after)]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("way", WRITTEN)
def test_a_program_in_other_words_has_the_same_findings(way: str, group: str) -> None:
    blank = way == "names say nothing"
    changed = [line for path in GROUPS[group] for line in changes(path, WRITTEN[way], blank=blank)]
    assert not changed, "\n" + "\n".join(changed)


@pytest.mark.parametrize("way", APPENDED)
def test_one_unrelated_thing_alone_changes_no_finding(way: str) -> None:
    """Two of them could make up for each other."""
    assert not [line for path in FEW for line in changes(path, APPENDED[way], blank=False)]


@pytest.mark.parametrize("way", WRITTEN)
def test_each_way_of_writing_applies_to_many_of_the_files(way: str) -> None:
    """Else the tests above would pass because nothing was changed."""
    applied = 0
    for path in (path for group in GROUPS.values() for path in group):
        text = original(path)
        applied += WRITTEN[way](ast.parse(text)) not in (None, text)
        if applied == 8:
            return
    pytest.fail(f"only {applied}")


@pytest.mark.parametrize("group", GROUPS)
def test_formatting_changes_no_finding(group: str) -> None:
    changed = []
    for path in GROUPS[group]:
        raw = path.read_text(encoding="utf-8")
        if re.search(r"#.*(noqa|mpslint:|\bmps\b)", raw):
            continue  # Comments that mean something would be lost.
        names = _names(raw)
        before = seen(raw, path.name, names, blank=True)
        after = seen(original(path), path.name, names, blank=True)
        changed += [f"{path.name}: {line}" for line in differences(before, after)]
    assert not changed, "\n" + "\n".join(changed)


# where the file lies


ELSEWHERE = [
    "cuda_course/lesson.py",
    "tests/test_it.py",
    "distributed/triton_kernels_nccl.py",
]


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("place", ELSEWHERE)
def test_what_a_file_and_its_folder_are_called_changes_no_finding(place: str, group: str) -> None:
    changed = []
    for path in GROUPS[group]:
        after = seen(original(path), place, _names(original(path)))
        changed += [f"{path.name}: {line}" for line in differences(_before(path), after)]
    assert not changed, "\n" + "\n".join(changed)


# how the path is written


PROJECT = FIXTURES / "worlds" / "project"


def found_by(cli, *arguments: str) -> dict[str, list[tuple[object, ...]]]:  # type: ignore[no-untyped-def]
    """The findings of a run, by the resolved path of their file."""
    done = cli("check", "--isolated", "--exit-zero", "--output-format", "json", *arguments)
    assert done.code == 0, done.err
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in json.loads(done.out):
        name = os.path.realpath(row["filename"])
        found.setdefault(name, []).append(
            (row["location"]["row"], row["location"]["column"], row["code"], row["message"])
        )
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.fixture
def copied(project: Path) -> Path:
    """A project whose files import each other, and some fixtures, in the current folder."""
    shutil.copytree(PROJECT, project / "repo")
    more = project / "repo" / "more"
    for group in ("device-chain-missing-mps", "cuda-method-call", "cuda-required"):
        (more / group).mkdir(parents=True)
        for path in GROUPS[group][:2]:
            shutil.copy(path, more / group)
    return project / "repo"


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder.parent)) for path in folder.rglob("*.py"))


def test_the_project_has_findings_that_hang_on_its_other_files(cli, copied: Path) -> None:  # type: ignore[no-untyped-def]
    """Else the tests below would compare little."""
    whole = found_by(cli, "--no-cache", "repo")
    for name in ("train.py", "evaluate.py"):
        lone = copied.parent / "alone" / name
        lone.parent.mkdir(exist_ok=True)
        shutil.copy(copied / name, lone)
        assert whole.get(str(copied / name)) != found_by(cli, "--no-cache", str(lone)).get(
            str(lone)
        )


SPELLINGS = {
    "with a dot": lambda folder: ["./repo"],
    "with a slash at its end": lambda folder: ["repo/"],
    "absolute": lambda folder: [str(folder)],
    "with two dots": lambda folder: ["repo/../repo"],
    "absolute with two dots": lambda folder: [f"{folder}/models/../"],
    "file by file": files,
    "file by file, the other way round": lambda folder: files(folder)[::-1],
    "file by file, absolute": lambda folder: [f"{folder.parent}/{name}" for name in files(folder)],
    "file by file, with two dots": lambda folder: [
        name.replace("repo/", "repo/../repo/") for name in files(folder)
    ],
    "folder and files": lambda folder: [files(folder)[3], "repo", f"./{files(folder)[0]}"],
    "in two processes": lambda folder: ["repo", "--jobs", "2"],
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_how_a_path_is_written_changes_no_finding(cli, copied: Path, spelling: str) -> None:  # type: ignore[no-untyped-def]
    plain = found_by(cli, "--no-cache", "repo")
    assert found_by(cli, "--no-cache", *SPELLINGS[spelling](copied)) == plain


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_the_cache_knows_hangs_on_no_spelling(cli, copied: Path, spelling: str) -> None:  # type: ignore[no-untyped-def]
    plain = found_by(cli, "--no-cache", "repo")
    found_by(cli, "repo")
    assert found_by(cli, *SPELLINGS[spelling](copied)) == plain
    assert found_by(cli, "repo") == plain


def test_one_file_alone_has_the_findings_that_it_has_among_the_others(cli, copied: Path) -> None:  # type: ignore[no-untyped-def]
    plain = found_by(cli, "--no-cache", "repo")
    alone: dict[str, list[tuple[object, ...]]] = {}
    for name in files(copied):
        alone.update(found_by(cli, "--no-cache", name))
    assert alone == plain


@pytest.mark.parametrize("where", [".", "repo", "repo/models", "repo/more/cuda-required", "/"])
def test_the_current_folder_changes_no_finding(
    cli, copied: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:  # type: ignore[no-untyped-def]
    plain = found_by(cli, "--no-cache", "repo")
    target = copied.parent / where
    monkeypatch.chdir(target)
    relative = os.path.relpath(copied, target)
    assert found_by(cli, "--no-cache", relative) == plain
    assert (
        found_by(cli, "--no-cache", *[os.path.join(relative, "..", n) for n in files(copied)])
        == plain
    )


def test_where_the_project_lies_changes_no_finding(cli, copied: Path) -> None:  # type: ignore[no-untyped-def]
    plain = found_by(cli, "--no-cache", "repo")
    for name in ("cuda_course", "tests", "site"):
        shutil.copytree(copied, copied.parent / name)
        other = found_by(cli, "--no-cache", name)
        moved = {path.replace(f"/{name}/", "/repo/", 1): rows for path, rows in other.items()}
        shutil.rmtree(copied.parent / name)
        assert moved == plain, name
