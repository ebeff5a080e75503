"""Bad input gets one clear line and exit code 2, and nothing is lost."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli, Ran

import mpslint.sources.writer


def one_line(ran: Ran, *parts: str) -> None:
    """The command failed with one line on stderr that says all of `parts`."""
    assert ran.code == 2
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    for part in parts:
        assert part in ran.err


BROKEN = {
    "not-utf8": (b"import torch\nx = '\xff'\n", "not valid utf-8 at byte 18; save it as UTF-8"),
    "utf-16": ("import torch\n".encode("utf-16"), "is UTF-16, which Python does not read"),
    "null-bytes": (b"import torch\nx = 1\0\n", "contains null bytes"),
    "unknown-encoding": (b"# coding: klingon\nimport torch\n", "unknown encoding: klingon"),
    "syntax-error": (b"import torch\ndef f(:\n", "bad.py:2:7: syntax error: "),
    "python-2": (b"import torch\nprint 'x'\n", "bad.py:2:1: syntax error: "),
    "deep": (b"import torch\nx = " + b"-" * 100_000 + b"1\n", "bad.py"),
    "brackets": (b"import torch\nx = " + b"(" * 1000 + b")" * 1000 + b"\n", "bad.py"),
}


@pytest.mark.parametrize("command", ["check", "fix"])
@pytest.mark.parametrize(("data", "reason"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_no_python_source(
    cli: Cli, project: Path, command: str, data: bytes, reason: str
) -> None:
    bad = project / "bad.py"
    bad.write_bytes(data)
    ran = cli(command, "bad.py")
    one_line(ran, "bad.py", reason)
    assert ran.out == ""
    assert bad.read_bytes() == data


@pytest.mark.parametrize("name", ["not-utf8", "null-bytes", "syntax-error"])
def test_a_broken_file_without_torch_is_said_too_when_it_is_named(
    cli: Cli, project: Path, name: str
) -> None:
    data, _ = BROKEN[name]
    (project / "bad.py").write_bytes(data.replace(b"torch", b"other"))
    one_line(cli("check", "bad.py"), "bad.py")


def test_a_broken_file_does_not_keep_the_others_from_being_checked_and_fixed(
    cli: Cli, project: Path
) -> None:
    (project / "bad.py").write_text("import torch; torch.cuda.synchronize()\ndef f(:\n")
    (project / "good.py").write_text(CUDA_ONLY)
    checked = cli("check", "--output-format", "concise")
    one_line(checked, "bad.py:2:7: syntax error")
    assert checked.out.startswith("good.py:3:1: MPS201")
    one_line(cli("fix"), "bad.py:2:7: syntax error")
    assert (project / "good.py").read_text() == PORTABLE


OLD = (
    "import torch\n\n\ndef step(model, x):\n    torch.cuda.synchronize()\n"
    "    return model(x.cuda(async=True))\n"
)


def test_a_file_of_the_time_when_async_was_a_name_is_read_as_it_was_meant(
    cli: Cli, project: Path
) -> None:
    (project / "old.py").write_text(OLD)
    checked = cli("check", "--select", "MPS201,MPS414", "--output-format", "concise", "old.py")
    assert [line.split(" ")[:2] for line in checked.out.splitlines()[:2]] == [
        ["old.py:5:5:", "MPS201"],
        ["old.py:6:25:", "MPS414"],
    ]
    assert "`non_blocking=`" in checked.out
    assert cli("fix", "old.py").code == 0
    fixed = (project / "old.py").read_text()
    compile(fixed, "old.py", "exec")
    assert ".to(" in fixed
    assert "non_blocking=True" in fixed
    assert "torch.cuda.synchronize()\n    return" not in fixed


def test_that_python_cannot_read_a_file_is_said_when_the_rule_is_off(
    cli: Cli, project: Path
) -> None:
    (project / "old.py").write_text(OLD)
    ran = cli("check", "--select", "MPS201", "--output-format", "concise", "old.py")
    assert ran.out.startswith("old.py:5:5: MPS201")
    assert "old.py:6:25: `async` is a keyword since Python 3.7" in ran.err


def test_a_file_of_that_time_without_torch_stays_a_syntax_error(cli: Cli, project: Path) -> None:
    (project / "old.py").write_text("def step(x):\n    return x.copy(async=True)\n")
    one_line(cli("check", "old.py"), "old.py:2:19: syntax error")


def test_an_empty_file_is_clean(cli: Cli, project: Path) -> None:
    (project / "empty.py").touch()
    assert cli("check", "empty.py") == (0, "All checks passed!\n", "")
    assert cli("fix", "empty.py").code == 0
    assert (project / "empty.py").read_bytes() == b""


def test_a_file_of_5_megabytes_is_checked_and_fixed(cli: Cli, project: Path) -> None:
    big = project / "big.py"
    filler = "value = [" + "1, " * 200 + "]\n"
    text = CUDA_ONLY + filler * (5_000_000 // len(filler) + 1)
    big.write_text(text)
    assert cli("check", "-q", "--output-format", "concise", "big.py").out.startswith("big.py:3:1:")
    assert cli("fix", "--no-verify", "big.py").code == 0
    assert big.read_text() == text.replace(CUDA_ONLY, PORTABLE)


def test_a_file_over_the_size_limit_is_skipped_with_a_clear_line(cli: Cli, project: Path) -> None:
    (project / "mpslint.toml").write_text("max-file-size = 20\n")
    (project / "a.py").write_text(CUDA_ONLY)
    size = f"{len(CUDA_ONLY)}"
    assert cli("check", "a.py") == (
        0,
        "All checks passed!\n",
        f"warning: a.py: skipped: {size} bytes, and max-file-size is 20\n",
    )


def test_a_loop_of_folders_by_symlink_ends(cli: Cli, project: Path) -> None:
    (project / "a").mkdir()
    (project / "a" / "train.py").write_text(CUDA_ONLY)
    os.symlink("..", project / "a" / "up")
    os.symlink("nowhere", project / "a" / "dangling.py")
    ran = cli("check", "--statistics", "-q")
    assert ran == (1, "1\tMPS201\t[*] cuda-synchronize\n", "")


def test_a_dangling_symlink_named_outright_is_an_error(cli: Cli, project: Path) -> None:
    os.symlink("nowhere", project / "dangling.py")
    one_line(cli("check", "dangling.py"), "dangling.py: cannot be read: no such file")


@pytest.mark.parametrize("command", ["check", "fix"])
def test_an_unreadable_file(
    cli: Cli, project: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who runs as root can read everything, so the system's refusal is played."""
    (project / "a.py").write_text(CUDA_ONLY)
    (project / "a.py").chmod(0)
    if os.geteuid() == 0:
        real = open

        def refuse(path: object, *rest: object, **more: object) -> object:
            if str(path).endswith("a.py"):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return real(path, *rest, **more)  # type: ignore[call-overload]

        monkeypatch.setattr("builtins.open", refuse)
    one_line(cli(command, "a.py"), "a.py: cannot be read: permission denied")


