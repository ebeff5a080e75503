"""The parts below the verdict: numbers, tensor files, the copy, the environment, mutants, words."""

from __future__ import annotations

import ast
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify import (
    contents,
    environment,
    interpreter,
    isolation,
    mutant,
    numbers,
    saved,
    snapshot,
    storages,
)
from mpslint.verify.report import Report, Run, overall
from mpslint.verify.request import BadRequest, Request


class TestPrintedNumbers:
    def test_numbers_are_read_with_their_precision(self) -> None:
        [line] = numbers.of("step 3 loss 0.1250 rate 1e-3")
        assert [n.value for n in line] == [3.0, 0.125, 0.001]
        assert [n.unit for n in line] == [0.0, 1e-4, 1e-3]

    def test_tensors_of_whole_numbers_that_differ_by_one_are_not_the_same(self) -> None:
        two, one, about = numbers.of("tensor([2., 2.])\ntensor([1., 1.])\ntensor([2.0000, 1.9999])")
        assert numbers.different_line([two], [one], 1e-4) == (two, one)
        assert numbers.different_line([two], [about], 1e-4) is None

    @pytest.mark.parametrize(
        "line",
        [
            "took 3.2 s", "12:03:44 start", "memory 12.5 MB", "using cuda 0", "speed 100 it/s",
            "5ms", "Number of GPUs: 1", "GPU 0: NVIDIA GeForce RTX 3090, 24.0 GB", "eta: 120",
            "Time for epoch 3: 12.5", "samples/sec 300.2", "4 workers", "at 0x7f12ab34",
            "allocated 12.0 / 16.0 GB", "step_time: 0.12", "2026-11-22 12:22:38,123 start",
        ],
    )  # fmt: skip
    def test_what_is_said_about_the_machine_is_left_out(self, line: str) -> None:
        assert numbers.of(line) == []

    @pytest.mark.parametrize(
        ("line", "left"),
        [
            ("training on cuda:0 for 4 steps", [4]),
            ("training on cpu for 4 steps", [4]),
            ("epoch 3 | loss 0.5 | time 3.2 | 1.25 GB", [3, 0.5]),
            ("epoch 3 loss 0.5 (12.3 ms)", [3, 0.5]),
            ('{"loss": 0.5, "seconds": 12.5, "accuracy": 0.9}', [0.5, 0.9]),
            ("[2026-11-22 12:22:38,123] INFO step 4 loss 0.25", [4, 0.25]),
            ("loss 0.5 mem: 12.0 / 16.0 GB acc 0.7", [0.5, 0.7]),
            ("throughput: 1234.5 samples/s, loss 0.3", [0.3]),
            ("cuda: 0.531", [0.531]),
            ("timestep 5", [5]),
        ],
    )
    def test_the_rest_of_such_a_line_is_compared(self, line: str, left: list[float]) -> None:
        assert [number.value for numbers_ in numbers.of(line) for number in numbers_] == left

    @pytest.mark.parametrize("text", ["1e999", "commit 7e999123", "0e999", "1e" + "9" * 5000])
    def test_a_number_that_no_float_can_hold_is_near_to_no_other(self, text: str) -> None:
        assert numbers.different_line(numbers.of(text), numbers.of("7"), 1e-5) is not None
        assert numbers.different_line(numbers.of(text), numbers.of(text), 0.0) is None

    def test_a_key_of_many_digits_is_no_number(self) -> None:
        assert numbers.of("9" * 40_000) == []

    @pytest.mark.parametrize(
        ("one", "two"),
        [
            ("(1+2j)", "(1-2j)"), ("(1+2j)", "(1+3j)"), ("(1+nanj)", "(1+2j)"), ("inf", "-inf"),
            ("tensor([2.-3.j])", "tensor([2.+3.j])"), ("(nan+1j)", "(nan+nanj)"),
        ],
    )  # fmt: skip
    def test_both_parts_of_a_complex_number_count(self, one: str, two: str) -> None:
        assert numbers.different_line(numbers.of(one), numbers.of(two), 1e-5) is not None
        assert numbers.different_line(numbers.of(one), numbers.of(one), 1e-5) is None

    def test_versions_and_words_with_digits_are_no_numbers(self) -> None:
        assert numbers.of("resnet18 on torch-2.13.0") == []

    def test_two_sides_of_a_rounding_border_are_the_same(self) -> None:
        one, two = numbers.of("loss 0.7124"), numbers.of("loss 0.7125")
        assert numbers.different_line(one, two, 1e-5) is None
        assert numbers.different_line(one, two, 0.0) is not None

    def test_a_thousandth_is_a_difference(self) -> None:
        one, two = numbers.of("loss 0.7124"), numbers.of("loss 0.7131")
        assert numbers.different_line(one, two, 1e-5) is not None

    def test_a_missing_line_is_a_difference(self) -> None:
        assert numbers.different_line(numbers.of("1\n2"), numbers.of("1"), 1e-5) is not None

    def test_nan_equals_nan(self) -> None:
        assert numbers.close(float("nan"), float("nan"), 0.0)
        assert not numbers.close(float("nan"), 1.0, 0.1)


