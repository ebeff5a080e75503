"""One project's fixes ask for its devices in one order."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.patterns.asking_order import first_asked
from mpslint.project.project import Project, helper_path
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = "import torch\n\nprint(torch.zeros(2).cuda())\nprint(torch.ones(2).cuda())\n"
CUDA_FIRST = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
MPS_FIRST = 'device = "mps" if torch.backends.mps.is_available() else "cpu"  # "cuda"\n'


def first_in_fixed(project: Path, settings: Settings) -> str:
    source = SourceFile(str(project / "train.py"), PROGRAM.encode())
    return first_asked(fix_source(source, settings, elsewhere=Project(settings)).text)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (CUDA_FIRST, "cuda"),
        (MPS_FIRST, "mps"),
        ("device = 'cuda:0' if args.gpu else 'cpu'\n", "cuda"),
        ("if torch.cuda.is_available():\n    return torch.device('cuda')\n", "cuda"),
        ("if use and torch.cuda.is_available():\n    self.device = 'cuda'\n", "cuda"),
        (
            "if torch.backends.mps.is_available():\n    name = 'mps'\nelse:\n  name = 'cuda'\n",
            "mps",
        ),
        (
            "if torch.cuda.is_available():\n    torch.cuda.manual_seed(h.seed)\n"
            "    device = torch.device('cuda')\n",
            "cuda",
        ),
        ("x = x.cuda() if use_cuda else x\n", ""),
        ("if torch.cuda.is_available():\n    torch.cuda.synchronize()\n", ""),
    ],
)
def test_the_first_arm_of_a_selection_is_what_is_asked_for_first(text: str, first: str) -> None:
    assert first_asked(text) == first


@pytest.mark.parametrize(
    ("beside", "first"), [(CUDA_FIRST, "cuda"), (MPS_FIRST, "mps"), ("", "mps")]
)
def test_a_new_selection_asks_in_the_order_of_those_in_the_project(
    project: Path, beside: str, first: str
) -> None:
    (project / "README.md").write_text("# Two numbers\n")
    (project / "test.py").write_text(f"import torch\n\n{beside}")
    assert first_in_fixed(project, Settings()) == first


def test_the_order_that_somebody_has_set_goes_over_that_of_the_project(project: Path) -> None:
    (project / "README.md").write_text("# Two numbers\n")
    (project / "test.py").write_text(f"import torch\n\n{CUDA_FIRST}")
    assert first_in_fixed(project, Settings(device_order_is_set=True)) == "mps"


def test_the_helper_that_files_share_asks_in_the_order_of_the_project(project: Path) -> None:
    (project / "README.md").write_text("# Two numbers\n")
    (project / "test.py").write_text(f"import torch\n\n{CUDA_FIRST}")
    settings = Settings(root=str(project), helper_module="device.py")
    assert helper_path(settings) == str(project / "device.py")
    assert first_asked(Project(settings).helper_source) == "cuda"
