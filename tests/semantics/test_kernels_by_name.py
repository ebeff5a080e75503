"""An operator without a kernel for MPS that is called by another name is in doubt as well."""

from __future__ import annotations

import textwrap

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.semantics.context import Context
from mpslint.semantics.operands.kernels_by_name import kernels_by_name
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import torch\nfrom torch import nn\n"


def named(text: str) -> list[str]:
    source = SourceFile("program.py", (HEAD + textwrap.dedent(text)).encode())
    context = Context(source, source.parse(), Settings(), None)
    return [source.segment(node) for node in kernels_by_name(context)]


@pytest.mark.parametrize(
    ("text", "mention"),
    [
        ('OPS = {"e": torch.linalg.eigvals}\n', "torch.linalg.eigvals"),
        ("import functools\nf = functools.partial(torch.linalg.eigh)\n", "torch.linalg.eigh"),
        ("def f(x, op=torch.linalg.eigvals):\n    return op(x)\n", "torch.linalg.eigvals"),
        ("def f(x):\n    return torch.vmap(torch.linalg.eigvals)(x)\n", "torch.linalg.eigvals"),
        ("class A(nn.RReLU):\n    pass\n", "nn.RReLU"),
        ("class C:\n    op = staticmethod(torch.linalg.eigvals)\n", "torch.linalg.eigvals"),
        ("from torch.linalg import eigvals as ev\nf = [ev]\n", "ev"),
        ("def f(x):\n    return torch.Tensor.mode(x)\n", "torch.Tensor.mode"),
        ('f = getattr(torch.linalg, "eigvals")\n', 'getattr(torch.linalg, "eigvals")'),
        (
            'NAMES = ["norm", "eigvals"]\ndef f(op):\n    return getattr(torch.linalg, op)\n',
            "getattr(torch.linalg, op)",
        ),
    ],
)
def test_a_mention_is_one_that_somebody_may_call(text: str, mention: str) -> None:
    assert named(text) == [mention]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('OPS = {"e": torch.linalg.norm}\n', id="a kernel that MPS has"),
        pytest.param("y = torch.linalg.eigvals(torch.eye(2))\n", id="a call"),
        pytest.param("def f(m):\n    return isinstance(m, (nn.RReLU, nn.ReLU))\n", id="a test"),
        pytest.param("def f(m):\n    return type(m) is nn.RReLU\n", id="another test"),
        pytest.param("def f(m: nn.CTCLoss) -> nn.CTCLoss:\n    return m\n", id="an annotation"),
        pytest.param("def f(op):\n    return getattr(torch.linalg, op)\n", id="no name"),
        pytest.param(
            'import os\nos.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"\nf = [torch.linalg.eigh]\n',
            id="the fallback",
        ),
    ],
)
def test_who_only_asks_or_has_the_kernel_mentions_none(text: str) -> None:
    assert named(text) == []


def test_no_fix_makes_a_choice_where_an_operator_is_called_by_another_name() -> None:
    text = (
        HEAD + 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        'OPS = {"e": torch.linalg.eigvals}\n'
        'print(OPS["e"](torch.eye(2).to(device)))\n'
    )
    result = fix_source(SourceFile("program.py", text.encode()), Settings())
    assert result.text == text
    assert [one.fix for one in result.remaining if one.code == "MPS103"] == [None]
    reasons = [one.unfixed for one in result.remaining]
    assert any("line 4: torch.linalg.eigvals has no MPS kernel" in one for one in reasons)
