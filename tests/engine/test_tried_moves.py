"""A move among other lines of a `try` is made portable as those around it are."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_RUN = """import torch


def run(net, rows):
    for row in rows:
        net(torch.as_tensor(row).cuda())
    for row in rows:
        try:
            print(row)
            net(torch.as_tensor(row).cuda())
        except {error}:
            {handler}
"""


def left(text: str) -> int:
    """How many moves to CUDA are left when all is fixed."""
    result = fix_source(SourceFile.from_text(text), Settings(), unsafe=True)
    assert result.error is None
    return result.text.count(".cuda()")


@pytest.mark.parametrize("error", ["RuntimeError", "Exception", "(KeyError, Exception)"])
def test_who_catches_what_goes_wrong_in_many_lines_has_not_tried_the_move(error: str) -> None:
    assert left(_RUN.format(error=error, handler='print("left out")')) == 0


def test_who_names_the_very_error_has() -> None:
    assert left(_RUN.format(error="AssertionError", handler="pass")) > 0


def test_who_does_without_a_gpu_then_has() -> None:
    handler = 'net(torch.as_tensor(row).to("cpu"))'

    assert left(_RUN.format(error="Exception", handler=handler)) > 0


def test_who_keeps_how_it_ended_has() -> None:
    assert left(_RUN.format(error="Exception", handler="found = False")) > 0
