"""Mixed precision around a function from which no Mac comes back."""

from __future__ import annotations

import pytest

from .conftest import found

_FUNCTION = """
from torch.autograd import Function
from {amp} import custom_bwd

try:
    import {extension} as ext
except ImportError:
    ext = None


class Attention(Function):
    @staticmethod
    @custom_bwd{device}
    def backward(ctx, grad):
        if {lacking}:
            raise RuntimeError("please compile with CUDA to train")
        return ext.attention_backward(*ctx.saved_tensors, grad)
"""
_ANY = {
    "amp": "torch.amp",
    "device": '(device_type="cuda")',
    "extension": "MultiScaleDeformableAttention",
    "lacking": "ext is None",
}


@pytest.mark.parametrize("amp", [{}, {"amp": "torch.cuda.amp", "device": ""}])
def test_what_decorates_a_backward_of_compiled_kernels_is_cudas_own(amp: dict[str, str]) -> None:
    assert found(_FUNCTION.format(**_ANY | amp), "MPS207", "MPS208") == []


@pytest.mark.parametrize(
    ("amp", "code"),
    [({}, "MPS208"), ({"amp": "torch.cuda.amp", "device": ""}, "MPS207")],
)
@pytest.mark.parametrize(
    "other", [{"extension": "ours.attention"}, {"lacking": "not torch.cuda.is_available()"}]
)
def test_one_that_a_mac_may_have_or_that_a_port_lets_in_is_told(
    amp: dict[str, str], code: str, other: dict[str, str]
) -> None:
    told = found(_FUNCTION.format(**_ANY | {"extension": "ours.attention"} | amp | other), code)
    assert len(told) >= 1
