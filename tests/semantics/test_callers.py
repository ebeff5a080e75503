"""What a function knows because of who calls it, and a statement because of what ran before it."""

from __future__ import annotations

import pytest
from probing import probe

HEAD = """\
import sys
import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
"""
ASKED = "assert torch.cuda.is_available()"


@pytest.mark.parametrize(
    "program",
    [
        f"def f():\n    probe(1)\ndef main():\n    {ASKED}\n    f()\nif __name__ == '__main__':\n"
        "    main()",
        f"def g():\n    probe(1)\ndef f():\n    g()\nif __name__ == '__main__':\n    {ASKED}\n"
        "    f()",
        "def f():\n    probe(1)\nif torch.cuda.is_available():\n    f()",
        "def f():\n    probe(1)\ndef g(cuda):\n    if torch.cuda.is_available():\n"
        "        return [f, 1]\n    return []",
        "def f(rank):\n    probe(1)\nmp.spawn(f, nprocs=torch.cuda.device_count())",
        "def f(rank):\n    probe(1)\ndef main():\n    n = torch.cuda.device_count()\n"
        "    mp.spawn(f, args=(n,), nprocs=n)",
        f"class C:\n    def m(self):\n        probe(1)\n{ASKED}\nC().m()",
        "class B:\n    def m(self):\n        probe(1)\nclass D(B):\n    pass\n"
        "if torch.cuda.is_available():\n    D().m()",
        "class C:\n    def _m(self):\n        probe(1)\n    def n(self, x):\n"
        "        if x.is_cuda:\n            self._m()",
        f"class C:\n    def __init__(self):\n        {ASKED}\n    def m(self):\n        probe(1)",
        "class T(TestCase):\n    def setUp(self):\n        if not torch.cuda.is_available():\n"
        "            self.skipTest('no CUDA')\n    def test_m(self):\n        probe(1)",
        f"def check():\n    {ASKED}\ndef main():\n    check()\n    probe(1)",
        "def check():\n    if not torch.cuda.is_available():\n        print('no')\n"
        "        sys.exit(1)\ncheck()\nprobe(1)",
        "dist.init_process_group('nccl')\nprobe(1)",
        "def setup(rank):\n    dist.init_process_group(backend='nccl', rank=rank)\n"
        "def run(rank):\n    setup(rank)\n    probe(1)",
        "def f(d):\n    if d.type == 'cuda':\n        x = 1\n    elif d.type == 'cuda:1':\n"
        "        x = 2\n    else:\n        raise ValueError(d)\n    probe(1)",
        "n = torch.cuda.device_count()\nif n < 2:\n    sys.exit()\nprobe(1)",
        "args.n = torch.cuda.device_count()\nif args.n > 1:\n    probe(1)",
        "n = torch.cuda.device_count() if torch.cuda.is_available() else 0\nif n:\n    pass\n"
        "if n >= 1:\n    probe(1)",
    ],
)
def test_a_function_runs_only_where_cuda_is(program: str) -> None:
    context, node = probe(HEAD + program)
    assert "cuda" in context.guards.at(node)


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    probe(1)",
        f"def f():\n    probe(1)\ndef main():\n    f()\n    {ASKED}",
        f"def f():\n    probe(1)\nf()\n{ASKED}\nf()",
        f"def f():\n    probe(1)\n__all__ = ['f']\n{ASKED}\nf()",
        f"def test_f():\n    probe(1)\n{ASKED}\ntest_f()",
        "class C:\n    def forward(self):\n        probe(1)\nx = C()\n"
        "if torch.cuda.is_available():\n    x.forward()",
        "def f():\n    f()\n    probe(1)",
        "def f():\n    g()\ndef g():\n    f()\n    probe(1)",
        "def setup(d):\n    if d is None:\n        return\n"
        "    dist.init_process_group('nccl')\nsetup(1)\nprobe(1)",
        "dist.init_process_group('nccl' if x else 'gloo')\nprobe(1)",
        "if not torch.cuda.is_available():\n    logger.error('no CUDA')\nprobe(1)",
        "self.count = 0\nself.count += 1\nif self.count > 0:\n    probe(1)\n"
        "torch.cuda.device_count()",
        "def f(n=torch.cuda.device_count()):\n    probe(1)\nmp.spawn(f, nprocs=n)",
        f"def f():\n    {ASKED}\n    yield 1\nf()\nprobe(1)",
        f"with pytest.raises(AssertionError):\n    {ASKED}\nprobe(1)",
    ],
)
def test_nothing_is_known_of_a_function_that_others_may_call(program: str) -> None:
    context, node = probe(HEAD + program)
    assert not context.guards.at(node) & {"cuda", "no-mps"}


