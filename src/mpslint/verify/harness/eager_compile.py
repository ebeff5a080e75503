"""``torch.compile`` without a compiler: the model runs eagerly, and the report says so.

A model that has to be one graph (``fullgraph=True``) is traced on the plain CPU, since what cannot
be traced is an error there on every device.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .options import Options
from .recorder import RECORDER

NOTE = "torch.compile ran eagerly"
TRACED = "torch.compile(fullgraph=True) was traced, and ran eagerly"


def install(options: Options) -> None:
    """Replace ``torch.compile`` and ``Module.compile``."""
    original = torch.compile
    compile_in_place = torch.nn.Module.compile

    def traces(settings: dict[str, Any]) -> bool:
        if settings.get("backend") == "cudagraphs" and options.device == "mps":
            raise RuntimeError("backend='cudagraphs' raised: AssertionError: the device is mps")
        traced = options.kind == "cpu" and bool(settings.get("fullgraph"))
        RECORDER.note(TRACED if traced else NOTE)
        return traced

    def as_one_graph(settings: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in settings.items() if key == "dynamic"}
        return {**kept, "backend": "eager", "fullgraph": True}

    @functools.wraps(original)
    def compile_eagerly(model: Callable[..., Any] | None = None, **settings: Any) -> Any:
        if model is None:
            return lambda function: compile_eagerly(function, **settings)
        if traces(settings):
            return original(model, **as_one_graph(settings))
        if isinstance(model, torch.nn.Module):
            # Keeps the wrapper class, and with it the "_orig_mod." prefix of state dicts.
            return original(model, disable=True)
        return model

    def compile_module(self: torch.nn.Module, *args: Any, **settings: Any) -> None:
        if traces(settings):
            compile_in_place(self, **as_one_graph(settings))

    torch.compile = compile_eagerly
    torch.nn.Module.compile = compile_module  # type: ignore[method-assign]
