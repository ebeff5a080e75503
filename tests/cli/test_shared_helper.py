"""From two files on one function selects the device for all, instead of a copy in each."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.cli.fix import run
from tests.conftest import Cli

SCRIPT = """\
import torch
from torch import nn

net = nn.Linear(2, 2).cuda()
print(net(torch.ones(1, 2).cuda()))
"""
ONCE = """\
import argparse

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
print(torch.ones(2, device=parser.parse_args().device))
"""


def fix(folder: Path, *names: str, text: str = SCRIPT) -> dict[str, str]:
    """The modules of a folder with such scripts, by name, once they are fixed."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    run(["--no-verify", "--no-cache", "--quiet", "."])
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*.py"))
    }


def test_three_files_share_a_helper(project: Path) -> None:
    texts = fix(project, "train.py", "test.py", "demo.py")
    assert texts["device.py"].count("def get_device()") == 1
    for name in ("train.py", "test.py", "demo.py"):
        assert "from device import get_device\n\ndevice = get_device()\n" in texts[name]
        assert "is_available" not in texts[name]


def test_the_module_that_is_new_is_named(cli: Cli, project: Path) -> None:
    for name in ("train.py", "test.py"):
        (project / name).write_text(SCRIPT)
    assert "\nCreated device.py.\n" in cli("fix", "--no-verify", ".").out
    assert "Created" not in cli("fix", "--no-verify", ".").out


def test_files_share_one_as_well_where_their_fixes_are_unsafe(project: Path) -> None:
    strange = SCRIPT.replace("import torch\n", "import strange\nimport torch\n", 1)
    strange = strange.replace("print(net(", "print(strange.of(net(").rstrip() + ")\n"
    assert "is_available" not in "".join(fix(project, "train.py", "test.py", text=strange).values())

    run(["--no-verify", "--no-cache", "--quiet", "--unsafe-fixes", "."])

    assert (project / "device.py").read_text().count("def get_device()") == 1
    for name in ("train.py", "test.py"):
        assert "device = get_device()\n" in (project / name).read_text()


def test_two_files_share_one_as_well(project: Path) -> None:
    texts = fix(project, "train.py", "test.py")
    assert list(texts) == ["device.py", "test.py", "train.py"]
    assert sum("torch.backends.mps.is_available()" in text for text in texts.values()) == 1


def test_one_file_selects_by_itself(project: Path) -> None:
    texts = fix(project, "train.py")
    assert list(texts) == ["train.py"]


def test_what_needs_the_device_once_calls_the_helper_there(project: Path) -> None:
    texts = fix(project, "train.py", "test.py", "demo.py", text=ONCE)
    assert 'add_argument("--device", default=str(get_device()))' in texts["train.py"]


def test_the_helper_gets_a_name_that_is_free(project: Path) -> None:
    (project / "device.py").write_text("NAME = 'a robot'\n")
    texts = fix(project, "train.py", "test.py", "demo.py")
    assert texts["device.py"] == "NAME = 'a robot'\n"
    assert "from devices import get_device" in texts["train.py"]


def test_files_that_cannot_import_the_same_module_select_by_themselves(project: Path) -> None:
    texts = fix(project, "a/train.py", "b/train.py", "c/train.py")
    assert list(texts) == ["a/train.py", "b/train.py", "c/train.py"]
    assert all("torch.backends.mps.is_available()" in text for text in texts.values())


def test_a_package_that_is_installed_imports_nothing_from_above_it(project: Path) -> None:
    (project / "setup.py").write_text("from setuptools import setup\n\nsetup(name='model')\n")
    (project / "model").mkdir()
    (project / "model" / "__init__.py").write_text("")
    texts = fix(project, "train.py", "test.py", "model/net.py")
    assert "from device" not in texts["model/net.py"]
    assert "is_available" in texts["model/net.py"]


@pytest.mark.parametrize(
    ("settings", "is_shared"),
    [("[tool.ruff]\nline-length = 100\n", True), ("[project]\nname = 'net'\n", False)],
)
def test_settings_of_tools_alone_install_nothing(
    project: Path, settings: str, is_shared: bool
) -> None:
    (project / "pyproject.toml").write_text(settings)
    (project / "net").mkdir()
    (project / "net" / "size.py").write_text("SIZE = 2\n")
    (project / "tool").mkdir()
    (project / "tool" / "net.py").write_text(f"from net.size import SIZE\n{SCRIPT}")
    texts = fix(project, "run.py", text=f"from net.size import SIZE\n{SCRIPT}")
    assert ("from device import get_device" in texts["tool/net.py"]) is is_shared


