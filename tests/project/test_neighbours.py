"""What a file's own project says of the names it imports: read, never run, and kept no longer than
it is true."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.findings.results import FileResult
from mpslint.folders.discovery import Target
from mpslint.project.layout.out_of_reach import OutOfReach
from mpslint.project.neighbours import Neighbours
from mpslint.running.cache import Caches
from mpslint.running.runner import Job as Work
from mpslint.running.runner import check_all, check_job
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

APP = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "neighbours" / "app"
LONG_AGO = 1_600_000_000
HELPER = """\
import torch


def require():
    torch.distributed.init_process_group("nccl")
"""
SELECT = ("MPS101", "MPS201", "MPS413")
"""What breaks; a wait that CUDA alone makes has a finding of its own, not asked for here."""
USER = "import torch\nfrom helper import require\n\nrequire()\ntorch.cuda.synchronize()\n"


def alone(path: Path) -> list[str]:
    source = SourceFile(str(path), path.read_bytes())
    return [f"{f.row} {f.code}" for f in lint(source, Settings(select=SELECT))]


def among_its_own(path: Path) -> list[str]:
    source = SourceFile(str(path), path.read_bytes())
    settings = Settings(select=SELECT)
    return [f"{f.row} {f.code}" for f in lint(source, settings, elsewhere=Neighbours(settings))]


@pytest.mark.parametrize("name", ["settled.py", "flags.py", "bases.py"])
def test_what_the_project_makes_sure_of_is_known(name: str) -> None:
    assert alone(APP / name), "without its project the file has findings"
    assert among_its_own(APP / name) == []


def test_modules_that_are_not_there_and_flags_of_other_things_say_nothing() -> None:
    assert (
        among_its_own(APP / "unknown.py") == alone(APP / "unknown.py") == ["13 MPS201", "14 MPS201"]
    )


def test_a_device_that_is_wrong_is_reported_where_it_is_defined_and_not_at_each_use() -> None:
    files = [APP / "machine.py", APP / "uses.py"]
    found = [(file.name, line) for file in files for line in among_its_own(file)]
    assert [line for line in found if line[1].endswith("MPS101")] == [("machine.py", "10 MPS101")]
    assert not [line for line in found if line[0] == "uses.py"]


def make(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def checked(
    folder: Path, name: str = "user.py", *, cache: bool = True, jobs: int = 1
) -> FileResult:
    settings = Settings(root=str(folder), select=SELECT)
    targets = [Target(str(folder / name), settings, named=False)]
    (result,) = check_all(targets, cache=cache, jobs=jobs, with_fixes=False)
    return result


def codes(result: FileResult) -> list[str]:
    return [finding.code for finding in result.findings]


def known_by_time(folder: Path, name: str = "user.py") -> bool:
    """Whether the cache answers for the file without a look at its content."""
    target = Target(str(folder / name), Settings(root=str(folder), select=SELECT), named=False)
    cache = Caches().of(target.settings)
    return cache.by_stat(target, os.stat(target.path), with_fixes=False) is not None


def test_a_kept_result_holds_while_the_modules_it_rests_on_stay_as_they_are(tmp_path: Path) -> None:
    make(tmp_path, user=USER, helper=HELPER)
    assert codes(checked(tmp_path)) == []
    assert known_by_time(tmp_path)


def test_a_changed_module_is_asked_again(tmp_path: Path) -> None:
    make(tmp_path, user=USER, helper=HELPER)
    checked(tmp_path)
    (tmp_path / "helper.py").write_text("def require():\n    pass\n")
    assert codes(checked(tmp_path)) == ["MPS201"]
    (tmp_path / "helper.py").write_text(HELPER)
    assert codes(checked(tmp_path)) == []


def test_a_module_that_comes_or_goes_is_noticed(tmp_path: Path) -> None:
    make(tmp_path, user=USER)
    assert codes(checked(tmp_path)) == ["MPS201"]
    make(tmp_path, helper=HELPER)
    assert codes(checked(tmp_path)) == []
    (tmp_path / "helper.py").unlink()
    assert codes(checked(tmp_path)) == ["MPS201"]


def test_a_module_behind_the_one_that_is_imported_is_noticed_too(tmp_path: Path) -> None:
    make(tmp_path, user=USER, helper="from deep import require\n", deep=HELPER)
    assert codes(checked(tmp_path)) == []
    make(tmp_path, deep="def require():\n    return None  # torch\n")
    assert codes(checked(tmp_path)) == ["MPS201"]


def test_a_file_that_imports_nothing_of_its_project_rests_on_itself(tmp_path: Path) -> None:
    make(tmp_path, user="import torch\n\ntorch.cuda.synchronize()\n", helper=HELPER)
    assert checked(tmp_path).consulted == ()
    make(tmp_path, helper="x = 1\n")
    assert known_by_time(tmp_path)


@pytest.mark.parametrize(
    "helper", [b"def require(:\n", b"\xff\xfe torch cuda require", b"torch cuda require\0"]
)
def test_a_module_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, helper: bytes) -> None:
    make(tmp_path, user=USER)
    (tmp_path / "helper.py").write_bytes(helper)
    result = checked(tmp_path)
    assert result.error is None
    assert codes(result) == ["MPS201"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_a_pipe_or_a_folder_named_like_a_module_is_none(tmp_path: Path) -> None:
    make(tmp_path, user=USER)
    os.mkfifo(tmp_path / "helper.py")
    (tmp_path / "other.py").mkdir()
    assert codes(checked(tmp_path)) == ["MPS201"]


def test_modules_that_import_each_other_end(tmp_path: Path) -> None:
    make(
        tmp_path,
        user=USER,
        helper="from deep import require\n",
        deep="from helper import require\n",
    )
    assert codes(checked(tmp_path)) == ["MPS201"]


def test_what_a_module_says_does_not_hang_on_who_asks_first(tmp_path: Path) -> None:
    one = "import torch\nfrom two import ready\n\ndef sure():\n    assert ready()\n"
    two = "import torch\nfrom one import sure\n\ndef ready():\n    sure()\n"
    two += "    return torch.cuda.is_available()\n"
    ask = "import torch\nfrom {0} import {1}\n\n{1}()\ntorch.cuda.synchronize()\n"
    make(tmp_path, one=one, two=two, a=ask.format("one", "sure"), b=ask.format("two", "ready"))
    settings = Settings(root=str(tmp_path), select=SELECT)

    def answers(names: str) -> dict[str, list[str]]:
        around: dict[Settings, Neighbours | OutOfReach] = {}
        found = {}
        for name in names:
            target = Target(str(tmp_path / f"{name}.py"), settings, named=False)
            done = check_job(Work(target, ""), digest=False, with_fixes=False, around=around)
            assert done.result is not None
            found[name] = codes(done.result)
        return found

    assert answers("ab") == answers("ba")


def test_processes_find_what_one_finds(tmp_path: Path) -> None:
    make(tmp_path, helper=HELPER, **{f"user{n}": USER for n in range(40)})
    settings = Settings(root=str(tmp_path), select=SELECT)
    targets = [Target(str(p), settings, named=False) for p in sorted(tmp_path.glob("*.py"))]
    here = check_all(targets, cache=False, jobs=1, with_fixes=False)
    there = check_all(targets, cache=False, jobs=2, with_fixes=False)
    assert here == there
    assert str(tmp_path / "helper.py") in [other.path for other in here[1].consulted]


def test_a_worker_that_cannot_see_the_module_says_so(tmp_path: Path) -> None:
    make(tmp_path, user=USER, helper=HELPER)
    settings = Settings(root=str(tmp_path), select=SELECT)
    target = Target(str(tmp_path / "user.py"), settings, named=False)
    around: dict[Settings, Neighbours | OutOfReach] = {settings: OutOfReach()}
    done = check_job(Work(target, ""), digest=False, with_fixes=False, around=around)
    assert done.asked
    assert done.result is None


def test_flake8_reports_the_same(flake8: Cli, project: Path) -> None:
    make(project, user=USER, helper=HELPER, other=USER.replace("helper", "missing"))
    ran = flake8("--select", "MPS201", "user.py", "other.py")
    assert [line.split(" ")[:2] for line in ran.out.splitlines()] == [["other.py:5:1:", "MPS201"]]


def test_nothing_of_the_project_is_run(tmp_path: Path) -> None:
    copy = shutil.copytree(APP.parent, tmp_path / "project")
    made = tmp_path / "made"
    machine = copy / "app" / "machine.py"
    machine.write_text(machine.read_text().replace("/nonexistent/this-was-imported", str(made)))
    for path in sorted(copy.rglob("*.py")):
        among_its_own(path)
    assert not made.exists()


PACKAGE = {
    "__init__": "",
    "kernel": "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()\n\n\n"
    "class Runner:\n    def run(self):\n        torch.cuda.synchronize()\n",
    "user": "import torch\nfrom .kernel import Runner, wait\n\n\ndef main():\n"
    "    if torch.cuda.is_available():\n        wait()\n        Runner().run()\n",
}


def test_a_function_runs_where_all_files_beside_it_call_it(tmp_path: Path) -> None:
    make(tmp_path, **PACKAGE)
    assert codes(checked(tmp_path, "kernel.py")) == []


@pytest.mark.parametrize(
    "other",
    [
        "from .kernel import Runner, wait\n\nwait()\nRunner()\n",
        "from . import kernel\n\nkernel.wait()\nkernel.Runner().run()\n",
        "from .kernel import Runner, wait\n",
        "from .kernel import Runner as R, wait as w\n\nTABLE = {'r': R, 'w': w}\n",
    ],
    ids=["called", "by its module", "imported for others", "put in a table"],
)
def test_one_file_that_does_not_ask_is_enough_to_report(tmp_path: Path, other: str) -> None:
    make(tmp_path, **PACKAGE, other=f"import torch\n{other}")
    assert codes(checked(tmp_path, "kernel.py")) == ["MPS201", "MPS201"]


def test_a_leftover_of_an_import_runs_no_more_than_what_is_used_of_it(tmp_path: Path) -> None:
    make(tmp_path, **PACKAGE)
    user = "import torch\nfrom .kernel import Runner, wait\n\n\ndef main():\n"
    make(tmp_path, user=f"{user}    if torch.cuda.is_available():\n        wait()\n")
    assert codes(checked(tmp_path, "kernel.py")) == []


def test_a_new_file_beside_it_is_noticed(tmp_path: Path) -> None:
    make(tmp_path, **PACKAGE)
    os.utime(tmp_path, (LONG_AGO, LONG_AGO))
    assert codes(checked(tmp_path, "kernel.py")) == []
    make(tmp_path, other="import torch\nfrom .kernel import wait, Runner\n\nwait()\nRunner()\n")
    assert codes(checked(tmp_path, "kernel.py")) == ["MPS201", "MPS201"]


LOAD = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--weights", default="./net.pkl")
args = parser.parse_args()
net = torch.nn.Linear(2, 2)
net.load_state_dict(torch.load(args.weights))
"""
SAVE = """\
import torch


def save(net):
    {}
    torch.save(net.state_dict(), "../net.pkl")
"""


