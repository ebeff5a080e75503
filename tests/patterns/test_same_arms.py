"""A fix leaves no arm that does what the other one does, and no `if` alone in an `if`."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

READ = """import torch


def read(x, flag, log):
    {}


device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
print(read(torch.zeros(2, device=device), True, print))
"""


def fixed(template: str, code: str) -> str:
    text = template.format(code.replace("\n", "\n    "))
    return fix_source(SourceFile("read.py", text.encode()), Settings()).text


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("return x.cpu().numpy() if x.is_cuda else x.numpy()", "return x.cpu().numpy()\n"),
        (
            "return x.cpu().data.numpy() if x.is_cuda else x.data.numpy()",
            "return x.cpu().data.numpy()\n",
        ),
        (
            "if x.is_cuda:\n    y = x.cpu().numpy()\nelse:\n    y = x.numpy()\nreturn y",
            "    y = x.cpu().numpy()\n    return y\n",
        ),
    ],
)
def test_arms_that_would_do_the_same_become_one(code: str, after: str) -> None:
    text = fixed(READ, code)
    assert after in text
    assert "is_cuda" not in text


@pytest.mark.parametrize(
    "code",
    [
        "return x.cpu().numpy()[0] if x.is_cuda else x.numpy()",
        "return x.cpu().numpy() if x.is_cuda and log(x) else x.numpy()",
        "if x.is_cuda:\n    y = x.cpu().numpy()\nelse:  # by hand\n    y = x.numpy()\nreturn y",
    ],
)
def test_arms_that_differ_or_do_more_both_stay(code: str) -> None:
    text = fixed(READ, code)
    assert "is_cuda" in text
    assert text.count(".cpu().numpy()") == 2


CHOICE = """import torch


def choose(gpu, other):
    {}
    return torch.zeros(2)


print(choose(input(), input()))
"""


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("if gpu:\n    torch.cuda.set_device(gpu)", "if gpu and torch.cuda.is_available():\n"),
        (
            "if gpu or other:\n    torch.cuda.set_device(0)",
            "if (gpu or other) and torch.cuda.is_available():\n",
        ),
        (
            "if gpu:\n    torch.cuda.set_device(0)\nelse:\n    print(other)",
            "if gpu:\n        if torch.cuda.is_available():\n",
        ),
        (
            "if gpu:\n    print(other)\n    torch.cuda.set_device(0)",
            "        if torch.cuda.is_available():\n",
        ),
    ],
)
def test_a_guard_joins_the_test_that_a_call_alone_stands_below(code: str, after: str) -> None:
    assert after in fixed(CHOICE, code)
