"""Less common places for a device, the ways to write one, and the device that code can reach."""

from __future__ import annotations

import pytest
from probing import probe

from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PICK = "torch.device('cuda' if torch.cuda.is_available() else 'cpu')"


def context_of(program: str) -> Context:
    source = SourceFile("program.py", f"import torch\n{program}\n".encode())
    return Context(source, source.parse(), Settings())


@pytest.mark.parametrize(
    ("program", "backend", "ordinal", "computed"),
    [
        ("x.to('cuda')", "cuda", None, False),
        ("x.to('cuda:0')", "cuda", 0, False),
        ("x.to('cuda:12')", "cuda", 12, False),
        ("x.to('mps')", "mps", None, False),
        ("x.to('mps:0')", "mps", 0, False),
        ("x.to(f'cuda:{rank}')", "cuda", None, True),
        ("x.to('cuda:' + str(rank))", "cuda", None, True),
        ("x.to('cuda:%d' % rank)", "cuda", None, True),
        ("x.to('cuda:{}'.format(rank))", "cuda", None, True),
        ("torch.zeros(2, device=1)", "cuda", 1, False),
        ("torch.zeros(2).to(0)", "cuda", 0, False),
    ],
)
def test_a_device_is_read_in_each_of_its_spellings(
    program: str, backend: str, ordinal: int | None, computed: bool
) -> None:
    (literal,) = context_of(program).devices.literals
    assert (literal.backend, literal.ordinal, literal.computed_index) == (
        backend,
        ordinal,
        computed,
    )


@pytest.mark.parametrize(
    "program",
    [
        "x.to('cpu')",
        "x.to('cuda ')",
        "x.to('CUDA')",
        "x.to('cuda:x')",
        "x.to(f'on {name}')",
        "x.to(b'cuda')",
        "'''Moves to cuda.'''",
        "x.reshape(0)",
        "items.to(0)",
        "run(device=True)",
        "torch.zeros(2, device=-1)",
    ],
)
def test_other_texts_and_numbers_are_no_cuda_device(program: str) -> None:
    assert context_of(program).devices.literals == []


def slot_kind(program: str) -> str | None:
    context = context_of(program)
    (literal,) = context.devices.literals
    slot = context.devices.slot(literal.node)
    return slot.kind if slot is not None else None


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("torch.ones_like(x, device='cuda')", "factory"),
        ("from torch import zeros\nzeros(2, device='cuda')", "factory"),
        ("x = torch.zeros(2, device='cuda' if a else None)", "factory"),
        ("x = torch.zeros(2, device=d or 'cuda')", "factory"),
        ("x.to('cuda' if a else 'cpu')", "to"),
        ("x.to((d := 'cuda'))", "to"),
        ("x.new_zeros(2, device='cuda')", "to"),
        ("torch.set_default_device('cuda')", "device"),
        ("from torch import device as D\nD('cuda', 0)", "device"),
        ("torch.jit.load(p, 'cuda')", "map-location"),
        ("torch.load(p, map_location=torch.device('cuda'))", "device"),
        ("with torch.amp.autocast(device_type='cuda'): pass", "autocast"),
        ("def f(x, *, device='cuda'): pass", "parameter"),
        ("device, n = 'cuda', 3", "assignment"),
        ("DEVICE: str = 'cuda'", "assignment"),
        ("a.b.device = 'cuda'", "assignment"),
        ("torch_device = 'cuda'", "assignment"),
        ("if (device := 'cuda'): pass", "assignment"),
        ("class C:\n    device = 'cuda'", "field"),
        ("@click.option('--device', default='cuda')\ndef f(): pass", "option"),
        ("class C:\n    device: str = field(default='cuda')", "field"),
        ("options.setdefault('device', 'cuda')", "item"),
        ("d = getattr(args, 'device', 'cuda')", "item"),
        ("pipe(task, device='cuda')", "argument"),
        ("load(name, device_map='cuda')", "argument"),
        ("def build(n, device): pass\nbuild(3, 'cuda')", "argument"),
        ("class M:\n    def __init__(self, device): pass\nM('cuda')", "argument"),
    ],
)
def test_a_device_is_expected_in_many_places(program: str, kind: str) -> None:
    assert slot_kind(program) == kind


