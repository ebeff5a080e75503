"""A fix that lets tensors come to MPS is safe where all that they come to can have them there."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import FixResult, fix_source
from mpslint.model import Applicability
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.settings.torch_pins import Pin
from mpslint.sources.source import SourceFile
from mpslint.together.together import Job, Together

DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
PROGRAM = f"""\
import torch
from parts import Net

{DEVICE}
net = Net().to(device)
print(net(torch.ones(1, 2).to(device)))
"""
MOVED_ON_CUDA_ONLY = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        mask = torch.ones(1, 2)
        if x.is_cuda:
            mask = mask.cuda() if mask.dim() else mask
        return x * mask
"""
FOLLOWED_ON_CUDA_ONLY = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.5])

    def forward(self, x):
        if x.is_cuda:
            mean = self.mean.to(x.device)
        else:
            mean = self.mean
        return x - mean
"""
FLOAT64_THAT_FOLLOWS = """\
import numpy as np
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.betas = np.cumprod(np.linspace(0.1, 0.2, 9, dtype=np.float64))

    def forward(self, x):
        return taken(self.betas, x)


def taken(array, x):
    return torch.from_numpy(array).to(device=x.device).float()
"""
CAST_TO_FLOAT64 = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return torch.cos(x.type(torch.float64)).sum()
"""
FOLLOWING = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x * torch.ones(1, 2).to(x.device)


def never_called(x):
    if x.is_cuda:
        x = x + torch.ones(2).cuda()
    return x
"""


UNEVEN_POOL = """\
import torch
from torch import nn
from torch.nn import functional

class Net(nn.Module):
    def forward(self, x, size=7, whole=1):
        return functional.adaptive_avg_pool1d(x, size) + functional.adaptive_avg_pool1d(x, whole)
"""


TYPED_BY_NAME = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        kind = x.type()
        return x + torch.ones(2).type(kind) + torch.ones(2).type(x.type())
"""


KERNEL_ON_THE_CPU_ALONE = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.criterion = nn.CTCLoss()

    def forward(self, x):
        return self.criterion(x, x, (1,), (1,))
"""
FITTED = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return fitted(x)


def fitted(x):
    try:
        found = torch.linalg.lstsq(x, x).solution
    except:
        print("lstsq failed")
    return found
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def settings(folder: Path) -> Settings:
    return Settings(root=str(folder))


def fixed(folder: Path) -> FixResult:
    path = folder / "program.py"
    source = SourceFile(str(path), path.read_bytes())
    return fix_source(source, settings(folder), elsewhere=Project(settings(folder)))


def reason(folder: Path) -> str:
    """Why the selection of the program is not opened for MPS."""
    result = fixed(folder)
    assert result.text == PROGRAM
    (finding,) = result.remaining
    assert finding.applicability is Applicability.UNSAFE
    assert finding.fix is not None
    return finding.fix.message


@pytest.mark.parametrize(
    ("module", "place"),
    [
        pytest.param(MOVED_ON_CUDA_ONLY, "line 9: mask.cuda()", id="a move for CUDA alone"),
        pytest.param(FOLLOWED_ON_CUDA_ONLY, "line 12: self.mean.to(x.device)", id="a mean"),
        pytest.param(FLOAT64_THAT_FOLLOWS, "line 16: torch.from_numpy(array).to(", id="an array"),
        pytest.param(CAST_TO_FLOAT64, "line 7: x.type(torch.float64)", id="a cast"),
        pytest.param(UNEVEN_POOL, "line 7: functional.adaptive_avg_pool1d(", id="an uneven pool"),
        pytest.param(TYPED_BY_NAME, "line 7: torch.ones(2).type(", id="a type by its name"),
        pytest.param(KERNEL_ON_THE_CPU_ALONE, "line 7: nn.CTCLoss()", id="a criterion"),
        pytest.param(FITTED, "line 11: torch.linalg.lstsq(x, x)", id="a result that is missed"),
    ],
)
def test_a_selection_stays_where_an_imported_module_cannot_have_its_tensors_on_mps(
    folder: Path, module: str, place: str
) -> None:
    (folder / "parts.py").write_text(module)
    assert f"parts.py, {place}" in reason(folder)


def test_a_tensor_that_follows_another_on_every_machine_is_not_left_behind(folder: Path) -> None:
    (folder / "parts.py").write_text(
        FOLLOWED_ON_CUDA_ONLY.replace(
            "mean = self.mean\n", "mean = self.mean.to(x.device, x.dtype)\n"
        )
    )
    assert fixed(folder).applied


def test_a_pool_to_one_number_divides_whatever_it_is_given(folder: Path) -> None:
    (folder / "parts.py").write_text(UNEVEN_POOL.replace("size=7", "size=(1, None)"))
    assert fixed(folder).applied


def test_a_type_that_is_only_printed_or_is_a_dtype_speaks_against_nothing(folder: Path) -> None:
    text = TYPED_BY_NAME.replace("x.type()", "x.dtype").replace(
        "return", "print(x.type())\n        return"
    )
    (folder / "parts.py").write_text(text)
    assert fixed(folder).applied


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(KERNEL_ON_THE_CPU_ALONE.replace("CTC", "MSE"), id="a kernel that MPS has"),
        pytest.param(FITTED.replace('print("lstsq failed")', "found = x"), id="another result"),
        pytest.param(FITTED.replace('print("lstsq failed")', "return x"), id="another way out"),
        pytest.param(FITTED.replace("(x, x)", "(x.cpu(), x.cpu())"), id="a copy on the CPU"),
        pytest.param(FITTED.replace("    return fitted(x)", "    return x"), id="not called"),
        pytest.param(
            'import os\n\nos.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"\n' + FITTED,
            id="the fallback",
        ),
    ],
)
def test_a_kernel_that_mps_lacks_speaks_against_nothing_where_no_program_ends_for_it(
    folder: Path, module: str
) -> None:
    (folder / "parts.py").write_text(module)
    assert fixed(folder).applied


PAIRS_IN_A_NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        rows, columns = torch.triu_indices(2, 2, 1, device=x.device)
        return x[:, rows] - x[:, columns]
"""


