"""What is known to be true where code runs."""

from __future__ import annotations

import pytest
from probing import probe

TORCH = "import torch\n"


@pytest.mark.parametrize(
    ("program", "fact"),
    [
        ("if torch.cuda.is_available():\n    probe(1)", "cuda"),
        ("if not torch.cuda.is_available():\n    pass\nelse:\n    probe(1)", "cuda"),
        ("if a and torch.cuda.is_available():\n    probe(1)", "cuda"),
        ("ok = torch.cuda.is_available() and a\nif ok:\n    probe(1)", "cuda"),
        ("x = torch.cuda.is_available() and probe(1)", "cuda"),
        ("x = probe(1) if torch.cuda.device_count() > 0 else 2", "cuda"),
        ("if torch.cuda.device_count() == 0:\n    pass\nelse:\n    probe(1)", "cuda"),
        ("if torch.cuda.device_count() < 2:\n    pass\nelse:\n    probe(1)", "cuda"),
        ("with self.assertRaises(RuntimeError):\n    probe(1)", "caught"),
        ("assert torch.cuda.is_available()\nprobe(1)", "cuda"),
        ("def f():\n    if not torch.cuda.is_available():\n        return\n    probe(1)", "cuda"),
        ("if x.is_cuda:\n    probe(1)", "cuda"),
        ("if x.device.type == 'cuda':\n    probe(1)", "cuda"),
        ("if str(device).startswith('cuda'):\n    probe(1)", "cuda"),
        ("if torch.distributed.get_backend() == 'nccl':\n    probe(1)", "nccl"),
        ("if torch.backends.mps.is_available():\n    probe(1)", "mps"),
        ("if torch.backends.mps.is_built():\n    probe(1)", "mps-built"),
        ("if hasattr(torch.backends, 'mps'):\n    probe(1)", "mps-attribute"),
        ("if args.cuda:\n    probe(1)", "asked-cuda"),
        ("if kind == 'gpu':\n    probe(1)", "asked-cuda"),
        ("if not args.no_cuda:\n    probe(1)", "asked-cuda"),
        ("if args.use_mps:\n    probe(1)", "asked-mps"),
        ("import sys\nif sys.platform == 'darwin':\n    probe(1)", "darwin"),
        ("import sys\nif sys.platform == 'linux':\n    probe(1)", "no-mps"),
        ("try:\n    probe(1)\nexcept RuntimeError:\n    pass", "caught"),
        ("from unittest.mock import patch\nwith patch('a.b'):\n    probe(1)", "caught"),
    ],
)
def test_a_test_settles_what_holds_behind_it(program: str, fact: str) -> None:
    context, node = probe(TORCH + program)
    assert fact in context.guards.at(node)


@pytest.mark.parametrize(
    "program",
    [
        "if a or torch.cuda.is_available():\n    probe(1)",
        "if torch.cuda.is_available():\n    pass\nprobe(1)",
        "if torch.cuda.is_available():\n    pass\nelse:\n    probe(1)",
        "ok = torch.cuda.is_available()\nok = True\nif ok:\n    probe(1)",
        "if name == 'cuda.txt':\n    probe(1)",
        "for gpu in [False, True]:\n    if gpu:\n        probe(1)",
        "try:\n    pass\nexcept RuntimeError:\n    probe(1)",
        "try:\n    probe(1)\nexcept KeyError:\n    pass",
    ],
)
def test_nothing_is_known_where_no_test_says_it(program: str) -> None:
    context, node = probe(TORCH + program)
    assert not context.guards.at(node) & {"cuda", "asked-cuda", "caught"}


def test_a_flag_that_is_set_from_itself_is_no_definition() -> None:
    context, node = probe(
        TORCH + "args.cuda = args.cuda and torch.cuda.is_available()\nprobe(args.cuda)"
    )
    assert context.guards.behind(node) is node
