"""Where a device is expected, and which device is at hand."""

from __future__ import annotations

import textwrap

import pytest
from probing import probe

from mpslint.semantics.context import Context
from mpslint.settings import Settings
from mpslint.source import SourceFile

PICK = (
    "'cuda' if torch.cuda.is_available() else 'mps' if torch.backends.mps.is_available() else 'cpu'"
)


def slot_kind(line: str) -> str | None:
    source = SourceFile("program.py", f"import torch\n{line}\n".encode())
    context = Context(source, source.parse(), Settings())
    (literal,) = [x for x in context.devices.literals if x.backend == "cuda"]
    slot = context.devices.slot(literal.node)
    return slot.kind if slot is not None else None


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("x = torch.zeros(3, device='cuda')", "factory"),
        ("x.to('cuda')", "to"),
        ("x.to(device='cuda')", "to"),
        ("x = run(device='cuda')", "argument"),
        ("x = torch.device('cuda')", "device"),
        ("g = torch.Generator('cuda')", "device"),
        ("device = 'cuda:0'", "assignment"),
        ("self.device = f'cuda:{rank}'", "assignment"),
        ("where = 'cuda'\ntorch.zeros(3, device=where)", "assignment"),
        ("def f(device='cuda'): pass", "parameter"),
        ("class C:\n    device: str = 'cuda'", "field"),
        ("p.add_argument('--device', default='cuda')", "option"),
        ("settings = {'device': 'cuda'}", "item"),
        ("settings['device'] = 'cuda'", "item"),
        ("d = settings.get('device', 'cuda')", "item"),
        ("def get_device(): return 'cuda'", "return"),
        ("torch.load(p, map_location='cuda')", "map-location"),
        ("torch.autocast('cuda')", "autocast"),
        ("torch.amp.GradScaler(device='cuda')", "autocast"),
    ],
)
def test_a_literal_stands_where_a_device_is_expected(line: str, kind: str) -> None:
    assert slot_kind(line) == kind


@pytest.mark.parametrize(
    "line",
    [
        "print('cuda')",
        "names = ['cuda', 'cpu']",
        "sizes = {'cuda': 1}",
        "ok = device == 'cuda'",
        "ok = device == torch.device('cuda')",
        "ok = device in (torch.device('cuda'), None)",
        "name = 'cuda'",
        "p.add_argument('--backend', default='cuda')",
        "def f(): return 'cuda'",
        "x.split('cuda')",
    ],
)
def test_elsewhere_it_is_just_a_string(line: str) -> None:
    assert slot_kind(line) is None


def at_hand(program: str) -> str | None:
    context, node = probe("import torch\n" + textwrap.dedent(program))
    found = context.devices.at_hand(node)
    return found.text if found is not None else None


def test_the_function_comes_before_the_object_and_the_object_before_the_module() -> None:
    lines = f"""
    device = {PICK}
    class Runner:
        def __init__(self):
            self.device = {PICK}
        def run(self):
            HERE
            probe(1)
    """
    assert at_hand(lines.replace("HERE", f"dev = {PICK}")) == "dev"
    assert at_hand(lines.replace("HERE", "pass")) == "self.device"
    outside = f"device = {PICK}\ndef f():\n    probe(1)"
    assert at_hand(outside) == "device"


@pytest.mark.parametrize(
    "program",
    [
        "device = 'cpu'\nprobe(1)",
        "device = 'cuda:1'\nprobe(1)",
        "device = torch.device('mps')\nprobe(1)",
        "def f(device=None):\n    probe(1)",
        f"if args.x:\n    device = {PICK}\nprobe(1)",
        f"probe(1)\ndevice = {PICK}",
        f"if __name__ == '__main__':\n    device = {PICK}\ndef f():\n    probe(1)",
        f"def f():\n    probe(1)\nf()\ndevice = {PICK}",
        f"def f():\n    probe(1)\ndef g():\n    f()\nx = g()\ndevice = {PICK}",
        f"class C:\n    device = {PICK}\n    def f(self):\n        probe(1)",
        "device = len(x)\nprobe(1)",
    ],
)
def test_a_name_that_may_be_unbound_or_pinned_is_not_at_hand(program: str) -> None:
    assert at_hand(program) is None
