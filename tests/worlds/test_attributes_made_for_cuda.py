"""What an attribute is where only a CUDA machine comes to the place that fills it: still None."""

from __future__ import annotations

import pytest

from .conftest import EVERYWHERE, comes

_NET = """
        import torch

        class Net:
            def __init__(self):
                self.streams = None

            def parallelize(self):
                if torch.cuda.is_available():
                    self.streams = [torch.cuda.Stream()]
{more}
            def forward(self, x):
                if self.streams is not None:
                    torch.zeros(3)  # here
                return x
"""


def test_none_stays_none_where_nothing_else_is_stored() -> None:
    assert "MAC" not in comes(_NET.format(more=""))


@pytest.mark.parametrize(
    "body", ["self.streams = streams", "self.streams = [1]", "self.streams = list(streams)"]
)
def test_another_method_may_store_something(body: str) -> None:
    more = f"\n            def use(self, streams):\n                {body}\n"
    assert comes(_NET.format(more=more)) == EVERYWHERE
