"""Operators without a kernel: the error, or the CPU fallback, of the real backend."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import torch

from ..frames import user_location
from ..recorder import RECORDER
from .kernel import Details
from .making import make_kernel
from .state import SIM, limit

_kernels: dict[Any, Callable[..., Any]] = {}


# TORCH_WARN_ONCE: the first operator of the process only
_warned: list[bool] = []


def qualified_name(operator: Any) -> str:
    """``aten::add.Tensor``"""
    schema = operator._schema
    return str(schema.name) + (f".{schema.overload_name}" if schema.overload_name else "")


def no_mps_kernel(name: str) -> NotImplementedError:
    """MPSFallback.mm, with the commit of the installed torch."""
    return NotImplementedError(
        f"The operator '{name}' is not currently implemented for the MPS device. If you want this "
        "op to be considered for addition please comment on "
        "https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
        f"missing op as well as commit hash {torch.version.git_version}. As a temporary fix, you "
        "can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a "
        "fallback for this op. WARNING: this will be slower than running natively on MPS."
    )


def _no_cuda_kernel(name: str, key: str = "CUDA") -> NotImplementedError:
    return NotImplementedError(
        f"Could not run '{name}' with arguments from the '{key}' backend. This could be because "
        "the operator doesn't exist for this backend, or was omitted during the selective/custom "
        "build process (if using custom build)."
    )


def run_on_cpu(operator: Any, args: Any, kwargs: Any) -> Any:
    """What ``mps_fallback`` does: warn once, copy to the CPU, compute, copy back."""
    name = qualified_name(operator)
    RECORDER.fallback(name)
    if not _warned:
        _warned.append(True)
        file, line = user_location()
        warnings.warn_explicit(
            f"The operator '{name}' is not currently supported on the MPS backend and will fall "
            "back to run on the CPU. This may have performance implications.",
            UserWarning,
            file,
            line,
        )
    kernel = _kernels.get(operator)
    if kernel is None:
        short = name.partition("::")[2]
        kernel = _kernels[operator] = make_kernel(operator, short, Details())
    return kernel(*args, **kwargs)


def always_on_cpu(operator: Any) -> Callable[..., Any]:
    """The kernel of an operator that is registered to the fallback itself."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        return run_on_cpu(operator, args, kwargs)

    return kernel


def _uses_other_layout(args: Any) -> bool:
    return any(
        isinstance(value, torch.Tensor)
        and (value.layout is not torch.strided or value.is_quantized)
        for value in args
    )


def _all_in_coordinates(values: Iterable[Any]) -> bool:
    """Whether there are no other tensors than dense ones and sparse ones in coordinate form."""
    layouts = {value.layout for value in values if isinstance(value, torch.Tensor)}
    return torch.sparse_coo in layouts and layouts <= {torch.sparse_coo, torch.strided}


def fallback(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Called for every operator that has no kernel on the simulated device."""
    name = qualified_name(operator)
    if name.startswith("c10d::") and SIM.is_mps and not SIM.fallback:
        raise no_mps_kernel(name)
    if not name.startswith("aten::"):
        raise limit(f"{name} comes from another library, whose device kernels are not known")
    if _uses_other_layout(args) or "sparse" in name or "quantize" in name:
        raise limit(f"{name} needs sparse or quantised tensors, which are not simulated")
    if not SIM.is_mps:
        raise _no_cuda_kernel(name)
    if SIM.fallback:
        return run_on_cpu(operator, args, kwargs)
    raise no_mps_kernel(name)


def other_layout(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Called for every operator without a kernel on a sparse, quantised or nested tensor."""
    if not SIM.is_mps and _all_in_coordinates([*args, *kwargs.values()]):
        raise _no_cuda_kernel(qualified_name(operator), "SparseCUDA")
    return not_simulated(operator, *args, **kwargs)


def not_simulated(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Called where a build for the device has a kernel for such tensors and the simulation none."""
    name = qualified_name(operator)
    raise limit(f"{name} needs sparse, quantised or nested tensors, which are not simulated")
