"""Shapes and dtypes that kernels of the MPS backend refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .state import limit

_ADAPTIVE = (
    "Adaptive pool MPS: input sizes must be divisible by output sizes. Non-divisible input sizes "
    "are not implemented on MPS device yet. For now, you can manually transfer tensor to cpu in "
    "this case. Please refer to [this issue](https://github.com/pytorch/pytorch/issues/96056)"
)


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def adaptive_average_pool(args: Sequence[Any]) -> None:
    """Sizes must divide each other, last dimensions of (N, C, H, W)."""
    tensor, output = args[0], args[1]
    for index, wanted in enumerate(reversed(list(output))):
        size = tensor.shape[-1 - index]
        if wanted and size % wanted and wanted % size:
            raise RuntimeError(_ADAPTIVE)


def adaptive_maximum_pool(args: Sequence[Any]) -> None:
    """The average of such sizes raises; the maximum gives wrong values, up to torch 2.13."""
    try:
        adaptive_average_pool(args)
    except RuntimeError:
        raise limit(
            "adaptive_max_pool2d gives wrong values on MPS up to torch 2.13 where the sizes do not"
            " divide each other"
        ) from None


def lstm(
    tensor: torch.Tensor,
    state: Sequence[torch.Tensor],
    weights: Sequence[torch.Tensor],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> Any:
    """aten::lstm.input, which is not compiled for MPS where torch is built without it: the check
    of RnnOps.mm comes first."""
    cells = layers * (2 if bidirectional else 1)
    if len(weights) > cells * (4 if has_biases else 2):
        raise RuntimeError("LSTM with projections is not currently supported with MPS.")
    return torch.ops.aten.lstm.input.decompose(
        *(tensor, state, weights, has_biases, layers),
        *(dropout, train, bidirectional, batch_first),
    )


def linear(args: Sequence[Any]) -> None:
    """Integer matrices have no kernel."""
    for tensor, name in zip(args, ("inputs", "weights", "bias"), strict=False):
        if tensor is not None and not _is_float(tensor):
            raise RuntimeError(f"MPS device does not support linear for non-float {name}")


def matrix_product(args: Sequence[Any]) -> None:
    """mm and addmm take floating point (or complex) matrices."""
    for tensor in args:
        if isinstance(tensor, torch.Tensor) and tensor.dim() == 2 and not _is_float(tensor):
            raise RuntimeError("MPS device does not support mm for non-float inputs")


def convolution(args: Sequence[Any]) -> None:
    """Integer convolutions, too many channels, half precision in transposed 3-D."""
    tensor, weight, transposed = args[0], args[1], args[6]
    if not tensor.is_floating_point():
        raise RuntimeError("Convolution is supported only for Floating types")
    half = tensor.dtype in (torch.float16, torch.bfloat16)
    if transposed and tensor.dim() == 5 and half:
        raise RuntimeError("ConvTranspose 3D with BF16 or FP16 types is not supported on MPS")
    if weight.size(0) > 65536:
        raise RuntimeError("Output channels > 65536 not supported at the MPS device. ")


RULES: dict[str, Callable[[Sequence[Any]], None]] = {
    "_adaptive_avg_pool2d": adaptive_average_pool,
    "adaptive_avg_pool2d.out": adaptive_average_pool,
    "linear": linear,
    "convolution_overrideable": convolution,
}

WRONG_UP_TO_2_13: dict[str, Callable[[Sequence[Any]], None]] = {
    "adaptive_max_pool2d": adaptive_maximum_pool,
    "adaptive_max_pool2d.out": adaptive_maximum_pool,
}
