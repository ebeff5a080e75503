"""Fixes that bring tensors to MPS are made where nothing on their way still asks for CUDA alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from conftest import NET_FILE, PROGRAM_OF_NET

from mpslint.cli.fix import run
from mpslint.fixing.fixer import MAX_TRIALS
from mpslint.halfway import half_ports

ON_CUDA_ALONE = "print(torch.cuda.current_device())\n"
"""What raises on a Mac, and has no fix."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.mpslint]\n")
    (tmp_path / "net.py").write_text(NET_FILE)
    (tmp_path / "program.py").write_text(PROGRAM_OF_NET)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(folder: Path, **texts: str) -> set[str]:
    """The files that fixing the folder changes."""
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    before = {path: path.read_text() for path in folder.glob("*.py")}
    run(["--no-verify", "--no-cache", "--quiet", str(folder)])
    return {path.stem for path, text in before.items() if path.read_text() != text}


def test_a_program_of_which_all_is_fixed_is_ported(folder: Path) -> None:
    assert changed(folder) == {"net", "program"}


def test_what_raises_in_the_same_program_keeps_all_of_it_from_mps(folder: Path) -> None:
    assert changed(folder, program=PROGRAM_OF_NET + ON_CUDA_ALONE) == set()


CONSTANT = """\
import torch

from net import Net

DEVICE = "cuda"


def main():
    net = Net().to(DEVICE)
    print(net(torch.ones(1, 2).to(DEVICE)))
    REST


if __name__ == "__main__":
    main()
"""


def test_a_constant_of_the_module_is_on_the_way_of_all_that_the_module_does(folder: Path) -> None:
    kept = CONSTANT.replace("REST", ON_CUDA_ALONE.strip())
    assert changed(folder, program=kept) == set()


def test_a_constant_of_a_program_of_which_all_is_fixed_is_one_as_well(folder: Path) -> None:
    assert "program" in changed(folder, program=CONSTANT.replace("REST", "print()"))


def test_what_raises_on_every_machine_is_mended_whatever_keeps_a_mac_out(folder: Path) -> None:
    number = (
        "loss = torch.nn.MSELoss()(net(torch.ones(1, 2)), torch.ones(1, 2))\nprint(loss.data[0])\n"
    )
    assert changed(folder, program=PROGRAM_OF_NET + ON_CUDA_ALONE + number) == {"program"}


def test_a_fix_on_the_way_of_another_program_is_made_for_that(folder: Path) -> None:
    found = changed(folder, other=PROGRAM_OF_NET + ON_CUDA_ALONE)
    assert found == {"net", "program"}


STEP = """\
import torch


def train(model, batch):
    return model(batch.to("cuda:0"))
"""
START = """\
import torch
from loop import train

model = torch.nn.Linear(2, 2)
{move}
print(train(model, torch.ones(1, 2)))
"""
CHOICE = """\
if torch.xpu.is_available():
    model.to("xpu:0")
elif torch.cuda.is_available():
    model.to("cuda")
"""
TEST = """\
import torch
from loop import train


def test_train():
    assert train(lambda x: x, torch.ones(1)) is not None
"""


def test_that_a_test_comes_to_mps_is_worth_nothing_where_no_program_does(folder: Path) -> None:
    (folder / "test_loop.py").write_text(TEST)
    assert changed(folder, loop=STEP, start=START.format(move=CHOICE)) == {"net", "program"}


def test_a_test_and_a_program_come_to_mps_together(folder: Path) -> None:
    (folder / "test_loop.py").write_text(TEST)
    start = START.format(move="model.cuda()")
    assert changed(folder, loop=STEP, start=start) == {"net", "program", "loop", "start"}


def test_a_script_with_a_function_called_test_is_a_program(folder: Path) -> None:
    trial = "def test():\n    print(train(lambda x: x, torch.ones(1)))\n\n\ntest()\n"
    texts = {"start": START.format(move=CHOICE), "trial": TEST.split("\n\n")[0] + "\n\n" + trial}
    assert "loop" in changed(folder, loop=STEP, **texts)


