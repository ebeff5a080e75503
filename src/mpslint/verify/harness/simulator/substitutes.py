"""CPU arithmetic for operators that have a device kernel but none on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Tensor = torch.Tensor
Sizes = Sequence[int]
Mask = Sequence[bool]
Triple = tuple[Tensor | None, Tensor | None, Tensor | None]

_aten = torch.ops.aten


def linear_backward(x: Tensor, grad: Tensor, weight: Tensor, mask: Mask) -> Triple:
    """Gradients of ``x @ weight.T + bias``; x (..., in), grad (..., out), weight (out, in)."""
    flat_grad = grad.reshape(-1, grad.size(-1))
    grad_x = grad @ weight if mask[0] else None
    grad_weight = flat_grad.t() @ x.reshape(-1, x.size(-1)) if mask[1] else None
    grad_bias = flat_grad.sum(0) if mask[2] else None
    return grad_x, grad_weight, grad_bias


def attention_for_mps(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: Tensor | None = None,
    *,
    scale: float | None = None,
) -> Any:
    """softmax(query @ key.T * scale + mask) @ value, and the weights."""
    return _aten._scaled_dot_product_attention_math.default(
        query, key, value, attn_mask, dropout_p, is_causal, dropout_mask, scale=scale
    )


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Any:
    """aten::convolution of CPU tensors."""
    return _aten.convolution.default(
        x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def convolution_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
    mask: Mask,
) -> Any:
    """aten::convolution_backward of CPU tensors; mask selects (input, weight, bias)."""
    bias = None
    if mask[2]:
        bias = [weight.size(1) * groups if transposed else weight.size(0)]
    return _aten.convolution_backward.default(
        grad, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups, mask
    )


def mps_convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    padding: Sizes,
    stride: Sizes,
    dilation: Sizes,
    groups: int,
) -> Any:
    """aten::_mps_convolution"""
    zeros = [0] * len(padding)
    return convolution(x, weight, bias, stride, padding, dilation, False, zeros, groups)


def zero_tensor(size: Sizes, **options: Any) -> Tensor:
    """aten::_efficientzerotensor, with memory behind it"""
    return torch.zeros(size, dtype=options.get("dtype"), device="cpu")


def lstm_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cell: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """One LSTM step; gates (batch, 4 * hidden) in the order i, f, g, o."""
    gates = input_gates + hidden_gates
    if input_bias is not None and hidden_bias is not None:
        gates = gates + input_bias + hidden_bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    new_cell = f * cell + i * g
    return o * new_cell.tanh(), new_cell, torch.cat([i, f, g, o], 1)


def lstm_cell_backward(
    grad_hidden: Tensor | None,
    grad_cell: Tensor | None,
    cell: Tensor,
    new_cell: Tensor,
    workspace: Tensor,
    has_bias: bool,
) -> Triple:
    """Gradients of :func:`lstm_cell` for the gates, the old cell state and the bias."""
    i, f, g, o = workspace.chunk(4, 1)
    squashed = new_cell.tanh()
    grad_hidden = torch.zeros_like(new_cell) if grad_hidden is None else grad_hidden
    through_cell = grad_hidden * o * (1 - squashed * squashed)
    if grad_cell is not None:
        through_cell = through_cell + grad_cell
    gates = torch.cat(
        [
            through_cell * g * i * (1 - i),
            through_cell * cell * f * (1 - f),
            through_cell * i * (1 - g * g),
            grad_hidden * squashed * o * (1 - o),
        ],
        1,
    )
    return gates, through_cell * f, gates.sum(0) if has_bias else None


def gru_cell(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hidden: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One GRU step; gates (batch, 3 * hidden) in the order reset, update, new."""
    if input_bias is not None and hidden_bias is not None:
        input_gates = input_gates + input_bias
        hidden_gates = hidden_gates + hidden_bias
    in_reset, in_update, in_new = input_gates.chunk(3, 1)
    h_reset, h_update, h_new = hidden_gates.chunk(3, 1)
    reset = (in_reset + h_reset).sigmoid()
    update = (in_update + h_update).sigmoid()
    new = (in_new + reset * h_new).tanh()
    result = new + update * (hidden - new)
    return result, torch.cat([reset, update, new, hidden, h_new], 1)


