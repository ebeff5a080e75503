"""What trains on several GPUs of NVIDIA's is asked for by the name of a strategy, by the class of
a model, or by the number of processes."""

from __future__ import annotations

import pytest

from .conftest import EVERYWHERE, NVIDIA, comes

_GPUS = "GPUS"
_RUN = """
def run(strategy, config):
    if {test}:
        torch.cuda.manual_seed(0)  # here
"""


@pytest.mark.parametrize(
    "test",
    [
        'strategy == "deepspeed"',
        'strategy.startswith("deepspeed")',
        'strategy in ("deepspeed_stage_2", "deepspeed_stage_3")',
        '"strategy" in config and config["strategy"].startswith("deepspeed")',
        '"deepspeed" in strategy',
    ],
)
def test_who_trains_by_deepspeed_has_cuda(test: str) -> None:
    assert comes(_RUN.format(test=test)) == NVIDIA


@pytest.mark.parametrize(
    "test", ['strategy == "ddp"', 'strategy.startswith("ddp")', 'strategy != "deepspeed"']
)
def test_who_trains_otherwise_may_have_a_mac(test: str) -> None:
    assert comes(_RUN.format(test=test)) == EVERYWHERE


_WRAPPED = """
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP
from pytorch_lightning.strategies import DDPStrategy, DeepSpeedStrategy
from mine import Wrapped


def restore(model):
    if isinstance(model, {classes}):
        torch.cuda.manual_seed(0)  # here
"""


@pytest.mark.parametrize("classes", ["FSDP", "DDP", "(FSDP, DDP)", "DeepSpeedStrategy"])
def test_a_model_that_is_spread_over_processes_is_cudas(classes: str) -> None:
    assert comes(_WRAPPED.format(classes=classes)) == NVIDIA


@pytest.mark.parametrize(
    "classes",
    ["torch.nn.Linear", "Wrapped", "(FSDP, Wrapped)", "torch.nn.DataParallel", "DDPStrategy"],
)
def test_any_other_model_is_for_all(classes: str) -> None:
    assert comes(_WRAPPED.format(classes=classes)) == EVERYWHERE


_WORLD = """
import torch.distributed as dist

def get_world_size():
    return dist.get_world_size() if dist.is_initialized() else 1

def start():
    dist.init_process_group("gloo" if os.name == "nt" else "nccl")
    if {test}:
        torch.cuda.manual_seed(0)  # here
"""


@pytest.mark.parametrize("test", ["get_world_size() > 1", "dist.get_world_size() != 1"])
def test_who_is_one_of_several_processes_has_a_gpu_of_several(test: str) -> None:
    assert comes("import os\n" + _WORLD.format(test=test)) == _GPUS


@pytest.mark.parametrize("test", ["get_world_size() > 0", "count() > 1"])
def test_other_numbers_say_nothing_of_processes(test: str) -> None:
    assert comes("import os\n" + _WORLD.format(test=test)) != _GPUS


_ENGINE = """
def save(trainer, args):
    if {test}:
        torch.cuda.manual_seed(0)  # here
"""


@pytest.mark.parametrize("test", ["trainer.deepspeed", "args.deepspeed is not None"])
def test_who_has_deepspeed_s_engine_or_its_settings_has_cuda(test: str) -> None:
    assert comes(_ENGINE.format(test=test)) == NVIDIA


@pytest.mark.parametrize("test", ["not trainer.deepspeed", "args.deepspeed is None"])
def test_who_has_none_may_have_a_mac(test: str) -> None:
    assert comes(_ENGINE.format(test=test)) == EVERYWHERE
