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