MODULE = "import torch\n\n\ndef zeros(n):\n    return torch.zeros(n).cuda()\n"


def test_a_file_that_stays_as_it_is_shows_where_others_are_imported_from(project: Path) -> None:
    (project / "model").mkdir()
    (project / "model" / "both.py").write_text("from model.loss import zeros\nimport model.net\n")
    (project / "run.py").write_text("import model.both\n")
    texts = fix(project, "model/loss.py", "model/net.py", text=MODULE)
    assert all(
        "from model.device import get_device" in texts[f"model/{n}.py"] for n in ("loss", "net")
    )


def test_the_helper_is_made_in_the_package_that_most_of_them_are_in(project: Path) -> None:
    (project / "net").mkdir()
    (project / "net" / "__init__.py").write_text("")
    (project / "run.py").write_text(f"from net.loss import zeros\n{SCRIPT}")
    (project / "net" / "both.py").write_text("import net.loss\nimport net.layer\n")
    texts = fix(project, "net/loss.py", "net/layer.py", text=MODULE)
    for name in ("run.py", "net/loss.py", "net/layer.py"):
        assert "from net.device import get_device" in texts[name]


def test_nothing_is_put_into_a_package_that_none_of_them_is_in(project: Path) -> None:
    (project / "data").mkdir()
    (project / "data" / "__init__.py").write_text("SIZE = 2\n")
    texts = fix(project, "train.py", "test.py", text=f"from data import SIZE\n{SCRIPT}")
    assert "from device import get_device" in texts["train.py"]


def test_two_names_for_one_file_show_nothing(project: Path) -> None:
    (project / "model").mkdir()
    (project / "model" / "both.py").write_text("from loss import zeros\nimport net\n")
    (project / "run.py").write_text("from model.loss import zeros\nimport model.net\n")
    texts = fix(project, "model/loss.py", "model/net.py", text=MODULE)
    assert "model/device.py" not in texts
    assert all("is_available" in texts[f"model/{name}.py"] for name in ("loss", "net"))


def test_a_part_of_a_package_is_found_by_any_import_of_that(project: Path) -> None:
    for name in ("models", "models/maps", "models/heads"):
        (project / "lib" / name).mkdir(parents=True)
        (project / "lib" / name / "__init__.py").write_text("")
    (project / "lib" / "models" / "whole.py").write_text("from models.maps import one\n")
    texts = fix(project, "lib/models/maps/one.py", "lib/models/heads/two.py", text=MODULE)
    assert "from models.device import get_device" in texts["lib/models/heads/two.py"]


def test_a_folder_that_a_program_puts_on_its_path_holds_modules_for_it(project: Path) -> None:
    added = "import os\nimport sys\n\nhere = os.path.dirname(__file__)\n"
    added += "sys.path.append(os.path.join(here, '../lib'))\n"
    (project / "lib").mkdir()
    (project / "lib" / "sizes.py").write_text("SIZE = 2\n")
    head = f"{added}from sizes import SIZE\n"
    texts = fix(project, "tools/train.py", "exps/test.py", text=head + SCRIPT)
    assert "def get_device" in texts["lib/device.py"]
    assert all(
        "from device import get_device" in texts[n] for n in ("tools/train.py", "exps/test.py")
    )


CHOOSES = """\
import torch
from torch import nn

device = "cuda" if torch.cuda.is_available() else "cpu"
print(nn.Linear(2, 2).to(device)(torch.ones(1, 2).to(device)))
"""


def test_a_file_that_chooses_anyway_takes_the_helper_that_two_others_share(project: Path) -> None:
    (project / "demo.py").write_text(CHOOSES)
    texts = fix(project, "train.py", "test.py")
    assert "from device import get_device\n\ndevice = get_device().type\n" in texts["demo.py"]


def test_files_that_choose_anyway_need_none_for_themselves(project: Path) -> None:
    texts = fix(project, "train.py", "test.py", "demo.py", text=CHOOSES)
    assert "device.py" not in texts
    assert all(text.count("torch.backends.mps.is_available()") == 1 for text in texts.values())


