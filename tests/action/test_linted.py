"""What linters of workflows say of the action, and of the workflow that its page shows."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
DEFINITION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def program(name: str) -> str:
    """Beside the Python of the tests, or on the PATH; else the test is skipped."""
    beside = str(Path(sys.executable).parent)
    found = shutil.which(name, path=beside) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def shown_workflow() -> str:
    (found,) = re.findall(r"```yaml\n(# \.github/workflows/mpslint\.yml\n.*?)```", PAGE, re.DOTALL)
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository that holds the action, and the workflow of the page, which uses it."""
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(ROOT / "action.yml", tmp_path)
    text = re.sub(r"(OWNER/mpslint)@\S+", rf"\1@{40 * 'a'}", shown_workflow())
    (workflows / "mpslint.yml").write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def linted(folder: Path, *command: str) -> tuple[int, str]:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def test_zizmor_finds_nothing_in_the_action_and_its_example(repository: Path) -> None:
    code, said = linted(repository, program("zizmor"), "--offline", ".")
    assert code == 0, said


def test_zizmor_would_find_an_input_that_becomes_part_of_a_script(repository: Path) -> None:
    path = repository / "action.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('"$BIN/mpslint" check', '"${{ inputs.args }}" check', 1))
    code, said = linted(repository, program("zizmor"), "--offline", ".")
    assert code != 0
    assert "template-injection" in said


def test_actionlint_finds_nothing_in_the_example_and_knows_its_inputs(repository: Path) -> None:
    path = repository / ".github" / "workflows" / "mpslint.yml"
    path.write_text(re.sub(r"OWNER/mpslint@\w+", "./", path.read_text(encoding="utf-8")))
    code, said = linted(repository, program("actionlint"), "-no-color")
    assert code == 0, said


def test_bash_can_read_every_script() -> None:
    scripts = [step["run"] for step in DEFINITION["runs"]["steps"] if "run" in step]
    assert len(scripts) == 2
    for script in scripts:
        ran = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True)
        assert ran.stderr == ""


def test_actions_of_others_are_pinned_by_commit_here_and_in_the_page() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8") + shown_workflow()
    used = [name for name in re.findall(r"uses: (\S+)", text) if not name.startswith("OWNER/")]
    assert len(used) == 4
    assert [name for name in used if not re.search(r"@[0-9a-f]{40}$", name)] == []


@pytest.mark.parametrize("kind", ["input", "output"])
def test_the_page_names_every_input_and_output_and_their_defaults(kind: str) -> None:
    table = PAGE.split(f"| {kind} |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| (?:`(.+?)` )?", table, re.MULTILINE)
    assert [name for name, _ in rows] == list(DEFINITION[f"{kind}s"])
    if kind == "input":
        defaults = [about["default"] for about in DEFINITION["inputs"].values()]
        assert [default for _, default in rows] == defaults


def test_inputs_that_the_page_gives_exist() -> None:
    blocks = re.findall(r"uses: OWNER/mpslint@\S+\n(.*?)(?:\n      - |\n  \w|```)", PAGE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        given = re.findall(r"^          ([a-z-]+):", block, re.MULTILINE)
        assert given
        assert set(given) <= set(DEFINITION["inputs"])
