"""Where the question for the number of a GPU would stay around one move, none is turned."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch


def run(args, net, x):
    if args.gpu is not None:
{said}        net = net.cuda(args.gpu)
    if args.gpu is not None:
        x = x.cuda(args.gpu)
    loss = net(x).sum()
    if torch.cuda.is_available():
        loss = loss.cuda(args.gpu)
    return loss
"""


@pytest.mark.parametrize(
    ("said", "is_fixed"),
    [
        ("", True),
        ("        print('GPU', args.gpu)\n", False),
        ("        torch.cuda.set_device(args.gpu)\n", False),
    ],
    ids=["moves alone", "one says so", "one sets the device"],
)
def test_all_questions_for_a_number_are_turned_or_none(said: str, is_fixed: bool) -> None:
    text = PROGRAM.replace("{said}", said)
    source = SourceFile("run.py", text.encode())
    result = fix_source(source, Settings(select=("MPS102",)), unsafe=False)
    assert (result.text.count('.to("mps")') == 3) is is_fixed
    assert is_fixed or ".to(" not in result.text
