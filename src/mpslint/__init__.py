"""Finds and fixes PyTorch code that only runs on CUDA, and proves the fix by running it."""

from __future__ import annotations

__version__ = "0.1.0"
