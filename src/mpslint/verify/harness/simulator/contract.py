"""What the devices refuse, in the words of the real ones.

Texts: aten/src/ATen/native/mps (EmptyTensor.cpp, OperationUtils.mm, operations/Linear.mm,
MPSFallback.mm), TensorIterator.cpp, Convolution.cpp, torchgen's device checks; those of CUDA were
compared with an NVIDIA H200 (torch 2.11).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .state import SIM

Tensor = torch.Tensor

_FLOAT64 = (
    "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
    "Please use float32 instead."
)


def _no_such_dtype(name: str) -> str:
    return (
        f"Trying to convert {name} to the MPS backend but it does not have support for that dtype."
    )


MPS_REFUSED_DTYPES: dict[torch.dtype, str] = {
    torch.float64: _FLOAT64,
    torch.complex128: _no_such_dtype("ComplexDouble"),
}
for _name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
    if hasattr(torch, _name):
        MPS_REFUSED_DTYPES[getattr(torch, _name)] = _no_such_dtype(_name.capitalize())

MPS_MAX_DIMENSIONS = 16

_TYPE_NAMES = {
    torch.float32: "Float",
    torch.float64: "Double",
    torch.float16: "Half",
    torch.bfloat16: "BFloat16",
    torch.int64: "Long",
    torch.int32: "Int",
    torch.int16: "Short",
    torch.int8: "Char",
    torch.uint8: "Byte",
    torch.bool: "Bool",
    torch.complex64: "ComplexFloat",
}


def tensor_type_name(tensor: Tensor) -> str:
    """The legacy type string that the convolution check prints."""
    name = _TYPE_NAMES.get(tensor.dtype, str(tensor.dtype))
    kind = tensor.device.type
    if kind == "mps":
        return f"MPS{name}Type"
    return f"torch.{name}Tensor" if kind == "cpu" else f"torch.{kind}.{name}Tensor"


def refuse_dtype(dtype: torch.dtype) -> None:
    """Raise TypeError for a dtype that the simulated device does not have."""
    if SIM.is_mps and dtype in MPS_REFUSED_DTYPES:
        raise TypeError(MPS_REFUSED_DTYPES[dtype])


def refuse_dimensions(count: int) -> None:
    """MPS tensors have at most 16 dimensions."""
    if SIM.is_mps and count > MPS_MAX_DIMENSIONS:
        raise RuntimeError(f"MPS supports tensors with dimensions <= 16, but got {count}.")


def invalid_ordinal() -> Exception:
    """What CUDA answers to a device index that does not exist."""
    kind = getattr(torch, "AcceleratorError", RuntimeError)
    error: Exception = kind(
        "CUDA error: invalid device ordinal\n"
        "GPU device may be out of range, do you have enough GPUs?\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, "
        "so the stacktrace below might be incorrect.\n"
        "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    return error


BAD_FORK = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, "
    "you must use the 'spawn' start method"
)


def refuse_device(device: torch.device | None) -> None:
    """Refuse indices past the only device, and CUDA in a forked process."""
    if SIM.name != "cuda":
        return
    if SIM.in_forked_child:
        raise RuntimeError(BAD_FORK)
    if device is not None and device.index not in (None, 0, -1):
        raise invalid_ordinal()


def two_devices() -> RuntimeError:
    """TensorIterator names the accelerator first, whatever the order of the arguments."""
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{SIM.device} and cpu!"
    )


def _cuda_argument_mismatch(
    operator: str, structured: bool, argument: str, other: torch.device, first: torch.device
) -> RuntimeError:
    base, _, overload = operator.partition(".")
    if structured:
        suffix = "_out" if overload.endswith("out") else ""
        wrapper = base + (f"_{overload}" if overload else "") + suffix
    else:
        wrapper = f"{overload}_{base}"
    return RuntimeError(
        f"Expected all tensors to be on the same device, but got {argument} is on {other}, "
        f"different from other tensors on {first} "
        f"(when checking argument in method wrapper_CUDA_{wrapper})"
    )


def _mps_kernel_mismatch(operator: str, tensors: Sequence[Tensor]) -> RuntimeError:
    """Kernels of the MPS backend that check by themselves; the rest fail in the graph."""
    if operator == "linear":
        for tensor, name in zip(tensors, ("input", "weight", "bias"), strict=False):
            if tensor.device.type != "mps":
                return RuntimeError(
                    f"Tensor for argument {name} is on {tensor.device} but expected on mps"
                )
    if operator == "_slow_conv2d_forward":
        return RuntimeError(
            f"slow_conv2d_forward_mps: input(device='{tensors[0].device}') and "
            f"weight(device={tensors[1].device}')  must be on the same device"
        )
    return RuntimeError("Placeholder storage has not been allocated on MPS device!")


_CONVOLUTIONS = {
    "convolution_overrideable",
    "_slow_conv2d_forward",
    "_conv_depthwise2d",
    "_mps_convolution",
}


def mixed_devices(
    operator: str,
    tensors: Sequence[Tensor],
    argument: str,
    places: tuple[torch.device, torch.device],
    checked: bool,
    structured: bool,
) -> RuntimeError:
    """The exception for tensors on two devices.

    ``places`` are the device seen first and the one that differs, ``argument`` is the parameter
    that differs, ``checked`` says that torchgen wrote a device check for this operator.
    """
    first, other = places
    base = operator.partition(".")[0]
    if base in ("masked_fill", "masked_fill_"):
        if argument == "value" and tensors[0].device == tensors[1].device:
            return RuntimeError("masked_fill_: Expected inputs to be on same device")
        mask, data = (other, first) if argument == "mask" else (first, other)
        return RuntimeError(
            "expected self and mask to be on the same device, "
            f"but got mask on {mask} and self on {data}"
        )
    cpu_input = tensors[0].device.type == "cpu"
    if operator in _CONVOLUTIONS and not (base == "_slow_conv2d_forward" and cpu_input):
        return RuntimeError(
            f"Input type ({tensor_type_name(tensors[0])}) and weight type "
            f"({tensor_type_name(tensors[1])}) should be the same"
        )
    if SIM.is_mps and (checked or operator in ("linear", "_slow_conv2d_forward")):
        return _mps_kernel_mismatch(operator, tensors)
    if SIM.name == "cuda" and checked:
        return _cuda_argument_mismatch(operator, structured, argument, other, first)
    return two_devices()
