"""A count of devices that is more than one says that there are several of NVIDIA's."""

from __future__ import annotations

import pytest

from .conftest import comes, found

LOAD = """
import torch

def load(model, options, device):
    {number} = options["{number}"]
    if {test}:
        model.to("cuda")  # here
    return model
"""


@pytest.mark.parametrize(
    "test",
    ["n_devices > 1", "n_devices >= 2", "n_devices != 1", "not n_devices == 1", "1 < n_devices"],
)
def test_more_than_one_device_is_more_than_a_mac_has(test: str) -> None:
    text = LOAD.format(number="n_devices", test=test)
    told = found(text, "MPS101")
    assert bool(told) is test.startswith("1")  # Nobody writes that.
    assert test.startswith("1") or comes(text) == "GPUS"


@pytest.mark.parametrize("number", ["num_gpus", "ngpus", "n_gpu", "world_size", "WORLD_SIZE"])
def test_many_names_count_gpus(number: str) -> None:
    assert comes(LOAD.format(number=number, test=f"{number} > 1")) == "GPUS"


_BUILD = """
import torch


def build(net, {number}={default}):
    if {number} > 1:
        net = torch.nn.DataParallel(net.cuda())
    return net
"""


@pytest.mark.parametrize(("number", "told"), [("n_gpus", False), ("n_layers", True)])
@pytest.mark.parametrize("default", ["0", "1", "None"])
def test_a_default_does_not_say_how_many_there_are(number: str, default: str, told: bool) -> None:
    assert bool(found(_BUILD.format(number=number, default=default), "MPS102")) is told


@pytest.mark.parametrize(
    ("number", "test"),
    [
        ("n_devices", "n_devices > 0"),
        ("n_devices", "n_devices == 1"),
        ("n_devices", "n_devices"),
        ("n_layers", "n_layers > 1"),
        ("gpus", "gpus > 1"),
    ],
)
def test_one_device_may_be_a_mac_s(number: str, test: str) -> None:
    assert found(LOAD.format(number=number, test=test), "MPS101") != []
