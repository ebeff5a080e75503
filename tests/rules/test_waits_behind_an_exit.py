"""A Mac that has left before it is asked whether to wait does not do what is waited for either."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_PROBE = """
import time
import torch


class Trainer:
    def _probe(self, batch):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        start = time.perf_counter()
        loss, _ = self.loss(batch)
        self.accelerator.backward(loss)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        elapsed = time.perf_counter() - start
        return elapsed

    def tune(self, batch):
        if {test}:
            return
        print(self._probe(batch))
"""
_HELPER = """
import time
import torch

net = torch.nn.Linear(2, 2).to("cuda" if torch.cuda.is_available() else "mps")


def wait():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def measure(x):
    start = time.perf_counter()
    net(x)
    if torch.cuda.is_available():
        wait()
    return time.perf_counter() - start
"""


def _is_told(program: str) -> bool:
    settings = Settings(select=("MPS602",))
    return bool(list(lint(SourceFile("program.py", program.encode()), settings)))


def test_who_is_called_only_where_cuda_is_waits_for_nothing_else() -> None:
    assert not _is_told(_PROBE.format(test="self.off or not torch.cuda.is_available()"))


@pytest.mark.parametrize("test", ["self.off", "self.off and not torch.cuda.is_available()"])
def test_who_is_called_on_a_mac_as_well_is_told(test: str) -> None:
    assert _is_told(_PROBE.format(test=test))


def test_a_helper_waits_for_what_its_callers_do_on_a_mac_as_well() -> None:
    assert _is_told(_HELPER)
