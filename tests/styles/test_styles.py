"""How a device is selected follows the project's settings; what a project has is reused."""

from __future__ import annotations

import ast
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import FIXTURES, Cli

STYLES = FIXTURES / "styles"
HELPER = """\
def get_device() -> torch.device:
    if torch.backends.mps.is_available():
        return torch.device("mps")
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")
"""
ACCELERATOR = 'torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")'


@pytest.fixture
def files(project: Path) -> Path:
    shutil.copytree(STYLES, project, dirs_exist_ok=True)
    return project


def fix(cli: Cli, *arguments: str) -> None:
    ran = cli("fix", "--no-verify", "--no-cache", "--isolated", "-q", *arguments)
    assert ran.code in (0, 1), ran.err
    assert "error" not in ran.err


def test_inline_writes_the_selection_where_it_is_needed(cli: Cli, files: Path) -> None:
    fix(cli, "train.py")
    assert "def get_device" not in (files / "train.py").read_text()
    assert 'device = torch.device("mps")' in (files / "train.py").read_text()


def test_helper_writes_one_function_and_calls_it(cli: Cli, files: Path) -> None:
    fix(cli, "--style", "helper", "train.py", "select.py")
    train, select = (files / "train.py").read_text(), (files / "select.py").read_text()
    assert f"\n\n\n{HELPER}\n\ndevice = get_device()\n\n\ndef train" in train
    assert select.count("def get_device()") == 1
    assert "\ndevice = get_device()\n" in select
    assert "\nname = get_device().type\n" in select


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("train.py", "from __future__ import print_function\n"),
        ("README.md", "It needs Python 2.7.\n"),
        ("setup.py", "from setuptools import setup\n\nsetup(python_requires='>=2.7')\n"),
        ("README.md", "It needs PyTorch 1.3.\n"),
    ],
)
def test_a_helper_that_python_2_may_run_has_no_annotation(
    cli: Cli, files: Path, name: str, line: str
) -> None:
    path = files / name
    path.write_text(line + (path.read_text() if path.exists() else ""))
    fix(cli, "--style", "helper", "train.py")
    assert "\ndef get_device():\n" in (files / "train.py").read_text()


@pytest.mark.parametrize(
    ("device", "is_shared"),
    [
        ('torch.device("cuda", rank)', False),
        ('torch.device("cuda", index=rank)', False),
        ('torch.device("cuda", index=0)', True),
    ],
)
def test_a_number_that_is_given_to_a_type_stays_beside_a_helper(
    cli: Cli, files: Path, device: str, is_shared: bool
) -> None:
    test = "if torch.cuda.is_available() else"
    (files / "ranks.py").write_text(
        f"import torch\n\n\ndef move(x, rank):\n"
        f'    device = {device} {test} torch.device("cpu")\n    return x.to(device)\n'
    )
    fix(cli, "--style", "helper", "ranks.py")
    text = (files / "ranks.py").read_text()
    assert (device in text, "device = get_device()" in text) == (not is_shared, is_shared)


@pytest.mark.parametrize(("number", "selections"), [("0", 1), ('"cuda:0"', 1), ("1", 2)])
def test_who_makes_the_first_gpu_the_current_one_needs_one_selection(
    cli: Cli, files: Path, number: str, selections: int
) -> None:
    (files / "moves.py").write_text(
        f"import torch\n\ntorch.cuda.set_device({number})\nnet = torch.nn.Linear(2, 2).cuda(0)\n"
        "print(net(torch.ones(1, 2).cuda()))\n"
    )
    fix(cli, "moves.py")
    assert (files / "moves.py").read_text().count('torch.device("cuda') == selections


def test_another_gpu_than_the_first_stays_in_place_in_every_style(cli: Cli, files: Path) -> None:
    fix(cli, "--style", "helper", "select.py")
    text = (files / "select.py").read_text()
    assert '    second = torch.device("cuda:1")\n' in text
    assert '    second = torch.device("mps")\n' in text


