"""The flake8 plugin says what `mpslint check` says, through the real flake8."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, FIXTURES, Cli

import mpslint.checking.linter
from mpslint.flake8_plugin import Plugin
from mpslint.rules.registry import all_rules

Found = set[tuple[str, int, int, str, str]]
GROUPS = ",".join(sorted({rule.code[:4] for rule in all_rules()}))
OPT_IN = [rule for rule in all_rules() if not rule.default]
AWKWARD = {
    "latin1.py": "# coding: latin-1\nimport torch\nx = 'größe'; torch.cuda.synchronize()\n".encode(
        "latin-1"
    ),
    "bom.py": b"\xef\xbb\xbfimport torch\ntorch.cuda.synchronize()\n",
    "crlf.py": CUDA_ONLY.replace("\n", "\r\n").encode(),
    "cr.py": CUDA_ONLY.replace("\n", "\r").encode(),
    "mixed.py": b"import torch\r\n\x0c\ntorch.cuda.synchronize()\rx = 1\n",
    "wide.py": "import torch\nx = '名前𝕏'; torch.cuda.synchronize()\n".encode(),
    "tabs.py": b"import torch\nif 1:\n\ttorch.cuda.synchronize()",
    "noqa.py": b"import torch\ntorch.cuda.synchronize()  # noqa: MPS201\n"
    b"torch.cuda.synchronize(\n)  # noqa\ntorch.cuda.synchronize()  # mpslint: ignore\n",
    "skipped.py": b"# mpslint: cuda-only\nimport torch\ntorch.cuda.synchronize()\n",
    "flake8_noqa.py": b"# flake8: noqa\nimport torch\ntorch.cuda.synchronize()\n",
}


def flake8(*arguments: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--jobs=1", *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True)


def reported(ran: subprocess.CompletedProcess[bytes]) -> Found:
    assert ran.stderr == b""
    found = set()
    for line in ran.stdout.decode().splitlines():
        path, row, column, text = line.split(":", 3)
        code, _, message = text.strip().partition(" ")
        found.add((path.removeprefix("./"), int(row), int(column), code, message))
    return found


def checked(cli: Cli, *arguments: str) -> Found:
    ran = cli("check", "--no-cache", "--output-format", "json", *arguments)
    return {
        (
            str(Path(row["filename"]).relative_to(Path.cwd())),
            row["location"]["row"],
            row["location"]["column"],
            row["code"],
            row["message"],
        )
        for row in json.loads(ran.out)
    }


LISTED = """
import sys
from mpslint.cli import run
run(sys.argv[1:])
print("\\n" + " ".join(sys.modules), end="")
"""
LINE = re.compile(r"(.+?):(\d+):(\d+): (MPS\d+) (?:\[\*\] )?(.+)")


def listed(*arguments: str) -> tuple[Found, set[str]]:
    """What `check` finds in a process of its own, in lines that show no fix, and the modules that
    it imported."""
    shown = ("check", "--no-cache", "--quiet", "--jobs", "1", "--output-format", "concise")
    command = [sys.executable, "-c", LISTED, *shown, *arguments]
    wide = {**os.environ, "COLUMNS": "9999"}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=wide)
    *lines, modules = ran.stdout.split("\n")
    found = set()
    for line in filter(None, lines):
        told = LINE.fullmatch(line)
        assert told, line
        path, row, column, code, message = told.groups()
        found.add((path, int(row), int(column), code, message))
    return found, set(modules.split())


@pytest.fixture
def corpus(project: Path) -> Path:
    """Every fixture of every rule, and files with awkward bytes."""
    (project / "rules").symlink_to(FIXTURES / "rules")
    for name, data in AWKWARD.items():
        (project / name).write_bytes(data)
    return project


def parses(path: Path) -> bool:
    try:
        ast.parse(path.read_bytes())
    except SyntaxError:
        return False
    return True


def agree(told: Found, theirs: Found, corpus: Path) -> None:
    mine = {found for found in told if parses(corpus / found[0])}  # flake8 says E999 of others
    assert len({code for *_, code, _ in mine}) > 10
    assert theirs == mine


def test_flake8_and_check_agree_on_every_fixture_and_neither_libcst_nor_torch_is_needed(
    cli: Cli, corpus: Path
) -> None:
    """Nor for what is promised of fixes: a move behind a test for CUDA asks whether all such tests
    can go. Only output that shows fixes builds them, and the question what is left behind a port;
    the gates of one file stand beside comments that only libcst can move."""
    told, modules = listed("--select", "ALL", "--extend-exclude", "gates.py", ".", "rules")
    assert "mpslint.patterns.gates" in modules
    assert modules & {"libcst", "torch"} == set()
    gates = sorted(str(path.relative_to(corpus)) for path in corpus.glob("rules/*/gates.py"))
    assert gates
    told |= checked(cli, "--select", "ALL", *gates)
    agree(told, reported(flake8("--select", GROUPS, ".", "rules", cwd=corpus)), corpus)


def test_flake8_and_check_agree_on_what_is_on_by_default(cli: Cli, corpus: Path) -> None:
    """Of the files in which each rule finds something: what it says of all is compared above."""
    alarms = sorted(str(path.relative_to(corpus)) for path in corpus.glob("rules/*/alarm_*.py"))
    told = checked(cli, *AWKWARD, *alarms)
    agree(told, reported(flake8("--select", "MPS", *AWKWARD, *alarms, cwd=corpus)), corpus)


def test_default_rules_are_on_beside_flake8s_own_without_any_option(
    corpus: Path,
) -> None:
    codes = {code for *_, code, _ in reported(flake8("wide.py", cwd=corpus))}
    assert "MPS201" in codes
    assert "E702" in codes


def test_rules_that_are_off_by_default_are_switched_on_by_flake8s_options(
    cli: Cli, corpus: Path
) -> None:
    codes = ",".join(rule.code for rule in OPT_IN)
    # What both say of each fixture is compared above; here it is which rules are on.
    theirs = [f"rules/{rule.name}" for rule in OPT_IN]
    expected = checked(cli, "--select", codes, *theirs)
    assert {code for *_, code, _ in expected} == {rule.code for rule in OPT_IN}
    selected = reported(flake8(f"--select={codes}", *theirs, cwd=corpus))
    extended = reported(flake8(f"--extend-select={codes}", *theirs, cwd=corpus))
    assert selected == expected
    assert {found for found in extended if found[3] in codes} == expected
    default = reported(flake8("--select=MPS", *theirs, cwd=corpus))
    assert not {code for *_, code, _ in default} & {rule.code for rule in OPT_IN}


def test_flake8s_ignore_and_per_file_ignores_hold(corpus: Path) -> None:
    assert (
        reported(flake8("--select=MPS", "--extend-ignore=MPS201", "wide.py", cwd=corpus)) == set()
    )
    option = "--per-file-ignores=wide.py:MPS201"
    assert reported(flake8("--select=MPS", option, "wide.py", cwd=corpus)) == set()


def test_disable_noqa_shows_what_noqa_silences_and_nothing_else(corpus: Path) -> None:
    ran = flake8("--select=MPS", "--disable-noqa", "noqa.py", "skipped.py", cwd=corpus)
    assert {(path, row) for path, row, *_ in reported(ran)} == {("noqa.py", 2), ("noqa.py", 3)}


def test_the_settings_of_mpslint_hold(project: Path) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "a.py").write_text(CUDA_ONLY)
    (project / "b.py").write_text(CUDA_ONLY)
    (project / "sub" / "mpslint.toml").write_text('ignore = ["MPS201"]\n')
    assert {path for path, *_ in reported(flake8("--select=MPS", ".", cwd=project))} == {"b.py"}


def test_stdin_is_checked_under_its_display_name(project: Path) -> None:
    (project / "mpslint.toml").write_text('[per-file-ignores]\n"tests/*" = ["MPS201"]\n')
    data = CUDA_ONLY.encode()
    name = "--stdin-display-name=tests/a.py"
    assert reported(flake8("--select=MPS", name, "-", cwd=project, stdin=data)) == set()
    assert len(reported(flake8("--select=MPS", "-", cwd=project, stdin=data))) == 1


def test_a_fault_in_the_settings_is_one_finding_per_file_and_no_traceback(project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    (project / "mpslint.toml").write_text("selct = []\n")
    ((path, row, column, code, message),) = reported(flake8("--select=MPS", ".", cwd=project))
    assert (path, row, column, code) == ("a.py", 1, 1, "MPS999")
    assert message.endswith("mpslint.toml: unknown key 'selct'; did you mean 'select'?")


def test_an_internal_error_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a fault\nin two lines")

    monkeypatch.setattr(mpslint.checking.linter, "lint", broken)
    plugin = Plugin(ast.parse(CUDA_ONLY), CUDA_ONLY.splitlines(keepends=True), "a.py")
    assert list(plugin.run()) == [
        (1, 0, "MPS999 internal error: ZeroDivisionError: a fault in two lines", Plugin)
    ]


QUIET = """
import ast, sys
from mpslint.flake8_plugin import Plugin
text = "import numpy\\n"
assert list(Plugin(ast.parse(text), [text], "a.py").run()) == []
print(sorted(name for name in sys.modules if name.startswith("mpslint.")))
"""


def test_a_file_without_torch_imports_nothing() -> None:
    ran = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert (
        ran.stdout == "['mpslint.flake8_plugin', 'mpslint.sources', 'mpslint.sources.screening']\n"
    )
