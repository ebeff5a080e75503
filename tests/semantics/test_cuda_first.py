"""Functions that cannot come to their end without CUDA."""

from __future__ import annotations

import pytest
from probing import probe

from mpslint.semantics.cuda_first import needs_cuda


def needs(program: str) -> bool:
    context, node = probe("import torch\n" + program)
    return needs_cuda(context, node)


@pytest.mark.parametrize(
    "program",
    [
        "model.cuda()\nprobe(1)\n",
        "def f(model):\n    probe(1)\n    model = model.cuda()\n",
        "def f(xs):\n    xs = [x.cuda() for x in xs]\n    return probe(1)\n",
        "def f(xs):\n    for x in xs:\n        x.cuda()\n        probe(1)\n",
        'def f(net):\n    device = torch.device("cuda", 0)\n    net.to(device)\n    probe(1)\n',
        'if __name__ == "__main__":\n    net = Net("train", "cuda")\n    probe(1)\n',
    ],
)
def test_what_always_moves_to_cuda_ends_there_on_a_mac(program: str) -> None:
    assert needs(program)


@pytest.mark.parametrize(
    "program",
    [
        "def f(model, fast):\n    if fast:\n        model.cuda()\n    probe(1)\n",
        "def f(model):\n    if torch.cuda.is_available():\n        model.cuda()\n    probe(1)\n",
        "def f(m):\n    try:\n        m.cuda()\n    except Exception:\n        ...\n    probe(1)\n",
        "def g(model):\n    model.cuda()\ndef f(model):\n    probe(1)\n",
        "def f(model, device):\n    model.to(device)\n    probe(1)\n",
        'def f(model):\n    device = torch.device("cuda")\n    probe(1)\n',
        'print("cuda")\nprobe(1)\n',
        "def f(model):\n    move = lambda: model.cuda()\n    probe(1)\n",
    ],
)
def test_what_may_do_without_cuda_goes_on(program: str) -> None:
    assert not needs(program)
