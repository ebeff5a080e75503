"""A baseline knows findings by what their lines say, wherever these go; nothing new hides in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli

MODEL = """\
import torch


def first(x):
    return x.cuda()


def second(model):
    return model.cuda()
"""
NEW = "\n\ndef third(y):\n    return y.cuda()\n"
BASELINE = "--baseline=known.json"


@pytest.fixture
def known(cli: Cli, project: Path) -> Path:
    """A file with two findings that the baseline knows."""
    path = project / "model.py"
    path.write_text(MODEL)
    assert cli("check", BASELINE, "--write-baseline").code == 0
    return path


def found(cli: Cli, *arguments: str) -> list[tuple[str, int, str]]:
    ran = cli("check", BASELINE, "--output-format=json", *arguments)
    return [
        (Path(row["filename"]).name, row["location"]["row"], row["code"])
        for row in json.loads(ran.out)
    ]


def entries(path: str = "known.json") -> list[dict[str, object]]:
    rows: list[dict[str, object]] = json.loads(Path(path).read_text())["findings"]
    return rows


def git(*arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_what_the_baseline_knows_is_not_reported(cli: Cli, known: Path) -> None:
    assert cli("check", BASELINE) == (0, "All checks passed!\n", "")
    assert cli("check").code == 1


def test_writing_it_says_how_much_and_where(cli: Cli, project: Path) -> None:
    (project / "model.py").write_text(MODEL)
    ran = cli("check", "--baseline", "known.json", "--write-baseline")
    assert ran == (0, "Wrote 2 findings to known.json.\n", "")
    assert entries()[0] == {
        "path": "model.py",
        "code": "MPS102",
        "fingerprint": entries()[0]["fingerprint"],
        "severity": "breaks",
        "text": entries()[0]["text"],
        "count": 1,
    }
    assert {row["text"] for row in entries()} == {"return x.cuda()", "return model.cuda()"}


def test_writing_it_twice_gives_the_same_bytes(cli: Cli, known: Path) -> None:
    before = Path("known.json").read_bytes()
    cli("check", BASELINE, "--write-baseline")
    assert Path("known.json").read_bytes() == before


def test_it_survives_edits_above(cli: Cli, known: Path) -> None:
    known.write_text(f"'''A head.'''\n\nx = 1\n{MODEL}")
    assert found(cli) == []


def test_it_survives_reordering(cli: Cli, known: Path) -> None:
    head, one, two = MODEL.split("\n\n\n")
    known.write_text("\n\n\n".join([head, two.rstrip("\n"), one]) + "\n")
    assert found(cli) == []


def test_it_survives_git_mv(cli: Cli, known: Path) -> None:
    git("init", "-q")
    git("add", ".")
    Path("pkg").mkdir()
    git("mv", "model.py", "pkg/net.py")
    assert found(cli) == []
    assert found(cli, "pkg/net.py") == []
    assert cli("check", BASELINE).err == ""


def test_it_survives_a_formatter(cli: Cli, known: Path) -> None:
    known.write_text(MODEL.replace("x.cuda()", "x.cuda( )  # moved").replace("    ", "\t"))
    assert found(cli) == []


def test_a_new_finding_is_reported_alone(cli: Cli, known: Path) -> None:
    known.write_text(MODEL + NEW)
    assert found(cli) == [("model.py", 13, "MPS102")]


def test_one_more_of_the_same_kind_is_new(cli: Cli, known: Path) -> None:
    known.write_text(MODEL + "\n\ndef again(x):\n    return x.cuda()\n")
    assert len(found(cli)) == 1


def test_a_copy_of_a_known_line_in_another_file_is_new(cli: Cli, known: Path) -> None:
    Path("copy.py").write_text(MODEL)
    assert [name for name, *_ in found(cli)] == ["copy.py", "copy.py"]


def test_a_moved_file_hides_its_findings_once(cli: Cli, known: Path) -> None:
    known.rename("one.py")
    Path("two.py").write_text(MODEL)
    assert len(found(cli)) == 2


def test_gone_ones_are_named_on_stderr_and_the_exit_code_stays(cli: Cli, known: Path) -> None:
    known.write_text(MODEL.replace("x.cuda()", "x"))
    ran = cli("check", BASELINE)
    assert (ran.code, ran.out) == (0, "All checks passed!\n")
    assert ran.err == (
        "warning: gone from the baseline: model.py: MPS102 return x.cuda()\n"
        "warning: 1 finding of the baseline is gone; `--write-baseline` forgets them\n"
    )


def test_writing_again_forgets_what_is_gone_and_adds_what_is_new(cli: Cli, known: Path) -> None:
    known.write_text(MODEL.replace("x.cuda()", "x") + NEW)
    cli("check", BASELINE, "--write-baseline")
    assert {row["text"] for row in entries()} == {"return model.cuda()", "return y.cuda()"}
    assert cli("check", BASELINE) == (0, "All checks passed!\n", "")


def test_a_deleted_file_is_gone_for_a_run_over_its_folder_alone(cli: Cli, known: Path) -> None:
    Path("sub").mkdir()
    Path("sub/a.py").write_text("x = 1\n")
    known.unlink()
    assert "2 findings of the baseline are gone" in cli("check", BASELINE).err
    assert cli("check", BASELINE, "sub").err == ""


def test_what_a_run_was_not_about_is_neither_gone_nor_forgotten(cli: Cli, known: Path) -> None:
    Path("other.py").write_text(CUDA_ONLY)
    cli("check", BASELINE, "--write-baseline")
    before = entries()
    for only in (["other.py"], ["--select", "MPS2"], ["--severity", "breaks", "other.py"]):
        assert cli("check", BASELINE, *only).err == ""
        cli("check", BASELINE, "--write-baseline", *only)
        assert entries() == before


def test_a_file_that_cannot_be_checked_keeps_its_entries(cli: Cli, known: Path) -> None:
    known.write_text(MODEL + "def broken(:\n")
    ran = cli("check", BASELINE, "--write-baseline", "model.py")
    assert ran.code == 2
    assert "syntax error" in ran.err
    assert len(entries()) == 2


def test_the_setting_names_the_file_from_the_settings_folder(cli: Cli, known: Path) -> None:
    Path("mpslint.toml").write_text('baseline = "known.json"\n')
    assert cli("check").code == 0
    Path("sub").mkdir()
    known.rename("sub/model.py")
    assert cli("check", "sub").code == 0


def test_an_empty_name_does_without_the_baseline_of_the_settings(cli: Cli, known: Path) -> None:
    Path("mpslint.toml").write_text('baseline = "known.json"\n')
    assert cli("check").code == 0
    assert cli("check", "--baseline=").code == 1
    assert cli("check", "--config", "baseline=").code == 1


def test_fix_leaves_what_the_baseline_knows(cli: Cli, known: Path) -> None:
    known.write_text(MODEL + NEW)
    ran = cli("fix", "--no-verify", BASELINE)
    text = known.read_text()
    assert ran.out == "Found 1 error (1 fixed, 0 remaining).\n"
    assert "return x.cuda()" in text
    assert "return model.cuda()" in text
    assert "return y.to(device)" in text


def test_check_fix_and_diff_leave_it_too(cli: Cli, known: Path) -> None:
    diff = cli("check", "--diff", BASELINE)
    assert (diff.code, diff.out) == (0, "")
    cli("check", "--fix", BASELINE)
    assert known.read_text() == MODEL


def test_stdin_is_held_against_the_baseline(
    cli: Cli, known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    def feed() -> None:
        data = io.BytesIO((MODEL + NEW).encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(data))

    feed()
    assert found(cli, "-", "--stdin-filename", "model.py") == [("model.py", 13, "MPS102")]
    feed()
    fixed = cli("fix", "-", "--stdin-filename", "model.py", BASELINE).out
    assert "return x.cuda()" in fixed
    assert "return y.to(device)" in fixed


def test_flake8_knows_the_baseline_too(flake8: Cli, known: Path) -> None:
    Path("mpslint.toml").write_text('baseline = "known.json"\n')
    known.rename("net.py")
    Path("net.py").write_text(MODEL + NEW)
    out = flake8("--select=MPS", ".").out
    assert [line.split(":")[1] for line in out.splitlines()] == ["13"]


def test_notebooks_are_known_by_the_lines_of_their_cells(cli: Cli, project: Path) -> None:
    def book(*cells: str) -> str:
        made = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": c} for c in cells]
        return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    path = project / "book.ipynb"
    old, new = "def f(x):\n    return x.cuda()", "def g(y):\n    return y.cuda()"
    path.write_text(book("import torch", old, "f(torch.ones(2))"))
    cli("check", BASELINE, "--write-baseline")
    path.write_text(book("import torch", new, "z = g(torch.ones(1))", old, "f(torch.ones(2))"))
    (row,) = json.loads(cli("check", BASELINE, "--output-format=json").out)
    assert row["cell"] == 2
    cli("fix", "--no-verify", BASELINE)
    assert "return x.cuda()" in path.read_text()
    assert "return y.to(device)" in path.read_text()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<<<<<<< HEAD\n{}", "is no JSON (a merge conflict?)"),
        (b"\xff", "is no JSON"),
        (b"[]", "is no baseline; name a file that --write-baseline made"),
        (b'{"version": 2, "findings": []}', "is a baseline of version 2, not 1"),
        (b'{"version": 1}', "an entry lacks a field"),
        (b'{"version": 1, "findings": [{"path": "a.py"}]}', "an entry lacks a field"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_one_line(
    cli: Cli, known: Path, data: bytes, reason: str
) -> None:
    Path("known.json").write_bytes(data)
    ran = cli("check", BASELINE)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {Path.cwd()}/known.json: {reason}")
    assert ran.err.count("\n") == 1


def test_a_baseline_that_is_not_there_says_how_to_make_it(cli: Cli, known: Path) -> None:
    ran = cli("check", "--baseline", "absent.json")
    assert ran.code == 2
    assert "absent.json: no such baseline; make it with `mpslint check --baseline" in ran.err


def test_write_baseline_needs_a_name(cli: Cli, known: Path) -> None:
    ran = cli("check", "--write-baseline")
    assert ran == (2, "", "error: --write-baseline needs a file: name it with --baseline FILE\n")


@pytest.mark.parametrize("named", ["../known.json", "{outside}/known.json", "link/known.json"])
def test_a_baseline_that_settings_name_outside_of_their_project_is_not_written(
    cli: Cli, known: Path, named: str
) -> None:
    outside = Path.cwd().parent
    Path("link").symlink_to(outside)
    Path("mpslint.toml").write_text(f'baseline = "{named.format(outside=outside)}"\n')
    ran = cli("check", "--write-baseline")
    assert (ran.code, ran.out) == (2, "")
    assert "mpslint.toml: its baseline" in ran.err
    assert f"lies outside of {Path.cwd()} and is not written" in ran.err
    assert not (outside / "known.json").exists()


def test_a_baseline_behind_a_link_that_leads_out_is_not_written(cli: Cli, known: Path) -> None:
    outside = Path.cwd().parent / "known.json"
    Path("known.json").rename(outside)
    before = outside.read_text()
    Path("known.json").symlink_to(outside)
    Path("mpslint.toml").write_text('baseline = "known.json"\n')
    known.write_text(MODEL + NEW)
    assert cli("check", "--write-baseline").code == 2
    assert outside.read_text() == before


def test_a_baseline_outside_is_written_where_the_command_line_names_it(
    cli: Cli, known: Path
) -> None:
    Path("mpslint.toml").write_text('baseline = "../known.json"\n')
    assert cli("check", "--baseline=../known.json", "--write-baseline").code == 0
    assert len(entries("../known.json")) == 2
    assert cli("check").code == 0


def test_parts_of_a_repository_may_share_a_baseline_above_them(cli: Cli, known: Path) -> None:
    git("init")
    Path("part").mkdir()
    known.rename("part/model.py")
    Path("part/mpslint.toml").write_text('baseline = "../shared.json"\n')
    assert cli("check", "part", "--write-baseline").code == 0
    assert [entry["path"] for entry in entries("shared.json")] == ["part/model.py"] * 2


def test_the_project_of_settings_that_extend_others_is_their_own(cli: Cli, known: Path) -> None:
    outside = Path.cwd().parent
    (outside / "other.toml").write_text('baseline = "known.json"\n')
    Path("mpslint.toml").write_text('extend = "../other.toml"\n')
    assert cli("check", "--write-baseline").code == 2
    assert not (outside / "known.json").exists()
