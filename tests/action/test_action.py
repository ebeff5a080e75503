"""The composite action, run here: its own scripts, in a repository made for the test."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest
from composite import Action
from conftest import CUDA_ONLY, PORTABLE
from published import SARIF, published, validate

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ("action.yml", "pyproject.toml", "README.md", "LICENSE", "src")
HOSTILE = "$(touch pwned) `touch pwned`; touch pwned #"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as a runner unpacks it for `uses`."""
    folder = tmp_path_factory.mktemp("checkout") / "owner" / "mpslint"
    folder.mkdir(parents=True)
    for name in SOURCE:
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, folder / name, ignore=skipped)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def installed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Action:
    """The action after its step that installs mpslint, which is the slow one."""
    made = action_of(checkout, tmp_path_factory.mktemp("installed"))
    made.run(only=("install",))
    assert "bin" in made.outputs["install"], made.log
    return made


def action_of(checkout: Path, folder: Path) -> Action:
    """Packages come from the environment of the tests, because there may be no index to ask."""
    workspace, temporary = folder / "workspace", folder / "runner"
    workspace.mkdir()
    temporary.mkdir()
    first = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    offline = {
        "PATH": first,  # the Python of the tests, whose packages those are
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # that is how pip spells it
        "PIP_CONFIG_FILE": os.devnull,
    }
    return Action(checkout, workspace, temporary, environment=offline)


def annotated(action: Action) -> list[str]:
    """The file of each error that the log annotates."""
    return re.findall(r"^::error .*?\bfile=([^,]*)", action.log, re.MULTILINE)


Run = Callable[..., dict[str, str]]


@pytest.fixture
def action(installed: Action, project: Path) -> Action:
    installed.workspace = project
    return installed


@pytest.fixture
def check(action: Action) -> Run:
    """The action with these inputs, from where mpslint is installed."""

    def run(**inputs: str) -> dict[str, str]:
        return action.run(only=("check",), **inputs)

    return run


def test_what_is_installed_is_mpslint_of_the_actions_own_checkout(
    action: Action, project: Path
) -> None:
    python = Path(action.outputs["install"]["bin"]) / "python"
    where = [python, "-I", "-c", "import mpslint; print(mpslint.__file__)"]
    found = subprocess.run(where, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(action.temporary))
    assert "mpslint 0." in action.log


def test_findings_annotate_the_lines_and_fail_the_job(action: Action, check: Run) -> None:
    shutil.copy(ROOT / "examples" / "train.py", action.workspace)
    assert check() == {"exit-code": "1", "sarif": ""}
    assert annotated(action) == ["train.py"] * 8
    assert "file=train.py,line=23," in action.log
    assert action.used == []


def test_portable_code_passes(action: Action, check: Run) -> None:
    (action.workspace / "train.py").write_text(PORTABLE)
    assert check()["exit-code"] == "0"


def test_sarif_is_written_and_uploaded_though_findings_fail_the_job(
    action: Action, check: Run
) -> None:
    shutil.copy(ROOT / "examples" / "train.py", action.workspace)
    outputs = check(sarif="true", sarif_category="gpu")
    assert outputs["exit-code"] == "1"
    log = json.loads(Path(outputs["sarif"]).read_text(encoding="utf-8"))
    validate(log, published(SARIF))
    assert len(log["runs"][0]["results"]) == 9
    (used, with_), *others = action.used
    assert (used.split("@")[0], others) == ("github/codeql-action/upload-sarif", [])
    assert with_ == {"sarif_file": outputs["sarif"], "category": "gpu"}


def test_an_empty_sarif_is_uploaded_too_so_that_alerts_are_closed(
    action: Action, check: Run
) -> None:
    (action.workspace / "train.py").write_text(PORTABLE)
    outputs = check(sarif="true")
    assert outputs["exit-code"] == "0"
    assert len(action.used) == 1


def test_wrong_options_give_2_and_no_stale_sarif(action: Action, check: Run) -> None:
    (action.workspace / "train.py").write_text(CUDA_ONLY)
    check(sarif="true")
    assert check(sarif="true", args="--slect MPS1") == {"exit-code": "2", "sarif": ""}
    assert "--select" in action.log
    assert action.used == []


def test_options_are_split_as_in_a_shell_and_paths_by_lines(action: Action, check: Run) -> None:
    for name in ("with space", "other", "third"):
        (action.workspace / name).mkdir()
        (action.workspace / name / "train.py").write_text(CUDA_ONLY)
    check(paths="with space\nother\n", args='--per-file-ignores "with space/*:MPS101"')
    assert annotated(action) == ["with space/train.py", "other/train.py"]
    assert check(paths="with space", args="--per-file-ignores 'with space/*:MPS201'") == {
        "exit-code": "0",
        "sarif": "",
    }


