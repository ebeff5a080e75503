"""Numbers of the parts of a loss are read as those of the loss are."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch
from losses import contrast, penalty, weight

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def train(model, loader, optimizer, writer, meter):
    for x, y in loader:
        out = model(x.to(device))
        error = contrast(out, y.to(device))
        norm = penalty(out)
        share = weight(model.epoch)
        loss = {loss}
        optimizer.zero_grad()
        {back}
        optimizer.step()
        {read}
"""


def told(
    read: str, loss: str = "error + 0.1 * norm", back: str = "loss.backward()", code: str = "MPS303"
) -> list[str]:
    """The lines that are told, with those that are told with them."""
    program = PROGRAM.format(loss=loss, back=back, read=read)
    source = SourceFile("train.py", program.encode())
    lines = program.splitlines()
    return [
        lines[row - 1].strip()
        for finding in lint(source, Settings(select=(code,)))
        for row in (finding.row, *(one.row for one in finding.labels[1:]))
    ]


@pytest.mark.parametrize(
    "loss",
    ["error", "error + norm", "error * 0.5 + norm", "(error + share * norm) / 2"],
)
def test_a_part_of_what_goes_back_is_a_tensor(loss: str) -> None:
    read = "meter.update(error.item())"
    assert told(read, loss) == [read]


def test_a_part_of_a_part_is_one_as_well() -> None:
    read = "meter.update(norm.item())"
    assert told(read, "error + norm", "total = 2 * loss; total.backward()") == [read]


@pytest.mark.parametrize("read", ["meter.update(share.item())", "meter.update(norm.item())"])
def test_what_has_no_part_in_it_may_be_a_number_of_anybodys(read: str) -> None:
    program = told(read, "error", "loss.backward()")
    assert program == ([] if "share" in read else [read])


def test_a_loss_that_is_divided_for_a_library_to_go_back_is_a_tensor() -> None:
    read = "meter.update(loss.item())"
    assert told(read, "contrast(out, 1)", "model.accelerator.backward(loss / 4)") == [read]


def test_parts_of_a_loss_that_a_writer_is_given_are_told_in_one() -> None:
    read = 'writer.add_scalar("error", error); writer.add_scalar("norm", norm)'
    assert told(read, code="MPS305") == [read]
    assert told('writer.add_scalar("share", share)', "share * error", code="MPS305") == []


UNPACKED = """\
from accelerate import Accelerator


class Trainer:
    def __init__(self, model, data, optimizer):
        self.accelerator = Accelerator({given})
        self.score, self.data, self.optimizer = self.accelerator.prepare(model, data, optimizer)

    def train(self, steps):
        for batch in self.data:
            total, (rebuilt, commit) = self.score(**batch, parts=True)
            self.accelerator.backward(total / 2)
            self.accelerator.print(f"{{rebuilt.item():.3f}} {{commit.sum().item():.3f}}")
            self.log(total=total.item())
            self.optimizer.step()
"""


@pytest.mark.parametrize(("given", "rows"), [("", [13]), ("cpu=True", [])])
def test_what_a_model_hands_back_beside_its_loss_lies_where_a_library_trains_it(
    given: str, rows: list[int]
) -> None:
    source = SourceFile("train.py", UNPACKED.format(given=given).encode())
    found = lint(source, Settings(select=("MPS303",)))
    assert [item.row for item in found] == rows


TILED = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@torch.no_grad()
def tiled(model, criterion, tiles, target):
    losses = []
    for tile in tiles:
        scores = model(tile.to(device))
        {kept}
    return losses
"""


@pytest.mark.parametrize(
    ("kept", "rows"),
    [
        ("losses.append(criterion(scores, target).item() if target is not None else 0.0)", [11]),
        ("losses.append(1 if criterion(scores, target).item() > 2 else 0)", []),
    ],
)
def test_one_of_two_numbers_may_be_gathered_but_not_one_that_chooses(
    kept: str, rows: list[int]
) -> None:
    found = lint(SourceFile("tiled.py", TILED.format(kept=kept).encode()), Settings())
    assert [item.row for item in found if item.code == "MPS303"] == rows


BATCHES = """\
from accelerate import Accelerator
from einops import rearrange
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model, lengths, optimizer):
        self.accelerator = Accelerator()
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.lengths = lengths

    def train(self, data, writer):
        loader = self.accelerator.prepare(DataLoader(data))
        for batch in loader:
            x = rearrange(batch["x"]{moved}, "b d n -> b n d")
            length = self.lengths({given})
            writer.add_scalar("length", {read})
            loss = self.model(x)
            self.accelerator.backward(loss)
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("moved", "given", "read", "rows"),
    [
        ("", "x", "length.item()", [17]),
        ("", "3", "length.item()", []),
        (".cpu()", "x", "length.item()", []),
    ],
)
def test_what_a_library_places_is_on_the_device_in_any_order_of_its_parts(
    moved: str, given: str, read: str, rows: list[int]
) -> None:
    program = BATCHES.format(moved=moved, given=given, read=read)
    found = lint(SourceFile("train.py", program.encode()), Settings(select=("MPS303",)))
    assert [item.row for item in found] == rows