def test_a_folder_with_a_name_like_a_file_is_walked(cli: Cli, project: Path) -> None:
    (project / "package.py").mkdir()
    (project / "package.py" / "a.py").write_text(CUDA_ONLY)
    assert cli("check", "-q", "--output-format", "concise").out.startswith("package.py/a.py:3:1")


def test_a_file_that_changes_while_it_is_fixed_keeps_the_change(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project / "a.py"
    path.write_text(CUDA_ONLY)
    real = mpslint.sources.writer.replace

    def edit_first(*arguments: object) -> None:
        path.write_text("# somebody's edit\n" + CUDA_ONLY)
        real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(mpslint.sources.writer, "replace", edit_first)
    ran = cli("fix", "--no-verify", "a.py")
    one_line(ran, "a.py: has changed since it was read; run mpslint again; the file is unchanged")
    assert path.read_text() == "# somebody's edit\n" + CUDA_ONLY


@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.ENOSPC, "os.fsync"),
        (errno.EROFS, "tempfile.mkstemp"),
        (errno.EACCES, "tempfile.mkstemp"),
    ],
    ids=["full-disk", "read-only-disk", "read-only-folder"],
)
def test_a_place_that_cannot_be_written_to(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, number: int, step: str
) -> None:
    (project / "a.py").write_text(CUDA_ONLY)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(step, refuse)
    ran = cli("fix", "--no-verify", "--no-cache", "a.py")
    one_line(ran, f"a.py: cannot be written: {os.strerror(number).lower()}; the file is unchanged")
    assert (project / "a.py").read_text() == CUDA_ONLY
    assert os.listdir(project) == ["a.py"]
    assert "MPS201" in ran.out


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_really_read_only_folder(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    project.chmod(0o555)
    try:
        one_line(cli("fix", "--no-verify", "a.py"), "cannot be written: permission denied")
    finally:
        project.chmod(0o755)


def test_a_read_only_file_is_left_alone(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY)
    (project / "a.py").chmod(0o444)
    one_line(cli("fix", "--no-verify", "a.py"), "a.py: is read-only; make it writable first")
    assert (project / "a.py").read_text() == CUDA_ONLY


def test_one_file_that_cannot_be_written_does_not_keep_the_others(cli: Cli, project: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (project / name).write_text(CUDA_ONLY)
    (project / "b.py").chmod(0o444)
    one_line(cli("fix", "--no-verify"), "b.py: is read-only")
    texts = [(project / name).read_text() for name in ("a.py", "b.py", "c.py")]
    assert texts == [PORTABLE, CUDA_ONLY, PORTABLE]


def test_an_unknown_rule_code_on_the_command_line(cli: Cli, project: Path) -> None:
    one_line(cli("check", "--select", "MPS20I"), "unknown rule 'MPS20I'; did you mean MPS2")
    one_line(cli("check", "--ignore", "nope"), "unknown rule 'nope'; see `mpslint rule --all`")


@pytest.mark.parametrize("key", ["select", "ignore", "extend-select"])
def test_an_unknown_rule_code_in_a_settings_file(cli: Cli, project: Path, key: str) -> None:
    (project / "mpslint.toml").write_text(f'{key} = ["MPS20I"]\n')
    (project / "a.py").write_text("x = 1\n")
    one_line(cli("check"), f"{project / 'mpslint.toml'}: unknown rule 'MPS20I'")


def test_an_unknown_rule_code_in_per_file_ignores(cli: Cli, project: Path) -> None:
    (project / "mpslint.toml").write_text('[per-file-ignores]\n"a.py" = ["MPS20I"]\n')
    (project / "b.py").write_text("x = 1\n")
    one_line(cli("check"), f"{project / 'mpslint.toml'}: unknown rule 'MPS20I'")


def test_an_unknown_settings_key(cli: Cli, project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.mpslint]\nselct = []\n")
    place = str(project / "pyproject.toml")
    one_line(cli("check"), f"{place}: unknown key 'selct'; did you mean 'select'?")


def test_a_settings_file_that_cannot_be_read(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "mpslint.toml").write_text("")
    real = open

    def refuse(path: object, *rest: object, **more: object) -> object:
        if str(path).endswith("mpslint.toml"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", refuse)
    one_line(cli("check"), "mpslint.toml: cannot be read: permission denied")
