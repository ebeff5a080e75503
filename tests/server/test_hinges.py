"""Edits of what other functions hang on: flags of the module, imports, helpers, what a constructor
stores. What is shown after each is what a fresh check says, of the other functions as well."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.client import Editor, capabilities, in_editor, uri_of
from server.model import Buffer, Row, checked
from server.typing_session import Change, parses

HELPERS = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def on_gpu(x):
    return x.cuda()
"""
REFUSING = HELPERS.replace("import torch\n", "import torch\n\nassert torch.cuda.is_available()\n")
PROGRAM = """\
import torch
from helpers import device, on_gpu
from torch import nn

USE_CUDA = torch.cuda.is_available()
DEVICE = torch.device("cuda" if USE_CUDA else "cpu")


def place(x):
    return x.to(DEVICE)


def check():
    pass


class Trainer:
    def __init__(self, args):
        check()
        self.device = DEVICE
        self.model = nn.Linear(2, 2).to(self.device)

    def step(self, batch):
        loss = self.model(place(batch)).sum()
        loss.backward()
        if USE_CUDA:
            torch.cuda.synchronize()
        return loss

    def move(self, batch):
        return batch.cuda()

    def wide(self, batch):
        return torch.zeros(2, dtype=torch.float64, device=self.device) + place(batch)


def main(args):
    trainer = Trainer(args)
    check()
    for batch in args.batches:
        trainer.step(trainer.move(batch))
        trainer.wide(on_gpu(batch))
    torch.cuda.empty_cache()
    with torch.autocast("cuda"):
        trainer.step(torch.ones(2, device=device))


if __name__ == "__main__":
    main(None)
"""
HINGES = (
    ("USE_CUDA = torch.cuda.is_available()", "USE_CUDA = False"),
    ("USE_CUDA = torch.cuda.is_available()", "USE_CUDA = True"),
    ('DEVICE = torch.device("cuda" if USE_CUDA else "cpu")', 'DEVICE = torch.device("mps")'),
    ("    pass\n\n\nclass", "    assert torch.cuda.is_available()\n\n\nclass"),
    ("    pass\n\n\nclass", "    if not USE_CUDA: raise SystemExit\n\n\nclass"),
    ("self.device = DEVICE", 'self.device = torch.device("mps")'),
    ("        if USE_CUDA:", "        if DEVICE.type:"),
    ("import torch\n", "import numpy as torch\n"),
    ("import torch\n", "import torch; assert torch.cuda.is_available()\n"),
)


def typed(buffer: Buffer, old: str, new: str) -> Iterator[list[Change]]:
    """Puts `new` in place of `old`: what differs is marked and typed over."""
    same = _in_common(old, new)
    end = _in_common(old[same:][::-1], new[same:][::-1])
    at = buffer.text.index(old) + same
    yield [buffer.replace(at, at + len(old) - same - end, "")]
    for place, char in enumerate(new[same : len(new) - end], at):
        yield [buffer.replace(place, place, char)]


def _in_common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in pairs)


def beside(rows: list[Row], row: int) -> list[Row]:
    return [one for one in rows if one[0] != row]


@pytest.fixture
def train(project: Path) -> Path:
    (project / "helpers.py").write_text(HELPERS, encoding="utf-8")
    path = project / "train.py"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def test_an_edit_that_other_functions_hang_on_changes_what_is_told_of_them(train: Path) -> None:
    uri, buffer, chance = uri_of(train), Buffer(PROGRAM), random.Random(1)

    async def scenario(editor: Editor) -> None:
        editor.open(uri, buffer.text)
        before = buffer.rows(await editor.diagnostics(uri))
        assert before == checked(train, PROGRAM)
        version = 1
        for old, new in HINGES:
            row = PROGRAM[: PROGRAM.index(old)].count("\n") + 1
            for one, other in ((old, new), (new, old)):
                for changes in typed(buffer, one, other):
                    version += 1
                    editor.change(uri, version, *changes)
                    if parses(buffer.text) and chance.random() < 0.2:
                        told = buffer.rows(await editor.diagnostics(uri, version))
                        assert told == checked(train, buffer.text), buffer.text
                told = buffer.rows(await editor.diagnostics(uri, version))
                assert told == checked(train, buffer.text), buffer.text
                if other is new:
                    assert beside(told, row) != beside(before, row), f"nothing hangs on {new!r}"
            assert told == before, f"what was told of {new!r} is gone with it"

    in_editor(scenario, [train.parent], capabilities(encodings=("utf-16",)))


def test_a_module_that_refuses_macs_from_one_edit_to_the_next_is_read_anew(train: Path) -> None:
    uri, buffer = uri_of(train), Buffer(PROGRAM)

    async def scenario(editor: Editor) -> None:
        editor.open(uri, buffer.text)
        before = buffer.rows(await editor.diagnostics(uri))
        (train.parent / "helpers.py").write_text(REFUSING, encoding="utf-8")
        editor.change(uri, 2, buffer.replace(len(buffer.text), len(buffer.text), "#"))
        told = buffer.rows(await editor.diagnostics(uri, 2))
        assert told == checked(train, buffer.text)
        assert told != before, "what the module says shows in this file"

    in_editor(scenario, [train.parent], capabilities(encodings=("utf-16",)))
