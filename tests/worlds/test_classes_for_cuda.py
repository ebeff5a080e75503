"""A class all of whose work ends in what only CUDA has is for CUDA, and so is what its objects are
made of."""

from __future__ import annotations

from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import MACS
from tests.worlds.conftest import Program

_LAYER = """
    import torch
    import torch.distributed as dist
    from torch import nn


    class Row(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(size, device="cuda"))

        def forward(self, x):
            y = x * self.weight
            {last}
            return y
    """
_STAGE = """
    import torch
    import torch.distributed as dist


    class Stage:
        def __init__(self, net):
            self.net = net.cuda()

        def receive(self):
            buffer = torch.empty(2)
            dist.recv(buffer, 0)
            return self.net(buffer)
    {more}
    """
_MORE = "\n        def run(self, x):\n            return self.net(x)\n"


def _on_a_mac(text: str, *kinds: Kind) -> bool:
    return any(event.worlds & MACS for event in Program(text).events(*kinds))


def test_a_module_whose_forward_pass_talks_to_other_gpus_is_for_cuda() -> None:
    assert not _on_a_mac(_LAYER.format(last="dist.all_reduce(y)"), Kind.PLACED)


def test_a_module_that_may_do_without_is_for_all() -> None:
    assert _on_a_mac(_LAYER.format(last="y = y + 1"), Kind.PLACED)


def test_a_module_in_whose_place_another_computes_is_for_all() -> None:
    other = "\n\n    class Plain(Row):\n        def forward(self, x):\n            return x\n"
    assert _on_a_mac(_LAYER.format(last="dist.all_reduce(y)") + other, Kind.PLACED)


def test_a_class_that_only_sends_and_receives_is_for_cuda() -> None:
    assert not _on_a_mac(_STAGE.format(more=""), Kind.MOVED)


def test_a_class_that_also_runs_alone_is_for_all() -> None:
    assert _on_a_mac(_STAGE.format(more=_MORE), Kind.MOVED)