def test_accelerator_asks_torch(cli: Cli, files: Path) -> None:
    fix(cli, "--style", "accelerator", "--min-torch", "2.13", "train.py", "select.py")
    train, select = (files / "train.py").read_text(), (files / "select.py").read_text()
    assert f"\ndevice = {ACCELERATOR}\n" in train
    assert "    if torch.accelerator.is_available():\n        torch.accelerator.synchron" in train
    assert "torch.mps" not in train
    assert f"\ndevice = {ACCELERATOR}\n" in select
    assert f"\nname = ({ACCELERATOR}).type\n" in select


def test_accelerator_needs_a_torch_where_it_works(cli: Cli, files: Path) -> None:
    ran = cli("fix", "--isolated", "--style", "accelerator", "--no-verify", "train.py")
    assert ran.code == 2
    assert ran.err.startswith("error: --style: style accelerator needs min-torch 2.13 or later")
    assert (files / "train.py").read_text() == (STYLES / "train.py").read_text()


@pytest.mark.parametrize(
    "options",
    [
        ("--style", "helper"),
        ("--style", "accelerator", "--min-torch", "2.13"),
        ("--helper-module", "pkg/device.py"),
        ("--min-torch", "1.11"),
        ("--device-order", "cuda,cpu"),
    ],
)
def test_every_style_is_at_its_fixed_point_after_one_run(
    cli: Cli, files: Path, options: tuple[str, ...]
) -> None:
    (files / "pkg").mkdir(exist_ok=True)
    fix(cli, *options, ".")
    once = {path: path.read_bytes() for path in files.rglob("*.py")}
    for data in once.values():
        ast.parse(data)
    fix(cli, *options, ".")
    assert {path: path.read_bytes() for path in files.rglob("*.py")} == once


# device-order and min-torch


def test_a_project_without_mps_gets_no_mps(cli: Cli, files: Path) -> None:
    fix(cli, "--device-order", "cuda,cpu", "train.py", "select.py")
    assert "mps" not in (files / "train.py").read_text()
    assert (files / "select.py").read_text() == (STYLES / "select.py").read_text()


def test_a_project_without_cuda_is_changed_only_on_request(cli: Cli, files: Path) -> None:
    fix(cli, "--device-order", "mps,cpu", "train.py")
    assert (files / "train.py").read_text() == (STYLES / "train.py").read_text()
    fix(cli, "--device-order", "mps,cpu", "--unsafe-fixes", "train.py")
    assert "model.to(device)" in (files / "train.py").read_text()


def test_a_new_selection_asks_in_the_order_of_the_settings(cli: Cli, files: Path) -> None:
    fix(cli, "--device-order", "cuda,mps,cpu", "train.py")
    text = (files / "train.py").read_text()
    assert text.index('torch.device("cuda")') < text.index('torch.device("mps")')


def test_old_torch_is_asked_whether_it_knows_mps(cli: Cli, files: Path) -> None:
    fix(cli, "--min-torch", "1.11", "train.py")
    text = (files / "train.py").read_text()
    assert 'if hasattr(torch.backends, "mps") and torch.backends.mps.is_available():' in text
    assert 'elif hasattr(torch, "mps") and device.type == "mps":' in text


# helpers that are there


def test_a_helper_of_the_project_is_used_and_not_written_again(cli: Cli, files: Path) -> None:
    fix(cli, "uses_helper")
    text = (files / "uses_helper" / "train.py").read_text()
    assert "\n\ndevice = get_device()\n\n\ndef train" in text
    assert "is_available" not in text


def test_a_device_of_the_project_is_used_by_its_name(cli: Cli, files: Path) -> None:
    fix(cli, "uses_helper")
    assert "model.to(DEVICE)" in (files / "uses_helper" / "other.py").read_text()


def test_a_helper_that_may_return_something_else_is_not_used(cli: Cli, files: Path) -> None:
    helpers = files / "uses_helper" / "helpers.py"
    helpers.write_text(helpers.read_text().replace("def get_device()", "def get_device(name)"))
    fix(cli, "uses_helper")
    text = (files / "uses_helper" / "train.py").read_text()
    assert "get_device()\n" not in text.replace("get_device_count()", "")


