"""More forms of a device selection, and what a chain says of itself."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.devices.chains import Chain
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

CUDA = "torch.cuda.is_available()"


def selections(program: str) -> list[Chain]:
    source = SourceFile("program.py", ("import torch\n" + textwrap.dedent(program)).encode())
    return Context(source, source.parse(), Settings()).chains.without_mps


@pytest.mark.parametrize(
    "program",
    [
        f"d = torch.device('cuda:0' if {CUDA} else 'cpu')",
        f"ok = {CUDA}\nd = 'cuda' if ok else 'cpu'",
        f"d = 'cuda' if {CUDA} and not args.cpu else 'cpu'",
        "d = 'cuda' if torch.cuda.device_count() > 0 else 'cpu'",
        f"self.device = torch.device('cuda') if {CUDA} else torch.device('cpu')",
        f"run(device='cuda' if {CUDA} else 'cpu')",
        f"x = y.to('cuda' if {CUDA} else 'cpu')",
        f"def f(device='cuda' if {CUDA} else 'cpu'): pass",
        f"d = args.device or ('cuda' if {CUDA} else 'cpu')",
        f"d = args.device if args.device else 'cuda' if {CUDA} else 'cpu'",
        f"p.add_argument('--device', default='cuda' if {CUDA} else 'cpu')",
        f"o = {{'device': 'cuda' if {CUDA} else 'cpu'}}",
        f"if {CUDA}:\n    self.device = 'cuda'\nelse:\n    self.device = 'cpu'",
        f"if not {CUDA}:\n    d = torch.device('cpu')\nelse:\n    d = torch.device('cuda')",
        f"d: str = 'cpu'\nif {CUDA}:\n    d = 'cuda'",
        f"def f():\n    if {CUDA}:\n        return torch.device('cuda')\n    else:\n"
        "        return torch.device('cpu')",
    ],
)
def test_a_selection_is_found_wherever_its_device_goes(program: str) -> None:
    assert len(selections(program)) == 1


@pytest.mark.parametrize(
    "program",
    [
        "d = 'cuda' if torch.cuda.is_available() else None",
        f"d = 'cpu' if {CUDA} else 'cpu'",
        f"d = 'cuda' if {CUDA} else 'xpu'",
        f"d = 'cuda:1' if {CUDA} else 'cuda:0'",
        "d = 'cuda' if fast else 'cpu'",
        f"print('cuda' if {CUDA} else 'none')",
        f"if {CUDA}:\n    d = 'cuda'\nelse:\n    raise E",
        f"if {CUDA}:\n    d = 'cuda'\nelse:\n    e = 'cpu'",
        f"if torch.backends.mps.is_available():\n    d = 'mps'\nelse:\n"
        f"    d = 'cuda' if {CUDA} else 'cpu'",
        f"def f():\n    if torch.backends.mps.is_available():\n        return 'mps'\n"
        f"    return 'cuda' if {CUDA} else 'cpu'",
        f"if {CUDA}:\n    d = 'cuda'\nelif torch.backends.mps.is_available():\n    d = 'mps'\n"
        "else:\n    d = 'cpu'",
        "d = 'cuda' if torch.accelerator.is_available() else 'cpu'",
        f"import sys\nif sys.platform == 'darwin':\n    d = 'mps'\nelse:\n"
        f"    d = 'cuda' if {CUDA} else 'cpu'",
        f"def f():\n    if {CUDA}:\n        return 'cuda'\n"
        "    if torch.backends.mps.is_available():\n        return 'mps'\n    return 'cpu'",
    ],
)
def test_what_is_no_choice_between_cuda_and_cpu_or_asks_for_mps_is_none(program: str) -> None:
    assert selections(program) == []


def test_a_chain_names_its_test_and_its_arms() -> None:
    (chain,) = selections(f"d = torch.device('cpu') if not {CUDA} else torch.device('cuda')")
    assert ast.unparse(chain.test) == f"not {CUDA}"
    assert ast.unparse(chain.cuda_arm) == "torch.device('cuda')"
    assert chain.cpu_arm is not None
    assert ast.unparse(chain.cpu_arm) == "torch.device('cpu')"
    assert chain.inverted


def test_an_if_behind_the_cpu_has_no_other_arm() -> None:
    (chain,) = selections(f"d = 'cpu'\nif {CUDA}:\n    d = 'cuda'")
    assert chain.cpu_arm is None
    assert not chain.inverted


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("args.cuda", True),
        ("use_gpu", True),
        (f"args.cuda and {CUDA}", False),
        (CUDA, False),
    ],
)
def test_a_switch_that_nobody_holds_against_the_machine_is_only_asked(
    test: str, expected: bool
) -> None:
    (chain,) = selections(f"d = 'cuda' if {test} else 'cpu'")
    assert chain.asked_only is expected


def test_selections_come_in_the_order_of_the_file() -> None:
    found = selections(
        f"""
        a_device = 'cpu'
        if {CUDA}:
            a_device = 'cuda'
        b_device = 'cuda' if {CUDA} else 'cpu'
        if not {CUDA}:
            c_device = 'cpu'
        else:
            c_device = 'cuda'
        """
    )
    assert [chain.node.lineno for chain in found] == [4, 6, 7]
