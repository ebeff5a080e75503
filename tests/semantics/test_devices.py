"""Where a device is expected, and which device is at hand."""

from __future__ import annotations

import textwrap

import pytest
from probing import probe

from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

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


SET = f"self.device = {PICK}"
BEFORE = [
    f"self.build()\n        {SET}",
    f"self.prepare()\n        {SET}",
    f"if config.fast:\n            {SET}",
    f"for one in config:\n            {SET}",
    f"try:\n            {SET}\n        except OSError:\n            pass",
    f"self.model = self.build() or 1\n        {SET}",
    f"with config:\n            self.prepare()\n        {SET}",
    f"run(self.build)\n        {SET}",
    f"self.ready\n        {SET}",
    f"later = lambda: self.choose()\n        {SET.replace('device', 'other')}",
]
BEHIND = [
    f"{SET}\n        self.build()",
    f"{SET}\n        self.prepare()",
    "self.choose()\n        self.build()",
    f"if config.fast:\n            {SET}\n        else:\n            {SET}\n        self.build()",
    f"if one:\n            {SET}\n        else:\n            raise one\n        self.build()",
    f"self.log(1)\n        {SET}\n        self.build()",
    f"with config:\n            {SET}\n        self.prepare()",
]


def built(constructor: str, base: str = "") -> str | None:
    return at_hand(f"""
class Base:
    def __init__(self):
        self.log(1)
        self.build()
class Solver{base}:
    def __init__(self, config):
        {constructor}
    def log(self, x):
        print(x)
    def choose(self):
        {SET}
    def prepare(self):
        self.build()
    @property
    def ready(self):
        return self.prepare()
    def build(self):
        probe(1)
""")


@pytest.mark.parametrize("constructor", BEFORE)
def test_what_the_constructor_runs_before_it_sets_the_device_has_none_at_hand(
    constructor: str,
) -> None:
    assert built(constructor) is None


@pytest.mark.parametrize("constructor", BEHIND)
def test_what_runs_when_the_constructor_has_set_the_device_has_it_at_hand(constructor: str) -> None:
    assert built(constructor) == "self.device"


def test_a_base_that_is_built_first_may_ask_for_the_device_too_early() -> None:
    assert built(f"super().__init__()\n        {SET}", "(Base)") is None
    assert built(f"{SET}\n        super().__init__()", "(Base)") == "self.device"


def test_a_method_of_its_own_may_set_the_device_for_the_others() -> None:
    lines = f"""
    class Predictor:
        def setup(self):
            FIRST
            {SET}
            LAST
        def load(self):
            probe(1)
    """
    assert at_hand(lines.replace("FIRST", "pass").replace("LAST", "self.load()")) == "self.device"
    assert at_hand(lines.replace("FIRST", "self.load()").replace("LAST", "pass")) is None