@pytest.mark.parametrize(
    "program",
    [
        "model = Net().cuda()\nprobe(1)",
        "x = torch.ones(3, device='cuda')\nprobe(1)",
        "torch.cuda.set_device(0)\nprobe(1)",
        "with open('f') as f:\n    model.to('cuda')\nprobe(1)",
        "class C:\n    def __init__(self, net):\n        self.net = net.cuda()\n"
        "    def step(self):\n        probe(1)",
    ],
)
def test_what_comes_after_a_move_to_cuda_does_not_come_to_pass_elsewhere(program: str) -> None:
    context, node = probe(HEAD + program)
    assert context.guards.at(node) & {"cuda", "cuda-used"} == {"cuda-used"}


@pytest.mark.parametrize(
    "program",
    [
        "model = Net().cuda() if ok else Net()\nprobe(1)",
        "if ok:\n    model.cuda()\nprobe(1)",
        "try:\n    model.cuda()\nexcept RuntimeError:\n    pass\nprobe(1)",
        "move = lambda x: x.cuda()\nprobe(1)",
        "for x in xs:\n    x.cuda()\nprobe(1)",
        "d = torch.device('cuda')\nprobe(1)",
    ],
)
def test_a_move_that_may_not_happen_proves_nothing(program: str) -> None:
    context, node = probe(HEAD + program)
    assert "cuda-used" not in context.guards.at(node)


@pytest.mark.parametrize(
    "program",
    [
        "if device in ['cuda', 'lazy']:\n    probe(1)",
        "KINDS = ('cuda',)\nif device in KINDS:\n    probe(1)",
        "if torch.accelerator.device_count() < 2:\n    sys.exit()\nprobe(1)",
    ],
)
def test_a_mac_is_known_to_be_out(program: str) -> None:
    context, node = probe(HEAD + program)
    assert "no-mps" in context.guards.at(node)


def test_a_device_that_is_not_the_cpu_is_what_it_was_chosen_to_be() -> None:
    program = "d = 'cuda' if torch.cuda.is_available() else 'cpu'\nif d != 'cpu':\n    probe(1)"
    context, node = probe(HEAD + program)
    assert "cuda" in context.guards.at(node)


def test_a_device_that_may_be_mps_as_well_is_not_cuda_because_it_is_not_the_cpu() -> None:
    program = """\
d = 'cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() else 'cpu'
if d != 'cpu':
    probe(1)
"""
    context, node = probe(HEAD + program)
    assert not context.guards.at(node) & {"cuda", "mps", "no-mps"}


def test_a_number_that_is_there_only_on_cuda_tells_of_cuda() -> None:
    program = "i = d.index if d.type == 'cuda' else None\nif ok and i is not None:\n    probe(1)"
    context, node = probe(HEAD + program)
    assert "cuda" in context.guards.at(node)


@pytest.mark.parametrize(
    "program",
    [
        "needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason='')\n"
        "@needs_gpu\ndef test_f():\n    probe(1)",
        "@cuda_required\ndef test_f():\n    probe(1)",
        "n = min(4, torch.cuda.device_count())\nfor i in range(n):\n    probe(1)",
        "x = [probe(1) for i in range(torch.cuda.device_count())]",
    ],
)
def test_a_mark_or_a_loop_over_gpus_wants_cuda(program: str) -> None:
    context, node = probe(HEAD + program)
    assert "cuda" in context.guards.at(node)


def test_a_type_that_is_written_as_a_text_calls_nothing() -> None:
    program = """\
class Runner:
    def __enter__(self) -> "Runner":
        return self
    def run(self):
        probe(1)
def main():
    assert torch.cuda.is_available()
    with Runner() as runner:
        runner.run()
"""
    context, node = probe(HEAD + program)
    assert "cuda" in context.guards.at(node)
