"""`mpslint fix`: what is written, what is kept, what is said, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import CUDA_ONLY, PORTABLE, Cli

UNFIXABLE = "import torch\n\nx = torch.cuda.get_device_properties(0)\n"


@pytest.fixture
def train(project: Path) -> Path:
    path = project / "train.py"
    path.write_text(CUDA_ONLY, encoding="utf-8")
    return path


class Verifier:
    """Stands in for `mpslint.verify.verify`, which has tests of its own."""

    def __init__(self) -> None:
        self.verdict, self.reason = "pass", ""
        self.requests: list[object] = []
        self.runs: list[object] = []
        self.on_call: Callable[[], None] = lambda: None

    def __call__(self, request: object, progress: object = None) -> object:
        self.requests.append(request)
        self.on_call()
        return SimpleNamespace(
            verdict=self.verdict,
            reason=self.reason,
            runs=self.runs,
            headline=f"{self.verdict} ({self.reason})",
            to_text=lambda: f"train.py: {self.verdict}",
            to_json=lambda: json.dumps({"verdict": self.verdict}),
        )


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> Verifier:
    import mpslint.verify

    stand_in = Verifier()
    monkeypatch.setattr(mpslint.verify, "verify", stand_in, raising=False)
    return stand_in


def test_a_single_script_is_verified_and_written(cli: Cli, train: Path, verifier: Verifier) -> None:
    ran = cli("fix", "train.py")
    assert ran.code == 0
    assert train.read_text() == PORTABLE
    (request,) = verifier.requests
    assert request.script == str(train)  # type: ignore[attr-defined]
    assert request.patched == {str(train): PORTABLE.encode()}  # type: ignore[attr-defined]
    assert "verified: the fixed script passed; writing it" in ran.out
    assert ran.out.endswith("Found 1 error (1 fixed, 0 remaining).\n")


def test_what_is_about_to_run_is_said_before_it_runs(
    cli: Cli, train: Path, verifier: Verifier, capfd: pytest.CaptureFixture[str]
) -> None:
    said: list[str] = []
    verifier.on_call = lambda: said.append(capfd.readouterr().out)
    cli("fix", "train.py", "--python", sys.executable, "--steps", "7", "--", "--lr", "1")
    assert said[0].startswith(f"running: {sys.executable} train.py --lr 1\n")
    assert "on cpu, mps; 7 steps" in said[0]
    assert "in a copy of its folder, without network" in said[0]


def test_the_file_is_as_it_was_while_the_verification_runs(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    seen: list[str] = []
    verifier.on_call = lambda: seen.append(train.read_text())
    cli("fix", "train.py")
    assert seen == [CUDA_ONLY]


def test_a_failed_verification_keeps_the_file_and_exits_3(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    verifier.verdict, verifier.reason = "fail", "simulated mps: TypeError at train.py:3"
    ran = cli("fix", "train.py")
    assert ran.code == 3
    assert train.read_text() == CUDA_ONLY
    assert (
        "NOT WRITTEN: verification failed (simulated mps: TypeError at train.py:3); "
        "the original is kept\n"
    ) in ran.out
    assert "train.py:3:1" in ran.out
    assert "fixed" not in ran.out.splitlines()[-2]


def test_no_fix_that_a_run_has_just_refused_is_offered(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    verifier.verdict = "fail"
    assert "fixable" not in cli("fix", "train.py").out


PEAK = "torch.cuda.reset_peak_memory_stats()"
TWICE = f"import torch\n\ntorch.cuda.synchronize()\nx = 1\nprint(x)\n{PEAK}\n"


class TestAFailureInALineThatAFixWrote:
    @pytest.fixture
    def half_wrong(self, train: Path, verifier: Verifier) -> Verifier:
        """The rewrite fails in what became of line 6, and runs without that."""
        train.write_text(TWICE)

        def judge() -> None:
            patched = verifier.requests[-1].patched[str(train)].decode()  # type: ignore[attr-defined]
            rows = patched.splitlines()
            both = rows[-1] == f"    {PEAK}"
            verifier.verdict = "fail" if both else "pass"
            error = {"file": str(train), "line": len(rows), "type": "Error", "message": "no"}
            verifier.runs = [SimpleNamespace(verdict="fail", error=error)] if both else []

        verifier.on_call = judge
        return verifier

    def test_the_rest_is_tried_once_more_and_written(
        self, cli: Cli, train: Path, half_wrong: Verifier
    ) -> None:
        ran = cli("fix", "train.py")
        assert ran.code == 3
        assert len(half_wrong.requests) == 2
        assert train.read_text() == PORTABLE + f"x = 1\nprint(x)\n{PEAK}\n"

    def test_it_is_shown_with_its_line_in_the_file_as_it_was(
        self, cli: Cli, train: Path, half_wrong: Verifier
    ) -> None:
        out = cli("fix", "train.py").out
        assert f"REJECTED: train.py:6: {PEAK}" in out
        assert f"  +    {PEAK}" in out
        assert "next: rewrite this line by hand, then `mpslint verify train.py`" in out

    def test_nothing_is_written_when_the_rest_fails_as_well(
        self, cli: Cli, train: Path, verifier: Verifier
    ) -> None:
        train.write_text(TWICE)
        error = {"file": str(train), "line": 4, "type": "Error", "message": "no"}
        verifier.verdict, verifier.runs = "fail", [SimpleNamespace(verdict="fail", error=error)]
        assert cli("fix", "train.py").code == 3
        assert train.read_text() == TWICE


class TestAFailureInAFileThatWasNotFixed:
    @pytest.fixture
    def layers(self, train: Path, verifier: Verifier) -> Path:
        """A file beside the script, in whose second line the fixed script fails."""
        path = train.with_name("layers.py")
        error = {"file": str(path), "line": 2, "type": "Error", "message": "no"}
        verifier.verdict, verifier.runs = "fail", [SimpleNamespace(verdict="fail", error=error)]
        return path

    def test_the_command_that_fixes_both_is_told(self, cli: Cli, layers: Path) -> None:
        layers.write_text("import torch\nONES = torch.ones(2).cuda()\n")
        ran = cli("fix", "train.py")
        assert ran.code == 3
        assert (
            "next: layers.py has a fix of its own; to make and run both: "
            "`mpslint fix --entry train.py train.py layers.py`\n"
        ) in ran.out

    def test_where_it_has_no_fix_its_line_is_named(self, cli: Cli, layers: Path) -> None:
        layers.write_text(UNFIXABLE)
        ran = cli("fix", "train.py")
        assert ran.code == 3
        assert (
            "next: nothing was fixed in layers.py, which fails at line 2: rewrite that line, or "
            "what it is given, by hand\n"
        ) in ran.out

    def test_a_file_of_somebody_elses_is_not_advised_on(
        self, cli: Cli, layers: Path, train: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        layers.write_text("import torch\nONES = torch.ones(2).cuda()\n")
        script = train.rename(tmp_path_factory.mktemp("elsewhere") / "train.py")
        ran = cli("fix", str(script))
        assert ran.code == 3
        assert "next:" not in ran.out


@pytest.mark.parametrize("paths", [["."], ["train.py", "other.py"]], ids=["a folder", "files"])
def test_that_nothing_was_run_is_said_where_no_script_was_named(
    cli: Cli, train: Path, paths: list[str]
) -> None:
    (train.parent / "other.py").write_text("x = 1\n")
    out = cli("fix", *paths).out
    assert "NOT VERIFIED: nothing was run, since no script was named." in out
    assert "--entry SCRIPT" in out


@pytest.mark.parametrize("options", [["--no-verify"], ["--diff"], ["--quiet"]])
def test_that_nothing_was_run_is_not_said_where_nobody_would_run_anything(
    cli: Cli, train: Path, options: list[str]
) -> None:
    assert "NOT VERIFIED" not in cli("fix", *options, ".").out


def test_a_long_reason_why_nothing_was_proved_is_not_said_again(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    why = "cpu: the original cannot run here: packages do not fit each other, as they say"
    verifier.verdict, verifier.reason = "inconclusive", why
    out = cli("fix", "train.py").out
    assert "NOT VERIFIED (inconclusive: as said above): nothing was proved" in out


@pytest.mark.parametrize("verdict", ["inconclusive", "skipped"])
def test_what_was_not_proved_is_written_and_loudly_called_so(
    cli: Cli, train: Path, verifier: Verifier, verdict: str
) -> None:
    verifier.verdict, verifier.reason = verdict, "there is no torch in that Python"
    ran = cli("fix", "train.py")
    assert ran.code == 0
    assert train.read_text() == PORTABLE
    assert (
        f"NOT VERIFIED ({verdict}: there is no torch in that Python): nothing was proved" in ran.out
    )
    assert "verified: " not in ran.out.replace("NOT VERIFIED", "")


@pytest.mark.parametrize("verdict", ["inconclusive", "skipped"])
def test_require_verified_keeps_what_was_not_proved(
    cli: Cli, train: Path, verifier: Verifier, verdict: str
) -> None:
    verifier.verdict, verifier.reason = verdict, "a reason"
    ran = cli("fix", "train.py", "--require-verified")
    assert ran.code == 3
    assert train.read_text() == CUDA_ONLY
    assert f"NOT WRITTEN: nothing was proved ({verdict}: a reason)" in ran.out


def test_nothing_runs_with_no_verify_or_for_folders_or_when_nothing_changes(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    assert cli("fix", "--no-verify", "train.py").code == 0
    assert cli("fix", "train.py").code == 0
    train.write_text(CUDA_ONLY)
    assert cli("fix").code == 0
    train.write_text(CUDA_ONLY)
    assert cli("check", "--fix", "train.py").code == 0
    assert verifier.requests == []
    assert train.read_text() == PORTABLE


def test_several_files_are_verified_by_their_entry_script_and_then_all_written(
    cli: Cli, train: Path, project: Path, verifier: Verifier
) -> None:
    (project / "lib.py").write_text(CUDA_ONLY)
    assert cli("fix", ".", "--entry", "train.py").code == 0
    (request,) = verifier.requests
    assert set(request.patched) == {str(train), str(project / "lib.py")}  # type: ignore[attr-defined]
    assert (project / "lib.py").read_text() == PORTABLE
    assert train.read_text() == PORTABLE


def test_several_files_are_all_kept_when_their_entry_script_fails(
    cli: Cli, train: Path, project: Path, verifier: Verifier
) -> None:
    verifier.verdict = "fail"
    (project / "lib.py").write_text(CUDA_ONLY)
    assert cli("fix", ".", "--entry", "train.py").code == 3
    assert (project / "lib.py").read_text() == CUDA_ONLY
    assert train.read_text() == CUDA_ONLY


@pytest.mark.parametrize("option", ["--verify", "--require-verified"])
def test_verifying_several_files_needs_to_know_what_to_run(
    cli: Cli, train: Path, verifier: Verifier, option: str
) -> None:
    ran = cli("fix", ".", option)
    assert ran.code == 2
    assert ran.err == f"error: {option} with several files needs --entry SCRIPT" + (
        ", the script to run\n" if option == "--verify" else "\n"
    )
    assert train.read_text() == CUDA_ONLY


def test_the_options_of_the_verification_reach_it(
    cli: Cli, train: Path, project: Path, verifier: Verifier
) -> None:
    python = project / "py"
    python.touch(0o755)
    options = ["--device", "cpu,cuda", "--steps", "5", "--timeout", "9.5", "--memory", "700"]
    cli(
        "fix",
        "train.py",
        *options,
        "--setup",
        "make data",
        "--python",
        str(python),
        "--",
        "-x",
        "--",
        "y",
    )
    (request,) = verifier.requests
    got = {k: getattr(request, k) for k in ("devices", "steps", "timeout", "memory_mb", "setup")}
    assert got == {
        "devices": ("cpu", "cuda"),
        "steps": 5,
        "timeout": 9.5,
        "memory_mb": 700,
        "setup": "make data",
    }
    assert (request.python, request.args) == (str(python), ("-x", "--", "y"))  # type: ignore[attr-defined]


def test_the_active_environments_python_is_the_one_to_run_with(
    cli: Cli, train: Path, project: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = project / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch(0o755)
    monkeypatch.setenv("VIRTUAL_ENV", str(project / "env"))
    cli("fix", "train.py")
    assert verifier.requests[0].python == str(python)  # type: ignore[attr-defined]


def test_an_internal_error_of_the_verification_keeps_the_file(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("a fault")

    verifier.on_call = broken
    assert cli("fix", "train.py").code == 2
    assert train.read_text() == CUDA_ONLY


def test_json_on_stdout_stays_json_while_a_verification_talks(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    ran = cli("fix", "train.py", "--output-format", "json")
    assert json.loads(ran.out) == []
    assert "running: " in ran.err


def test_what_remains_is_printed_with_positions_of_the_final_file(cli: Cli, project: Path) -> None:
    (project / "a.py").write_text(CUDA_ONLY + "torch.cuda.synchronize(  # why\n)\n")
    ran = cli("fix", "--no-verify", "--output-format", "json", "a.py")
    rows = json.loads(ran.out)
    text = (project / "a.py").read_text().splitlines()
    assert (ran.code == 1) is bool(rows)
    for row in rows:
        line = text[row["location"]["row"] - 1]
        assert line[row["location"]["column"] - 1 :].startswith("torch.cuda.synchronize")


def test_a_diff_is_a_patch_and_nothing_is_written(cli: Cli, project: Path, train: Path) -> None:
    ran = cli("fix", "--diff", "train.py")
    assert ran.code == 1
    assert train.read_text() == CUDA_ONLY
    assert ran.err == "Would fix 1 error in 1 file.\n"
    subprocess.run(["patch", "-p0"], input=ran.out, text=True, check=True, cwd=project)
    assert train.read_text() == PORTABLE
    assert cli("fix", "--diff", "train.py") == (0, "", "")


@pytest.mark.parametrize("text", [CUDA_ONLY.rstrip("\n"), CUDA_ONLY.replace("\n", "\r\n")])
def test_a_diff_of_any_newline_is_a_patch(cli: Cli, project: Path, train: Path, text: str) -> None:
    train.write_bytes(text.encode())
    subprocess.run(["git", "init", "-q", "."], check=True, cwd=project)
    patch = project / "p.diff"
    ran = subprocess.run(
        [sys.executable, "-m", "mpslint", "fix", "--diff", "train.py"],
        cwd=project,
        capture_output=True,
    )
    patch.write_bytes(ran.stdout)
    subprocess.run(["git", "apply", "-p0", "p.diff"], check=True, cwd=project)
    patched = train.read_bytes()
    train.write_bytes(text.encode())
    assert cli("fix", "--no-verify", "train.py").code == 0
    assert train.read_bytes() == patched


def test_check_fix_and_check_diff_are_the_same_without_a_run(cli: Cli, train: Path) -> None:
    assert cli("check", "--diff").out == cli("fix", "--diff", "train.py").out
    ran = cli("check", "--fix")
    assert ran == (0, "Found 1 error (1 fixed, 0 remaining).\n", "")
    assert train.read_text() == PORTABLE


def test_a_second_fix_changes_nothing(cli: Cli, train: Path) -> None:
    cli("fix", "--no-verify", "train.py")
    before = train.stat().st_mtime_ns
    assert cli("fix", "--no-verify", "train.py").out == "All checks passed!\n"
    assert train.stat().st_mtime_ns == before


def test_what_is_suppressed_is_not_fixed(cli: Cli, train: Path) -> None:
    text = CUDA_ONLY.replace("synchronize()", "synchronize()  # noqa: MPS201")
    train.write_text(text)
    assert cli("fix", "--no-verify", "train.py").code == 0
    assert train.read_text() == text


def test_show_fixes_lists_what_each_rule_changed(cli: Cli, train: Path) -> None:
    out = cli("fix", "--no-verify", "--show-fixes", "train.py").out
    assert out.startswith("train.py:\n  1 x MPS201 (cuda-synchronize): ")
    assert out.partition("\n  ")[2].partition("\n")[0].endswith(" [3]")


def test_exit_non_zero_on_fix(cli: Cli, train: Path) -> None:
    assert cli("fix", "--no-verify", "--exit-non-zero-on-fix", "train.py").code == 1
    assert cli("fix", "--no-verify", "--exit-non-zero-on-fix", "train.py").code == 0


def test_a_report_says_what_changed_and_what_was_proved(
    cli: Cli, train: Path, project: Path, verifier: Verifier
) -> None:
    cli("fix", "train.py", "--report", "report.json")
    told = json.loads((project / "report.json").read_text())
    assert told["verification"] == {"verdict": "pass", "reason": ""}
    (file,) = told["files"]
    assert (file["path"], file["status"]) == (str(train), "changed")
    assert [fix["code"] for fix in file["fixes"]] == ["MPS201"]
    assert file["left"] == []


def test_a_report_says_what_was_kept_and_why_the_rest_is_left(
    cli: Cli, train: Path, project: Path, verifier: Verifier
) -> None:
    verifier.verdict = "fail"
    cli("fix", "train.py", "--report", "report.json")
    (file,) = json.loads((project / "report.json").read_text())["files"]
    assert file["status"] == "kept"
    assert [left["why"] for left in file["left"]] == ["not applied"]


def test_a_report_tells_apart_why_findings_are_left(cli: Cli, train: Path, project: Path) -> None:
    train.write_text(
        "import torch\n"
        "torch.cuda.synchronize()\n"
        "for _ in range(3): torch.cuda.empty_cache()  # noqa: MPS202\n"
        "torch.cuda.manual_seed(0)\n"
        "def total(): return torch.cuda.get_device_properties(0).total_memory\n"
    )
    cli("fix", "--no-verify", "train.py", "--report", "report.json")
    (file,) = json.loads((project / "report.json").read_text())["files"]
    assert [(fix["code"], fix["row"]) for fix in file["fixes"]] == [("MPS201", 2)]
    left = {
        item["code"]: (item["reason"], item["row"], item["needs_human"]) for item in file["left"]
    }
    assert left["MPS202"] == ("suppressed", 6, False)
    assert left["MPS204"] == ("unsafe", 7, False)
    assert left["MPS206"] == ("no-fix", 8, True)


@pytest.mark.parametrize("output", ["full", "concise"])
def test_a_report_says_why_there_is_no_fix(
    cli: Cli, train: Path, project: Path, output: str
) -> None:
    train.write_text(UNFIXABLE)
    cli("fix", "--no-verify", "--output-format", output, ".", "--report", "report.json")
    (file,) = json.loads((project / "report.json").read_text())["files"]
    assert [left["why"] for left in file["left"]] == [
        "MPS has no answer to this, and what the answer is for was not understood"
    ]


def test_a_report_that_cannot_be_written_is_one_line_and_exit_2(cli: Cli, train: Path) -> None:
    ran = cli("fix", "--no-verify", "train.py", "--report", "no/such/folder/r.json")
    assert ran.code == 2
    assert ran.err == (
        "error: no/such/folder/r.json: cannot be written: there is no folder no/such/folder\n"
    )


def test_stdin_is_fixed_to_stdout(cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CUDA_ONLY.encode())))
    assert cli("fix", "-") == (0, PORTABLE, "")


def test_stdin_that_does_not_parse_comes_back_as_it_was(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "import torch\ndef f(:\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = cli("fix", "-", "--stdin-filename", "a.py")
    assert (ran.code, ran.out) == (2, text)
    assert ran.err.startswith("error: a.py:2:7: syntax error")


def test_two_names_of_one_file_are_left_alone_and_the_way_out_is_said(
    cli: Cli, train: Path
) -> None:
    os.link(train, train.parent / "twin.py")
    (train.parent / "other.py").write_text(CUDA_ONLY)
    ran = cli("fix", "--no-verify")
    assert ran.code == 2
    assert ran.err.count("has 2 names (hard links)") == 2
    assert train.read_text() == (train.parent / "twin.py").read_text() == CUDA_ONLY
    assert (train.parent / "other.py").read_text() == PORTABLE


@pytest.mark.parametrize("command", [("fix", "--no-verify"), ("check", "--fix")])
def test_a_link_that_leads_out_of_what_was_named_is_not_followed(
    cli: Cli, train: Path, command: tuple[str, ...]
) -> None:
    outside = train.parent.parent / "library.py"
    outside.write_text(CUDA_ONLY)
    (train.parent / "link.py").symlink_to(outside)
    ran = cli(*command, ".")
    assert (outside.read_text(), train.read_text()) == (CUDA_ONLY, PORTABLE)
    assert ran.code == 1
    assert f"warning: link.py: not changed: a link to {outside}" in ran.err
    assert cli("fix", "--no-verify", "--diff", ".").out == ""


def test_a_link_that_is_named_itself_is_followed(cli: Cli, train: Path) -> None:
    outside = train.parent.parent / "library.py"
    outside.write_text(CUDA_ONLY)
    (train.parent / "link.py").symlink_to(outside)
    assert cli("fix", "--no-verify", "link.py").code == 0
    assert outside.read_text() == PORTABLE


def test_a_link_to_what_lies_in_another_named_folder_is_followed(cli: Cli, project: Path) -> None:
    for name in ("one", "two"):
        (project / name).mkdir()
    (project / "two" / "hidden").write_text(CUDA_ONLY)
    (project / "one" / "link.py").symlink_to("../two/hidden")
    assert cli("fix", "--no-verify", "one").code == 1
    assert cli("fix", "--no-verify", "one", "two").code == 0
    assert (project / "two" / "hidden").read_text() == PORTABLE


@pytest.mark.parametrize("way", ["../device.py", "{outside}/device.py", "link/device.py"])
def test_no_helper_module_is_made_outside_of_the_settings_folder(
    cli: Cli, train: Path, tmp_path: Path, way: str
) -> None:
    (tmp_path / "outside").mkdir()
    (train.parent / "link").symlink_to(tmp_path / "outside")
    module = way.format(outside=tmp_path / "outside")
    (train.parent / "mpslint.toml").write_text(f'style = "helper"\nhelper-module = "{module}"\n')
    train.write_text('import torch\n\nx = torch.ones(1, device="cuda")\n')
    ran = cli("fix", "--no-verify", ".")
    assert ran.code == 2
    assert ran.err.startswith(f"error: helper-module {module}: is not made outside of ")
    assert [path.name for path in tmp_path.rglob("device.py")] == []


@pytest.mark.parametrize(
    ("verdict", "options", "code"),
    [("ran", [], 0), ("partial", [], 3), ("partial", ["--allow-partial"], 0)],
)
def test_fix_writes_as_proved_what_verify_calls_a_success(
    cli: Cli, train: Path, verifier: Verifier, verdict: str, options: list[str], code: int
) -> None:
    verifier.verdict, verifier.reason = verdict, "1 of 2 changed lines ran"
    assert cli("verify", "train.py", *options).code == code
    fixed = cli("fix", "train.py", "--require-verified", *options)
    assert fixed.code == code
    assert train.read_text() == (CUDA_ONLY if code else PORTABLE)
    assert "1 of 2 changed lines ran" in fixed.out


def test_a_partial_verdict_is_called_one_where_fix_writes(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    verifier.verdict, verifier.reason = "partial", "1 of 2 changed lines ran"
    assert "PARTLY VERIFIED: partial (1 of 2 changed lines ran)" in cli("fix", "train.py").out
    assert train.read_text() == PORTABLE


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["absent.py"], "no such script"),
        (["train.py", "--steps", "many"], "wrong arguments"),
        (["train.py", "--original", "absent.py"], "no such file"),
    ],
)
def test_who_asks_for_json_gets_it_from_a_refusal(
    cli: Cli, train: Path, verifier: Verifier, arguments: list[str], reason: str
) -> None:
    ran = cli("verify", *arguments, "--output-format", "json")
    told = json.loads(ran.out)
    assert ran.code == 2
    assert (told["verdict"], told["script"]) == ("skipped", arguments[0])
    assert reason in told["reason"]
    assert ran.err.count("\n") >= 1


@pytest.mark.parametrize("error", [ZeroDivisionError("a fault"), KeyboardInterrupt()])
def test_who_asks_for_json_gets_it_from_a_crash(
    cli: Cli, train: Path, verifier: Verifier, error: BaseException
) -> None:
    def broken() -> None:
        raise error

    verifier.on_call = broken
    ran = cli("verify", "train.py", "--output-format=json")
    assert json.loads(ran.out)["verdict"] == "skipped"
    assert ran.code in (2, 130)


def test_verify_prints_the_verdict_and_exits_by_it(
    cli: Cli, train: Path, verifier: Verifier
) -> None:
    assert cli("verify", "train.py").code == 0
    verifier.verdict = "fail"
    assert cli("verify", "train.py").code == 1
    verifier.verdict = "skipped"
    assert cli("verify", "train.py").code == 3
    verifier.verdict = "inconclusive"
    ran = cli("verify", "train.py", "--output-format", "json", "--original", "train.py", "--", "-v")
    assert ran.code == 3
    assert json.loads(ran.out) == {"verdict": "inconclusive"}
    request = verifier.requests[-1]
    assert (request.original, request.args) == ("train.py", ("-v",))  # type: ignore[attr-defined]


def test_a_patch_of_unsafe_fixes_says_what_speaks_against_them(cli: Cli, project: Path) -> None:
    script = project / "predict.py"
    script.write_text(
        "import numpy as np\nimport torch\n\n"
        'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "net = torch.nn.Linear(3, 3).to(device)\n"
        'print(net(torch.from_numpy(np.load("a.npy")).to(device)))\n'
    )

    said = cli("fix", "--isolated", "--unsafe-fixes", "--diff", script).err

    assert "predict.py, line 4: unsafe: MPS103: Choose MPS where it is there (line 6: " in said
