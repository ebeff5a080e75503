"""Watches training from outside: optimizer steps, forward passes, losses, parameters."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import (
    clocks,
    device_calls,
    eager_compile,
    lazy_dynamo,
    lowered,
    perturbing,
    placement,
    scaled,
    spawning,
    stopping,
)
from .frames import waiting_for_autograd
from .options import Options
from .recorder import MAX_LOSSES, RECORDER, is_looked_at

HostView = Callable[[torch.Tensor], torch.Tensor]

_device = "cpu"
_is_real = False
# the undecorated method: what the harness reads is not the script's
_host_view: HostView = lambda tensor: torch._C.TensorBase.cpu(tensor.detach())  # noqa: E731


def install(options: Options) -> None:
    """Hook the optimizer base class, ``nn.Module.__call__`` and ``Tensor.backward``."""
    global _device, _host_view, _is_real
    _device = options.device
    _is_real = options.kind == "real"
    if options.kind == "simulated":
        from .simulator.retag import host_view

        _host_view = host_view
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(_after_step)
    torch.optim.Optimizer.__init__ = _counting_init(torch.optim.Optimizer.__init__)  # type: ignore[method-assign]
    torch.nn.Module.__call__ = _counting_call(torch.nn.Module.__call__)  # type: ignore[method-assign]
    torch.Tensor.backward = _recording_backward(torch.Tensor.backward)  # type: ignore[method-assign]
    _place_backward_passes()
    scaled.install(_host_view)
    lowered.install()
    perturbing.install(options, _host_view)
    if options.kind != "real":
        eager_compile.install(options)
        lazy_dynamo.install()
    if options.kind == "simulated" and options.device == "mps" and not options.spawn:
        spawning.install()
    device_calls.install(options.device)
    clocks.install()


def _parameters(optimizer: torch.optim.Optimizer) -> Iterator[torch.Tensor]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if isinstance(parameter, torch.Tensor):
                yield parameter


def _on_device(tensors: Iterator[torch.Tensor]) -> int:
    return sum(1 for tensor in tensors if tensor.device.type == _device)


def digest(tensors: Iterator[torch.Tensor], step: int) -> dict[str, Any]:
    """L2 norm and sum over all elements, in double precision."""
    squares = total = 0.0
    for tensor in tensors:
        if tensor.layout is not torch.strided or tensor.is_meta:
            continue
        host = _host_view(tensor)
        if host.is_complex():
            host = torch.view_as_real(host.resolve_conj())
        host = host.to(torch.float64)
        squares += float((host * host).sum())
        total += float(host.sum())
    return {"step": step, "l2": squares**0.5, "sum": total}


@torch.no_grad()
def _record_parameters(optimizer: torch.optim.Optimizer) -> None:
    RECORDER.parameters_on_device = max(
        RECORDER.parameters_on_device, _on_device(_parameters(optimizer))
    )
    if is_looked_at(RECORDER.steps):
        RECORDER.digest(digest(_parameters(optimizer), RECORDER.steps))


def _after_step(optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
    RECORDER.end_step()
    _record_parameters(optimizer)
    if _is_real and RECORDER.parameters_on_device:
        RECORDER.operation()
    if stopping.STOPPER is not None:
        stopping.STOPPER.after_step(RECORDER.steps)


def _counting_init(init: Callable[..., None]) -> Callable[..., None]:
    """A program that makes an optimizer means to train: see ``Stopper.after_forward``."""

    @functools.wraps(init)
    def counted(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        RECORDER.optimizers += 1
        init(self, *args, **kwargs)

    return counted


class _Depth(threading.local):
    root: torch.nn.Module | None = None


_depth = _Depth()


def _counting_call(call: Callable[..., Any]) -> Callable[..., Any]:
    """Count the calls of modules that are not called by another module."""

    @functools.wraps(call)
    def counted(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if torch.compiler.is_compiling():
            return call(self, *args, **kwargs)  # counting is no part of anybody's graph
        root = _depth.root
        if root is not None:
            result = call(self, *args, **kwargs)
            placement.called(root, self, result, _device)
            return result
        _depth.root = self
        try:
            result = call(self, *args, **kwargs)
        finally:
            _depth.root = None
        RECORDER.forwards += 1
        placement.called(self, self, result, _device)
        if not RECORDER.parameters_on_device:
            RECORDER.parameters_on_device = _on_device(self.parameters())
        if stopping.STOPPER is not None:
            stopping.STOPPER.after_forward(RECORDER.forwards)
        return result

    return counted


def _recording_backward(backward: Callable[..., None]) -> Callable[..., None]:
    """Keep the value of each tensor on which ``backward`` is called."""

    @functools.wraps(backward)
    def recorded(self: torch.Tensor, *args: Any, **kwargs: Any) -> None:
        if len(RECORDER.losses) < MAX_LOSSES and self.numel() == 1:
            # complex, functorch and meta tensors have no float value
            with torch.no_grad(), contextlib.suppress(RuntimeError, TypeError):
                RECORDER.loss(float(_host_view(self).reshape(())) / scaled.by(self))
        return backward(self, *args, **kwargs)

    return recorded


def _place_backward_passes() -> None:
    """Autograd's device threads have no frame of the user's: tell them which line waits for them.

    Every way into the engine goes through this function of torch's (2.3 and newer).
    """
    run: Callable[..., Any] | None = getattr(torch.autograd, "_engine_run_backward", None)
    if run is None:
        return

    @functools.wraps(run)
    def placed(*args: Any, **kwargs: Any) -> Any:
        with waiting_for_autograd():
            result = run(*args, **kwargs)
        if stopping.STOPPER is not None:
            stopping.STOPPER.after_backward()
        return result

    for module in (torch.autograd, torch.autograd.graph):
        module._engine_run_backward = placed  # type: ignore[attr-defined]