SEVERAL = """\
import torch
from torch import nn


def train(net: nn.Module) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net.to(device)
    print(net(torch.ones(1, 2, device=device)))


def test(net: nn.Module) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net.to(device)
    print(net(torch.ones(1, 2, device=device)))


def show(net: nn.Module) -> None:
    print(net(torch.ones(1, 2).cuda()))


if __name__ == "__main__":
    train(nn.Linear(2, 2))
    test(nn.Linear(2, 2))
    show(nn.Linear(2, 2).cuda())
"""


def test_a_file_that_selects_in_several_functions_gets_one_function(project: Path) -> None:
    text = fix(project, "run.py", text=SEVERAL)["run.py"]
    assert text.count("torch.backends.mps.is_available()") == 1
    assert text.count("    device = get_device()\n") == 2
    assert "torch.ones(1, 2).to(get_device())" in text
    assert "torch_device" not in text
    assert fix(project)["run.py"] == text


def test_selections_of_one_line_each_stay_in_place(project: Path) -> None:
    wide = "a file with long lines " * 4
    short = "".join(
        f"\n\ndef f{n}(net):\n    device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "    return net.to(device)\n"
        for n in range(2)
    )
    text = fix(project, "run.py", text=f"import torch  # {wide}\n{short}")["run.py"]
    assert "def get_device" not in text
    assert text.count("torch.backends.mps.is_available()") == 2


def test_scripts_that_import_from_their_own_folder_get_nothing_from_above_it(
    project: Path,
) -> None:
    (project / "tools").mkdir()
    (project / "tools" / "__init__.py").write_text("")
    (project / "tools" / "parts.py").write_text("SIZE = 2\n")
    (project / "tools" / "show.py").write_text(f"from parts import SIZE\n{SCRIPT}")
    (project / "data.py").write_text("def load(): ...\n")
    (project / "train.py").write_text(f"from data import load\n{SCRIPT}")
    texts = fix(project, "test.py", "demo.py", "tools/measure.py")
    assert "from device import get_device" in texts["train.py"]
    assert "def get_device" in texts["device.py"]
    assert "def get_device" in texts["tools/device.py"]


@pytest.mark.parametrize(
    ("importer", "line"),
    [("train.py", "from tools.measure import net"), ("tools/measure.py", "from data import load")],
)
def test_a_package_that_starts_at_the_top_shares_its_helper(
    project: Path, importer: str, line: str
) -> None:
    (project / "tools").mkdir()
    (project / "tools" / "__init__.py").write_text("")
    (project / "data.py").write_text("def load(): ...\n")
    (project / importer).write_text(f"{line}\n{SCRIPT}")
    names = {"train.py", "test.py", "demo.py", "tools/measure.py"} - {importer}
    assert "from device import get_device" in fix(project, *names)["tools/measure.py"]


def test_a_helper_of_folders_that_are_no_packages_is_made_where_they_look_for_it(
    project: Path,
) -> None:
    (project / "code" / "shared").mkdir(parents=True)
    (project / "code" / "shared" / "sizes.py").write_text("SIZE = 2\n")
    script = f"from shared.sizes import SIZE\n{SCRIPT}"
    names = ("code/data/images.py", "code/nets/small.py", "code/train/run.py")
    texts = fix(project, *names, text=script)
    assert "def get_device()" in texts["code/device.py"]
    assert all("from device import get_device" in texts[name] for name in names)


def test_a_file_that_imports_nothing_of_its_project_shares_the_helper_of_those_that_import_it(
    project: Path,
) -> None:
    tools = "import torch\n\n\ndef zeros(n):\n    return torch.zeros(n).cuda()\n"
    (project / "utils").mkdir()
    (project / "utils" / "tools.py").write_text(tools)
    texts = fix(project, "train.py", "test.py", text=f"from utils.tools import zeros\n{SCRIPT}")
    assert "from device import get_device" in texts["utils/tools.py"]
    assert sum("def get_device()" in text for text in texts.values()) == 1


def test_a_file_that_nobody_imports_keeps_its_own_selection(project: Path) -> None:
    tools = "import torch\n\n\ndef zeros(n):\n    return torch.zeros(n).cuda()\n"
    (project / "utils").mkdir()
    (project / "utils" / "tools.py").write_text(tools)
    texts = fix(project, "train.py", "test.py", "demo.py")
    assert "from device" not in texts["utils/tools.py"]


