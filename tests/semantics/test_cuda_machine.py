"""What a machine with CUDA does for certain, whoever asks for what."""

from __future__ import annotations

import pytest
from probing import probe

from mpslint.semantics.destinations.cuda_machine import outcome, runs
from mpslint.semantics.destinations.selected_devices import picks_cuda

TORCH = "import torch\n"


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("torch.cuda.is_available()", True),
        ("not torch.cuda.is_available()", False),
        ("torch.cuda.device_count() > 0", True),
        ("torch.cuda.device_count() > 1", None),
        ("torch.backends.mps.is_available()", False),
        ("hasattr(torch.backends, 'mps') and torch.backends.mps.is_available()", False),
        ("torch.cuda.is_available() or args.force", True),
        ("torch.cuda.is_available() and not args.no_cuda", None),
        ("args.cuda", None),
        ("device.type == 'cuda'", None),
        ("x.is_cuda", None),
        ("True if torch.cuda.is_available() else False", True),
        ("bool(torch.cuda.is_available())", True),
    ],
)
def test_only_the_machine_decides_an_outcome(test: str, expected: bool | None) -> None:
    context, node = probe(f"{TORCH}probe({test})")
    assert outcome(context, node) is expected


def test_a_flag_is_read_through_its_assignment() -> None:
    context, node = probe(TORCH + "ok = torch.cuda.is_available()\ndef f():\n    probe(ok)")
    assert outcome(context, node) is True


def test_a_flag_that_is_perhaps_assigned_is_not() -> None:
    context, node = probe(
        TORCH + "def f(args):\n    if args.x:\n        args.ok = torch.cuda.is_available()\n"
        "    probe(args.ok)"
    )
    assert outcome(context, node) is None


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("if torch.cuda.is_available():\n    probe(1)", True),
        ("if torch.cuda.is_available():\n    pass\nelse:\n    probe(1)", False),
        ("if args.cuda:\n    pass\nelse:\n    probe(1)", True),
        ("def f():\n    if torch.cuda.is_available():\n        return 1\n    probe(1)", False),
        (
            "def f():\n    if torch.backends.mps.is_available():\n        return 1\n    probe(1)",
            True,
        ),
    ],
)
def test_an_arm_that_cuda_never_takes_does_not_run(program: str, expected: bool) -> None:
    context, node = probe(TORCH + program)
    assert runs(context, node) is expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("probe('cuda' if torch.cuda.is_available() else 'cpu')", True),
        ("probe(torch.device('cuda' if torch.cuda.is_available() else 'cpu'))", True),
        (
            "probe('mps' if torch.backends.mps.is_available() else "
            "'cuda' if torch.cuda.is_available() else 'cpu')",
            True,
        ),
        ("probe('cuda' if args.cuda else 'cpu')", False),
        ("probe('cuda' if x.is_cuda else 'cpu')", False),
        ("probe('cpu')", False),
        ("def f(device):\n    probe(device)", False),
        ("def f(device):\n    probe(device)\nf('cuda')", True),
        ("def f(device):\n    probe(device)\nf('cuda')\nf('cpu')", False),
        ("def f(device):\n    probe(device)\nf('cuda')\nrun(f)", False),
        ("def f(device='cuda'):\n    probe(device)\nf()", True),
        (
            "def pick():\n    if torch.cuda.is_available():\n        return 'cuda'\n"
            "    return 'cpu'\n"
            "probe(pick())",
            True,
        ),
        (
            "class A:\n    def __init__(self):\n        self.device = "
            "'cuda' if torch.cuda.is_available() else 'cpu'\n"
            "    def f(self):\n        probe(self.device)",
            True,
        ),
        (
            "class A:\n    def __init__(self, device):\n        self.device = device\n"
            "    def f(self):\n        probe(self.device)",
            False,
        ),
    ],
)
def test_a_device_is_cuda_only_when_nobody_can_choose_otherwise(
    program: str, expected: bool
) -> None:
    context, node = probe(TORCH + program)
    assert picks_cuda(context, node) is expected
