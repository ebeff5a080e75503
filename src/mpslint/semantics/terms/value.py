"""What an expression is and where it lives, as plain data, and how values combine.

A value is of one kind (tensor, module, device, ...) and, for tensors and modules, lives on one
of a set of device types. `devices` is that set, None when nothing is known:

- `{"cpu"}`: on the CPU for certain (a factory without `device=`, `.cpu()`, a loader's batch);
- `{"cuda"}`: pinned to CUDA; `{"cuda", "cpu"}`: a selection without MPS; `{"cuda", "mps", "cpu"}`:
  a portable selection, or a device chosen out of sight.

For devices and device strings, `devices` is what they may name.
"""

from __future__ import annotations

import enum

from mpslint.records import NamedTuple


class Kind(enum.Enum):
    UNKNOWN = "unknown"
    TENSOR = "tensor"
    MODULE = "module"
    OPTIMIZER = "optimizer"
    DEVICE = "device"
    DEVICE_STRING = "device string"
    FLAG = "flag"
    NDARRAY = "ndarray"
    NUMBER = "number"
    STRING = "string"
    STREAMED = "loader"
    DATASET = "dataset"
    SEQUENCE = "sequence"
    """A list, tuple or dict whose elements are of the value's `item` kind."""
    SCALER = "gradient scaler"
    CLASS = "class"
    OTHER = "other"
    """Known, and none of the above."""


class Value(NamedTuple):
    kind: Kind
    devices: frozenset[str] | None = None
    loss: bool = False
    """A tensor that carries gradients: a model's or criterion's output, or computed from one."""
    computed: bool = False
    """A tensor known to come out of a kernel (not an argument of unknown origin)."""
    by_use: bool = False
    """Known for a tensor only by what is done with it; where it comes from is out of sight."""
    drawn: bool = False
    """A part of a batch as a loader from out of sight hands it out: on the CPU, unless that loader
    places it."""

    @property
    def as_tensor(self) -> Value:
        """The same, where it is compared or reckoned with: what was moved to a device is a tensor
        then, since a module cannot be."""
        if self.kind is not Kind.UNKNOWN or self.devices is None:
            return self
        return self._replace(kind=Kind.TENSOR, computed=True)

    @property
    def on_cpu(self) -> bool:
        """On the CPU for certain."""
        return self.devices == CPU_ONLY

    @property
    def may_be_on_accelerator(self) -> bool:
        """Known to come from a device that can be an accelerator."""
        return self.devices is not None and self.devices != CPU_ONLY


CPU_ONLY = frozenset({"cpu"})
ANY_DEVICE = frozenset({"cuda", "mps", "cpu"})
UNKNOWN = Value(Kind.UNKNOWN)
NUMBER = Value(Kind.NUMBER)
STRING = Value(Kind.STRING)
OTHER = Value(Kind.OTHER)
NDARRAY = Value(Kind.NDARRAY, CPU_ONLY)
FLAG = Value(Kind.FLAG)


def join(values: list[Value]) -> Value:
    """What is certain when a value is one of these."""
    values = [v for v in values if v.kind is not Kind.OTHER or len(values) == 1] or values[:1]
    if not values:
        return UNKNOWN
    first = values[0]
    kinds = {value.kind for value in values}
    if kinds == {Kind.DEVICE, Kind.DEVICE_STRING}:
        kind = Kind.DEVICE_STRING
    elif len(kinds) == 1:
        kind = first.kind
    elif kinds <= {Kind.TENSOR, Kind.NUMBER} and Kind.TENSOR in kinds:
        kind = Kind.TENSOR
    else:
        return UNKNOWN
    devices: frozenset[str] | None = frozenset()
    for value in values:
        if value.kind is Kind.NUMBER and kind is Kind.TENSOR:
            continue
        if value.devices is None or devices is None:
            devices = None
        else:
            devices |= value.devices
    return Value(
        kind,
        devices,
        loss=any(value.loss for value in values),
        computed=all(v.computed for v in values if v.kind is kind or v.kind is not Kind.NUMBER),
        by_use=any(value.by_use for value in values),
        drawn=any(value.drawn for value in values),
    )


def arithmetic(left: Value, right: Value, sized: bool = False) -> Value:
    """What is reckoned from two values; `sized`: the one that is on the CPU is more than a single
    number, so that the other one must be there as well."""
    left, right = left.as_tensor, right.as_tensor
    tensors = [side for side in (left, right) if side.kind is Kind.TENSOR]
    if tensors:
        devices = tensors[0].devices
        if len(tensors) == 2:
            # Arithmetic needs one device; a 0-dim CPU tensor goes where the other is.
            sides = [t.devices for t in tensors if t.devices is not None]
            off_cpu = [d for d in sides if d != CPU_ONLY]
            devices = off_cpu[0] if off_cpu else (sides[0] if len(sides) == 2 else None)
            if devices is None and sized:
                devices = CPU_ONLY
        return Value(
            Kind.TENSOR,
            devices,
            loss=any(t.loss for t in tensors),
            computed=True,
            by_use=any(t.by_use for t in tensors),
        )
    kinds = {left.kind, right.kind}
    if Kind.NDARRAY in kinds:
        return NDARRAY
    if kinds <= {Kind.NUMBER, Kind.FLAG}:
        return NUMBER
    if kinds == {Kind.STRING}:
        return STRING
    return UNKNOWN
