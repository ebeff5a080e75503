"""A script that takes the check apart from inside its own process does not get a pass by it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mpslint.verify import Request, verify
from mpslint.verify.report import Report

from .conftest import FIXTURES

FORGERIES = {
    "code_of_the_launcher_with_other_names": "makes a function of the code of recorded, train.py:9",
    "counter_from_a_file_of_the_launchers": "compiles other text as recorder.py, train.py:6",
    "counter_through_its_slot": "called ops to tell a used",
    "device_that_forbids_nothing": "replaced fallback",
    "digest_that_listens": "never used the device",
    "end_that_is_told_by_the_script": "called send to tell a end",
    "frame_of_what_holds_the_key": "asks for what holds the key, train.py:8",
    "frames_of_the_launcher": "called ops to tell a used",
    "hook_that_listens": "listens to the events of Python",
    "json_that_adds": "never used the device",
    "key_out_of_a_closure": "never used the device",
    "key_out_of_the_collector": "asks for all objects after gc.unfreeze, train.py:13",
    "limit_that_is_forgotten": "leaves out a limit of the simulation",
    "losses_through_the_recorder": "called loss to tell a loss",
    "memory_of_the_process": "opens the memory of a process, train.py:9",
    "memory_through_ctypes": "reads or writes memory by its address (from_address), train.py:10",
    "module_that_is_there_before": "put a install of its own into observers",
    "profile_of_the_launcher": "never used the device",
    "record_of_a_child_that_never_was": "writes the record of a child process, train.py:10",
    "record_of_a_forked_child": "never used the device",
    "report_that_is_built_by_the_script": "replaced build",
    "report_that_is_built_once": "counts operations of the device, and none was seen",
    "view_that_lies": "replaced _host_view",
}
"""What the verdict says of each; "never used the device" is the truth about those scripts."""


def verdict(folder: Path, script: Path, device: str = "mps") -> Report:
    copy = shutil.copy(script, folder / "train.py")
    request = Request(str(copy), devices=(device,), negative_control=False, timeout=600.0)
    return verify(request)


def test_every_forgery_is_tried() -> None:
    assert {path.stem for path in (FIXTURES / "forgeries").iterdir()} == set(FORGERIES)


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forgery_does_not_pass(tmp_path: Path, how: str) -> None:
    report = verdict(tmp_path, FIXTURES / "forgeries" / f"{how}.py")
    assert report.verdict == "inconclusive", report.to_text()
    assert FORGERIES[how] in report.reason


@pytest.mark.parametrize("path", sorted((FIXTURES / "innocent").iterdir()), ids=lambda p: p.stem)
def test_an_innocent_script_is_not_suspected(tmp_path: Path, path: Path) -> None:
    report = verdict(tmp_path, path)
    assert report.verdict == "ran", report.to_text()  # there is no original to compare with


STREAMS_AND_MODES = """
import torch
with torch.cuda.stream(torch.cuda.Stream()):
    x = torch.fft.rfft(torch.ones(8, device="cuda")).conj()
torch.cuda.set_sync_debug_mode("warn")
print(x.abs().sum().item())
"""


def test_what_a_gpu_keeps_in_mind_is_not_the_scripts_doing(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(STREAMS_AND_MODES)
    report = verdict(tmp_path, script, "cuda")
    assert report.verdict == "ran", report.to_text()