def make_deep(folder: Path, levels: int = 1500) -> None:
    """Folders within folders, deeper than Python calls functions."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def pickle_of(kind: str, device: str) -> bytes:
    """The words of a checkpoint's pickle that say how a storage is read: type, key, device."""
    texts = b"".join(b"X" + struct.pack("<I", len(word)) + word for word in (b"0", device.encode()))
    return b"\x80\x02ctorch\n" + kind.encode() + b"\n" + texts + b"."


class TestTensorFiles:
    def write(
        self, path: Path, values: bytes, kind: str = "FloatStorage", device: str = "cuda:0"
    ) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("model/data.pkl", pickle_of(kind, device))
            archive.writestr("model/data/0", values)

    def differ(
        self, folder: Path, one: bytes, two: bytes, kind: str = "FloatStorage", near: float = 1e-5
    ) -> str | None:
        self.write(folder / "a.pt", one, kind)
        first = saved.collect(str(folder), {})
        self.write(folder / "a.pt", two, kind, device="mps:0")
        return saved.difference(first, saved.collect(str(folder), {}), near)

    def test_the_same_values_are_the_same_whatever_the_device_is_called(
        self, tmp_path: Path
    ) -> None:
        assert self.differ(tmp_path, b"\0\0\x80?" * 3, b"\0\0\x80?" * 3, near=0.0) is None
        assert [*saved.collect(str(tmp_path), {})["a.pt"]] == ["data/0"]

    def test_other_values_are_noticed(self, tmp_path: Path) -> None:
        told = self.differ(tmp_path, b"\0\0\x80?", b"\0\0\x90?")
        assert told == "a.pt holds other tensors than the original's"

    @pytest.mark.parametrize(
        ("kind", "form"),
        [("DoubleStorage", "d"), ("LongStorage", "q"), ("HalfStorage", "e"), ("ByteStorage", "B")],
    )
    def test_values_of_every_type_are_read_as_what_they_are(
        self, tmp_path: Path, kind: str, form: str
    ) -> None:
        one, two = struct.pack(f"<2{form}", 2, 3), struct.pack(f"<2{form}", 2, 4)
        assert self.differ(tmp_path, one, one, kind) is None
        assert (
            self.differ(tmp_path, one, two, kind) == "a.pt holds other tensors than the original's"
        )

    @pytest.mark.parametrize(
        ("kind", "form"), [("ComplexFloatStorage", "f"), ("ComplexDoubleStorage", "d")]
    )
    def test_a_nan_in_complex_numbers_is_noticed(
        self, tmp_path: Path, kind: str, form: str
    ) -> None:
        one = struct.pack(f"<4{form}", 1, 2, 0, 4)
        two = struct.pack(f"<4{form}", 1, 2, float("nan"), 4)
        assert self.differ(tmp_path, one, one, kind) is None
        assert self.differ(tmp_path, two, two, kind) is None
        assert self.differ(tmp_path, one, two, kind) is not None

    @pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
    def test_a_number_that_is_none_is_no_zero(self, tmp_path: Path, value: str) -> None:
        one, two = struct.pack("<2f", 1, 0), struct.pack("<2f", 1, float(value))
        assert self.differ(tmp_path, one, two) is not None

    def test_numbers_whose_squares_overflow_are_compared(self, tmp_path: Path) -> None:
        one, two = struct.pack("<2d", 1e200, 1), struct.pack("<2d", 2e200, 1)
        assert self.differ(tmp_path, one, one, "DoubleStorage") is None
        assert self.differ(tmp_path, one, two, "DoubleStorage") is not None

    def test_complex_arrays_are_compared(self, tmp_path: Path) -> None:
        import numpy

        found = []
        for value in (1 + 2j, complex(1, float("nan"))):
            numpy.save(tmp_path / "z.npy", numpy.array([value, 3j], dtype="complex64"))
            found.append(saved.collect(str(tmp_path), {}))
        assert saved.difference(*found, 1e-5) is not None

    def test_the_last_bit_of_a_float_is_the_devices_business(self, tmp_path: Path) -> None:
        one, two = struct.pack("<f", 1.0), struct.pack("<I", 0x3F800001)
        assert self.differ(tmp_path, one, two) is None
        assert self.differ(tmp_path, one, two, near=0.0) is not None

    @pytest.mark.parametrize("suffix", ["npy", "npz"])
    def test_an_array_half_as_large_again_is_noticed(self, tmp_path: Path, suffix: str) -> None:
        import numpy

        save = numpy.save if suffix == "npy" else numpy.savez
        found = []
        for scale in (1.0, 1.5):
            save(tmp_path / f"w.{suffix}", scale * numpy.arange(3, dtype="float32"))
            found.append(saved.collect(str(tmp_path), {}))
        assert (
            saved.difference(*found, 1e-5) == f"w.{suffix} holds other tensors than the original's"
        )

    @pytest.mark.parametrize("text", ["loss,0.5\n", '{"accuracy": 0.5}'])
    def test_numbers_in_texts_are_compared(self, tmp_path: Path, text: str) -> None:
        found = []
        for number in ("0.500", "0.5000001", "0.750"):
            (tmp_path / "result.json").write_text(text.replace("0.5", number))
            found.append(saved.collect(str(tmp_path), {}))
        one, near, far = found
        assert saved.difference(one, near, 1e-5) is None
        assert (
            saved.difference(one, far, 1e-5)
            == "result.json holds other numbers than the original's"
        )
        assert saved.difference(one, far, 1e-5, {"result.json": None}) is None

    def test_a_file_that_is_not_written_is_noticed(self) -> None:
        part = {"data/0": contents.Part(4, "x", storages.UNKNOWN)}
        assert saved.difference({"a.pt": part}, {}, 1e-5) is not None

    def test_files_that_were_there_before_are_not_the_scripts(self, tmp_path: Path) -> None:
        self.write(tmp_path / "old.pt", b"1234")
        assert saved.collect(str(tmp_path), saved.states(str(tmp_path))) == {}