@pytest.mark.parametrize(
    "program",
    [
        "logging.info('cuda')",
        "x = y['cuda']",
        "raise ValueError('cuda')",
        "assert a, 'cuda'",
        "x = 'cuda' in names",
        "'cuda'.upper()",
        "match d:\n    case 'cuda': pass",
        "x = {'backend': 'cuda'}",
        "title = mode = 'cuda'",
        "def build(n, kind): pass\nbuild(3, 'cuda')",
        "def f(kind='cuda'): pass",
        "print(device='cuda')",
        "x = [torch.device('cuda')] == devices",
        "p.add_argument('--mode', default='cuda')",
        "for name in ('cuda',): pass",
        "with open('cuda'): pass",
        "del cache['cuda']",
    ],
)
def test_a_text_that_nobody_reads_as_a_device_has_no_slot(program: str) -> None:
    assert slot_kind(program) is None


def at_hand(program: str) -> tuple[str, bool] | None:
    context, node = probe("import torch\n" + program)
    found = context.devices.at_hand(node)
    return (found.text, found.is_string) if found is not None else None


@pytest.mark.parametrize(
    ("program", "name", "is_string"),
    [
        (f"device = {PICK}\nprobe(1)", "device", False),
        ("device = 'cuda' if torch.cuda.is_available() else 'cpu'\nprobe(1)", "device", True),
        (f"DEVICE = {PICK}\ndef f():\n    probe(1)", "DEVICE", False),
        (f"device_str = str({PICK})\ndev = {PICK}\nprobe(1)", "dev", False),
        ("device = torch.device('cuda')\nprobe(1)", "device", False),
        (f"def f():\n    device = {PICK}\n    def g():\n        probe(1)", "device", False),
        (f"def f():\n    device = {PICK}\n    return [probe(i) for i in y]", "device", False),
        (f"device = {PICK}\nx = [probe(i) for i in y]", "device", False),
        ("def f(device: torch.device):\n    probe(1)", "device", False),
        (
            "if torch.cuda.is_available():\n    device = torch.device('cuda')\nelse:\n"
            "    device = torch.device('cpu')\nprobe(1)",
            "device",
            False,
        ),
        ("def f(x):\n    device = x.device\n    probe(1)", "device", False),
    ],
)
def test_the_device_at_hand_is_named_with_its_type(
    program: str, name: str, is_string: bool
) -> None:
    assert at_hand(program) == (name, is_string)


@pytest.mark.parametrize(
    "program",
    [
        f"del_device = 1\ndevice = {PICK}\ndel device\nprobe(1)",
        f"def f():\n    device = {PICK}\nprobe(1)",
        f"try:\n    device = {PICK}\nexcept E:\n    pass\nprobe(1)",
        f"while a:\n    device = {PICK}\nprobe(1)",
        f"device = {PICK}\nif a:\n    device = 'cpu'\nelse:\n    device = 3\nprobe(1)",
        "device = f'cuda:{rank}'\nprobe(1)",
        f"for device in [{PICK}]:\n    pass\nprobe(1)",
        "device_ids = [0, 1]\nprobe(1)",
        f"device = {PICK}\nx = [probe(i) for device in y]",
        f"def f():\n    def g():\n        probe(1)\n    g()\n    device = {PICK}",
        f"where = {PICK}\nprobe(1)",
        f"def get_device():\n    return {PICK}\nprobe(1)",
    ],
)
def test_a_device_that_may_be_missing_or_another_is_not_at_hand(program: str) -> None:
    assert at_hand(program) is None
