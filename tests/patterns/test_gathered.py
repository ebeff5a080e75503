"""What is gathered from a tensor goes where that tensor is."""

from __future__ import annotations

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = """\
import torch
from torch.nn import functional as F


class Net(torch.nn.Module):
    def sample(self, x, index):
        scores = F.log_softmax(self.decoder(x), dim=1)
"""


def fixed(rest: str) -> str:
    return fix_source(SourceFile("net.py", f"{HEAD}{rest}".encode()), Settings()).text


def test_an_index_goes_to_the_result_that_it_is_for() -> None:
    text = fixed("        return torch.gather(scores, 1, index.long().cuda())\n")
    assert "index.long().to(scores.device)" in text
    assert "def get_device" not in text


def test_an_index_of_what_was_moved_asks_the_machine() -> None:
    rest = "        scores = scores.cpu()\n"
    text = fixed(f"{rest}        return torch.gather(scores, 1, index.long().cuda())\n")
    assert "scores.device" not in text
