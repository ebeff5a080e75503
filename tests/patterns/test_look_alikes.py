"""What looks like a tensor and is none has no `device`, so nothing is moved to that."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PACKED = """\
import torch
from torch.nn.utils.rnn import PackedSequence


def masked(packed):
    mask = torch.ones(packed.data.size(0)).cuda()
    return PackedSequence(packed.data * mask.unsqueeze(1), packed.batch_sizes)
"""
ASKED = """\
import torch
from torch.nn.utils.rnn import PackedSequence


def noisy(sequence):
    noise = torch.randn(sequence.data.shape)
    if sequence.is_cuda:
        noise = noise.cuda()
    return PackedSequence(sequence.data + noise, sequence.batch_sizes)
"""
BATCH = """\
import torch


class Batch:
    def __init__(self, x, y):
        self.x, self.y = x, y

    @property
    def is_cuda(self):
        return self.x.is_cuda


def smoothed(batch, classes):
    table = torch.full((classes, classes), 0.1)
    if batch.is_cuda:
        table = table.cuda()
    return table[batch.y]
"""
FLAG = """\
import torch


class Store:
    is_cuda = torch.cuda.is_available()


def noisy(x, store):
    noise = torch.rand(3)
    if store.is_cuda:
        noise = noise.cuda()
    return x + noise
"""
BOXES = """\
import torch


class Boxes:
    def __init__(self, corners):
        self.corners = corners

    def view(self, at):
        return Boxes(self.corners[at : at + 1])

    def __mul__(self, scale):
        return Boxes(self.corners * scale)


def grown(boxes, factor):
    scale = torch.full((4,), factor).cuda()
    first = boxes.view(0)
    return boxes * scale if first else boxes
"""
RAGGED = """\
import torch


class Ragged(list):
    @property
    def shape(self):
        return len(self), max(map(len, self))

    def __mul__(self, other):
        return torch.stack([row.sum() * weight for row, weight in zip(self, other)])


def weighed(rows):
    weights = torch.ones(rows.shape[0]).cuda()
    return rows * weights
"""
PROGRAMS = {
    "packed": (PACKED, "packed"),
    "packed and asked": (ASKED, "sequence"),
    "property": (BATCH, "batch"),
    "attribute of a class": (FLAG, "store"),
    "methods": (BOXES, "boxes"),
    "list": (RAGGED, "rows"),
}


def fixed(text: str) -> str:
    return fix_source(SourceFile("program.py", text.encode()), Settings()).text


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_moved_to_the_device_of_what_is_no_tensor(name: str) -> None:
    text, held = PROGRAMS[name]
    assert f"{held}.device" not in fixed(text)


@pytest.mark.parametrize(
    ("text", "held"),
    [
        (PACKED.replace("packed.data.size", "packed.size"), "packed"),
        (ASKED.replace("sequence.data.shape", "sequence.shape"), "sequence"),
        (BATCH.replace("class Batch:", "class Batch(torch.Tensor):"), "batch"),
        (BOXES.replace("def view", "def first"), "boxes"),
        (RAGGED.replace("def shape", "def sizes"), "rows"),
    ],
    ids=["size of a tensor", "shape of a tensor", "class of tensors", "own method", "own property"],
)
def test_what_only_a_tensor_has_tells_its_device(text: str, held: str) -> None:
    assert f".to({held}.device)" in fixed(text)


def test_a_class_with_a_device_of_its_own_tells_it() -> None:
    text = BATCH.replace(
        "def is_cuda",
        "def device(self):\n        return self.x.device\n\n    @property\n    def is_cuda",
    )
    assert ".to(batch.device)" in fixed(text)