CALLED_TEST = """\
import torch


def test_model(model, batch):
    return model(batch.to("cuda:0"))
"""


@pytest.mark.parametrize(("move", "ported"), [(CHOICE, False), ("model.cuda()", True)])
def test_a_function_that_is_called_test_goes_where_its_callers_do(
    folder: Path, move: str, ported: bool
) -> None:
    start = START.replace("train", "test_model").format(move=move)
    assert ("loop" in changed(folder, loop=CALLED_TEST, start=start)) is ported


def test_whether_a_file_is_a_test_is_asked_once_however_many_parts_are_fixed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()

    def note(path: str) -> bool:
        asked[Path(path).name] += 1
        return False

    monkeypatch.setattr(half_ports, "is_test_path", note)
    head, net = NET_FILE.split("class Net")
    nets = "\n\n".join(f"class Net{number or ''}{net}" for number in range(20))
    changed(folder, net=head + nets, program=PROGRAM_OF_NET + ON_CUDA_ALONE)
    assert 0 < asked["net.py"] <= MAX_TRIALS


def test_what_tests_alone_come_to_is_ported_for_these(folder: Path) -> None:
    (folder / "test_loop.py").write_text(TEST)
    assert "loop" in changed(folder, loop=STEP)


def test_what_raises_in_a_callee_keeps_its_callers_from_mps(folder: Path) -> None:
    callee = NET_FILE + "\n\ndef which():\n    return torch.cuda.current_device()\n"
    caller = PROGRAM_OF_NET.replace("import Net", "import Net, which") + "print(which())\n"
    assert changed(folder, net=callee, program=caller) == set()


def test_a_function_that_no_program_calls_is_on_no_way(folder: Path) -> None:
    found = changed(
        folder, net=NET_FILE + "\n\ndef which():\n    return torch.cuda.current_device()\n"
    )
    assert found == {"net", "program"}


def test_a_name_means_what_its_own_file_gives_it(folder: Path) -> None:
    callee = NET_FILE + "\n\ndef which():\n    return torch.cuda.current_device()\n"
    caller = PROGRAM_OF_NET + "\n\ndef which():\n    return 1\n\n\nprint(which())\n"
    assert changed(folder, net=callee, program=caller) == {"net", "program"}


def test_of_a_table_of_models_one_that_cannot_come_keeps_no_other_back(folder: Path) -> None:
    table = """\
import torch

from net import Net, Other

models = {"net": Net, "other": Other}


def main(name):
    net = models[name]().cuda()
    print(net(torch.ones(1, 2).cuda()))


if __name__ == "__main__":
    main("net")
"""
    other = NET_FILE + (
        "\n\nclass Other(nn.Module):\n    def forward(self, x):\n"
        "        print(torch.cuda.current_device())\n        return x\n"
    )
    assert changed(folder, net=other, program=table) == {"net", "program"}


STAYING = """\
import torch

from boxes import overlap

kind = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
boxes = torch.ones(2, 4).type(kind)
print(kind)
print(overlap(boxes, boxes))
"""
OVERLAP = """\
import torch


def overlap(one, two):
    if torch.cuda.is_available():
        return torch.max(one - two, torch.zeros(one.shape).cuda())
    else:
        return torch.max(one - two, torch.zeros(one.shape))
"""


def test_what_a_caller_that_stays_on_the_cpu_hands_its_tensors_to_stays_as_well(
    folder: Path,
) -> None:
    assert "boxes" not in changed(folder, boxes=OVERLAP, stays=STAYING)


LOADING = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("weights")
args = parser.parse_args()
net = nn.Linear(2, 2){move}
net.load_state_dict(torch.load(args.weights))
"""


def test_a_checkpoint_beside_what_comes_to_mps_is_loaded_there_too(folder: Path) -> None:
    changed(folder, loading=LOADING.format(move=".cuda()"))
    assert 'torch.load(args.weights, map_location="cpu")' in (folder / "loading.py").read_text()


def test_a_checkpoint_that_only_may_come_from_cuda_is_left_where_nothing_is_ported(
    folder: Path,
) -> None:
    assert "loading" not in changed(folder, loading=LOADING.format(move=""))


def test_who_asks_for_other_rules_gets_no_edits_of_this_one(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.mpslint]\nignore = ["MPS413"]\n')
    changed(folder, loading=LOADING.format(move=".cuda()"))
    text = (folder / "loading.py").read_text()
    assert ".to(device)" in text
    assert "map_location" not in text


FOLLOWING = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        mask = torch.ones(2)
        if x.is_cuda:
            mask = mask.cuda()
        return x * mask
"""