class TestSnapshot:
    def git(self, folder: Path, *args: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(
            ["git", "-C", str(folder), *identity, *args], check=True, capture_output=True
        )

    def project(self, folder: Path) -> Path:
        folder.mkdir()
        (folder / "train.py").write_text("import model\nopen('data/train.bin')\n")
        (folder / "model.py").write_text("")
        (folder / "data").mkdir()
        (folder / "data" / "train.bin").write_bytes(b"1")
        (folder / "big.log").write_text("ignored")
        (folder / ".gitignore").write_text("data/\n*.log\n")
        self.git(folder, "init", "-q")
        self.git(folder, "add", "train.py", ".gitignore")
        return folder

    def files(self, folder: Path) -> set[str]:
        return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}

    def test_a_git_project_gives_tracked_new_and_named_files(self, tmp_path: Path) -> None:
        project = self.project(tmp_path / "p")
        script = str(project / "train.py")
        assert snapshot.find_root(script) == os.path.realpath(project)
        snapshot.take(str(project), script, [], str(tmp_path / "copy"))
        assert self.files(tmp_path / "copy") == {
            "train.py", "model.py", "data/train.bin", ".gitignore",
        }  # fmt: skip

    def test_a_plain_folder_is_copied_whole_but_for_environments(self, tmp_path: Path) -> None:
        folder = tmp_path / "p"
        for name in ("train.py", "pkg/a.py", "own-env/pyvenv.cfg", "own-env/lib.py", ".git/HEAD"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text("")
        snapshot.take(str(folder), str(folder / "train.py"), [], str(tmp_path / "copy"))
        assert self.files(tmp_path / "copy") == {"train.py", "pkg/a.py"}

    def test_a_link_to_outside_is_left_out_and_told(self, tmp_path: Path) -> None:
        folder = tmp_path / "p"
        folder.mkdir()
        (tmp_path / "secret").write_text("token")
        (folder / "train.py").write_text("")
        (folder / "link").symlink_to(tmp_path / "secret")
        taken = snapshot.take(str(folder), str(folder / "train.py"), [], str(tmp_path / "copy"))
        assert taken.left_out == ("link (a symbolic link to outside)",)
        assert self.files(tmp_path / "copy") == {"train.py"}

    def test_what_git_tracks_behind_a_folder_that_is_now_a_link_is_left_out(
        self, tmp_path: Path
    ) -> None:
        project = self.project(tmp_path / "p")
        (project / "keys").mkdir()
        (project / "keys" / "token").write_text("")
        self.git(project, "add", "keys/token")
        (project / "keys" / "token").unlink()
        (project / "keys").rmdir()
        (tmp_path / "private").mkdir()
        (tmp_path / "private" / "token").write_text("secret")
        (project / "keys").symlink_to(tmp_path / "private")
        taken = snapshot.take(
            str(project), str(project / "train.py"), ["keys"], str(tmp_path / "copy")
        )
        assert "keys/token (a symbolic link to outside)" in taken.left_out
        assert "token" not in {name.rpartition("/")[2] for name in self.files(tmp_path / "copy")}

    def test_a_tracked_link_to_a_folder_outside_is_left_out_as_one(self, tmp_path: Path) -> None:
        project = self.project(tmp_path / "p")
        (tmp_path / "private").mkdir()
        (tmp_path / "private" / "token").write_text("secret")
        (project / "keys").symlink_to(tmp_path / "private")
        self.git(project, "add", "keys")
        taken = snapshot.take(str(project), str(project / "train.py"), [], str(tmp_path / "copy"))
        assert taken.left_out == ("keys (a symbolic link to outside)",)

    def test_a_repositorys_own_files_are_not_copied_through_a_link(self, tmp_path: Path) -> None:
        project = self.project(tmp_path / "p")
        (project / "settings").symlink_to(project / ".git" / "config")
        taken = snapshot.take(str(project), str(project / "train.py"), [], str(tmp_path / "copy"))
        assert taken.left_out == ("settings (a symbolic link into a repository's own files)",)

    def test_ignored_files_that_git_tracks_are_copied_and_others_not(self, tmp_path: Path) -> None:
        project = self.project(tmp_path / "p")
        (project / "kept.log").write_text("")
        self.git(project, "add", "-f", "kept.log")
        (project / "pkg").mkdir()
        (project / "pkg" / ".gitignore").write_text("local.py\n")
        for name in ("local.py", "new.py"):
            (project / "pkg" / name).write_text("")
        snapshot.take(str(project), str(project / "train.py"), [], str(tmp_path / "copy"))
        assert self.files(tmp_path / "copy") == {
            "train.py", "model.py", "data/train.bin", ".gitignore", "kept.log", "pkg/.gitignore",
            "pkg/new.py",
        }  # fmt: skip

    def test_a_repository_in_the_project_is_copied_without_what_git_keeps(
        self, tmp_path: Path
    ) -> None:
        project = self.project(tmp_path / "p")
        (project / "vendored").mkdir()
        (project / "vendored" / "lib.py").write_text("")
        self.git(project / "vendored", "init", "-q")
        snapshot.take(str(project), str(project / "train.py"), [], str(tmp_path / "copy"))
        assert {name for name in self.files(tmp_path / "copy") if "vendored" in name} == {
            "vendored/lib.py"
        }

    def test_folders_below_each_other_without_end_are_walked(self, tmp_path: Path) -> None:
        folder = tmp_path / "p"
        folder.mkdir()
        (folder / "train.py").write_text("")
        make_deep(folder)
        try:
            taken = snapshot.take(str(folder), str(folder / "train.py"), [], str(tmp_path / "copy"))
        finally:
            # What pytest would do it with calls itself for each level.
            subprocess.run(["rm", "-rf", str(folder)], check=True)
        assert taken.root == os.path.realpath(folder)
        assert (tmp_path / "copy" / "train.py").exists()

    @pytest.mark.parametrize("name", [".gitignore", "data.txt", "pipe.py"])
    def test_a_pipe_in_a_project_makes_nobody_wait(self, tmp_path: Path, name: str) -> None:
        project = self.project(tmp_path / "p")
        (project / name).unlink(missing_ok=True)
        os.mkfifo(project / name)
        script = str(project / "train.py")
        assert snapshot.find_root(script) == os.path.realpath(project)
        taken = snapshot.take(str(project), script, [], str(tmp_path / "copy"))
        assert any(name in told and "not a regular file" in told for told in taken.left_out)

    def test_what_is_over_the_cap_is_left_out_and_told(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "p"
        folder.mkdir()
        (folder / "a.py").write_text("")
        (folder / "z.bin").write_bytes(bytes(100))
        monkeypatch.setattr(snapshot, "SIZE_CAP", 50)
        taken = snapshot.take(str(folder), str(folder / "a.py"), [], str(tmp_path / "copy"))
        assert len(taken.left_out) == 1
        assert taken.left_out[0].startswith("z.bin")

    def test_a_script_that_git_ignores_brings_its_own_folder(self, tmp_path: Path) -> None:
        project = self.project(tmp_path / "p")
        ignored = project / "data" / "try.py"
        ignored.write_text("")
        assert snapshot.find_root(str(ignored)) == os.path.realpath(project / "data")


class TestEnvironment:
    def test_secrets_of_the_caller_are_not_passed_on(self) -> None:
        source = {"PATH": "/bin", "HF_TOKEN": "x", "PYTORCH_API_KEY": "x", "AWS_SECRET": "x"}
        env = environment.build(source, "/h", "/t", "/u", ["/p"], {})
        assert env["PATH"] == "/bin"
        assert not {"HF_TOKEN", "PYTORCH_API_KEY", "AWS_SECRET"} & set(env)

    def test_trackers_are_switched_off_and_home_is_another(self) -> None:
        env = environment.build({"HOME": "/me"}, "/h", "/t", "/u", ["/p"], {})
        assert (env["HOME"], env["TMPDIR"], env["WANDB_MODE"]) == ("/h", "/t", "disabled")
        assert env["HF_HUB_OFFLINE"] == "1"

    def test_the_fallback_variable_keeps_its_meaning(self) -> None:
        source = {"PYTORCH_ENABLE_MPS_FALLBACK": "1"}
        assert environment.allowed(source) == source

    def test_what_the_request_names_is_passed_on(self) -> None:
        env = environment.build({}, "/h", "/t", "/u", ["/p"], {"DATA": "1", "PYTHONPATH": "x"})
        assert (env["DATA"], env["PYTHONPATH"]) == ("1", "/p")


class TestMutants:
    TEXT = b'"""Doc."""\nimport torch\n\nd = "mps" if x == "mps" else "cpu"\n'

    def test_the_device_name_is_misspelled_where_it_is_chosen(self) -> None:
        first = mutant.candidates(self.TEXT)[0]
        assert b'd = "mpz" if x == "mps"' in first.text

    def test_the_early_exit_comes_right_after_the_imports(self) -> None:
        last = mutant.candidates(self.TEXT)[-1]
        lines = last.text.decode().splitlines()
        assert lines[3] == "raise SystemExit(0)"
        ast.parse(last.text)

    def test_an_early_exit_stands_before_a_decorator(self) -> None:
        text = b"import torch\n@deco\ndef f(): pass\n"
        assert mutant.candidates(text)[-1].text.splitlines()[1] == b"raise SystemExit(0)"

    def test_windows_line_ends_stay(self) -> None:
        assert b"SystemExit(0)\r\n" in mutant.candidates(b"import torch\r\nx = 1\r\n")[-1].text

    def test_a_file_that_does_not_parse_has_none(self) -> None:
        assert mutant.candidates(b"def") == []


class TestReport:
    def run(self, device: str, verdict: str) -> Run:
        return Run(device, "real" if device == "cpu" else "simulated", verdict, "why", 1.25)

    def test_the_worst_verdict_counts(self) -> None:
        runs = (self.run("cpu", "pass"), self.run("mps", "inconclusive"), self.run("cuda", "fail"))
        assert overall(runs) == ("fail", "simulated cuda: why")
        assert overall(runs[:2])[0] == "inconclusive"
        assert overall(runs[:1]) == ("pass", "")

    def test_json_has_the_documented_shape(self) -> None:
        report = Report("t.py", (self.run("mps", "pass"),), "pass", "")
        data: dict[str, Any] = json.loads(report.to_json())
        assert data["script"] == "t.py"
        told = set(data["runs"][0])
        assert {"device", "kind", "verdict", "reason", "seconds", "error"} <= told
        assert {"syncs", "copies", "fallbacks"} <= told
        assert data["runs"][0]["kind"] == "simulated"

    def test_a_long_reason_that_several_runs_share_is_said_once(self) -> None:
        why = "the original cannot run here: " + "the installation does not fit " * 3
        runs = tuple(replace(self.run(name, "inconclusive"), reason=why) for name in ("cpu", "mps"))
        text = Report("t.py", runs, *overall(runs)).to_text()
        assert text.count(why) == 1
        assert text.count("as said above") == 2

    def test_a_reason_that_one_run_alone_has_is_said_with_it(self) -> None:
        why = "another device than the original's gives other numbers, and no cause was found"
        runs = (self.run("cpu", "fail"), replace(self.run("mps", "inconclusive"), reason=why))
        assert why in Report("t.py", runs, *overall(runs)).to_text()

    def test_what_is_not_isolated_is_said(self) -> None:
        measured = {"network": None, "writes": "Landlock", "home": None, "refused": "not permitted"}
        told = isolation.describe(measured, 1 << 30, 60, 100, 1 << 30)
        assert any(text.startswith("network (not permitted)") for text in told.missing)
        assert any("only the copy can be written (Landlock)" in text for text in told.in_force)
        text = Report("t.py", (), "skipped", "", told).to_text()
        assert "not isolated: network" in text


class TestRequest:
    def test_a_missing_script_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(BadRequest, match=r"nothing\.py: no such script"):
            Request(str(tmp_path / "nothing.py")).checked()

    def test_an_unknown_device_is_named_with_the_known_ones(self, tmp_path: Path) -> None:
        (tmp_path / "t.py").write_text("")
        with pytest.raises(BadRequest, match="'tpu': expected one of cpu, mps, cuda"):
            Request(str(tmp_path / "t.py"), devices=("tpu",)).checked()

    def test_a_python_that_is_not_there_is_named_with_its_option(self, tmp_path: Path) -> None:
        (tmp_path / "t.py").write_text("")
        with pytest.raises(BadRequest, match=r"--python /nope: no program .* leave the option out"):
            Request(str(tmp_path / "t.py"), python="/nope").checked()

    def test_a_python_named_from_the_current_folder_is_found_from_every_other(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "t.py").write_text("")
        (tmp_path / "bin").mkdir()
        python = tmp_path / "bin" / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        monkeypatch.chdir(tmp_path)
        request = Request("t.py", python="bin/python").checked()
        assert interpreter.ask(request.interpreter, {}).version == sys.version_info[:3]

    def test_a_text_that_is_no_script_is_not_run(self, tmp_path: Path) -> None:
        (tmp_path / "README.md").write_text("# What this is\n\nDon't run it.\n")
        with pytest.raises(BadRequest, match=r"no Python script \(line 3: .*name the \.py file"):
            Request(str(tmp_path / "README.md")).checked()

    def test_a_script_may_have_any_name_and_a_broken_one_is_still_a_script(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "train.cgi").write_text("print(1)\n")
        (tmp_path / "train.py").write_text("print(1\n")
        for name in ("train.cgi", "train.py"):
            Request(str(tmp_path / name)).checked()

    def test_memory_that_torch_alone_does_not_find_is_told_before_a_run(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "t.py").write_text("")
        with pytest.raises(BadRequest, match=r"--memory 2: .* counted in MB; give 2048"):
            Request(str(tmp_path / "t.py"), memory_mb=2).checked()
        Request(str(tmp_path / "t.py"), memory_mb=512).checked()


class TestInterpreter:
    def test_a_relative_python_path_does_not_make_the_whole_disk_needed(self) -> None:
        asked = interpreter.ask(sys.executable, {"PYTHONPATH": ".." + os.pathsep + "."})
        assert "/" not in asked.path
        assert os.path.realpath(sys.base_prefix) in map(os.path.realpath, asked.prefixes)

    def test_something_that_is_no_python_is_named(self) -> None:
        with pytest.raises(BadRequest, match=r"cannot be run as Python \(no such file .*--python"):
            interpreter.ask("/nowhere/python", {})

    def test_a_program_that_answers_nothing_is_no_python(self) -> None:
        silent = shutil.which("true")
        assert silent is not None
        with pytest.raises(BadRequest, match=r"true: does not work as Python \(answers nothing\)"):
            interpreter.ask(silent, {})
