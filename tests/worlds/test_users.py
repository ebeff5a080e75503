"""A module that only programs for CUDA use is for CUDA, whatever folder above they stand in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

from .conftest import told_in_project

_KERNEL = (
    "from torch.utils.cpp_extension import load\n\n"
    "kernel = load(name='kernel', sources=['kernel.cu'])\n"
)
_TRAINER = (
    "import torch\n\n\nclass Trainer:\n    def fit(self, x):\n"
    "        return torch.ones(2).cuda() + x\n"
)
_PROGRAM = "if __name__ == '__main__':\n    from parts.{model} import *\n\n    Trainer().fit(1)\n"


def _codes(cli: Cli, project: Path, **programs: str) -> list[str]:
    parts = project / "parts"
    parts.mkdir()
    (parts / "model.py").write_text(_KERNEL)
    (parts / "plain.py").write_text("import torch\n")
    (parts / "trainer.py").write_text(_TRAINER)
    for name, text in programs.items():
        (project / f"{name}.py").write_text("from parts.trainer import Trainer\n\n" + text)
    ran = cli("check", "--output-format", "json", "parts/trainer.py")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_what_a_program_for_cuda_alone_uses_is_for_cuda(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, train=_PROGRAM.format(model="model")) == []


def test_what_another_program_uses_as_well_is_for_all(cli: Cli, project: Path) -> None:
    programs = {"train": _PROGRAM.format(model="model"), "run": _PROGRAM.format(model="plain")}
    assert _codes(cli, project, **programs) == ["MPS102"]


def test_a_program_that_names_it_above_its_test_of_the_name_says_nothing(
    cli: Cli, project: Path
) -> None:
    above = "class Mine(Trainer):\n    pass\n\n\n"
    program = above + _PROGRAM.format(model="model")
    assert _codes(cli, project, train=program) == ["MPS102"]


_TRIED = (
    "import torch\n\n\nclass Trainer:\n    def fit(self, x):\n        return x + 1\n\n\n"
    "if __name__ == '__main__':\n    optimizer = torch.optim.SGD([torch.ones(2)], 0.1)\n"
    "    Trainer().fit(torch.ones(2, device='cuda')).sum().backward()\n    optimizer.step()\n"
)


def _tried(cli: Cli, project: Path, user: str) -> list[str]:
    (project / "trainer.py").write_text(_TRIED)
    (project / "server.py").write_text(f"{user}from trainer import Trainer\n\nTrainer().fit(1)\n")
    ran = cli("check", "--output-format", "json", "trainer.py")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_the_trial_of_a_module_that_only_cuda_uses_is_for_cuda(cli: Cli, project: Path) -> None:
    assert _tried(cli, project, "import triton_python_backend_utils as utils\n") == []


def test_the_trial_of_a_module_that_others_use_is_for_all(cli: Cli, project: Path) -> None:
    assert _tried(cli, project, "import utils\n") == ["MPS101"]


_MONITOR = (
    "import torch\n\n\nclass Monitor:\n    def __init__(self):\n"
    "        self.name = torch.cuda.get_device_name(0)\n\n\n"
    "def build_monitor():\n    return Monitor()\n"
)
_HELPER = (
    "import torch\n\n\ndef start(timeout):\n"
    "    torch.distributed.init_process_group('{backend}', timeout=timeout)\n"
)


def _built(cli: Cli, project: Path, *, backend: str = "nccl", user: str = "") -> list[str]:
    parts = project / "parts"
    parts.mkdir()
    (parts / "monitor.py").write_text(_MONITOR)
    (parts / "helper.py").write_text(_HELPER.format(backend=backend))
    (project / "train.py").write_text(
        "from parts.helper import start\nfrom parts.monitor import build_monitor\n\n\n"
        "def main():\n    start(9)\n    print('nccl')\n    return build_monitor()\n\n\nmain()\n"
    )
    if user:
        (project / "other.py").write_text(user)
    ran = cli("check", "--output-format", "json", "parts/monitor.py")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_a_class_that_only_a_function_makes_runs_where_that_runs(cli: Cli, project: Path) -> None:
    assert _built(cli, project) == []


def test_a_class_whose_maker_a_mac_calls_is_for_all(cli: Cli, project: Path) -> None:
    assert _built(cli, project, backend="gloo") == ["MPS206"]


def test_a_class_that_others_make_as_well_is_for_all(cli: Cli, project: Path) -> None:
    user = "from parts.monitor import Monitor\n\nprint(Monitor().name)\n"
    assert _built(cli, project, user=user) == ["MPS206"]


_SPREAD = (
    "import torch\n\n\ndef add(parts):\n"
    "    total = torch.zeros(2, dtype=torch.float64, device='cuda:0')\n"
    "    return total + torch.cuda.device_count()\n"
)
_BETWEEN = (
    "import torch\nfrom spread import add\n\n\n"
    "def _mean(parts):\n    return add(parts).cuda()\n\n\n"
    "def spread_mean(parts):\n    return _mean(parts)\n\n\n"
    "def mean(parts):\n    return torch.mean(parts)\n"
)
_MAIN = (
    "import torch\nimport between\n\n\ndef run(args, parts):\n    if {test}:\n"
    "        return between.spread_mean(parts)\n    return between.mean(parts)\n"
)


def _behind(cli: Cli, project: Path, test: str, between: str = _BETWEEN) -> list[str]:
    texts = {"spread": _SPREAD, "between": between, "main": _MAIN.format(test=test)}
    for name, text in texts.items():
        (project / f"{name}.py").write_text(text)
    ran = cli("check", "--no-cache", "--output-format", "json", "spread.py", "--select", "MPS101")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_what_is_called_through_others_where_there_are_several_gpus_is_for_these(
    cli: Cli, project: Path
) -> None:
    assert _behind(cli, project, "not args.cpu and torch.cuda.device_count() > 1") == []


def test_what_is_called_through_others_wherever_it_is_asked_for_is_for_all(
    cli: Cli, project: Path
) -> None:
    assert _behind(cli, project, "not args.cpu or torch.cuda.device_count() > 1") == ["MPS101"]


def test_another_function_between_that_others_use_leads_to_it_as_well(
    cli: Cli, project: Path
) -> None:
    between = _BETWEEN.replace("torch.mean(parts)", "_mean(parts)")
    assert _behind(cli, project, "torch.cuda.device_count() > 1", between) == ["MPS101"]


_LOOP = (
    "import torch\n\n\ndef train(model, loader):\n"
    "    for images in loader:\n        model(images.cuda())\n"
)
_DISTRIBUTED = (
    "import torch\nfrom lab.{module} import train\n\n\ndef main():\n"
    "    torch.distributed.init_process_group(backend='nccl')\n    train(None, [])\n\n\n"
    "if __name__ == '__main__':\n    main()\n"
)
_SAYING_IT = "def load(train=True):\n    return 'train' if train else 'test'\n"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("module", ["train", "loop"])
def test_who_only_says_the_name_of_a_module_does_not_use_it(cli: Cli, module: str) -> None:
    files = {"main.py": _DISTRIBUTED.format(module=module), "data.py": _SAYING_IT}
    files |= {f"{module}.py": _LOOP, "__init__.py": ""}
    told = told_in_project(cli, {f"lab/{name}": text for name, text in files.items()})
    assert told == []


@pytest.mark.usefixtures("project")
def test_who_imports_by_a_text_may_use_it(cli: Cli) -> None:
    by_text = "import importlib\n\nimportlib.import_module('lab.train').train(None, [])\n"
    files = {"main.py": _DISTRIBUTED.format(module="train"), "data.py": by_text}
    files |= {"train.py": _LOOP, "__init__.py": ""}
    told = told_in_project(cli, {f"lab/{name}": text for name, text in files.items()})
    assert [code for _, _, code in told] == ["MPS102"]