def test_what_follows_a_tensor_is_written_also_where_nothing_is_ported(folder: Path) -> None:
    assert changed(folder, net=FOLLOWING, program=PROGRAM_OF_NET + ON_CUDA_ALONE) == {"net"}


WRAPPED = """\
import torch
from loop import train
from torch import nn

net = {}.cuda()
train(net, [(torch.ones(1, 2), torch.ones(1, 2))])
"""
LOOP = """\
def train(net, loader):
    net.train()
    for inputs, target in loader:
        target = target.cuda(non_blocking=True)
        print((net(inputs) - target).sum())
"""


def test_a_batch_that_only_data_parallel_moves_keeps_its_program_from_mps(folder: Path) -> None:
    program = WRAPPED.format("nn.DataParallel(nn.Linear(2, 2))")
    assert changed(folder, loop=f"import torch\n\n\n{LOOP}", wrapped=program) == {"net", "program"}


@pytest.mark.parametrize("given", ["x=inputs", "inputs[0]", "*inputs", "x=inputs[:2], y=target"])
def test_what_the_wrapper_moves_may_be_named_or_a_part_of_the_batch(
    folder: Path, given: str
) -> None:
    program = WRAPPED.format("nn.DataParallel(nn.Linear(2, 2))")
    loop = LOOP.replace("net(inputs)", f"net({given})")
    assert changed(folder, loop=f"import torch\n\n\n{loop}", wrapped=program) == {"net", "program"}


def test_a_batch_that_is_moved_itself_comes_to_mps_with_its_program(folder: Path) -> None:
    program = WRAPPED.format("nn.DataParallel(nn.Linear(2, 2))")
    loop = LOOP.replace("net(inputs)", "net(inputs.cuda())")
    found = changed(folder, loop=f"import torch\n\n\n{loop}", wrapped=program)
    assert found == {"net", "program", "loop", "wrapped"}


UNMOVED = """\
import torch


def train(net, loader):
    net.train()
    for batch in loader:
        inputs, target = batch
        print((net(inputs) - target.sum()).sum())
"""


@pytest.mark.parametrize(
    ("wrap", "ported"),
    [
        ("net = nn.DataParallel(net)", {"net", "program"}),
        (
            "if torch.cuda.device_count() > 1:\n    net = nn.DataParallel(net)",
            {"net", "program", "wrapped"},
        ),
        (
            "net = nn.DataParallel(net) if torch.cuda.device_count() > 1 else net",
            {"net", "program", "wrapped"},
        ),
    ],
)
def test_where_each_machine_wraps_the_model_a_batch_that_nothing_moves_is_the_wrappers(
    folder: Path, wrap: str, ported: set[str]
) -> None:
    program = (
        "import torch\nfrom loop import train\nfrom torch import nn\n\n"
        f"net = nn.Linear(2, 2).cuda()\n{wrap}\ntrain(net, torch.ones(3, 2, 1, 2))\n"
    )
    assert changed(folder, loop=UNMOVED, wrapped=program) == ported


def test_modules_of_a_folder_that_a_program_puts_on_its_path_are_on_its_way(folder: Path) -> None:
    (folder / "lib" / "core").mkdir(parents=True)
    (folder / "lib" / "core" / "which.py").write_text(
        "import torch\n\n\ndef which():\n    return torch.cuda.current_device()\n"
    )
    head = 'import sys\n\nsys.path.insert(0, "lib")\nfrom core.which import which\n'
    assert changed(folder, program=head + PROGRAM_OF_NET + "print(which())\n") == set()