def test_one_module_is_imported_by_one_name(project: Path) -> None:
    for name in ("src/__init__.py", "src/solver/__init__.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    for name in ("train", "test", "demo"):
        (project / "src" / "bin").mkdir(exist_ok=True)
        (project / "src" / "bin" / f"{name}.py").write_text(f"import solver\n{SCRIPT}")
    texts = fix(project, "src/solver/net.py")
    assert "from device import get_device" in texts["src/bin/train.py"]
    assert "is_available" in texts["src/solver/net.py"]


@pytest.mark.parametrize("style", ["helper", "accelerator"])
def test_a_style_of_the_users_goes_over_it(project: Path, style: str) -> None:
    (project / "pyproject.toml").write_text(
        f'[tool.mpslint]\nstyle = "{style}"\nmin-torch = "2.13"\n'
    )
    assert "device.py" not in fix(project, "train.py", "test.py", "demo.py")


def test_a_second_run_changes_nothing(project: Path) -> None:
    texts = fix(project, "train.py", "test.py", "demo.py")
    assert fix(project) == texts


@pytest.mark.parametrize(
    ("imports", "line"),
    [
        ("from .parts import SIZE\n", "from .device import get_device"),
        ("from model.parts import SIZE\n", "from model.device import get_device"),
        (
            "from .parts import SIZE\nfrom model.parts import SIZE as size\n",
            "from model.device import get_device",
        ),
    ],
)
def test_the_helper_is_imported_as_the_file_imports_what_lies_beside_it(
    project: Path, imports: str, line: str
) -> None:
    (project / "model").mkdir()
    for name in ("__init__.py", "inner/__init__.py"):
        (project / "model" / name).parent.mkdir(exist_ok=True)
        (project / "model" / name).write_text("")
    (project / "model" / "parts.py").write_text("SIZE = 2\n")
    names = [f"model/{name}.py" for name in ("train", "test", "demo")]
    texts = fix(project, *names, text=imports + SCRIPT)
    assert texts["model/device.py"].count("def get_device()") == 1
    assert all(f"{line}\n" in texts[name] for name in names)


def test_a_file_further_down_looks_up_to_the_helper(project: Path) -> None:
    for name in ("__init__.py", "inner/__init__.py"):
        (project / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "model" / name).write_text("")
    (project / "model" / "parts.py").write_text("SIZE = 2\n")
    (project / "model" / "inner" / "show.py").write_text(f"from ..parts import SIZE\n{SCRIPT}")
    texts = fix(
        project, "model/train.py", "model/test.py", text=f"from .parts import SIZE\n{SCRIPT}"
    )
    assert "from ..device import get_device\n" in texts["model/inner/show.py"]
    assert "from .device import get_device\n" in texts["model/train.py"]


@pytest.mark.parametrize(("defined", "shared"), [("build", True), ("other", False)])
def test_a_module_without_the_name_that_is_taken_is_another_one(
    project: Path, defined: str, shared: bool
) -> None:
    (project / "data.py").write_text(f"def {defined}():\n    return 1\n")
    text = SCRIPT.replace("import torch\n", "import torch\nfrom data import build\n", 1)
    fix(project, "main.py", "finetuning/run.py", text=text)
    run_text = (project / "finetuning" / "run.py").read_text()
    assert ("from device import get_device" in run_text) == shared


def test_programs_in_the_folder_of_a_package_that_nobody_imports_get_nothing_from_above(
    project: Path,
) -> None:
    for name in ("pkg/__init__.py", "pkg/metrics/__init__.py", "pkg/metrics/model.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("")
    beside = SCRIPT.replace("import torch\n", "import torch\nfrom .model import net\n", 1)
    (project / "pkg" / "metrics" / "test.py").write_text(beside)
    texts = fix(project, "pkg/metrics/demo.py", "pkg/metrics/evaluate.py")
    assert "import get_device" not in texts["pkg/metrics/demo.py"]
    assert "import get_device" not in texts["pkg/metrics/evaluate.py"]


def test_the_preview_says_that_files_will_share_the_selection_shown_in_each(
    cli: Cli, project: Path
) -> None:
    for name in ("train.py", "test.py"):
        (project / name).write_text(SCRIPT)
    assert "lets the 2 files above that get a selection share one" in cli("check").out
    assert "share one" not in cli("check", "train.py").out
