"""What `.cuda()` is said to do on a Mac depends on what has to hold before it runs."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.model import Severity
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

IMPORTS = "import torch\n"
RAISES = (Severity.BREAKS, ".cuda() raises AssertionError where there is no CUDA; ")
UNUSED = (Severity.IGNORES, "a Mac's GPU is never used: .cuda() is called only where CUDA is")
ENDED = (Severity.IGNORES, "a Mac's GPU is never used: line 3 ends a run without CUDA before this")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("net.cuda()", RAISES),
        ("use_cuda = torch.cuda.is_available()\nif use_cuda:\n    net.cuda()", UNUSED),
        ("use_cuda = True\nif use_cuda:\n    net.cuda()", RAISES),
        ("use_cuda = False\nif not use_cuda:\n    net.cuda()", RAISES),
        (
            "use_cuda = False\nif torch.cuda.is_available():\n    use_cuda = True\n"
            "if use_cuda:\n    net.cuda()",
            UNUSED,
        ),
        (
            "def f(net, use_cuda):\n    if use_cuda:\n        assert torch.cuda.is_available()\n"
            "    if use_cuda:\n        net.cuda()",
            UNUSED,
        ),
        (
            "def f(net, cpu):\n    if not cpu and not torch.cuda.is_available():\n"
            "        raise ValueError\n    if not cpu:\n        net.cuda()",
            ENDED,
        ),
        ("def f(net, use_cuda=True):\n    if use_cuda:\n        net.cuda()", RAISES),
        (
            "def f(net, use_cuda='detect'):\n    if use_cuda == 'detect':\n"
            "        use_cuda = torch.cuda.is_available()\n    if use_cuda:\n        net.cuda()",
            UNUSED,
        ),
        (
            "class Net:\n    def __init__(self, use_cuda=None):\n        self.use_cuda = "
            "use_cuda if use_cuda is not None else torch.cuda.is_available()\n"
            "    def run(self, x):\n        return x.cuda() if self.use_cuda else x",
            UNUSED,
        ),
        (
            "def f(net, use_cuda='detect'):\n    if use_cuda == 'detect':\n"
            "        use_cuda = True\n    if use_cuda:\n        net.cuda()",
            RAISES,
        ),
        (
            "def f(net, use_cuda=None):\n    if use_cuda == 'detect':\n"
            "        use_cuda = torch.cuda.is_available()\n    if use_cuda is None:\n"
            "        net.cuda()",
            RAISES,
        ),
    ],
)
def test_the_message_says_what_happens_behind_this_test(
    program: str, said: tuple[Severity, str]
) -> None:
    source = SourceFile("program.py", (IMPORTS + program + "\n").encode())
    (finding,) = lint(source, Settings(select=("MPS102",)))
    assert finding.severity == said[0]
    assert finding.message.startswith(said[1])
