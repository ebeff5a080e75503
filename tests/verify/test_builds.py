"""Which torch and which devices a verification takes: real, simulated, or an overlay's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify import accelerators, interpreter, overlay, trial
from mpslint.verify.interpreter import Interpreter
from mpslint.verify.outcome import classify
from mpslint.verify.report import INCONCLUSIVE, PASS, RAN, Run
from mpslint.verify.request import BadRequest, Request

from .conftest import launch


def python(torch: str | None = "2.11.0+cu130", built_for: str = "gpu") -> Interpreter:
    return Interpreter("/usr/bin/python3", (3, 11, 7), torch, (), (), "", built_for)


def ran(device: str, kind: str, verdict: str, **more: Any) -> Run:
    return Run(device, kind, verdict, "why", **more)


class TestRealDevices:
    """A real device is used where it is; the verdict is made of what could be compared."""

    @pytest.fixture(autouse=True)
    def a_gpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(interpreter, "real_devices", lambda python, extra: ["cuda"])
        monkeypatch.setattr(accelerators, "_DRIVERS", ("/",))
        monkeypatch.setattr(accelerators.sys, "platform", "linux")

    def test_a_gpu_is_used_without_being_asked_for(self) -> None:
        assert accelerators.found(Request("a.py"), python()) == ["cuda"]

    def test_simulate_forbids_it(self) -> None:
        assert accelerators.found(Request("a.py", real=False), python()) == []

    def test_a_cpu_build_is_not_asked(self) -> None:
        assert accelerators.found(Request("a.py"), python(built_for="cpu")) == []

    def test_without_a_driver_torch_is_not_imported(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(accelerators, "_DRIVERS", ())
        assert accelerators.found(Request("a.py"), python()) == []

    def test_a_mac_is_asked_whatever_drivers_it_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(accelerators, "_DRIVERS", ())
        monkeypatch.setattr(accelerators.sys, "platform", "darwin")
        assert accelerators.found(Request("a.py"), python("2.11.0")) == ["cuda"]

    def test_a_real_run_with_other_random_numbers_leaves_the_comparison_to_its_twin(self) -> None:
        simulated, real = ran("mps", "simulated", PASS), ran("mps", "real", RAN)
        assert accelerators.counted([simulated, real]) == (simulated,)

    def test_a_real_run_that_fails_counts(self) -> None:
        runs = (ran("cuda", "simulated", PASS), ran("cuda", "real", "fail"))
        assert accelerators.counted(runs) == runs

    def test_a_real_run_without_a_twin_that_passed_counts(self) -> None:
        runs = (ran("mps", "simulated", RAN), ran("mps", "real", RAN))
        assert accelerators.counted(runs) == runs

    def test_what_cannot_be_simulated_is_made_up_for_by_the_real_one(self) -> None:
        simulated = ran("mps", "simulated", INCONCLUSIVE, unavailable=True)
        real = ran("mps", "real", RAN)
        assert accelerators.counted([simulated, real]) == (real,)

    def test_what_cannot_be_simulated_counts_where_there_is_no_real_one(self) -> None:
        runs = (ran("mps", "simulated", INCONCLUSIVE, unavailable=True),)
        assert accelerators.counted(runs) == runs


def test_a_build_for_gpus_is_known_without_importing_it(tmp_path: Path) -> None:
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')\n")
    for text, expected in (
        ("cuda: _Optional[str] = '13.0'\nhip: _Optional[str] = None\n", "gpu"),
        ("cuda: Optional[str] = None\nhip: Optional[str] = None\n", "cpu"),
    ):
        (package / "version.py").write_text(text)
        asked = interpreter.ask(sys.executable, {"PYTHONPATH": str(tmp_path)})
        if sys.platform != "darwin":
            assert asked.built_for == expected


class TestOverlay:
    """`--torch cpu`: the CPU build of the user's torch, installed once, in front of the rest."""

    @pytest.fixture
    def asked(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
        """The commands that would have installed something; each makes a folder `torch`."""
        commands: list[list[str]] = []

        def run(argv: list[str]) -> subprocess.CompletedProcess[str]:
            commands.append(argv)
            target = Path(argv[argv.index("--target") + 1])
            (target / "torch").mkdir()
            return subprocess.CompletedProcess(argv, 0, "", "")

        monkeypatch.setattr(overlay, "_run", run)
        monkeypatch.setattr(overlay.shutil, "which", lambda name: None)
        monkeypatch.setattr(overlay.sys, "platform", "linux")
        monkeypatch.setenv("MPSLINT_CACHE_DIR", str(tmp_path / "cache"))
        return commands

    def test_it_is_the_users_own_version(self, asked: list[list[str]]) -> None:
        overlay.prepared(python("2.11.0+cu130"), lambda line: None)
        assert "torch==2.11.0+cpu" in asked[0]

    def test_a_release_that_is_too_old_gives_way_to_one_that_holds(
        self, asked: list[list[str]]
    ) -> None:
        said: list[str] = []
        overlay.prepared(python("2.8.0"), said.append)
        assert "torch==2.9.1+cpu" in asked[0]
        assert "2.8.0 is too old" in said[0]

    def test_it_is_said_before_it_is_installed(self, asked: list[list[str]]) -> None:
        said: list[tuple[str, int]] = []
        overlay.prepared(python(), lambda line: said.append((line, len(asked))))
        ((line, installed_before),) = said
        assert ("torch==2.11.0+cpu" in line, installed_before) == (True, 0)

    def test_it_is_installed_once(self, asked: list[list[str]]) -> None:
        first = overlay.prepared(python(), lambda line: None)
        assert overlay.prepared(python(), lambda line: None) == first
        assert len(asked) == 1

    def test_uv_is_taken_where_it_is(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(overlay.shutil, "which", lambda name: "/bin/uv")
            assert overlay.command("py", "2.11.0", "d")[:3] == ["/bin/uv", "pip", "install"]

    def test_it_stands_before_the_users_path(
        self, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(interpreter, "ask", lambda path, env: python())
        request = overlay.in_front(Request("a.py", env={"PYTHONPATH": "/mine"}), lambda line: None)
        first, second = request.env["PYTHONPATH"].split(":")
        assert (Path(first) / "torch").is_dir()
        assert second == "/mine"

    def test_a_failed_installation_leaves_nothing(
        self, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failed = subprocess.CompletedProcess([""], 1, "", "ERROR: no matching distribution")
        monkeypatch.setattr(overlay, "_run", lambda argv: failed)
        with pytest.raises(BadRequest, match="no matching distribution"):
            overlay.prepared(python(), lambda line: None)
        assert list(Path(overlay.builds() or "").iterdir()) == []

    def test_an_unknown_version_is_refused(self, asked: list[list[str]]) -> None:
        with pytest.raises(BadRequest, match="not known"):
            overlay.prepared(python("unknown"), lambda line: None)

    def test_clean_removes_it(self, asked: list[list[str]]) -> None:
        folder = overlay.prepared(python(), lambda line: None)
        assert overlay.remove() is not None
        assert not Path(folder).exists()


def test_where_nothing_can_be_simulated_the_reason_names_a_way_out() -> None:
    message = {"type": "Unavailable", "message": "the guard", "file": "", "line": 0}
    said = classify(launch(outcome="unavailable", error=message)).reason
    assert "mpslint verify --torch cpu SCRIPT" in said
    assert "--real" not in said


def test_doctor_tries_each_device(tmp_path: Path) -> None:
    assert trial.simulated(sys.executable, "mps") == trial.Trial("mps", True)


def test_doctor_says_why_a_device_does_not_work(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "torch.py").write_text("raise RuntimeError('a broken torch')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    tried = trial.simulated(sys.executable, "cuda")
    assert (tried.works, tried.why) == (False, "a broken torch")
