"""``torch.cuda.FloatTensor`` and its kin, which a CPU build only names."""

from __future__ import annotations

from typing import Any

import torch

from .state import SIM

_DTYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


class _LegacyType(type):
    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.device.type == SIM.name
            and instance.dtype == cls.dtype
        )

    def __call__(cls, *args: Any, **kwargs: Any) -> torch.Tensor:
        """Sizes make an uninitialised tensor, anything else is its content."""
        kwargs.pop("device", None)
        if all(isinstance(arg, int) for arg in args):
            return torch.empty(args or (0,), dtype=cls.dtype, device=SIM.device)
        if len(args) == 1 and isinstance(args[0], torch.Size):
            return torch.empty(args[0], dtype=cls.dtype, device=SIM.device)
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            return args[0].to(SIM.device, cls.dtype)
        (content,) = args
        return torch.tensor(content, dtype=cls.dtype, device=SIM.device)


def _types() -> dict[str, Any]:
    return {
        name: _LegacyType(name, (), {"dtype": dtype, "__module__": "torch.cuda"})
        for name, dtype in _DTYPES.items()
    }


def _find(kind: Any, known: dict[str, Any]) -> Any:
    if isinstance(kind, _LegacyType):
        return kind
    if isinstance(kind, str) and kind.startswith("torch.cuda."):
        return known.get(kind[len("torch.cuda.") :])
    return None


def install() -> None:
    """Define the types, and the two functions that take them."""
    known = _types()
    for name, kind in known.items():
        setattr(torch.cuda, name, kind)
    convert = torch.Tensor.type
    set_default: Any = torch.set_default_tensor_type

    def type_(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        kind = _find(dtype, known)
        if kind is None:
            return convert(self, dtype, *args, **kwargs)
        return self.to(SIM.device, kind.dtype)

    def set_default_tensor_type(kind: Any) -> None:
        found = _find(kind, known)
        if found is None:
            torch.set_default_device(None)
            set_default(kind)
            return
        torch.set_default_dtype(found.dtype)
        torch.set_default_device(SIM.device)

    torch.Tensor.type = type_  # type: ignore[method-assign, assignment]
    torch.set_default_tensor_type = set_default_tensor_type


class _AbsentType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return False

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
        )


def leave_out() -> None:
    """Let the types refuse as they do in a CPU build; the compiled ones of other builds do not."""
    for name in _DTYPES:
        setattr(torch.cuda, name, _AbsentType(name, (), {"__module__": "torch.cuda"}))