KERNEL = """\
import torch

_backend = None


def backend():
    global _backend
    if _backend is None:
        {asked}
    return _backend


def march(rays):
    rays = rays.cuda()
    return backend().march(rays)
"""
SETUP = """\
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CUDAExtension

setup(ext_modules=[CUDAExtension(name="_march", sources=["march.cu"])])
"""


def test_what_is_handed_to_the_projects_own_cuda_kernels_stays_theirs(folder: Path) -> None:
    (folder / "setup.py").write_text(SETUP)
    assert changed(folder, march=KERNEL.format(asked="import _march as _backend")) == {
        "net",
        "program",
    }


BY_NAME = """\
import torch


class CudaTransform:
    def __call__(self, batch):
        return [item.cuda() for item in batch]
"""


def test_what_only_cuda_moves_by_its_name_keeps_a_program_from_mps(folder: Path) -> None:
    (folder / "moved.py").write_text(BY_NAME)
    program = (
        f"from moved import CudaTransform\n{PROGRAM_OF_NET}print(net(*CudaTransform()([net.x])))\n"
    )
    assert changed(folder, program=program) == set()


def test_what_no_program_uses_keeps_nothing_from_mps(folder: Path) -> None:
    (folder / "moved.py").write_text(BY_NAME)
    assert changed(folder) == {"net", "program"}


TRIED = """\
try:
            import _march as _backend
        except ImportError:
            pass"""
ASKED_FOR = """\
if torch.cuda.is_available():
            import _march as _backend"""


@pytest.mark.parametrize("asked", [TRIED, ASKED_FOR])
def test_kernels_that_a_function_can_do_without_keep_nothing_from_mps(
    folder: Path, asked: str
) -> None:
    (folder / "setup.py").write_text(SETUP)
    assert "march" in changed(folder, march=KERNEL.format(asked=asked))


WAITING = """\
import torch


def wait():
    torch.cuda.synchronize()
"""
TIMED = """\
import torch

from waiting import wait

print(torch.nn.Linear(2, 2)(torch.ones(1, 2)))
wait()
"""


def test_what_ends_a_program_without_cuda_is_mended_where_nothing_else_does(folder: Path) -> None:
    assert "waiting" in changed(folder, waiting=WAITING, timed=TIMED)


def test_what_ends_a_program_without_cuda_is_left_beside_what_ends_it_all_the_same(
    folder: Path,
) -> None:
    assert "waiting" not in changed(folder, waiting=WAITING, timed=TIMED + ON_CUDA_ALONE)


FACTORY = """\
from net import Net


def make():
    return Net().cuda()
"""
MAKING = """\
import torch

from factory import make

net = make()
print(net(torch.ones(1, 2).cuda()))
"""


def test_what_a_file_moves_that_never_names_torch_keeps_its_program_from_mps(folder: Path) -> None:
    (folder / "program.py").unlink()
    assert changed(folder, factory=FACTORY, making=MAKING) == set()


def test_a_module_is_found_from_the_folder_that_its_program_starts_in(folder: Path) -> None:
    (folder / "program.py").unlink()
    (folder / "net.py").unlink()
    for name in ("train", "models"):
        (folder / "code" / name).mkdir(parents=True)
    own = folder / "code" / "models" / "net.py"
    own.write_text(NET_FILE)
    program = PROGRAM_OF_NET.replace("from net", "from models.net")
    (folder / "code" / "train" / "run.py").write_text(program + ON_CUDA_ALONE)
    changed(folder)
    assert own.read_text() == NET_FILE


TWO_WAITS = """\
import torch


def wait(verbose):
    torch.cuda.synchronize()
    if verbose: torch.cuda.synchronize()


wait(False)
"""


def test_one_of_its_own_kind_that_has_no_fix_keeps_no_guard_back(folder: Path) -> None:
    assert changed(folder, waiting=TWO_WAITS) == {"net", "program", "waiting"}


