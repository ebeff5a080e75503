"""A checkpoint that is only copied is loaded to the CPU where its GPU's number is worked out."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_LOADING = """\
import torch


class Net(torch.nn.Module):
    pass


class Average:
    def load_state_dict(self, state):
        self.state = state


def load(path, n):
    net = Net()
    nets = [Net() for _ in range(2)]
    mixed = [Net(), Average()]
    USE


load("a.pt", 0)
"""


def _fixed(use: str) -> str:
    source = SourceFile("load.py", _LOADING.replace("USE", use).encode())
    return fix_source(source, Settings()).text


@pytest.mark.parametrize(
    "place",
    [
        '"cuda:{}".format(n)',
        'f"cuda:{n}"',
        '"cuda:%d" % n',
        '"cuda:" + str(n)',
        'torch.device("cuda", n)',
        '"cuda:1"',
        'f"cuda:{n}" if n >= 0 else "cpu"',
    ],
)
def test_what_goes_to_a_module_is_read_to_the_cpu(place: str) -> None:
    text = _fixed(f"net.load_state_dict(torch.load(path, map_location={place}))")

    assert 'net.load_state_dict(torch.load(path, map_location="cpu"))' in text


def test_a_place_that_is_given_by_its_position_is_the_same() -> None:
    text = _fixed('net.load_state_dict(torch.load(path, f"cuda:{n}"))')

    assert 'torch.load(path, "cpu")' in text


def test_a_list_that_is_made_of_modules_holds_modules() -> None:
    text = _fixed('nets[n].load_state_dict(torch.load(path, map_location=f"cuda:{n}"))')

    assert 'nets[n].load_state_dict(torch.load(path, map_location="cpu"))' in text


@pytest.mark.parametrize(
    "use",
    [
        'return torch.load(path, map_location=f"cuda:{n}")',
        'mixed[n].load_state_dict(torch.load(path, map_location=f"cuda:{n}"))',
        'return torch.load(path, map_location=f"cuda:{n}")["mean"] * 2',
    ],
)
def test_what_else_may_become_of_it_stays_on_its_gpu(use: str) -> None:
    assert use in _fixed(use)
