"""The hooks work with the real pre-commit program on a repository made for the test.

The hooks run the mpslint that is under test (`language: system`), because building an
environment for them needs a package index; what `.pre-commit-hooks.yaml` says (ids, entries,
file types) is taken from that file, and pre-commit itself validates it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from conftest import CUDA_ONLY, PORTABLE

ROOT = Path(__file__).resolve().parents[2]
HOOKS = ROOT / ".pre-commit-hooks.yaml"
KEPT = ("id", "name", "entry", "types_or", "require_serial")


@pytest.fixture
def repository(project: Path) -> Path:
    """A git repository that says which torch it needs, and whose pre-commit settings name both
    hooks."""
    (project / "requirements.txt").write_text("torch>=2.5\n")
    hooks = []
    for hook in yaml.safe_load(HOOKS.read_text()):
        command, _, rest = hook["entry"].partition(" ")
        assert command == "mpslint"
        entry = f"{sys.executable} -m mpslint {rest}"
        hooks.append({**{key: hook[key] for key in KEPT}, "entry": entry, "language": "system"})
    settings = {"repos": [{"repo": "local", "hooks": hooks}]}
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(settings))
    git(project, "init", "-q")
    return project


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def pre_commit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pre-commit with a store of its own, so that the test leaves nothing behind."""
    environment = {**os.environ, "PRE_COMMIT_HOME": str(folder.parent / "store")}
    command = [sys.executable, "-m", "pre_commit", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def stage(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    git(folder, "add", ".")
    return path


def test_the_hooks_file_is_what_pre_commit_expects(project: Path) -> None:
    ran = pre_commit(project, "validate-manifest", str(HOOKS))
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_check_hook_refuses_a_commit_with_findings(repository: Path) -> None:
    path = stage(repository, "train.py", CUDA_ONLY)
    ran = pre_commit(repository, "run", "mpslint")
    assert ran.returncode == 1
    assert "train.py:3:1: MPS201 [*]" in ran.stdout
    assert path.read_text() == CUDA_ONLY


def test_notebooks_are_checked_too(repository: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cell["source"] = CUDA_ONLY.splitlines(keepends=True)
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    stage(repository, "train.ipynb", json.dumps(book))
    ran = pre_commit(repository, "run", "mpslint")
    assert ran.returncode == 1
    assert "train.ipynb:cell 1:3:1: MPS201 [*]" in ran.stdout


def test_the_check_hook_lets_portable_code_pass(repository: Path) -> None:
    stage(repository, "train.py", PORTABLE)
    ran = pre_commit(repository, "run", "mpslint")
    assert (ran.returncode, "Passed" in ran.stdout) == (0, True)


def test_the_fix_hook_rewrites_exits_1_and_then_passes(repository: Path) -> None:
    path = stage(repository, "train.py", CUDA_ONLY)
    ran = pre_commit(repository, "run", "mpslint-fix")
    assert ran.returncode == 1
    assert "exit code: 1" in ran.stdout
    assert "files were modified by this hook" in ran.stdout
    assert path.read_text() == PORTABLE
    git(repository, "add", ".")
    assert pre_commit(repository, "run", "mpslint-fix").returncode == 0


def test_the_fix_hook_never_runs_the_code(repository: Path) -> None:
    text = CUDA_ONLY + "open('ran', 'w').close()\n"
    stage(repository, "train.py", text)
    pre_commit(repository, "run", "--all-files")
    assert not list(repository.rglob("ran"))


def test_files_that_the_settings_exclude_are_left_out_though_pre_commit_names_them(
    repository: Path,
) -> None:
    (repository / "mpslint.toml").write_text('extend-exclude = ["vendored"]\n')
    (repository / "vendored").mkdir()
    stage(repository, "vendored/train.py", CUDA_ONLY)
    assert pre_commit(repository, "run", "mpslint").returncode == 0


def test_a_commit_goes_through_only_when_the_hook_passes(repository: Path) -> None:
    assert pre_commit(repository, "install").returncode == 0
    stage(repository, "train.py", CUDA_ONLY)
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    environment = {**os.environ, "PRE_COMMIT_HOME": str(repository.parent / "store")}
    command = ["git", *identity, "commit", "-q", "-m", "a change"]
    first = subprocess.run(command, cwd=repository, env=environment, capture_output=True)
    assert first.returncode == 1
    git(repository, "add", ".")
    second = subprocess.run(command, cwd=repository, env=environment, capture_output=True)
    assert second.returncode == 0
    assert (repository / "train.py").read_text() == PORTABLE


def test_the_hook_checks_what_is_staged_and_not_what_lies_in_the_folder(repository: Path) -> None:
    path = stage(repository, "train.py", PORTABLE)
    path.write_text(CUDA_ONLY)
    assert pre_commit(repository, "run", "mpslint").returncode == 0
    assert path.read_text() == CUDA_ONLY
    stage(repository, "train.py", CUDA_ONLY)
    path.write_text(PORTABLE)
    assert pre_commit(repository, "run", "mpslint").returncode == 1


SLOW = """\
import torch

model = torch.nn.Linear(1, 1).to("mps" if torch.backends.mps.is_available() else "cpu")
for batch in range(9):
    loss = model(batch)
    loss.backward()
    print(loss.item())
"""


@pytest.mark.parametrize("hook", ["mpslint", "mpslint-fix"])
def test_what_is_merely_slow_stops_no_commit_unless_it_is_asked_for(
    repository: Path, hook: str
) -> None:
    stage(repository, "train.py", SLOW)
    assert pre_commit(repository, "run", hook).returncode == 0
    config = repository / ".pre-commit-config.yaml"
    settings = yaml.safe_load(config.read_text())
    for one in settings["repos"][0]["hooks"]:
        one["args"] = ["--severity=slow"]
    config.write_text(yaml.safe_dump(settings))
    git(repository, "add", ".")
    ran = pre_commit(repository, "run", hook)
    assert ran.returncode == 1
    assert "MPS303" in ran.stdout


def test_the_docs_name_no_tag_that_does_not_exist() -> None:
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (revision,) = re.findall(r"^    rev: (\S+)", page, re.MULTILINE)
    listed = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True).stdout
    assert revision == "COMMIT" or revision in listed.split()