def test_a_project_is_read_and_never_imported(cli: Cli, files: Path) -> None:
    helpers = files / "uses_helper" / "helpers.py"
    helpers.write_text(helpers.read_text() + "\nraise SystemExit('was imported')\n")
    fix(cli, "uses_helper")
    assert "device = get_device()" in (files / "uses_helper" / "train.py").read_text()


def test_modules_that_import_each_other_end_the_search(cli: Cli, files: Path) -> None:
    (files / "one.py").write_text("import torch\nfrom two import get_device\n")
    (files / "two.py").write_text(
        "import torch\nfrom one import get_device\nx = torch.zeros(1).cuda()\n"
    )
    fix(cli, "one.py", "two.py")
    assert ".to(device)" in (files / "two.py").read_text()


# one helper module per project


@pytest.fixture
def package(files: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(files / "project")
    return files / "project"


def test_the_helper_module_is_made_once_and_imported_where_it_can_be(
    cli: Cli, package: Path
) -> None:
    fix(cli, "--helper-module", "pkg/device.py", ".")
    assert HELPER in (package / "pkg" / "device.py").read_text()
    for name in ("main.py", "pkg/model.py"):
        text = (package / name).read_text()
        assert "\nfrom pkg.device import get_device\n" in text
        assert "\ndevice = get_device()\n" in text


def test_a_script_that_cannot_import_the_module_gets_the_function(cli: Cli, package: Path) -> None:
    fix(cli, "--helper-module", "pkg/device.py", ".")
    alone = (package / "tools" / "alone.py").read_text()
    assert HELPER in alone
    assert "from pkg" not in alone


def test_a_diff_shows_the_module_and_writes_nothing(cli: Cli, package: Path) -> None:
    options = ("--helper-module", "pkg/device.py", "--isolated", "--no-cache")
    ran = cli("fix", "--diff", *options, ".")
    assert "--- /dev/null\n+++ pkg/device.py\n" in ran.out
    assert not (package / "pkg" / "device.py").exists()


def test_a_module_without_the_helper_is_refused(cli: Cli, package: Path) -> None:
    (package / "pkg" / "device.py").write_text("import torch\n")
    ran = cli("fix", "--no-verify", "--isolated", "--helper-module", "pkg/device.py", ".")
    assert ran.code == 2
    assert "helper-module pkg/device.py: defines no get_device() that returns" in ran.err
    assert (package / "main.py").read_text() == (STYLES / "project" / "main.py").read_text()


def test_a_module_in_no_folder_is_refused(cli: Cli, package: Path) -> None:
    ran = cli("fix", "--no-verify", "--isolated", "--helper-module", "no/device.py", ".")
    assert ran.code == 2
    assert "helper-module no/device.py: its folder does not exist" in ran.err


def orders() -> Iterator[list[str]]:
    names = ["main.py", "pkg/model.py", "pkg/__init__.py", "tools/alone.py"]
    yield names
    for seed in range(3):
        yield random.Random(seed).sample(names, len(names))


@pytest.mark.parametrize("order", list(orders()))
def test_the_order_of_the_files_does_not_matter(cli: Cli, package: Path, order: list[str]) -> None:
    fix(cli, "--helper-module", "pkg/device.py", *order)
    texts = {path.name: path.read_text() for path in sorted(package.rglob("*.py"))}
    assert list(texts) == ["main.py", "__init__.py", "device.py", "model.py", "alone.py"]
    assert all("cuda()" not in text for text in texts.values())
    assert json.dumps(texts).count("def get_device") == 2


def test_helper_takes_the_place_of_statements_and_of_the_only_gpu_by_its_index(
    cli: Cli, files: Path
) -> None:
    fix(cli, "--style", "helper", "--device-order", "mps,cuda,cpu", "statements.py")
    text = (files / "statements.py").read_text()
    assert f"\n\n\n{HELPER}\n\ndevice = get_device()\n\nfirst = get_device()\n" in text
    assert "\nname = get_device().type\n" in text
    assert text.endswith("        self.device = get_device().type\n")
