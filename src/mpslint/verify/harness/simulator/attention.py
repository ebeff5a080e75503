"""scaled_dot_product_attention without the C++ dispatch stub, which a CPU build lacks."""

from __future__ import annotations

from typing import Any

import torch

Tensor = torch.Tensor


def _require_one_device(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    for other in (key, value, mask):
        if other is not None and other.device != query.device:
            raise RuntimeError(
                "Expected query, key, and value to have the same device type, but got "
                f"query.device: {query.device} key.device: {key.device} and "
                f"value.device: {value.device} instead."
            )


_FUSED_DTYPES = (torch.float32, torch.bfloat16, torch.float16)


def _fused_applies(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
) -> bool:
    """Whether the CPU's fused kernel takes these arguments (sdp_utils_cpp.cpp)."""
    tensors = (query, key, value)
    if dropout_p or any(t.dim() != 4 or t.dtype not in _FUSED_DTYPES for t in tensors):
        return False
    width = query.size(-1)
    if key.size(-1) != width or value.size(-1) != width or key.size(1) != query.size(1):
        return False
    if any(t.stride(-1) != 1 or t.numel() == 0 or t.dtype != query.dtype for t in tensors):
        return False
    if mask is not None and (mask.requires_grad or mask.dim() not in (2, 4)):
        return False
    backends: Any = torch.backends
    return bool(backends.cuda.flash_sdp_enabled())


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """query (..., L, E), key (..., S, E), value (..., S, Ev) to (..., L, Ev)."""
    _require_one_device(query, key, value, attn_mask)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        blocked = attn_mask.logical_not()
        attn_mask = torch.zeros_like(attn_mask, dtype=query.dtype)
        attn_mask = attn_mask.masked_fill(blocked, float("-inf"))
    if not enable_gqa and _fused_applies(query, key, value, attn_mask, dropout_p):
        # The kernel that a plain CPU run takes: the same numbers, and a tenth of the operations.
        return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(
            query, key, value, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
        )[0]
    return torch.ops.aten._scaled_dot_product_attention_math.default(
        query,
        key,
        value,
        attn_mask,
        dropout_p,
        is_causal,
        None,
        scale=scale,
        enable_gqa=enable_gqa,
    )[0]
