"""The first look at a file: bytes in which nothing speaks of torch are not our business."""

from __future__ import annotations

TORCH_WORDS = (b"torch", b"accelerate", b"transformers", b"diffusers", b"lightning")
"""torch, and packages that are torch under another name: a program that only imports those still
chooses a device."""


def speaks_of_torch(data: bytes) -> bool:
    """Whether a file of these bytes may use torch."""
    return any(word in data for word in TORCH_WORDS)
