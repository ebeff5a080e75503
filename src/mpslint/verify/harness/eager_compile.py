"""``torch.compile`` without a compiler: the model runs eagerly, and the report says so."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .recorder import RECORDER

NOTE = "torch.compile ran eagerly"


def install() -> None:
    """Replace ``torch.compile`` and ``Module.compile``."""
    original = torch.compile

    @functools.wraps(original)
    def compile_eagerly(model: Callable[..., Any] | None = None, **options: Any) -> Any:
        RECORDER.note(NOTE)
        if model is None:
            return lambda function: compile_eagerly(function, **options)
        if isinstance(model, torch.nn.Module):
            # Keeps the wrapper class, and with it the "_orig_mod." prefix of state dicts.
            return original(model, disable=True)
        return model

    def compile_module(self: torch.nn.Module, *args: Any, **options: Any) -> None:
        RECORDER.note(NOTE)

    torch.compile = compile_eagerly
    torch.nn.Module.compile = compile_module  # type: ignore[method-assign]