def gru_cell_backward(
    grad: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    """Gradients of :func:`gru_cell`: input gates, hidden gates, hidden state, both biases."""
    reset, update, new, hidden, h_new = workspace.chunk(5, 1)
    grad_update = grad * (hidden - new) * update * (1 - update)
    grad_new = grad * (1 - update) * (1 - new * new)
    grad_reset = grad_new * h_new * reset * (1 - reset)
    grad_input = torch.cat([grad_reset, grad_update, grad_new], 1)
    grad_gates = torch.cat([grad_reset, grad_update, grad_new * reset], 1)
    biases = (grad_input.sum(0), grad_gates.sum(0)) if has_bias else (None, None)
    return (grad_input, grad_gates, grad * update, *biases)


def depthwise_convolution(
    x: Tensor,
    weight: Tensor,
    kernel_size: Sizes,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
) -> Any:
    """One filter group per input channel."""
    zeros = [0] * len(stride)
    return convolution(x, weight, bias, stride, padding, dilation, False, zeros, x.size(1))


def slow_convolution2d(
    x: Tensor,
    weight: Tensor,
    kernel_size: Sizes,
    bias: Tensor | None,
    stride: Sizes,
    padding: Sizes,
) -> Any:
    """aten::_slow_conv2d_forward"""
    return convolution(x, weight, bias, stride, padding, [1, 1], False, [0, 0], 1)


def softmax(x: Tensor, dim: int, half_to_float: bool) -> Any:
    """aten::_softmax; CUDA alone takes half numbers and gives whole ones in one step."""
    return _aten._softmax.default(x.float() if half_to_float else x, dim, False)


def log_softmax(x: Tensor, dim: int, half_to_float: bool) -> Any:
    """aten::_log_softmax, likewise."""
    return _aten._log_softmax.default(x.float() if half_to_float else x, dim, False)


def softmax_backward(grad: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Any:
    """aten::_softmax_backward_data"""
    found = _aten._softmax_backward_data.default(grad, output, dim, grad.dtype)
    return found.to(input_dtype)


def log_softmax_backward(grad: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Any:
    """aten::_log_softmax_backward_data"""
    found = _aten._log_softmax_backward_data.default(grad, output, dim, grad.dtype)
    return found.to(input_dtype)


def _always(value: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: value


COMMON: dict[str, Callable[..., Any]] = {
    "_efficientzerotensor": zero_tensor,
    "convolution_overrideable": convolution,
    "convolution_backward_overrideable": convolution_backward,
}
MPS: dict[str, Callable[..., Any]] = {
    "linear_backward": linear_backward,
    "_scaled_dot_product_attention_math_for_mps": attention_for_mps,
    "_mps_convolution": mps_convolution,
}
CUDA: dict[str, Callable[..., Any]] = {
    "_fused_sdp_choice": _always(0),
    "_softmax": softmax,
    "_log_softmax": log_softmax,
    "_softmax_backward_data": softmax_backward,
    "_log_softmax_backward_data": log_softmax_backward,
    "_thnn_fused_lstm_cell": lstm_cell,
    "_thnn_fused_lstm_cell_backward_impl": lstm_cell_backward,
    "_thnn_fused_gru_cell": gru_cell,
    "_thnn_fused_gru_cell_backward": gru_cell_backward,
    "_conv_depthwise2d": depthwise_convolution,
    "conv_depthwise3d": depthwise_convolution,
    "_slow_conv2d_forward": slow_convolution2d,
}
for _name in ("_use_miopen_ctc_loss", "_use_cudnn_ctc_loss"):
    CUDA[_name] = CUDA[f"{_name}.Tensor"] = _always(False)


def table(device: str) -> dict[str, Callable[..., Any]]:
    """Substitutes for ``mps`` or ``cuda``."""
    return {**COMMON, **(MPS if device == "mps" else CUDA)}


__all__: list[str] = ["table"]
