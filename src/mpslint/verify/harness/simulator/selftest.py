"""Does the simulation hold on this torch? Asked before the script runs its first line."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch

from .state import SIM

Check = Callable[[], Any]


def _raises(action: Check, kind: type[BaseException], text: str) -> bool:
    try:
        action()
    except kind as error:
        return text in str(error)
    return False


def _backward() -> bool:
    x: Any = torch.ones(2, 3, device=SIM.name, requires_grad=True)
    (x @ torch.ones(3, 2, device=SIM.name)).relu().sum().backward()
    return bool(x.grad.device == SIM.device and x.grad.tolist() == [[2.0] * 3] * 2)


def _linear_backward() -> bool:
    layer = torch.nn.Linear(2, 2).to(SIM.name)
    layer(torch.ones(1, 2, device=SIM.name)).sum().backward()
    gradient = layer.weight.grad
    return gradient is not None and gradient.tolist() == [[1.0, 1.0]] * 2


def _generator() -> bool:
    generator = torch.Generator(device=SIM.name).manual_seed(1)
    drawn = torch.rand(2, device=SIM.name, generator=generator)
    return generator.device.type == SIM.name and drawn.device == SIM.device


def _autocast() -> bool:
    with torch.autocast(SIM.name, dtype=torch.bfloat16):
        x = torch.ones(2, 2, device=SIM.name)
        return (x @ x).dtype == torch.bfloat16


def _wrapped_number() -> bool:
    return (torch.ones((), dtype=torch.float16, device=SIM.name) * 2.5).dtype == torch.float16


def _checks() -> dict[str, Check]:
    name = SIM.name
    x = torch.ones(2, 3, device=name)
    checks: dict[str, Check] = {
        "device": lambda: x.device == SIM.device and getattr(x, "is_" + name),
        "type": lambda: type(x) is torch.Tensor,
        "round trip": lambda: x.cpu().tolist() == [[1.0] * 3] * 2,
        "views share memory": lambda: x.view(3, 2).data_ptr() == x.data_ptr(),
        "strides": lambda: torch.empty(1, 3, 1, 2, device=name).stride() == (6, 2, 2, 1),
        "backward": _backward,
        "linear backward": _linear_backward,
        "in place": lambda: torch.zeros(3, device=name).add_(1)[1:].fill_(5).sum().item() == 10,
        "numbers keep their type": _wrapped_number,
        "mixed devices": lambda: _raises(
            lambda: x + torch.ones(2, 3), RuntimeError, "Expected all tensors to be on the same"
        ),
        "autocast": _autocast,
        "generator": _generator,
    }
    if hasattr(torch, "accelerator"):  # came with torch 2.6
        checks["accelerator"] = lambda: (
            torch.accelerator.current_accelerator() == torch.device(name)
        )
    if importlib.util.find_spec("numpy") is not None:
        checks["numpy"] = lambda: _raises(x.numpy, TypeError, "device type tensor to numpy")
    if SIM.is_mps:
        checks.update(_mps_checks())
    return checks


def _mps_checks() -> dict[str, Check]:
    checks: dict[str, Check] = {
        "no float64": lambda: _raises(
            lambda: torch.zeros(1, dtype=torch.float64, device="mps"), TypeError, "float64"
        ),
        "no CUDA": lambda: _raises(
            lambda: torch.zeros(1, device="cuda"), AssertionError, "not compiled with CUDA"
        ),
    }
    if not SIM.fallback:
        checks["missing kernel"] = lambda: _raises(
            lambda: torch.linalg.eig(torch.eye(2, device="mps")),
            NotImplementedError,
            "not currently implemented for the MPS device",
        )
    return checks


def run() -> tuple[int, list[str]]:
    """Number of checks passed, and a line for each that failed."""
    passed = 0
    failed: list[str] = []
    state = torch.get_rng_state()
    for name, check in _checks().items():
        try:
            good = bool(check())
        except Exception as error:
            failed.append(f"{name}: {type(error).__name__}: {str(error)[:120]}")
            continue
        if good:
            passed += 1
        else:
            failed.append(name)
    torch.set_rng_state(state)
    return passed, failed
