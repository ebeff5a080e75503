"""A fix keeps to the line length that the tools of a project are set to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

LONG = (
    "import torch\n\nDEVICE = {0}cuda{0} if torch.cuda.is_available() else {0}cpu{0}\n"
    "x = torch.zeros(3, device=DEVICE)\n"
)
ARGUMENT = (
    "import torch\n\nmodel = torch.nn.Linear(3, 3).to("
    "{0}cuda{0} if torch.cuda.is_available() else {0}cpu{0})\n"
)
"""A choice that has no name, and stays an expression."""


def fixed(folder: Path, settings: dict[str, str], mark: str = '"', written: str = LONG) -> str:
    """The text that a module becomes in a project with these files."""
    (folder / "lib").mkdir()
    (folder / ".git").mkdir()
    for name, text in settings.items():
        (folder / name).write_text(text)
    path = folder / "lib" / "module.py"
    path.write_text(written.format(mark))
    return fix_source(SourceFile(str(path), path.read_bytes()), Settings()).text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.ruff]\nline-length = 120\n"),
        ("pyproject.toml", "[tool.black]\nline-length = 120\n"),
        ("ruff.toml", "line-length = 120\n"),
        ("setup.cfg", "[flake8]\nmax-line-length = 120\n"),
        (".flake8", "[flake8]\nignore = E203\nmax-line-length = 120\n"),
        ("tox.ini", "[tox]\nenvlist = py\n\n[pycodestyle]\nmax_line_length = 120\n"),
        (".editorconfig", "root = true\n\n[*]\nmax_line_length = 120\n"),
    ],
)
def test_what_fits_the_projects_lines_is_written_on_one(
    tmp_path: Path, name: str, text: str
) -> None:
    (line,) = [row for row in fixed(tmp_path, {name: text}).splitlines() if "cuda" in row]
    assert 88 < len(line) <= 120


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"setup.cfg": "[flake8]\nmax-line-length = 1000\n"},
        {"setup.cfg": "[metadata]\nmax-line-length = 120\n"},
        {"pyproject.toml": "[tool.ruff\nline-length = 120\n"},
    ],
)
def test_what_no_tool_says_is_read_off_the_file(tmp_path: Path, settings: dict[str, str]) -> None:
    assert max(map(len, fixed(tmp_path, settings).splitlines())) <= 88


def test_the_nearest_folder_that_says_anything_counts(tmp_path: Path) -> None:
    (tmp_path / ".editorconfig").write_text("[*.py]\nmax_line_length = 120\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    assert max(map(len, fixed(inner, {}).splitlines())) <= 88


def test_arms_stand_as_people_write_them_where_no_formatter_is_at_work(tmp_path: Path) -> None:
    text = fixed(tmp_path, {}, "'", ARGUMENT)
    assert "    'cuda' if torch.cuda.is_available()\n    else 'mps' if" in text


def test_arms_stand_as_black_puts_them_where_it_is_at_work(tmp_path: Path) -> None:
    black = {"pyproject.toml": "[tool.black]\nskip-string-normalization = true\n"}
    text = fixed(tmp_path, black, "'", ARGUMENT)
    assert "    'cuda'\n    if torch.cuda.is_available()\n    else 'mps'\n" in text


def test_a_choice_with_a_name_that_no_line_has_room_for_is_a_statement(tmp_path: Path) -> None:
    assert fixed(tmp_path, {}) == (
        "import torch\n"
        "\n"
        "if torch.cuda.is_available():\n"
        '    DEVICE = "cuda"\n'
        "elif torch.backends.mps.is_available():\n"
        '    DEVICE = "mps"\n'
        "else:\n"
        '    DEVICE = "cpu"\n'
        "x = torch.zeros(3, device=DEVICE)\n"
    )


def test_a_choice_that_an_object_of_others_keeps_stays_an_expression(tmp_path: Path) -> None:
    written = LONG.replace("DEVICE", "args.device").replace(
        "import torch", "import argparse\n\nimport torch\n\nargs = argparse.Namespace()"
    )
    assert "args.device = (\n" in fixed(tmp_path, {}, written=written)


CONTROLLER = """
import torch


class Controller:
    def __init__(self, config, net):
        self.device: torch.device = (
            torch.device("cuda", config.habitat_baselines.torch_gpu_id)
            if torch.cuda.is_available()
            else torch.device("cpu")
        )
        self.net = net.to(self.device)
"""
"""After habitat-lab's `baselines_controller.py`."""


def test_a_choice_over_several_lines_stays_one_where_it_does_not_fit_one(tmp_path: Path) -> None:
    settings = {
        "pyproject.toml": "[tool.black]\nline-length = 79\n",
        "requirements.txt": "torch>=1.3\n",
    }
    text = fixed(tmp_path, settings, written=CONTROLLER)
    assert "\n            if torch.cuda.is_available()\n            else torch.device" in text
    assert '\n            else torch.device("cpu")\n        )\n' in text
    assert text.count("\n") == CONTROLLER.count("\n") + 2


RETURNING = """
import torch


def get_device(config) -> torch.device:
    if torch.cuda.is_available():
        device = torch.device("cuda", config.habitat_baselines.torch_gpu_id)
        torch.cuda.set_device(device)
        return device
    else:
        return torch.device("cpu")


net = torch.nn.Linear(3, 3).to(get_device(None))
"""
"""After habitat-lab's `ppo_trainer.py`."""


@pytest.mark.parametrize(("width", "lines"), [(79, 2), (120, 0)])
def test_an_arm_that_has_no_room_for_a_choice_gets_one_beside_it(
    tmp_path: Path, width: int, lines: int
) -> None:
    settings = {"pyproject.toml": f"[tool.black]\nline-length = {width}\n"}
    text = fixed(tmp_path, settings | {"requirements.txt": "torch>=1.3\n"}, written=RETURNING)
    assert text.count("\n") == RETURNING.count("\n") + lines
    assert ("    elif " in text) is bool(lines)
    assert 'is_available():\n        return torch.device("mps")\n    else:\n' in text or not lines
