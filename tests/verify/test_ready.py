"""Runs that are forked from one process with torch: as if each had begun by itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify import Request, interpreter, ready
from mpslint.verify.launch import Launch
from mpslint.verify.pace import Pace
from mpslint.verify.ready import Ready
from mpslint.verify.workshop import Workshop

from .conftest import linux

Script = Callable[[str, str], str]
FORKED, AFRESH = "-c", "-m"
"""How the Python was started in which a script finds itself."""
HOW = "import sys\nhow = sys.orig_argv[1]\n"


class Server:
    """Has loaded what torch loads."""

    def about(self) -> dict[str, list[str]]:
        return {"loaded": ["numpy", "queue", "torch", "logging"]}

    def close(self) -> None:
        pass


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Ready:
    monkeypatch.setattr(ready, "ForkServer", lambda *_: Server())
    monkeypatch.setattr(ready.sys, "platform", "linux")
    python = interpreter.Interpreter("/usr/bin/python3", (3, 11, 7), "2.13.0", (), (), "")
    return Ready(python, {}, str(tmp_path), [])


@pytest.mark.parametrize("name", ["queue.py", "numpy/__init__.py", "sitecustomize.py", "torch.so"])
def test_a_run_that_would_import_another_module_begins_by_itself(
    prepared: Ready, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert prepared.for_run([str(tmp_path)]) is None


@pytest.mark.parametrize("name", ["queues.py", "numpy/data.csv", "logging/run.log", "queue.txt"])
def test_what_comes_after_installed_modules_is_in_nobodys_way(
    prepared: Ready, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert prepared.for_run([str(tmp_path), "/nowhere"]) is not None


def test_nothing_is_forked_after_the_end(prepared: Ready) -> None:
    prepared.close()
    assert prepared.for_run([]) is None


def launched(path: str, **settings: Any) -> Launch:
    request = Request(path, timeout=600.0, **settings)
    with Workshop(request, interpreter.ask(request.interpreter, request.env)) as workshop:
        return workshop.launch({}, "cpu", pace=Pace(0))


def told(launch: Launch) -> Any:
    assert launch.ended.code == 0, launch.ended.stderr
    return json.loads(launch.ended.stdout)


FRESH = """
import json, os
before = [name in sys.modules for name in ("torch", "torch.nn", "mpslint")]
import torch
files = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if int(n) > 2
         and os.path.exists(f"/proc/self/fd/{n}")]
print(json.dumps([how, before, torch.ones(2).sum().item(), torch.__spec__.loader is not None,
                  sys.path[0], os.environ["HOME"] == os.path.expanduser("~"),
                  [f for f in files if not f.startswith("socket:")]]))
"""


@linux
def test_a_forked_run_finds_itself_as_one_that_began_by_itself(script: Script) -> None:
    path = script("train.py", HOW + FRESH)
    how, before, total, has_loader, first, home, files = told(launched(path))
    assert how == FORKED
    assert before == [False, False, False]
    assert (total, has_loader, first, home, files) == (2.0, True, str(Path(path).parent), True, [])


@linux
def test_packages_of_the_users_path_that_torch_has_no_use_for_are_in_nobodys_way(
    script: Script,
) -> None:
    folder = str(Path(script("elsewhere/mpslint/__init__.py", "mine = 7\n")).parents[1])
    path = script(
        "train.py", HOW + "import json, mpslint, torch\nprint(json.dumps([how, mpslint.mine]))\n"
    )
    assert told(launched(path, env={"PYTHONPATH": folder})) == [FORKED, 7]


@linux
def test_a_script_that_never_imports_torch_is_seen_not_to(script: Script) -> None:
    assert launched(script("train.py", "print(1)\n")).outcome == "no-torch"


@linux
def test_a_variable_that_torch_reads_while_it_is_loaded_counts(script: Script) -> None:
    text = "import os\nos.environ['OMP_NUM_THREADS'] = '3'\nimport json, torch\n"
    path = script("train.py", HOW + text + "print(json.dumps(how))\n")
    assert told(launched(path)) == AFRESH


@linux
def test_the_fallback_variable_may_be_set_before_the_import(script: Script) -> None:
    text = "import os\nos.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'\nimport json, torch\n"
    path = script("train.py", HOW + text + "print(json.dumps(how))\n")
    assert told(launched(path)) == FORKED


@linux
def test_nothing_of_the_project_is_run_before_a_run_begins(script: Script, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    script("typing_extensions.py", f"open({str(marker)!r}, 'w').close()\n")
    path = script("train.py", HOW + "import json, torch\nprint(json.dumps(how))\n")
    launch = launched(path, env={"PYTHONPATH": str(Path(path).parent)})
    assert not marker.exists()
    assert "typing_extensions" in launch.ended.stderr  # in its own run it came in torch's way
