"""Switches that a program has checked against the machine before it gets to a place."""

from __future__ import annotations

import pytest
from probing import probe

from mpslint.semantics.checked_switches import switch_check

HEAD = "import sys\nimport torch\navailable = torch.cuda.is_available()\n"
ASSERTED = "    if args.gpu:\n        assert torch.cuda.is_available()\n"
CLASS = "class Runner:\n    def __init__(self, gpu):\n        self.gpu = gpu\n"
METHOD = "    def run(self):\n        if self.gpu:\n            probe(1)\n"


@pytest.mark.parametrize(
    "program",
    [
        f"def main(args):\n{ASSERTED}    if args.gpu:\n        probe(1)",
        "def main(gpu):\n    assert available or not gpu\n    if gpu:\n        probe(1)",
        "def main(gpu):\n    if gpu and not available:\n        sys.exit(1)\n"
        "    probe(1) if gpu else 2",
        "def main(gpu, x):\n    if gpu and not available:\n        raise ValueError\n"
        "    if x and gpu:\n        probe(1)",
        "def main(cpu):\n    if not cpu and not torch.cuda.is_available():\n"
        "        raise ValueError\n    if cpu:\n        pass\n    else:\n        probe(1)",
        f"def run(options):\n    if options.gpu:\n        probe(1)\n"
        f"def main(args):\n{ASSERTED}    run(args)",
        f"def run(x, gpu):\n    if gpu:\n        probe(1)\n"
        f"def main(args):\n{ASSERTED}    run(1, gpu=args.gpu)",
        f"{CLASS}        if gpu:\n            assert available\n{METHOD}",
        f"{CLASS}        if self.gpu:\n            assert available\n{METHOD}",
        f"{CLASS}{METHOD}def main(args):\n{ASSERTED}    Runner(args.gpu).run()",
    ],
)
def test_a_switch_is_checked_on_the_one_way_to_a_place(program: str) -> None:
    context, node = probe(HEAD + program)
    assert switch_check(context, node) is not None


@pytest.mark.parametrize(
    "program",
    [
        "def main(args):\n    if args.gpu:\n        probe(1)",
        f"def main(args):\n    if args.gpu:\n        probe(1)\n{ASSERTED}",
        f"def main(args):\n{ASSERTED}    probe(1)",
        f"def main(args):\n{ASSERTED}    if args.other:\n        probe(1)",
        f"def main(args):\n{ASSERTED}    if not args.gpu:\n        probe(1)",
        f"def main(args):\n{ASSERTED}    args.gpu = True\n    if args.gpu:\n        probe(1)",
        "def main(args):\n    if args.gpu and not available:\n        print('slow')\n"
        "    if args.gpu:\n        probe(1)",
        "def main(args, x):\n    if x.any() and args.gpu:\n        assert available\n"
        "    if args.gpu:\n        probe(1)",
        f"def run(gpu):\n    if gpu:\n        probe(1)\n"
        f"def main(args):\n{ASSERTED}    run(args.gpu)\n"
        "def trial(args):\n    run(args.gpu)",
        f"def test_run(gpu):\n    if gpu:\n        probe(1)\n"
        f"def main(args):\n{ASSERTED}    test_run(args.gpu)",
        f"{CLASS}        if gpu:\n            assert available\n"
        f"    def enable(self):\n        self.gpu = True\n{METHOD}",
    ],
)
def test_a_check_says_nothing_of_other_switches_and_other_ways(program: str) -> None:
    context, node = probe(HEAD + program)
    assert switch_check(context, node) is None