def test_check_promises_no_guard_in_a_program_that_ends_without_cuda(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mpslint.cli.check import run as check

    (folder / "alone.py").write_text("import torch\n\ntorch.cuda.synchronize()\n" + ON_CUDA_ALONE)
    check(["--isolated", "--no-cache", str(folder / "alone.py")])
    assert "[*]" not in capsys.readouterr().out


BASE = """\
import torch


class Base:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
TRAINED = """\
import torch
from base import Base
from torch import nn


class Trainer(Base):
    def train(self, x):
        criterion = nn.CTCLoss()
        x = x.to(self.device)
        return criterion(x, x, (1,), (1,))


Trainer().train(torch.ones(1, 2))
"""


def test_a_choice_stays_where_what_inherits_it_comes_to_an_operator_without_a_kernel(
    folder: Path,
) -> None:
    assert changed(folder, base=BASE, trained=TRAINED) == {"net", "program"}


def test_a_choice_is_opened_where_what_inherits_it_has_all_kernels(folder: Path) -> None:
    found = changed(folder, base=BASE, trained=TRAINED.replace("CTCLoss", "MSELoss"))
    assert found == {"net", "program", "base"}


CHOSEN = """\
import torch


def chosen():
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
LOSS = """\
from torch import nn


def loss(x):
    return nn.CTCLoss()(x, x, (1,), (1,))
"""
LOST = """\
import torch
from chosen import chosen
from loss import loss

print(loss(torch.ones(1, 2).to(chosen())))
"""
WON = """\
import torch
from chosen import chosen

print(torch.ones(1, 2).to(chosen()))
"""


def test_what_never_ran_on_a_mac_may_come_to_an_operator_without_a_kernel(folder: Path) -> None:
    moved = LOST.replace("to(chosen())", "cuda()")
    assert "lost" in changed(folder, chosen=CHOSEN, loss=LOSS, lost=moved)


def test_a_program_that_ran_on_the_cpu_is_not_ended_for_another_that_gains(folder: Path) -> None:
    assert changed(folder, chosen=CHOSEN, loss=LOSS, lost=LOST, won=WON) == {"net", "program"}


def test_a_program_that_ended_without_cuda_loses_nothing_by_a_kernel(folder: Path) -> None:
    ended = LOSS.replace("return", f"{ON_CUDA_ALONE}    return")
    found = changed(folder, chosen=CHOSEN, loss=f"import torch\n{ended}", lost=LOST, won=WON)
    assert found == {"net", "program", "chosen"}


MADE_AND_WRAPPED = """\
import torch
from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


generator = nn.DataParallel(Generator(), device_ids=[0])
optimizer = torch.optim.Adam(generator.parameters())
print(generator(torch.ones(1, 2).cuda()))
torch.save([generator], "generator.pt")
"""


@pytest.mark.parametrize(
    ("wrapped", "ported"),
    [
        pytest.param(MADE_AND_WRAPPED, False, id="by the wrapper alone"),
        pytest.param(
            MADE_AND_WRAPPED.replace("nn.DataParallel(Generator(), device_ids=[0])", "Generator()"),
            True,
            id="not wrapped",
        ),
        pytest.param(
            MADE_AND_WRAPPED.replace("device_ids=[0])", "device_ids=[0]).cuda()"),
            True,
            id="moved as well",
        ),
        pytest.param(
            MADE_AND_WRAPPED.replace("optimizer =", "generator.cuda()\noptimizer ="),
            True,
            id="moved later",
        ),
        pytest.param(
            MADE_AND_WRAPPED.replace(
                "optimizer =", "import sys\n\nsys.modules['mover'].put(generator)\noptimizer ="
            ),
            True,
            id="handed to somebody",
        ),
        pytest.param(
            MADE_AND_WRAPPED.replace("(Generator(), d", "(nn.Linear(2, 2), d"),
            False,
            id="a module of torch",
        ),
        pytest.param(
            MADE_AND_WRAPPED.replace(
                "optimizer =", "def show(net):\n    print(net)\n\n\nshow(generator)\noptimizer ="
            ),
            False,
            id="handed to a function of the file that leaves it",
        ),
        pytest.param(
            MADE_AND_WRAPPED.replace(
                "optimizer =", "def put(net):\n    net.cuda()\n\n\nput(generator)\noptimizer ="
            ),
            True,
            id="handed to a function of the file that moves it",
        ),
    ],
)
def test_inputs_stay_where_only_data_parallel_moves_the_model(
    folder: Path, wrapped: str, ported: bool
) -> None:
    assert ("wrapped" in changed(folder, wrapped=wrapped)) is ported


ASKING_CUDA = """\
import torch


def memory():
    return torch.cuda.memory_allocated(torch.cuda.current_device())


def doubled(x):
    return 2 * x
"""


@pytest.mark.parametrize(
    ("body", "ported"),
    [
        pytest.param("    memory = net(doubled(x))\n    return memory", True, id="a variable"),
        pytest.param("    return [net(doubled(x)) for memory in x]", True, id="another variable"),
        pytest.param("    return net(doubled(x)), memory()", False, id="the function"),
    ],
)
def test_a_variable_is_no_function_of_another_module(folder: Path, body: str, ported: bool) -> None:
    named = "doubled" if ported else "doubled, memory"
    program = (
        f"import torch\nfrom helpers import {named}\n\nnet = torch.nn.Linear(2, 2).cuda()\n\n\n"
        f"def run(x):\n{body}\n\n\nprint(run(torch.ones(3, 2).cuda()))\n"
    )
    assert ("asking" in changed(folder, helpers=ASKING_CUDA, asking=program)) is ported


def test_the_model_may_be_of_a_class_of_another_file(folder: Path) -> None:
    above, generator, below = (f"{part}\n\n" for part in MADE_AND_WRAPPED.split("\n\n\n"))
    program = f"{above.rstrip()}\nfrom generators import Generator\n\n{below}"
    assert "wrapped" not in changed(folder, generators=f"{above}\n{generator}", wrapped=program)


LOADER = """\
import torch
from torch.utils.data import DataLoader


def loader(data):
    return DataLoader(data, pin_memory=True)
"""
LOADING_PROGRAM = """\
import torch

from loading import loader

for batch in loader([1.0]):
    print(batch)
"""


def test_a_warning_is_not_worth_a_change_in_a_program_that_ends_without_cuda(folder: Path) -> None:
    ending = LOADING_PROGRAM + ON_CUDA_ALONE
    assert "loading" not in changed(folder, loading=LOADER, ending=ending)


def test_it_is_where_one_of_its_programs_goes_on(folder: Path) -> None:
    ending = LOADING_PROGRAM + ON_CUDA_ALONE
    found = changed(folder, loading=LOADER, ending=ending, going_on=LOADING_PROGRAM)
    assert "loading" in found


def test_check_promises_no_pins_that_fix_leaves(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from mpslint.cli.check import run as check

    changed(folder, loading=LOADER, ending=LOADING_PROGRAM + ON_CUDA_ALONE)
    check(["--no-cache", "--output-format", "concise", str(folder)])
    assert "MPS608 [*]" not in capsys.readouterr().out


WIDE_LOSS = """\
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Linear(2, 2).to(device)
x = torch.ones(1, 2).to(device)
loss = net(x)
print(loss.double())
"""


def test_a_dtype_is_asked_of_the_device_only_where_that_may_become_mps(folder: Path) -> None:
    assert "wide" in changed(folder, wide=WIDE_LOSS)
    assert "torch.float32 if" in (folder / "wide.py").read_text()
    staying = WIDE_LOSS + "import torch_sparse\nprint(torch_sparse.coalesce(x))\n"
    assert "staying" not in changed(folder, staying=staying)


MAKING = """\
from net import Net

net = Net().cuda()
print(net)
"""


def test_a_program_that_never_names_torch_keeps_what_it_makes_from_mps(folder: Path) -> None:
    net = NET_FILE.replace("x + torch", "torch.zeros(1).cuda() + x + torch")
    (folder / "program.py").unlink()
    assert changed(folder, net=net, making=MAKING) == set()
    assert changed(folder, net=net, making=MAKING.replace(".cuda()", "")) == {"net"}


def test_a_method_that_is_cudas_by_its_name_ends_no_program(folder: Path) -> None:
    own = "\n\nclass Scaled:\n    def cuda(self):\n        self.mean = self.mean.cuda()\n"
    assert "loading" in changed(folder, loading=LOADER + own, going_on=LOADING_PROGRAM)


OWN_MOVE = """\
import torch


class Scale:
    def __init__(self):
        self.mean = torch.ones(2)

    def cuda(self):
        self.mean = self.mean.cuda()
        return self
"""
SCALED = f"from scale import Scale\n{PROGRAM_OF_NET}scale = Scale()\n"


@pytest.mark.parametrize(
    "rest",
    [
        "print(net(net.x), scale)\n",
        'print(net(net.x), scale, getattr(net, "x"), "cuda")\n',
        "print(net(net.x.cuda()), scale)\n",
    ],
)
def test_a_method_of_cudas_name_that_nobody_calls_keeps_nothing_from_mps(
    folder: Path, rest: str
) -> None:
    assert "program" in changed(folder, program=SCALED + rest, scale=OWN_MOVE)


@pytest.mark.parametrize(
    "rest",
    [
        "print(net(net.x), scale.cuda())\n",
        'print(net(net.x), getattr(scale, "cuda")())\n',
        'name = "cuda"\nprint(net(net.x), getattr(scale, name)())\n',
        'from operator import methodcaller\n\nprint(net(net.x), methodcaller("cuda")(scale))\n',
    ],
)
def test_a_method_of_cudas_name_that_somebody_may_call_keeps_a_program_from_mps(
    folder: Path, rest: str
) -> None:
    assert "program" not in changed(folder, program=SCALED + rest, scale=OWN_MOVE)


OWN_TRAIN = """\
import torch


def train(net, loader):
    print(torch.cuda.current_device())
"""


@pytest.mark.parametrize(
    ("rest", "is_ported"),
    [
        ("net.train()\nprint(net(net.x))\n", True),
        ("net.train(False)\nprint(net(net.x))\n", True),
        ("steps.train(net, [])\n", False),
        ("steps.train(*[net, []])\n", False),
        ("run = net.eval() or steps.train\nrun(net, [])\n", False),
        ("from steps import train\n\ntrain(net, [])\n", False),
        ("net.train(False)\nprint(steps.made().train(net))\n", True),
    ],
)
def test_a_call_of_a_method_is_not_one_of_a_function_that_needs_more(
    folder: Path, rest: str, *, is_ported: bool
) -> None:
    program = f"import steps\n{PROGRAM_OF_NET}{rest}"
    assert ("program" in changed(folder, program=program, steps=OWN_TRAIN)) is is_ported


@pytest.mark.parametrize(
    "head", ["def train(net, loader=None)", "def train(*nets)", "@torch.no_grad()\ndef train(a, b)"]
)
def test_a_function_that_may_be_called_so_is_on_the_way(folder: Path, head: str) -> None:
    program = f"import steps\n{PROGRAM_OF_NET}net.train(steps)\nprint(net(net.x))\n"
    steps = OWN_TRAIN.replace("def train(net, loader)", head)
    assert "program" not in changed(folder, program=program, steps=steps)


OWN_LOAD = """\
import torch


def load(path):
    print(torch.cuda.current_device())
    return path
"""


@pytest.mark.parametrize(
    ("rest", "is_ported"),
    [
        ('print(net(net.x), torch.load("a"), np.load("b"))\n', True),
        ('import reading\n\nprint(net(net.x), reading.load("a"))\n', False),
        ('np = make()\nprint(net(net.x), np.load("a"))\n', False),
    ],
)
def test_what_a_package_has_is_not_the_function_of_the_same_name(
    folder: Path, rest: str, *, is_ported: bool
) -> None:
    program = f"import numpy as np\nimport reading\n{PROGRAM_OF_NET}{rest}"
    assert ("program" in changed(folder, program=program, reading=OWN_LOAD)) is is_ported


def test_a_cast_in_front_of_a_move_is_made_whatever_device_that_goes_to(folder: Path) -> None:
    mixing = (
        "import numpy as np\nimport torch\n\n\nclass Mix:\n"
        "    def __init__(self, device):\n        self.device = torch.device(device)\n\n"
        "    def __call__(self, x):\n        shares = np.random.beta(0.2, 0.2, 4)\n"
        "        return torch.from_numpy(shares).to(self.device).float() * x\n"
    )
    using = (
        "import torch\nimport torch_sparse\n\nfrom mixing import Mix\n\n"
        'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "print(Mix(device)(torch_sparse.ones(device)))\n"
    )
    assert changed(folder, mixing=mixing, using=using) >= {"mixing"}


AGENT = """\
import torch

from tensors import to_tensor

USE_CUDA = torch.cuda.is_available()


class Agent:
    def __init__(self):
        self.actor = torch.nn.Linear(3, 2)
        CHOICE

    def act(self, state):
        return self.actor(to_tensor(state))

    def cuda(self):
        self.actor.cuda()
"""
TENSORS = """\
import torch


def to_tensor(array):
    tensor = torch.from_numpy(array).float()
    return tensor.cuda() if torch.cuda.is_available() else tensor
"""


def test_a_class_that_no_program_is_known_to_use_is_not_left_with_a_half(folder: Path) -> None:
    own = AGENT.replace("CHOICE", "if USE_CUDA:\n            self.cuda()")
    assert "tensors" not in changed(folder, tensors=TENSORS, agent=own)
    plain = AGENT.replace("CHOICE", "self.count = 0").replace("USE_CUDA = ", "print()  # ")
    plain = plain.partition("    def cuda")[0]
    assert "tensors" in changed(folder, agent=plain)


TRIED_OUT = (
    NET_FILE + "\n\nif __name__ == '__main__':\n    print(Net(), torch.cuda.current_device())\n"
)
"""A module that is tried out where it is the program."""


def test_what_a_module_does_as_a_program_is_on_the_way_of_none_that_import_it(folder: Path) -> None:
    assert changed(folder, net=TRIED_OUT) == {"net", "program"}


def test_what_a_module_does_as_a_program_is_on_its_own_way(folder: Path) -> None:
    (folder / "program.py").unlink()
    assert changed(folder, net=TRIED_OUT) == set()


SHOWN = "import numpy as np\n" + PROGRAM_OF_NET + "print(np.mean(net(torch.ones(2).cuda())))\n"


def test_what_ends_a_program_with_cuda_as_well_is_no_doubt_where_it_has_run_on_that_alone(
    folder: Path,
) -> None:
    assert changed(folder, program=SHOWN) == {"net", "program"}


def test_what_ends_a_program_with_cuda_as_well_may_not_end_it_on_the_cpu(folder: Path) -> None:
    choice = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
    chosen = SHOWN.replace(".cuda()", ".to(device)").replace("\nnet =", choice + "\nnet =", 1)
    assert changed(folder, program=chosen, net="from torch.nn import Identity as Net\n") == set()


DERIVED = (
    NET_FILE + "\n\nclass Warped(warpnet.Base):\n    def forward(self, x):\n        return x\n"
)


def test_what_a_class_is_derived_from_is_on_the_way_of_its_users(folder: Path) -> None:
    used = PROGRAM_OF_NET.replace("import Net", "import Warped as Net")
    assert changed(folder, net="import warpnet\n" + DERIVED, program=used) == set()


def test_what_a_class_is_derived_from_is_on_the_way_of_none_beside_it(folder: Path) -> None:
    assert changed(folder, net="import warpnet\n" + DERIVED) == {"net", "program"}


MARKED = NET_FILE + "\n\n@warpnet.compiled\ndef warp(x):\n    return x\n"


def test_what_marks_a_function_is_on_the_way_of_none_who_do_not_call_it(folder: Path) -> None:
    assert changed(folder, net="import warpnet\n" + MARKED) == {"net", "program"}


def test_what_marks_a_function_is_on_the_way_of_who_calls_it(folder: Path) -> None:
    used = PROGRAM_OF_NET.replace("import Net", "import Net, warp") + "print(warp(net))\n"
    assert changed(folder, net="import warpnet\n" + MARKED, program=used) == set()