def test_a_kernel_is_missed_where_the_project_declares_a_torch_before_it(folder: Path) -> None:
    folder.joinpath("parts.py").write_text(PAIRS_IN_A_NET)
    bounded = Settings(root=str(folder), pin=Pin((2, 5), "pyproject.toml:3", (2, 5)))
    source = SourceFile(str(folder / "program.py"), PROGRAM.encode())
    assert not fix_source(source, bounded, elsewhere=Project(bounded)).applied
    assert lint(source, bounded, elsewhere=Project(bounded))


@pytest.mark.parametrize("pin", [None, Pin((2, 5), "p:1"), Pin((1, 7), "p:1", (1, 7))])
def test_a_torch_that_has_the_kernel_is_taken_where_the_project_lets_it_in(
    folder: Path, pin: Pin | None
) -> None:
    folder.joinpath("parts.py").write_text(PAIRS_IN_A_NET)
    free = Settings(root=str(folder), pin=pin)
    source = SourceFile(str(folder / "program.py"), PROGRAM.encode())
    assert fix_source(source, free, elsewhere=Project(free)).applied


def test_what_an_imported_module_imports_is_asked_as_well(folder: Path) -> None:
    (folder / "parts.py").write_text("from deep import Net\n")
    (folder / "deep.py").write_text(MOVED_ON_CUDA_ONLY)
    assert "deep.py, line 9" in reason(folder)


def test_a_function_that_the_program_never_comes_to_is_not_asked(folder: Path) -> None:
    (folder / "parts.py").write_text(FOLLOWING)
    assert '"mps"' in fixed(folder).text


def test_a_function_outside_of_modules_may_be_given_tensors_of_the_cpu(folder: Path) -> None:
    metric = "def score(x):\n    return x.double().mean()\n"
    (folder / "parts.py").write_text(f"{FOLLOWING}\n\n{metric}")
    asking = f"import parts\n{PROGRAM}print(parts.score(net.weight.cpu()))\n"
    (folder / "program.py").write_text(asking)
    assert '"mps"' in fixed(folder).text


def test_a_program_of_an_imported_module_is_not_run_by_the_import(folder: Path) -> None:
    own = 'if __name__ == "__main__":\n    never_called(torch.ones(2))\n'
    (folder / "parts.py").write_text(f"{FOLLOWING}\n\n{own}")
    assert '"mps"' in fixed(folder).text


def test_modules_that_import_each_other_come_to_an_end(folder: Path) -> None:
    (folder / "parts.py").write_text(f"import deep\n{FOLLOWING}")
    (folder / "deep.py").write_text("import parts\n")
    assert '"mps"' in fixed(folder).text


def test_check_foresees_what_fix_leaves(folder: Path) -> None:
    (folder / "parts.py").write_text(MOVED_ON_CUDA_ONLY)
    path = folder / "program.py"
    source = SourceFile(str(path), path.read_bytes())
    (finding,) = lint(source, settings(folder), elsewhere=Project(settings(folder)))
    assert finding.applicability is Applicability.UNSAFE
    assert finding.fix is not None
    assert "parts.py, line 9" in finding.fix.message


def test_what_is_mended_in_the_same_run_speaks_against_nothing(folder: Path) -> None:
    moved = """
    import torch

    cuda = torch.cuda.is_available()


    def Net():
        net = torch.nn.Linear(2, 2)
        if cuda:
            net = net.cuda()
        return net
    """
    (folder / "parts.py").write_text(textwrap.dedent(moved))
    together = Together(lambda found, texts: Project(found, texts))
    for path in sorted(folder.glob("*.py")):
        together.add(Job(str(path), path.read_bytes(), settings(folder)))
    plans = together.planned(unsafe=False)
    texts = [plan.result.text for plan in plans.values() if not isinstance(plan, str)]
    assert all("mps" in text for text in texts)
    assert len(texts) == 2
    assert fixed(folder).text == PROGRAM  # Alone, it would meet a network that stays.


