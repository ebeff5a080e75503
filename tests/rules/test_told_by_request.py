"""Some kinds of findings are told to those who ask for their rule, and fixes know of all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

from mpslint.checking.linter import lint, linted
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

MODULE = """\
import torch


def place(batch):
    {}
    return batch
"""
STEP = """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_step(batch):
    optimizer.zero_grad()
    loss = net(batch.to(device)).mean()
    loss.backward()
    optimizer.step()
    {}
"""


def codes(text: str, *selectors: str, path: str = "module.py") -> list[str]:
    source = SourceFile(path, text.encode())
    return [one.code for one in lint(source, Settings(extend_select=selectors))]


GATHERED = """\
import torch


@torch.no_grad()
def evaluate(model, loader, device):
    model.to(device)
    guesses = []
    for x, y in loader:
        guesses.append(model(x.to(device)).argmax(1).cpu().numpy())
    return guesses
"""
PARTS = """\
import torch


def drawn(points):
    found = []
    for i in range(len(points)):
        found.append(points[i].cpu().numpy())
    return found


def run(model, loader, keep):
    for x in loader:
        with torch.no_grad():
            scores = model(x.to("mps"))
        keep(drawn(torch.cat([scores, scores], 2)))
"""
SAMPLER = """\
import torch


@torch.no_grad()
def sample(model, x, device):
    sigmas = torch.linspace(0, 1, 9, device=device)
    for i in range(8):
        x = x - model(x, sigmas[i])
        print(f"noise {sigmas[i]:.2f}")
    return x
"""
ADDED = """\
import torch


@torch.no_grad()
def evaluate(model, loader, device):
    model.to(device)
    right = 0
    for x, y in loader:
        right += (model(x.to(device)).argmax(1) == y.to(device)).cpu().sum()
    return right
"""
LISTED = ADDED.replace("right = 0", "right = []").replace(
    "right += (model(x.to(device)).argmax(1) == y.to(device)).cpu().sum()",
    "right += [(model(x.to(device)).argmax(1) == y.to(device)).cpu()]",
)
FORWARD = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def forward(self, x):
        found = []
        for row in torch.softmax(x, 1):
            {}
        return found
"""
CURRENT = MODULE.format("print(torch.cuda.current_device())")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (CURRENT, "MPS206"),
        (MODULE.format("print(torch.cuda.memory_allocated())"), "MPS203"),
        (STEP.format("return plan(loss.detach().cpu().numpy())"), "MPS304"),
        (STEP.format("kept = loss.cpu()\n    return plan(kept)"), "MPS304"),
        (GATHERED, "MPS304"),
        (PARTS, "MPS304"),
        (LISTED, "MPS304"),
        (SAMPLER, "MPS305"),
    ],
)
def test_it_is_told_where_its_rule_is_asked_for(text: str, rule: str) -> None:
    assert codes(text) == []
    for selector in (rule, rule[:4], "ALL"):
        assert rule in codes(text, selector)
    assert codes(text, "DEFAULT", "MPS118") == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (f"{CURRENT}\n\nif __name__ == '__main__':\n    place(None)\n", "MPS206"),
        ("import torch\n\nprint(torch.cuda.current_device())\n", "MPS206"),
        (MODULE.format("torch.cuda.set_device(0)"), "MPS206"),
        (MODULE.format("print(torch.cuda.get_device_properties(0))"), "MPS206"),
        (MODULE.format("print(torch.cuda.mem_get_info())"), "MPS203"),
        (MODULE.format("print(torch.cuda.max_memory_allocated())"), "MPS203"),
        (STEP.format("return loss.detach().cpu().numpy()"), "MPS304"),
        (STEP.format("return {'loss': loss.cpu().item()}, 1"), "MPS304"),
        (STEP.format("kept = loss.cpu()\n    return kept"), "MPS304"),
        (ADDED, "MPS304"),
        (FORWARD.format("found.append(row.cpu().numpy())"), "MPS304"),
        (FORWARD.format("found.append(torch.nonzero(row))"), "MPS307"),
    ],
)
def test_its_near_kin_is_told_by_default(text: str, rule: str) -> None:
    assert codes(text) == [rule]


def test_what_raises_untold_is_in_the_way_of_a_port(project: Path, cli: Cli) -> None:
    (project / "module.py").write_text(CURRENT)
    program = "import torch\n\nfrom module import place\n\nprint(place(torch.ones(2).cuda()))\n"
    (project / "program.py").write_text(program)
    found = json.loads(cli("check", "--no-cache", "--output-format", "json").out)
    assert [(one["code"], one["fix"]["applicability"]) for one in found] == [("MPS102", "unsafe")]
    assert "current_device" in found[0]["fix"]["message"]
    cli("fix", "--no-verify", "--no-cache")
    assert (project / "program.py").read_text() == program


def test_what_only_reads_a_wrong_number_untold_is_not(project: Path, cli: Cli) -> None:
    text = "import torch\n\nprint(torch.ones(2).cuda(), torch.cuda.memory_allocated())\n"
    (project / "program.py").write_text(text)
    found = json.loads(cli("check", "--no-cache", "--output-format", "json").out)
    assert [(one["code"], one["fix"]["applicability"]) for one in found] == [("MPS102", "safe")]


def test_a_cache_keeps_what_is_untold(project: Path, cli: Cli) -> None:
    test_what_raises_untold_is_in_the_way_of_a_port(project, cli)
    first = cli("check", "--output-format", "json").out
    assert cli("check", "--output-format", "json").out == first
    assert "unsafe" in first


def test_who_asks_for_the_rule_has_nothing_untold() -> None:
    source = SourceFile("module.py", CURRENT.encode())
    assert [one.code for one in linted(source, Settings()).untold] == ["MPS206"]
    assert linted(source, Settings(extend_select=("MPS206",))).untold == []


def test_a_comment_that_silences_it_is_of_use() -> None:
    silenced = CURRENT.replace("())\n", "())  # noqa: MPS206\n")
    assert codes(silenced, "MPS900") == []


def test_the_page_of_a_rule_says_so(cli: Cli) -> None:
    assert "told when they are asked for" in cli("rule", "MPS304").out
    assert "told when they are asked for" not in cli("rule", "MPS303").out
    assert json.loads(cli("rule", "MPS304", "--output-format", "json").out)["partly_by_request"]


@pytest.mark.parametrize(
    ("device", "told"),
    [
        ('torch.device("mps" if torch.backends.mps.is_available() else "cpu")', ["MPS416"]),
        ('"mps" if torch.backends.mps.is_available() else "cpu"', ["MPS416"]),
        ("chosen()", []),
        ("other.device", []),
    ],
)
def test_an_old_constructor_is_told_where_the_file_itself_selects_mps(
    device: str, told: list[str]
) -> None:
    made = f"device = {device}\nx = torch.LongTensor([1, 2], device=device)\n"
    text = f"import torch\nfrom parts import chosen, other\n\n{made}"
    assert codes(text, path="program.py") == told
    assert codes(text, "MPS416", path="program.py") == ["MPS416"]
