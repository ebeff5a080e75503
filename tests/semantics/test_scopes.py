"""Names across scopes: what is shadowed where, and what only looks as if it were."""

from __future__ import annotations

import pytest
from probing import probe

NAME = "torch.cuda.is_available"


@pytest.mark.parametrize(
    "program",
    [
        "from torch.cuda import is_available\nprobe(is_available)",
        "from torch import cuda as gpu\nprobe(gpu.is_available)",
        "import torch.cuda as gpu\nprobe(gpu.is_available)",
        "import torch.nn.functional\nprobe(torch.cuda.is_available)",
        "import torch, numpy as np\nprobe(torch.cuda.is_available)",
        "import torch\nready = torch.cuda.is_available\nprobe(ready)",
        "import torch\nready: object = torch.cuda.is_available\nprobe(ready)",
        "import torch\nif (ready := torch.cuda.is_available):\n    probe(ready)",
        "import torch\nif (gpu := torch.cuda):\n    probe(gpu.is_available)",
        "import torch as th\nt = th\nu = t\nprobe(u.cuda.is_available)",
        "try:\n    import torch\nexcept ImportError:\n    torch = False\n"
        "def f():\n    probe(torch.cuda.is_available)",
        "if fast:\n    import torch\nelse:\n    import torch\nprobe(torch.cuda.is_available)",
        "torch = __import__('torch')\nprobe(torch.cuda.is_available)",
        "from importlib import import_module\nt = import_module('torch')\n"
        "probe(t.cuda.is_available)",
        "from pytest import importorskip\ncuda = importorskip('torch.cuda')\n"
        "probe(cuda.is_available)",
        "def f():\n    global torch\n    import torch\nprobe(torch.cuda.is_available)",
        "def f():\n    import torch\n    def g():\n        probe(torch.cuda.is_available)",
        "def f():\n    import torch\n    return lambda: probe(torch.cuda.is_available)",
        "async def f():\n    import torch\n    probe(torch.cuda.is_available)",
        "class C:\n    import torch\n    probe(torch.cuda.is_available)",
        "import torch\n[probe(torch.cuda.is_available) for x in y]",
        "import torch\n[1 for torch in y]\nprobe(torch.cuda.is_available)",
        "import torch\ndef f(torch):\n    pass\nprobe(torch.cuda.is_available)",
        "import torch\ndef f(torch=probe(torch.cuda.is_available)):\n    pass",
        "import torch\n@probe(torch.cuda.is_available)\ndef f(torch):\n    pass",
        "import torch\nf = lambda torch: torch\nprobe(torch.cuda.is_available)",
        "import torch\nclass C:\n    torch = 1\nprobe(torch.cuda.is_available)",
        "from torch.utils import data\nimport torch\ndel data\nprobe(torch.cuda.is_available)",
    ],
)
def test_a_use_finds_torch_through_every_scope_that_does_not_hide_it(program: str) -> None:
    context, node = probe(program)
    assert context.resolve(node) == NAME


@pytest.mark.parametrize(
    "program",
    [
        "import torch\ndef f(*torch):\n    probe(torch.cuda.is_available)",
        "import torch\ndef f(**torch):\n    probe(torch.cuda.is_available)",
        "import torch\ndef f(*, torch):\n    probe(torch.cuda.is_available)",
        "import torch\ndef f(torch, /):\n    probe(torch.cuda.is_available)",
        "import torch\nlambda torch: probe(torch.cuda.is_available)",
        "import torch\nfor torch in y:\n    pass\nprobe(torch.cuda.is_available)",
        "import torch\nwith open(p) as torch:\n    probe(torch.cuda.is_available)",
        "import torch\ntry:\n    pass\nexcept E as torch:\n    probe(torch.cuda.is_available)",
        "import torch\ntorch, x = y\nprobe(torch.cuda.is_available)",
        "import torch\n[*torch] = y\nprobe(torch.cuda.is_available)",
        "import torch\nmatch y:\n    case {'a': torch}:\n        probe(torch.cuda.is_available)",
        "import torch\nmatch y:\n    case [*torch]:\n        probe(torch.cuda.is_available)",
        "import torch\ndef torch(): pass\nprobe(torch.cuda.is_available)",
        "import torch\nclass torch: pass\nprobe(torch.cuda.is_available)",
        "import torch\nclass C:\n    torch = x\n    probe(torch.cuda.is_available)",
        "import torch\ndef f():\n    torch = x\n    def g():\n"
        "        probe(torch.cuda.is_available)",
        "import torch\ndef f():\n    global torch\n    torch = x\nprobe(torch.cuda.is_available)",
        "def f():\n    import torch\n    def g():\n        nonlocal torch\n        torch = x\n"
        "    probe(torch.cuda.is_available)",
        "import torch\n{torch: probe(torch.cuda.is_available) for torch in y}",
        "import torch\n[y for x in z if (torch := x)]\nprobe(torch.cuda.is_available)",
        "class C:\n    import torch\n    def f(self):\n        probe(torch.cuda.is_available)",
        "from torch.cuda import *\nprobe(is_available)",
        "import mytorch as torch\nprobe(torch.cuda.is_available)",
        "import torch\nprobe(self.torch.cuda.is_available)",
        "import torch\nprobe(load(torch).cuda.is_available)",
    ],
)
def test_a_name_that_is_bound_to_something_else_there_is_not_torch(program: str) -> None:
    context, node = probe(program)
    assert context.resolve(node) != NAME


@pytest.mark.parametrize(
    ("program", "name"),
    [
        (
            "from torch.cuda.amp.autocast_mode import autocast\nprobe(autocast)",
            "torch.cuda.amp.autocast",
        ),
        ("import torch\nprobe(torch.amp.autocast)", "torch.autocast"),
        ("from torch import GradScaler\nprobe(GradScaler)", "torch.amp.GradScaler"),
        ("from torch.amp.grad_scaler import GradScaler as S\nprobe(S)", "torch.amp.GradScaler"),
        (
            "from torch.utils.data.dataloader import DataLoader\nprobe(DataLoader)",
            "torch.utils.data.DataLoader",
        ),
        ("import torch.utils.data as d\nprobe(d.DataLoader)", "torch.utils.data.DataLoader"),
        (
            "from torch.nn.parallel import DataParallel\nprobe(DataParallel)",
            "torch.nn.DataParallel",
        ),
        ("from .. import cuda\nprobe(cuda.f)", "..cuda.f"),
        ("from . import torch\nprobe(torch.cuda)", ".torch.cuda"),
    ],
)
def test_a_thing_with_several_homes_has_one_name(program: str, name: str) -> None:
    context, node = probe(program)
    assert context.resolve(node) == name


def test_a_package_counts_as_imported_wherever_the_import_stands() -> None:
    context, _ = probe("def f():\n    from torch.nn import Linear\nfrom .numpy import x\nprobe(1)")
    assert context.names.imports("torch")
    assert context.names.imports("torch.nn")
    assert not context.names.imports("numpy")


def test_the_calls_of_a_function_are_found_under_each_of_its_names() -> None:
    context, _ = probe(
        """
        import torch
        from torch.cuda import synchronize as wait
        sync = torch.cuda.synchronize
        probe(1)
        torch.cuda.synchronize()
        wait()
        sync()
        torch.mps.synchronize()
        synchronize()
        """
    )
    found = [call.lineno for call in context.calls_of("torch.cuda.synchronize")]
    assert found == [6, 7, 8]