@pytest.mark.parametrize(
    ("before", "name", "found"),
    [
        ("net.cpu()", "net.pkl", []),
        ("net.eval()", "net.pkl", ["MPS413"]),
        ("net.cpu()", "other.pkl", ["MPS413"]),
    ],
    ids=["from the CPU", "from where it is", "another file"],
)
def test_a_checkpoint_that_the_project_writes_from_the_cpu_loads_anywhere(
    tmp_path: Path, before: str, name: str, found: list[str]
) -> None:
    make(tmp_path, user=LOAD, train=SAVE.format(before).replace("net.pkl", name))
    assert codes(checked(tmp_path)) == found


USES_APEX = "import torch\nimport apex\n\napex.run(torch.ones(2))\n"


def told_of_apex(path: Path) -> list[str]:
    settings = Settings(root=str(path.parent), select=("MPS213",))
    source = SourceFile(str(path), path.read_bytes())
    return [f.code for f in lint(source, settings, elsewhere=Neighbours(settings))]


def test_the_tests_of_a_package_for_cuda_are_not_told_that_they_import_it(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    for part in ("apex", "tests/one"):
        (folder / part).mkdir(parents=True)
    make(folder / "apex", __init__="")
    make(folder / "tests" / "one", check=USES_APEX)
    path = folder / "tests" / "one" / "check.py"
    assert told_of_apex(path) == ["MPS213"], "nothing here makes a package"
    make(folder, setup="from setuptools import setup\n\nsetup()\n")
    assert told_of_apex(path) == []


def test_a_program_beside_that_project_is_told(tmp_path: Path) -> None:
    (tmp_path / "apex" / "apex").mkdir(parents=True)
    make(tmp_path / "apex" / "apex", __init__="")
    make(tmp_path / "apex", setup="")
    make(tmp_path, train=USES_APEX)
    assert told_of_apex(tmp_path / "train.py") == ["MPS213"]


GROUP = """\
import torch.distributed as dist


def start():
    dist.init_process_group(backend="nccl")
"""
WAITING = "import torch\n\n\ndef wait():\n    torch.cuda.synchronize()\n"


def test_who_starts_nccl_by_a_helper_of_a_third_file_uses_what_it_calls_for_cuda(
    tmp_path: Path,
) -> None:
    user = "from group import start\nfrom waiting import wait\n\nstart()\nwait()  # for cuda\n"
    make(tmp_path, waiting=WAITING, group=GROUP, user=user)
    assert alone(tmp_path / "waiting.py") == ["5 MPS201"]
    assert among_its_own(tmp_path / "waiting.py") == []
    make(tmp_path, group="def start():\n    pass  # nccl\n")
    assert among_its_own(tmp_path / "waiting.py") == ["5 MPS201"]


NEEDS = """\
import pytest
import torch

need = pytest.mark.skipif(not torch.cuda.is_available(), reason="no cuda")
"""


def test_what_only_tests_use_that_a_mark_of_another_file_skips_is_for_cuda(
    tmp_path: Path,
) -> None:
    test = "from needs import need\nfrom waiting import wait\n\n\n@need\ndef test_it():\n    "
    make(tmp_path, waiting=WAITING, needs=NEEDS, test_waiting=f"{test}wait()  # cuda\n")
    assert among_its_own(tmp_path / "waiting.py") == []
    make(tmp_path, test_waiting=f"{test.replace('@need', '# cuda')}wait()\n")
    assert among_its_own(tmp_path / "waiting.py") == ["5 MPS201"]


def test_a_helper_of_what_only_cuda_uses_is_for_cuda_as_well(tmp_path: Path) -> None:
    more = "\n\ndef twice():\n    wait()\n    wait()\n"
    user = "from group import start\nfrom waiting import twice\n\nstart()\ntwice()  # for cuda\n"
    make(tmp_path, waiting=WAITING + more, group=GROUP, user=user)
    assert among_its_own(tmp_path / "waiting.py") == []
    make(tmp_path, other="from waiting import wait\nwait()\n")
    assert among_its_own(tmp_path / "waiting.py") == ["5 MPS201"]


def test_an_answer_that_a_user_was_told_before_still_rests_on_the_same_files(
    tmp_path: Path,
) -> None:
    user = "from group import start\nfrom waiting import wait\nfrom more import stop\n\nstart()\n"
    user += "wait()  # for cuda\nstop()\n"
    stop = WAITING.replace("wait", "stop")
    make(tmp_path, waiting=WAITING, more=stop, group=GROUP, user=user)
    targets = [
        Target(str(tmp_path / name), Settings(root=str(tmp_path), select=SELECT), named=False)
        for name in ("waiting.py", "more.py")
    ]
    results = check_all(targets, cache=False, jobs=1, with_fixes=False)
    rests = [{os.path.basename(one.path) for one in result.consulted} for result in results]
    assert all("group.py" in files for files in rests), rests


def test_that_a_function_itself_needs_cuda_is_not_learnt_from_those_who_call_it(
    tmp_path: Path,
) -> None:
    start = "import os\nimport torch\n\n\ndef start():\n"
    start += '    backend = "gloo" if os.name == "nt" else "nccl"\n'
    start += "    torch.distributed.init_process_group(backend=backend)\n"
    user = "from begin import start\n\n\ndef main():\n    start()  # cuda\n\n\nmain()\n"
    make(tmp_path, begin=start, user=user)
    path = tmp_path / "begin.py"
    source, settings = SourceFile(str(path), path.read_bytes()), Settings(select=("MPS219",))
    found = lint(source, settings, elsewhere=Neighbours(settings))
    assert [finding.row for finding in found] == [6]