def test_a_move_that_stays_keeps_the_others_of_its_file_back() -> None:
    text = textwrap.dedent(
        """
        import torch
        from torch import nn

        net = nn.Linear(2, 2).cuda()


        def step(inputs, seen):
            if seen.is_cuda:
                inputs = inputs.cuda() if inputs.dim() else inputs
            return net(inputs)
        """
    )
    result = fix_source(SourceFile("program.py", text.encode()), Settings())
    assert result.text == text
    reasons = [one.fix.message for one in result.remaining if one.fix is not None]
    assert any("line 10: inputs.cuda() is moved only where CUDA is" in one for one in reasons)


def files_fixed(folder: Path, **texts: str) -> list[str]:
    """The names of the files that are fixed, of those with these texts."""
    together = Together(lambda settings, texts: Project(settings, texts))
    settings = Settings(root=str(folder))
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    for name, text in texts.items():
        together.add(Job(str(folder / f"{name}.py"), text.encode(), settings))
    planned = together.planned(unsafe=False)
    return [name for name in texts if planned[str(folder / f"{name}.py")].changed]  # type: ignore[union-attr]


MEMORY = f"""\
import torch

{DEVICE}

class Memory:
    def sample(self):
        return torch.zeros(4, 2).to(device)
"""
AGENT = """\
import torch
from memory import Memory
from torch import nn


class Agent:
    def __init__(self, config):
        self.device = "cuda:0" if {} else "cpu"
        self.net = nn.Linear(2, 2).to(self.device)
        self.memory = Memory()

    def learn(self):
        return self.net(self.memory.sample())
"""


def test_what_never_asks_stays_beside_what_a_mac_runs_with_its_gpu_switched_off(
    tmp_path: Path,
) -> None:
    asks = AGENT.format("config.use_gpu")
    assert "memory" not in files_fixed(tmp_path, memory=MEMORY, agent=asks)


def test_what_never_asks_is_fixed_beside_what_does_not_ask_either(tmp_path: Path) -> None:
    asks = AGENT.format("torch.cuda.is_available()")
    assert files_fixed(tmp_path, memory=MEMORY, agent=asks) == ["memory", "agent"]


def test_what_never_asks_is_fixed_in_a_program_of_its_own(tmp_path: Path) -> None:
    asks = AGENT.format("config.use_gpu").replace("from memory import Memory\n", "")
    assert "memory" in files_fixed(tmp_path, memory=MEMORY, agent=asks)


FLOAT64_BY_DEFAULT = """\
import torch
from model import device, Net

torch.set_default_dtype(torch.float64)
net = Net().to(device)
print(net(torch.randn(3, 2, device=device)))
"""
MODEL = f"""\
import torch
from torch import nn

{DEVICE}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        (FLOAT64_BY_DEFAULT, []),
        (FLOAT64_BY_DEFAULT.replace("float64", "float32"), ["model"]),
    ],
)
def test_a_program_whose_floats_are_float64_keeps_its_device(
    tmp_path: Path, text: str, fixed: list[str]
) -> None:
    assert files_fixed(tmp_path, model=MODEL, train=text) == fixed


STRATEGY = f"""\
import gpytorch
import torch
from gpytorch.variational import {{strategy}}


class Model(gpytorch.models.ApproximateGP):
    def __init__(self, points):
        distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points))
        super().__init__({{strategy}}(self, points, distribution))


{DEVICE}
model = Model(torch.randn(3, 2)).to(device)
print(model(torch.zeros(2, 2).to(device)))
"""


@pytest.mark.parametrize(
    ("strategy", "fixed"), [("VariationalStrategy", []), ("CiqVariationalStrategy", ["model"])]
)
def test_a_library_that_computes_in_float64_keeps_the_device(
    tmp_path: Path, strategy: str, fixed: list[str]
) -> None:
    assert files_fixed(tmp_path, model=STRATEGY.format(strategy=strategy)) == fixed


IN_MODEL = f"import torch\nfrom torch import nn\n\n{DEVICE}net = nn.Linear(2, 2).to(device)\n"
IN_USE = "import torch\nfrom model import net\n\n{}print(net(torch.zeros(1, 2){}))\n"


@pytest.mark.parametrize(
    ("selection", "move", "fixed"),
    [
        pytest.param("", "", [], id="what one leaves on the CPU keeps the other there"),
        pytest.param(DEVICE, ".to(device)", ["model", "use"], id="both move"),
    ],
)
def test_what_meets_in_two_files_changes_in_both_or_in_none(
    tmp_path: Path, selection: str, move: str, fixed: list[str]
) -> None:
    use = IN_USE.format(selection, move)
    assert files_fixed(tmp_path, model=IN_MODEL, use=use) == fixed
