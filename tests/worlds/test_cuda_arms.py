"""Which arms are CUDA's own: a switch that was asked for, a flag that only CUDA machines set,
torch's errors of CUDA, several GPUs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

from .conftest import NVIDIA, comes, found

SWITCH = """
def timed(sync=None):
    if sync and not torch.cuda.is_available():
        raise ValueError("no CUDA")
    {kept}
    if sync:
        torch.cuda.synchronize()  # here
"""


@pytest.mark.parametrize(
    "kept",
    [
        "sync = sync if sync is not None else torch.cuda.is_available()",
        "if sync is None:\n        sync = torch.cuda.is_available()",
        "sync = sync if sync is not None else False",
    ],
)
def test_a_switch_that_falls_back_to_the_machine_is_off_behind_its_refusal(kept: str) -> None:
    assert "MAC" not in comes(SWITCH.format(kept=kept))


def test_without_the_refusal_a_mac_comes_there() -> None:
    text = SWITCH.replace('raise ValueError("no CUDA")', "pass")
    assert "MAC" in comes(text.format(kept="sync = sync if sync is not None else False"))


def test_an_attribute_keeps_the_switch_behind_its_refusal() -> None:
    text = """
class Timer:
    def __init__(self, sync=None):
        if sync and not torch.cuda.is_available():
            raise ValueError("no CUDA")
        self.sync = sync if sync is not None else False

    def stop(self):
        if self.sync:
            torch.cuda.synchronize()  # here


class Total(Timer):
    def __init__(self, sync=None):
        super().__init__(sync=sync)


class Bounded(Timer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
"""
    assert "MAC" not in comes(text)


PARALLEL = """
class Net(torch.nn.Module):
    def __init__(self):
        self.first = torch.device("cpu")
        self.spread = False

    def forward(self, x):
        if self.spread:
            torch.cuda.set_device(self.first)  # here
        return x

    def {name}(self):
        self.spread = True
        self.first = "cuda:0"
"""


def test_a_flag_that_parallelize_alone_sets_is_for_cuda_machines() -> None:
    assert comes(PARALLEL.format(name="parallelize")) == NVIDIA


def test_a_flag_that_anybody_may_set_is_for_all() -> None:
    assert "MAC" in comes(PARALLEL.format(name="spread_out"))


OOM = """
def run(f, x):
    try:
        return f(x)
    except RuntimeError as error:
        if {test}:
            raise
        x = x.half()  # here
        torch.cuda.empty_cache()
"""


def test_what_says_cuda_out_of_memory_is_no_error_of_a_mac() -> None:
    assert comes(OOM.format(test="'CUDA out of memory' not in str(error)")) == NVIDIA


def test_out_of_memory_alone_may_be_an_error_of_a_mac() -> None:
    assert "MAC" in comes(OOM.format(test="'out of memory' not in str(error)"))


def test_what_leads_to_a_process_group_is_cudas_own_as_well() -> None:
    text = """
loader = torch.utils.data.DataLoader([], pin_memory=True)  # here
torch.distributed.init_process_group(backend="nccl")
"""
    assert "MAC" not in comes(text)


def test_a_function_that_is_told_which_gpu_places_nothing() -> None:
    text = """
if torch.cuda.is_available():
    device = torch.device("cuda:0")
    torch.cuda.set_device(device)
elif torch.backends.mps.is_available():
    device = torch.device("mps")
else:
    device = torch.device("cpu")
"""
    assert found(text) == []


def test_a_move_to_where_a_tensor_is_already_leaves_no_mac_out() -> None:
    text = """
def loss(x):
    made = torch.ones(3)
    if torch.cuda.is_available():
        made = made.cuda()
    factor = torch.ones_like(made) * 2
    if torch.cuda.is_available():
        factor = factor.cuda()  # no-op
    return x * factor
"""
    assert not any("no-op" in finding for finding in found(text, "MPS102"))


FLAG = """
class Model:
    def __init__(self, net):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.use_gpu = torch.cuda.is_available()
        self.net = net.to(self.device)

    def predict(self, x):
        if self.use_gpu:
            return self.net(x).detach().cpu().numpy()
        else:
            return self.net(x).detach(){read}
"""


def test_a_flag_that_leaves_the_copy_out_on_a_mac_is_a_choice() -> None:
    assert "MPS103 self.use_gpu = torch.cuda.is_available()" in found(FLAG.format(read=".numpy()"))


def test_a_flag_whose_arms_both_copy_is_none() -> None:
    assert "MPS103 self.use_gpu = torch.cuda.is_available()" not in found(
        FLAG.format(read=".cpu().numpy()")
    )


def test_an_extension_that_a_helper_imports_by_its_name_is_cudas(cli: Cli, project: Path) -> None:
    (project / "loader.py").write_text(
        "import importlib\n\n\ndef load_ext(name):\n"
        "    return importlib.import_module('ops.' + name)\n"
    )
    (project / "points.py").write_text(
        "import torch\nfrom loader import load_ext\n\next = load_ext('_ext')\n\n\n"
        "def points(x):\n    return ext.points(x.cuda())\n"
    )
    assert json.loads(cli("check", "points.py", "--output-format", "json").out) == []


CALLBACK = """
from pytorch_lightning.callbacks import Callback

class CUDACallback({base}):
    def on_train_epoch_end(self, trainer, module):
        torch.cuda.synchronize()  # here
"""


def test_a_trainer_calls_its_callbacks_on_a_mac_whatever_they_are_called() -> None:
    assert "MAC" in comes(CALLBACK.format(base="Callback"))


def test_another_class_named_after_cuda_is_for_cuda() -> None:
    assert comes(CALLBACK.format(base="object")) == NVIDIA