def test_a_pull_request_hears_of_what_it_brings_as_the_page_shows(
    action: Action, check: Run, tmp_path: Path
) -> None:
    """In what `actions/checkout` leaves: a merge of the branch into its base, on no branch."""
    origin, identity = tmp_path / "origin", ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    origin.mkdir()

    def git(*arguments: str | Path) -> None:
        subprocess.run(["git", *identity, *arguments], cwd=origin, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    (origin / "old.py").write_text(CUDA_ONLY)
    git("add", ".")
    git("commit", "-qm", "old")
    git("checkout", "-qb", "change")
    (origin / "new.py").write_text(CUDA_ONLY)
    git("add", ".")
    git("commit", "-qm", "new")
    git("checkout", "-q", "main")
    (origin / "meanwhile.py").write_text(CUDA_ONLY)
    git("add", ".")
    git("commit", "-qm", "meanwhile")
    git("clone", "-q", origin, action.workspace)
    git("-C", action.workspace, "checkout", "-q", "--detach")
    git("-C", action.workspace, "merge", "-q", "--no-ff", "-m", "merge", "origin/change")

    assert check(args="--diff-base origin/main")["exit-code"] == "1"
    assert annotated(action) == ["new.py"]


def test_a_path_that_looks_like_an_option_is_a_path(action: Action, check: Run) -> None:
    (action.workspace / "--fix").mkdir()
    (action.workspace / "--fix" / "train.py").write_text(CUDA_ONLY)
    (action.workspace / "train.py").write_text(CUDA_ONLY)
    assert check(paths="--fix")["exit-code"] == "1"
    assert annotated(action) == ["--fix/train.py"]
    assert (action.workspace / "train.py").read_text() == CUDA_ONLY


def test_an_open_quote_is_refused(action: Action, check: Run) -> None:
    assert check(args="--select 'MPS1")["exit-code"] == "2"
    assert "::error title=mpslint::args has a quote that is not closed" in action.log


@pytest.mark.parametrize("name", ["paths", "args", "verify"])
def test_no_input_is_run_as_a_command(action: Action, check: Run, name: str) -> None:
    (action.workspace / "train.py").write_text(CUDA_ONLY)
    check(**{"fix": "true", name: HOSTILE})
    assert not list(action.workspace.rglob("pwned"))


def test_scripts_hold_no_expression(action: Action) -> None:
    scripts = [step.get("run", "") for step in action.definition["runs"]["steps"]]
    assert any(scripts)
    assert not any("${{" in script for script in scripts)


def test_fixes_are_left_in_the_working_tree_and_what_remains_is_reported(
    action: Action, check: Run
) -> None:
    fixable, other = action.workspace / "train.py", action.workspace / "other.py"
    fixable.write_text(CUDA_ONLY)
    other.write_text("import apex\nimport torch\n")
    assert check(fix="true", args="--extend-select MPS213")["exit-code"] == "1"
    assert fixable.read_text() == PORTABLE
    assert annotated(action) == ["other.py"]


def test_options_hold_for_fixes_as_well(action: Action, check: Run) -> None:
    (action.workspace / "train.py").write_text(CUDA_ONLY)
    assert check(fix="true", args="--select MPS101")["exit-code"] == "0"
    assert (action.workspace / "train.py").read_text() == CUDA_ONLY


def test_a_fix_whose_script_fails_is_not_written_and_gives_3(action: Action, check: Run) -> None:
    path = action.workspace / "train.py"
    path.write_text(CUDA_ONLY + "raise SystemExit(7)\n")
    assert check(fix="true", verify="train.py")["exit-code"] == "3"
    assert path.read_text() == CUDA_ONLY + "raise SystemExit(7)\n"
    assert annotated(action) == ["train.py"]


def test_a_fix_whose_script_passes_is_written(action: Action, check: Run) -> None:
    path = action.workspace / "train.py"
    path.write_text("import torch\n\nprint(torch.ones(2, device='cuda').sum().cpu())\n")
    assert check(fix="true", verify="train.py")["exit-code"] == "0", action.log
    assert "is_available" in path.read_text()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"sarif": "yes"}, "sarif is true or false"),
        ({"fix": "True"}, "fix is true or false"),
        ({"verify": "train.py"}, "verify goes with fix: true"),
        ({"version": "--upgrade"}, "version is no tag, branch or commit"),
        ({"version": HOSTILE}, "version is no tag, branch or commit"),
        ({"version": "main"}, "version works with 'uses: OWNER/REPOSITORY@REF' only"),
    ],
)
def test_unusable_inputs_are_refused_in_one_line(
    checkout: Path, tmp_path: Path, inputs: dict[str, str], said: str
) -> None:
    action = action_of(checkout, tmp_path)
    assert action.run(**inputs) == {"exit-code": "2", "sarif": ""}
    assert action.log == f"::error title=mpslint::{said}\n"
    assert not list(tmp_path.rglob("pwned"))


def test_another_version_is_installed_from_the_same_repository(
    checkout: Path, tmp_path: Path
) -> None:
    served = tmp_path / "server" / "owner" / "mpslint"
    shutil.copytree(checkout, served)
    about = served / "src" / "mpslint" / "__init__.py"
    about.write_text(re.sub(r'__version__ = ".*"', '__version__ = "0.0.7"', about.read_text()))
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "old"]):
        subprocess.run(["git", *command], cwd=served, check=True, capture_output=True)
    subprocess.run(["git", "tag", "v0.0.7"], cwd=served, check=True)

    action = action_of(checkout, tmp_path)
    action.github["action_repository"] = "owner/mpslint"
    action.environment["GITHUB_SERVER_URL"] = f"file://{tmp_path / 'server'}"
    action.run(only=("install",), version="v0.0.7")
    assert "mpslint 0.0.7" in action.log


def test_nothing_of_the_checked_repository_is_imported(checkout: Path, tmp_path: Path) -> None:
    action = action_of(checkout, tmp_path)
    for name in ("venv", "pip", "sys", "libcst", "mpslint", "argparse"):
        (action.workspace / f"{name}.py").write_text("open('pwned', 'w').close()\n")
    (action.workspace / "train.py").write_text(CUDA_ONLY)
    assert action.run()["exit-code"] == "1", action.log
    assert not list(tmp_path.rglob("pwned"))


def test_the_python_that_is_asked_for_is_set_up_beside_the_callers(
    checkout: Path, tmp_path: Path
) -> None:
    action = action_of(checkout, tmp_path)
    action.run(only=("check",), python_version="3.13")
    (used, with_), *_ = action.used
    assert used.startswith("actions/setup-python@")
    assert with_ == {"python-version": "3.13", "update-environment": "False"}
