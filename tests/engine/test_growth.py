"""Twice the code is twice the work: nothing in a check grows with the square of a block."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from mpslint.checking.linter import lint
from mpslint.findings.results import FileResult
from mpslint.output import Style, render
from mpslint.rules.registry import all_rules
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

LOOP = (
    "def f(model, loader):\n  for b in loader:\n    loss = model(b.cuda())\n    loss.backward()\n"
)
PROGRAMS = {
    "functions": (
        "",
        "def f{n}(m, x):\n    y = m(x)\n    torch.cuda.synchronize()\n    return y\n",
    ),
    "one loop": (
        LOOP,
        "    torch.cuda.empty_cache()\n    loss = m{n}(loss)\n    print(loss.item())\n",
    ),
    "decisions": (LOOP, "    loss = f{n}(loss)\n    if loss > {n}:\n        print(loss.item())\n"),
    "assignments": ("d = torch.device('cuda')\n", "x{n} = [{n}, 'a{n}', model(x{n}), d]\n"),
    "one name": ("", "x = torch.ones(2)\nx = x.to('cuda')\ny = x.numpy()\n"),
    "timing": ("import time\n", "t = time.time()\ny = m(x.cuda())\nprint(time.time() - t)\n"),
    "selections": (
        "",
        "if torch.cuda.is_available():\n    x{n} = torch.ones(2).to('cuda')\nelse:\n    x{n} = 0\n",
    ),
    "methods": (
        "class A(torch.nn.Module):\n  def __init__(self):\n    self.d = torch.device('cuda')\n",
        "  def f{n}(self, x):\n    self.y{n} = x.to(self.d)\n    return self.y{n}.cpu().numpy()\n",
    ),
    "results": (
        "",
        "def f{n}(x, y, device):\n    x = x.cuda()\n    y = y.to(device)\n"
        "    return (x * y).to(device)\n",
    ),
    "numbers of processes": (
        "def f(a):\n",
        "    k{n} = a[{n}]\n    torch.cuda.set_device(k{n})\n",
    ),
}


MOVES = {
    "moves of one model": ("m = torch.nn.Linear(1, 1)\n", "m.cuda()\n"),
    "moves in functions": ("", "def f{n}(x):\n    return x.cuda()\n"),
    "devices in functions": ("", "def f{n}():\n    return torch.zeros(3, device='cuda')\n"),
}
"""Programs with a fix a line, each of which needs the file's one selection."""


def calls(text: str, *, fixes: bool = False) -> int:
    """Python calls (turns of generators included) that a check of `text` makes, its `full` report
    included where fixes are asked for."""
    count = 0

    def event(frame: FrameType, kind: str, argument: object) -> None:
        nonlocal count
        count += kind == "call"

    source = SourceFile.from_text("import torch\n" + text)
    sys.setprofile(event)
    try:
        findings = lint(source, Settings(select=("ALL",)))
        if fixes:
            style = Style(read=lambda _: source.text)
            assert render("full", [FileResult("a.py", tuple(findings))], style)
            assert render("json", [FileResult("a.py", tuple(findings))], style)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("name", PROGRAMS)
def test_twice_the_code_is_twice_the_work(name: str) -> None:
    for rule in all_rules():
        assert rule.check
    head, body = PROGRAMS[name]
    once, twice = (
        calls(head + "".join(body.format(n=n) for n in range(count))) for count in (100, 200)
    )
    assert once > 1000
    assert twice < 2.4 * once


@pytest.mark.parametrize("name", MOVES)
def test_twice_the_fixes_are_twice_the_work(name: str) -> None:
    for rule in all_rules():
        assert rule.check
    head, body = MOVES[name]
    once, twice = (
        calls(head + "".join(body.format(n=n) for n in range(count)), fixes=True)
        for count in (100, 200)
    )
    assert once > 10_000
    assert twice < 2.2 * once


def test_parts_of_a_sum_in_a_loop_are_not_tried_in_every_order() -> None:
    head = "def f(m, loader):\n  loss = 0\n  for b in loader:\n    k = m(b.cuda())\n"
    part = "    if k.n{n}:\n      loss += k.a{n}()\n      print(loss.cpu().numpy())\n"
    five, ten = (calls(head + "".join(part.format(n=n) for n in range(count))) for count in (5, 10))
    assert ten < five * 4
