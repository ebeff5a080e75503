"""Where a framework reads a checkpoint to that it copies into a model places nothing."""

from __future__ import annotations

import pytest

from tests.worlds.conftest import found

_RUNNER = """
import torch
{imported}


class Runner({base}):
    def resume(self, checkpoint, model):
        if torch.cuda.is_available():
            checkpoint = {load}(
                checkpoint, map_location=lambda storage, place: storage.cuda(0))
        else:
            checkpoint = {load}(checkpoint)
        self.epoch = checkpoint["epoch"]
        return checkpoint["weights"]
{more}
"""
_MMCV = "from mmcv.runner import EpochBasedRunner, load_checkpoint"
_BASE = "EpochBasedRunner"


def _codes(load: str, imported: str = _MMCV, base: str = _BASE, more: str = "") -> set[str]:
    text = _RUNNER.format(load=load, imported=imported, base=base, more=more)
    return {code.split()[0] for code in found(text, "MPS102", "MPS103")}


@pytest.mark.parametrize("load", ["self.load_checkpoint", "load_checkpoint"])
def test_a_framework_s_load_fills_a_model(load: str) -> None:
    assert _codes(load) == set()


def test_so_does_that_of_the_next_version() -> None:
    assert (
        _codes("self.load_checkpoint", "from mmengine.runner import Runner as Base", "Base")
        == set()
    )


_OWN = (
    "\n    def load_checkpoint(self, path, map_location=None):\n        return torch.load(path)\n"
)


@pytest.mark.parametrize(
    ("load", "imported", "base", "more"),
    [
        ("torch.load", _MMCV, _BASE, ""),
        ("self.load_weights", _MMCV, _BASE, ""),
        ("self.load_checkpoint", "", "object", ""),
        ("self.load_checkpoint", _MMCV, _BASE, _OWN),
    ],
)
def test_another_load_may_hand_out_what_it_reads(
    load: str, imported: str, base: str, more: str
) -> None:
    assert _codes(load, imported, base, more) == {"MPS102", "MPS103"}
