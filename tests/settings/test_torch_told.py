"""No program may end for a fix under a torch that its project is said to run on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.file import SettingsFinder
from mpslint.settings.settings import Settings
from mpslint.settings.torch_pins import Pin
from mpslint.settings.torch_told import Told
from mpslint.sources.source import SourceFile

CHOICE = "import torch\n\ndevice = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
GUARD = "hasattr(torch.backends, 'mps')"


def fixed(folder: Path) -> str:
    settings = SettingsFinder().for_folder(str(folder))
    source = SourceFile(str(folder / "train.py"), CHOICE.encode())
    return fix_source(source, settings).text


@pytest.mark.parametrize(
    ("name", "line", "oldest"),
    [
        ("README.md", "* pytorch 0.4.0", (0, 4)),
        ("README.md", "- **PyTorch 1.0**: Support PyTorch 1.0 or higher.", (1, 0)),
        ("README.md", "I'm using `PyTorch 0.4` in `Python 3.6`.", (0, 4)),
        ("README.md", "- PyTorch (currently tested on version 0.4 and 1.0)", (0, 4)),
        ("README.md", "Python >= 3.6 and PyTorch >= 1.10. 4 GPUs are better.", (1, 10)),
        ("README.rst", "- Pytorch 0.41+", (0, 4)),
        ("README.md", "PyTorch 1.0 (the branch `old` is for PyTorch 0.3)", (1, 0)),
        ("readme.md", "pytorch>=0.4.0", (0, 4)),
        ("README.md", "Tested with Python 3.5 to 3.8 and PyTorch 0.2 to 1.3.", (1, 3)),
        ("README.md", "PyTorch 0.3.1 and 0.4 both work.", (0, 4)),
        ("Dockerfile", "FROM pytorch/pytorch:1.4-cuda10.1-cudnn7-runtime", (1, 4)),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:20.12-py3", (1, 7)),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:22.03-py3", (1, 11)),
        ("README.md", "docker run --gpus all nvcr.io/nvidia/pytorch:18.01-py3", (0, 4)),
        ("README.md", "* PyTorch install 1.11.0 (older versions may work too)", (1, 11)),
        ("README.md", "install PyTorch meeting your environment (at least 1.7):", (1, 7)),
        ("README.md", "Tested on Python 3.6", (1, 10)),
        ("conda_env.yml", "- python=3.6", (1, 10)),
        ("setup.py", "setup(name='gan', python_requires='>=3.6')", (1, 10)),
        ("README.md", "By [PyTorch](https://github.com/pytorch/pytorch) 1.7 and others.", (1, 7)),
        ("README.md", "![torch](https://img.shields.io/badge/PyTorch-1.7-red)", (1, 7)),
        ("environment.yml", "  - cudatoolkit=9.2", (1, 7)),
        ("README.md", "    conda install pytorch cudatoolkit=10.1 -c pytorch", (1, 8)),
        ("setup.py", 'assert torch_ver >= [1, 8], "Requires PyTorch >= 1.8"', (1, 8)),
        ("README.md", "- pytorch1.9 (cu111)", (1, 9)),
    ],
)
def test_a_project_that_is_said_to_run_on_an_old_torch_is_asked_for_the_backend_first(
    project: Path, name: str, line: str, oldest: tuple[int, int]
) -> None:
    (project / name).write_text(f"# A model\n{line}\n")
    told = Told().of(str(project))
    assert told is not None
    assert (told.oldest, told.place) == (oldest, f"{name}:2")
    assert GUARD in fixed(project)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("README.md", "Requires PyTorch 2.0 or PyTorch 1.12."),
        ("README.md", "PyTorch 2.0 (the branch `old` is for PyTorch 0.3)"),
        ("README.md", "pytorch-lightning==1.5, torchvision 0.9, torch-scatter 0.5, gpytorch 1.1"),
        ("README.md", "| PyTorch | 0.56 | 20.6 |"),
        ("README.md", "See torch/nn/modules.py, line 1.1"),
        ("environment.yml", "- python=3.10"),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:22.06-py3"),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:25.06-py3"),
        ("Dockerfile", "# FROM nvcr.io/nvidia/pytorch:20.12-py3"),
        ("setup.py", "setup(name='gan', python_requires='>=3.8')"),
        ("README.md", "[PyTorch](https://pytorch.org) 2.1 (or [PyTorch](https://old.org) 0.3)"),
        ("README.md", "See [PyTorch](https://pytorch.org), [torchvision](https://a.b) 0.8"),
        ("environment.yml", "  - cudatoolkit=11.3"),
        ("README.md", "conda install pytorch cudatoolkit=10.1 # or cudatoolkit=11.3"),
    ],
)
def test_what_speaks_of_no_old_torch_lets_fixes_ask_for_the_backend_alone(
    project: Path, name: str, line: str
) -> None:
    (project / name).write_text(f"# A model\n{line}\n")
    told = Told().of(str(project))
    assert told is None or told.oldest >= (1, 12)
    assert GUARD not in fixed(project)


def test_a_requirement_goes_over_what_is_told(project: Path) -> None:
    (project / "README.md").write_text("Tested with PyTorch 0.4.\n")
    (project / "requirements.txt").write_text("torch>=2.1\n")
    assert GUARD not in fixed(project)


def test_what_is_told_holds_below_the_projects_topmost_folder(project: Path) -> None:
    (project / "README.md").write_text("Tested with PyTorch 0.4.\n")
    (project / "models").mkdir()
    assert GUARD in fixed(project / "models")


def test_what_is_told_holds_in_a_package_that_lies_within_the_project(project: Path) -> None:
    (project / "README.md").write_text("* PyTorch>=1.5.1, torchvision>=0.6.1\n")
    operators = project / "models" / "ops"
    operators.mkdir(parents=True)
    (operators / "setup.py").write_text("setup(name='ops', ext_modules=[])\n")
    assert GUARD in fixed(operators)
    (operators / ".git").mkdir()
    assert GUARD not in fixed(operators)


def test_what_is_told_takes_no_autocast_away(project: Path) -> None:
    (project / "README.md").write_text("Tested with PyTorch 1.10.\n")
    source = SourceFile(
        str(project / "train.py"),
        b"import torch\n\nnet = torch.nn.Linear(2, 2)\nwith torch.cuda.amp.autocast():\n"
        b"    net(torch.zeros(2))\n",
    )
    settings = SettingsFinder().for_folder(str(project))
    assert settings.oldest_torch == (2, 5)
    assert "torch.cuda.amp" not in fix_source(source, settings).text


@pytest.mark.parametrize(
    ("release", "code", "lacking"),
    [
        ("1.7", "with torch.cuda.amp.autocast():\n    net(torch.zeros(2))", "torch.autocast"),
        ("1.10", "scaler = torch.cuda.amp.GradScaler()", "torch.amp.GradScaler"),
        ("1.13", "scaler = torch.cuda.amp.GradScaler()", "torch.amp.GradScaler"),
        ("2.2", "scaler = torch.cuda.amp.GradScaler()", "torch.amp.GradScaler"),
    ],
)
def test_mixed_precision_that_the_told_torch_lacks_is_written_by_unsafe_fixes_alone(
    project: Path, release: str, code: str, lacking: str
) -> None:
    (project / "README.md").write_text(f"Tested with PyTorch {release}.\n")
    text = f"import torch\n\ndevice = torch.device('mps')\nnet = torch.nn.Linear(2, 2)\n{code}\n"
    source = SourceFile(str(project / "train.py"), text.encode())
    result = fix_source(source, SettingsFinder().for_folder(str(project)))
    (left,) = [one for one in result.remaining if one.code == "MPS207"]
    assert left.reason == f"README.md:1 tells of torch {release}, without {lacking}"


@pytest.mark.parametrize("code", ["torch.cuda.amp.autocast()", "torch.autocast('cuda')"])
def test_autocast_is_written_for_no_told_torch_that_has_mps_and_no_autocast_there(
    project: Path, code: str
) -> None:
    """A ViT whose README asks for `torch>=1.12.0` ran on a Mac's CPU: CUDA's only warns."""
    (project / "README.md").write_text(
        "- Install [PyTorch](https://pytorch.org/get-started/previous-versions/) (torch>=1.12.0).\n"
    )
    text = (
        "import torch\n\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'mps')\n"
        f"net = torch.nn.Linear(2, 2)\nwith {code}:\n    net(torch.zeros(2))\n"
    )
    source = SourceFile(str(project / "train.py"), text.encode())
    result = fix_source(source, SettingsFinder().for_folder(str(project)))
    (left,) = [one for one in result.remaining if one.code in ("MPS207", "MPS208")]
    assert left.reason == "README.md:1 tells of torch 1.12, whose autocast raises on MPS"


@pytest.mark.parametrize("line", ["Tested with PyTorch 2.3.", "FROM nvcr.io/nvidia/pytorch:24.05"])
def test_a_told_torch_that_has_the_scaler_takes_its_fix_from_nobody(
    project: Path, line: str
) -> None:
    (project / "README.md").write_text(f"{line}\n")
    source = SourceFile(
        str(project / "train.py"),
        b"import torch\nfrom torch.cuda import amp\n\n"
        b"device = torch.device('cuda' if torch.cuda.is_available() else 'mps')\n"
        b"net = torch.nn.Linear(2, 2).to(device)\nscaler = amp.GradScaler()\n",
    )
    text = fix_source(source, SettingsFinder().for_folder(str(project))).text
    assert "torch.amp.GradScaler(" in text
    assert "from torch.cuda import amp" not in text


def test_a_scaler_moves_only_together_with_the_autocasts_of_its_file() -> None:
    source = SourceFile(
        "train.py",
        b"import torch\n\n\ndef main(name):\n    device = torch.device(name)\n"
        b"    net = torch.nn.Linear(2, 2).to(device)\n"
        b"    scaler = torch.cuda.amp.GradScaler(enabled=True)\n    PLACE\n",
    )

    def with_use(use: str) -> str:
        text = source.text.replace("PLACE", use)
        return fix_source(SourceFile("train.py", text.encode()), Settings()).text

    inside = "with torch.cuda.amp.autocast(enabled=True):\n        net(torch.zeros(2))"
    assert "torch.cuda.amp" not in with_use(inside)
    apart = f"train(net, scaler)\n\n\ndef train(net, scaler):\n    {inside}"
    assert "torch.cuda.amp.GradScaler(" in with_use(apart)
    assert "torch.cuda.amp.autocast(" in with_use(apart)


@pytest.mark.parametrize(
    ("line", "oldest"),
    [
        ("total += loss.data[0]", (0, 4)),
        ("from torch.autograd import Variable", (0, 4)),
        ("y = Variable(y.cuda(async=True))", (0, 3)),
        ("x = Variable(x, volatile=True)", (0, 3)),
        ("values = torch.symeig(matrix)[0]", (1, 11)),
        ("assert TORCH_VERSION >= (1, 12)", (1, 11)),
        ("if Version(torch.__version__) < Version('1.6'): pass", (1, 11)),
    ],
)
def test_code_shows_for_which_torch_it_was_written_where_nobody_says_so(
    project: Path, line: str, oldest: tuple[int, int]
) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "engine").mkdir()
    (project / "engine" / "loop.py").write_text(f"import torch\n\n{line}\n")
    told = Told().of(str(project))
    assert told is not None
    assert (told.oldest, told.place) == (oldest, "engine/loop.py")


def test_a_part_of_a_project_runs_on_the_torch_that_the_whole_is_said_to_run_on(
    project: Path,
) -> None:
    (project / "README.md").write_text("Tested with PyTorch 1.1.\n")
    part = project / "lstm"
    part.mkdir()
    (part / "readme.md").write_text("# A model\n")
    (part / "loop.py").write_text("import torch\n\nx = Variable(x, volatile=True)\n")
    assert Told().of(str(part)) == Pin((1, 1), "README.md:1")


def test_code_of_an_old_torch_lets_fixes_of_other_files_ask_for_the_backend_first(
    project: Path,
) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "engine.py").write_text("import torch\n\ntotal = loss.data[0]\n")
    assert GUARD in fixed(project)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("device.py", "import torch\n\nusable = torch.backends.mps.is_available()\n"),
        ("README.md", "Tested with PyTorch 2.1.\n"),
    ],
)
def test_what_asks_for_a_newer_torch_counts_against_old_code(
    project: Path, name: str, text: str
) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "engine.py").write_text("from torch.autograd import Variable\n")
    (project / name).write_text(text)
    assert GUARD not in fixed(project)


def test_code_of_no_certain_time_asks_for_the_backend_first(project: Path) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "engine.py").write_text("import torch\n\nx = torch.zeros(2)\n")
    told = Told().of(str(project))
    assert told is not None
    assert (told.oldest, told.place) == ((1, 11), "engine.py")
    assert GUARD in fixed(project)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("requirements.txt", "torch>=1.12"),
        ("README.md", "Tested with PyTorch 2.1."),
        ("engine.py", "net = torch.compile(net)"),
        ("engine.py", "torch.set_float32_matmul_precision('high')"),
        ("engine.py", "net = resnet50(weights=ResNet50_Weights.DEFAULT)"),
        ("engine.py", "net.load_state_dict(torch.load(path, weights_only=True))"),
        ("show.ipynb", '{"source": ["import torch\\n", "net = torch.compile(net)"]}'),
    ],
)
def test_who_needs_a_torch_with_mps_anyway_gets_no_guard(
    project: Path, name: str, line: str
) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "net.py").write_text("import torch\n\nx = torch.zeros(2)\n")
    (project / name).write_text(f"import torch\n{line}\n" if name == "engine.py" else line + "\n")
    assert GUARD not in fixed(project)


@pytest.mark.parametrize(
    "question",
    [
        "if hasattr(torch, 'compile'):",
        "if torch.__version__ >= '2.0':",
        "if TORCH_VERSION >= (2, 0):",
    ],
)
def test_what_stands_behind_a_question_for_the_torch_is_needed_by_none(
    project: Path, question: str
) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "net.py").write_text(f"import torch\n\n{question}\n    net = torch.compile(net)\n")
    assert GUARD in fixed(project)


def test_the_guard_that_a_fix_has_written_shows_no_newer_torch(project: Path) -> None:
    (project / "README.md").write_text("# A model\n")
    first = fixed(project)
    (project / "first.py").write_text("import torch\n\nx = torch.zeros(2)\n")
    guarded = fixed(project)
    assert first != guarded
    (project / "first.py").write_text(guarded)
    assert GUARD in fixed(project)


def test_code_in_a_folder_that_is_no_project_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "engine.py").write_text("from torch.autograd import Variable\n")
    assert Told().of(str(tmp_path)) is None


def test_before_torch_0_4_a_fix_that_writes_a_device_is_unsafe_and_says_why(project: Path) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / "engine.py").write_text("import torch\n\nx = Variable(x, volatile=True)\n")
    source = SourceFile(str(project / "train.py"), CHOICE.encode())
    settings = SettingsFinder().for_folder(str(project))
    result = fix_source(source, settings)
    assert result.text == CHOICE
    (left,) = result.remaining
    assert left.reason.startswith("engine.py tells of torch 0.3")


def test_a_torch_without_devices_counts_where_no_other_is_named(project: Path) -> None:
    (project / "README.md").write_text("PyTorch 0.3\n")
    told = Told().of(str(project))
    assert told is not None
    assert told.oldest == (0, 3)
    assert fixed(project) == CHOICE


def test_before_torch_0_4_an_index_of_a_number_is_not_rewritten(project: Path) -> None:
    (project / "README.md").write_text("PyTorch 0.3\n")
    text = "import torch\n\nloss = torch.nn.MSELoss()(model(x), y)\nprint(loss.data[0])\n"
    source = SourceFile(str(project / "train.py"), text.encode())
    (left,) = fix_source(source, SettingsFinder().for_folder(str(project))).remaining
    assert (left.code, left.reason.partition(", ")[2]) == (
        "MPS415",
        "whose tensors have no item()",
    )


_SCALED = """
import torch
from torch.cuda.amp import GradScaler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
scaler = GradScaler()
"""


@pytest.mark.parametrize("above", ["# needs PyTorch 1.10", '"""Trains a net (PyTorch 1.10)."""'])
def test_what_stands_above_a_program_names_the_torch_that_it_is_for(
    project: Path, above: str
) -> None:
    (project / "train.py").write_text(above + _SCALED)
    assert "torch.amp.GradScaler" not in _fixed_program(project)


@pytest.mark.parametrize(
    "named",
    ["def old():\n    # torch 1.10 has a mistake here\n    pass\n", "# needs PyTorch 2.4\n"],
)
def test_what_stands_further_down_or_names_a_newer_torch_says_nothing(
    project: Path, named: str
) -> None:
    above, below = ("", named) if "def" in named else (named, "")
    (project / "train.py").write_text(above + _SCALED + below)
    assert "torch.amp.GradScaler" in _fixed_program(project)


def _fixed_program(folder: Path) -> str:
    (folder / "README.md").write_text("A net.\n")
    settings = SettingsFinder().for_folder(str(folder))
    source = SourceFile(str(folder / "train.py"), (folder / "train.py").read_bytes())
    return fix_source(source, settings).text
