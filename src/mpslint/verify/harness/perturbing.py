"""Runs in which rounding is another: to learn what it makes of a program's numbers.

``--nudge N`` moves weights by about one unit in the last place, before a model is first called and
after each step; N chooses which way. ``--full-precision`` switches autocast and the scaling that
goes with it off.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch

from .options import Options

HostView = Callable[[torch.Tensor], torch.Tensor]


def install(options: Options, host_view: HostView) -> None:
    """What the launching process asks for; nothing by default."""
    if options.full_precision:
        _switch_off(torch.amp.autocast_mode.autocast)
        _switch_off(torch.amp.GradScaler)
    if options.nudge:
        _Nudge(options.nudge, host_view).install()


def _switch_off(kind: Any) -> None:
    make = kind.__init__

    @functools.wraps(make)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self._enabled = False

    kind.__init__ = init


class _Nudge:
    def __init__(self, seed: int, host_view: HostView) -> None:
        self._host_view = host_view
        self._seed = seed
        self._noise: torch.Generator | None = None
        self._seen: weakref.WeakSet[torch.nn.Module] = weakref.WeakSet()

    def install(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(self._after_step)
        torch.nn.modules.module.register_module_forward_pre_hook(self._before_forward)

    def _after_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        for group in optimizer.param_groups:
            self._move(group["params"])

    def _before_forward(self, module: torch.nn.Module, args: Any) -> None:
        if module not in self._seen:
            self._seen.update(module.modules())
            self._move(module.parameters())

    def _move(self, tensors: Iterable[Any]) -> None:
        # A generator of its own: the script draws what it would draw without us.
        if self._noise is None:
            self._noise = torch.Generator().manual_seed(self._seed)
        with torch.no_grad():
            for tensor in tensors:
                if not isinstance(tensor, torch.Tensor) or not tensor.is_floating_point():
                    continue
                if tensor.layout is not torch.strided or tensor.is_meta:
                    continue
                host = self._host_view(tensor)
                drawn = torch.randn(host.shape, generator=self._noise)
                host.mul_(1 + torch.finfo(host.dtype).eps * drawn.to(host.dtype))
