"""The generic kernel: view the arguments as CPU tensors, run the CPU operator, view the results
as tensors of the device again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from . import contract, overlap
from .host_writes import refuse_writing_to_the_host, write_on_the_host
from .retag import CPU_KEYS, to_device, to_host
from .state import SIM
from .sync_debug import wait
from .sync_points import indexing

Kernel = Callable[..., Any]
Rule = Callable[[Sequence[Any]], None]
Tensor = torch.Tensor

_cpu = torch.device("cpu")

# operands that the real kernels read on the host
HOST_ARGUMENTS: dict[str, set[str]] = {
    "_ctc_loss": {"targets"},
    "_ctc_loss_backward": {"targets"},
    "_ctc_loss.Tensor": {"input_lengths", "target_lengths"},
    "_ctc_loss_backward.Tensor": {"input_lengths", "target_lengths"},
    "_cudnn_ctc_loss.Tensor": {"input_lengths", "target_lengths"},
    "_use_cudnn_ctc_loss": {"targets"},
    "_use_cudnn_ctc_loss.Tensor": {"input_lengths", "target_lengths"},
    "_use_miopen_ctc_loss": {"targets"},
    "_use_miopen_ctc_loss.Tensor": {"input_lengths", "target_lengths", "targets"},
}
# indices may stay on the CPU
INDEX_OPERATORS = {
    "index.Tensor", "index.Tensor_out", "index_put_", "index_put", "_index_put_impl_",
    "_unsafe_index.Tensor", "_unsafe_index_put",
}  # fmt: skip


_WRITES = "index_put"


class Details(NamedTuple):
    """What a kernel needs to know beside its schema."""

    host_operator: Kernel | None = None
    rule: Rule | None = None
    sync: str | None = None
    sync_count: int = 1
    checked: bool = False
    structured: bool = False


class Plan:
    """What the schema of an operator says about arguments and results."""

    def __init__(self, operator: Any, name: str, details: Details) -> None:
        schema = operator._schema
        arguments = schema.arguments
        self.operator = operator
        self.name = name
        self.details = details
        self.host_operator: Kernel = details.host_operator or operator._op
        self.names: list[str] = [argument.name for argument in arguments]
        self.out_names = {argument.name for argument in arguments if argument.is_out}
        self.host_names = HOST_ARGUMENTS.get(name, set())
        self.is_index = name in INDEX_OPERATORS
        self.writes_by_index = self.is_index and _WRITES in name
        self.returned = [self._aliased_argument(result, arguments) for result in schema.returns]
        # An argument that is written to in place; outputs are looked at where they are filled.
        in_place = [i for i in self.returned if i is not None and not self.out_names]
        self.written = in_place[0] if in_place else None
        self.tensor_slots = {
            i for i, a in enumerate(arguments) if str(a.type) in ("Tensor", "Optional[Tensor]")
        }
        generators = [i for i, a in enumerate(arguments) if "Generator" in str(a.type)]
        self.generator = generators[0] if generators else None

    @staticmethod
    def _aliased_argument(result: Any, arguments: Sequence[Any]) -> int | None:
        info = result.alias_info
        if info is None or not info.is_write:
            return None
        found = None
        for index, argument in enumerate(arguments):
            other = argument.alias_info
            if other is not None and other.before_set == info.before_set:
                found = index
        return found

    def argument(self, index: int, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Argument number ``index``, however it was passed."""
        return args[index] if index < len(args) else kwargs.get(self.names[index])


class Conversion:
    """Turns the arguments of one call into CPU arguments, and notices mixed devices."""

    __slots__ = ("bad", "first", "number", "plan", "strict")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.first: torch.device | None = None
        self.bad: tuple[torch.device, str] | None = None
        self.strict = plan.details.checked
        # a Python number where the schema has a tensor
        self.number = False

    def tensor(self, tensor: Tensor, name: str) -> Tensor:
        device = tensor.device
        kind = device.type
        if kind == SIM.name:
            if self.first is None:
                self.first = device
            elif self.first.type != kind and self.bad is None:
                self.bad = (device, name)
            return to_host(tensor)
        if kind == "meta" or name in self.plan.host_names:
            return tensor
        if tensor.dim() == 0 and not self.strict:
            return tensor
        if self.first is None:
            self.first = device
        elif self.first.type == SIM.name and self.bad is None:
            self.bad = (device, name)
        return tensor

    def indices(self, values: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        owner = args[0]
        if owner.device.type != SIM.name:
            raise RuntimeError(
                "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
            )
        indexing(values, args[2] if len(args) > 2 else None)
        return [
            to_host(value) if isinstance(value, Tensor) and value.device.type == SIM.name else value
            for value in values
        ]

    def positional(self, args: Sequence[Any]) -> list[Any]:
        plan = self.plan
        converted: list[Any] = []
        for index, value in enumerate(args):
            if isinstance(value, Tensor):
                converted.append(self.tensor(value, plan.names[index]))
            elif type(value) in (list, tuple) and value:
                if plan.is_index and index == 1:
                    converted.append(self.indices(value, args))
                else:
                    name = plan.names[index]
                    converted.append(
                        [self.tensor(v, name) if isinstance(v, Tensor) else v for v in value]
                    )
            else:
                if value is not None and index in plan.tensor_slots:
                    self.number = True
                converted.append(value)
        return converted

    def keyword(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        converted: dict[str, Any] = {}
        for key, value in kwargs.items():
            if key in self.plan.out_names:
                converted[key] = value
            elif isinstance(value, Tensor):
                converted[key] = self.tensor(value, key)
            elif type(value) in (list, tuple) and value and isinstance(value[0], Tensor):
                converted[key] = [self.tensor(v, key) for v in value]
            elif key == "device":
                contract.refuse_device(value)
                converted[key] = _cpu
            elif key == "pin_memory":
                converted[key] = False
            else:
                converted[key] = value
        return converted

    def check(self, args: Sequence[Any]) -> None:
        if self.bad is None or self.first is None:
            return
        tensors: list[Tensor] = []
        for value in args:
            if isinstance(value, Tensor):
                tensors.append(value)
            elif type(value) in (list, tuple):
                tensors.extend(v for v in value if isinstance(v, Tensor))
        details = self.plan.details
        other, name = self.bad
        raise contract.mixed_devices(
            self.plan.name, tensors, name, (self.first, other), details.checked, details.structured
        )


def results(plan: Plan, value: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Give the caller device tensors; in-place results are the arguments themselves."""
    if isinstance(value, Tensor):
        alias = plan.returned[0] if plan.returned else None
        return to_device(value) if alias is None else plan.argument(alias, args, kwargs)
    if type(value) not in (tuple, list):
        return value
    single_list = len(plan.returned) == 1
    converted: list[Any] = []
    for index, item in enumerate(value):
        alias = None if single_list else plan.returned[index]
        if alias is not None:
            converted.append(plan.argument(alias, args, kwargs))
        elif isinstance(item, Tensor):
            converted.append(to_device(item))
        elif type(item) in (list, tuple):
            converted.append([to_device(x) if isinstance(x, Tensor) else x for x in item])
        else:
            converted.append(item)
    return tuple(converted) if type(value) is tuple else converted


def move_into(target: Tensor, source: Tensor) -> None:
    """Make ``target`` show the storage, shape and strides of ``source``."""
    torch.ops.aten.set_.source_Storage_storage_offset.redispatch(
        CPU_KEYS,
        target,
        source.untyped_storage(),
        source.storage_offset(),
        source.shape,
        source.stride(),
    )


def _host_outputs(plan: Plan, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for name in plan.out_names:
        target = kwargs.get(name)
        if isinstance(target, Tensor):
            if target.device.type != SIM.name:
                position = next((i for i, a in enumerate(args) if isinstance(a, Tensor)), None)
                argument = name if position is None else plan.names[position]
                details = plan.details
                raise contract.mixed_devices(
                    plan.name,
                    [target],
                    argument,
                    (target.device, SIM.device),
                    details.checked,
                    details.structured,
                )
            empty = target.numel() == 0
            outputs[name] = torch.empty(0, dtype=target.dtype) if empty else to_host(target)
        elif type(target) in (list, tuple):
            items: Sequence[Tensor] = target or ()
            outputs[name] = [to_host(item) for item in items]
    return outputs


def _run_with_outputs(
    plan: Plan, host_args: list[Any], host_kwargs: dict[str, Any], args: Any, kwargs: Any
) -> Any:
    outputs = _host_outputs(plan, args, kwargs)
    try:
        plan.host_operator(*host_args, **{**host_kwargs, **outputs})
    except RuntimeError as error:
        if "not resizable" not in str(error):
            raise
        for name, host in outputs.items():
            if isinstance(host, Tensor):
                outputs[name] = torch.empty(0, dtype=host.dtype)
        plan.host_operator(*host_args, **{**host_kwargs, **outputs})
    for name, host in outputs.items():
        target = kwargs[name]
        if not isinstance(host, Tensor):
            continue
        if host.shape != target.shape:
            move_into(target, to_device(host))
        elif host.data_ptr() != target.data_ptr():
            to_host(target).copy_(host)
    returned = tuple(plan.argument(i, args, kwargs) for i in plan.returned if i is not None)
    return returned[0] if len(returned) == 1 else returned


def full_kernel(plan: Plan) -> Kernel:
    """A kernel for any schema; counting the operation is left to the caller."""
    rule, sync, count = plan.details.rule, plan.details.sync, plan.details.sync_count

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if plan.writes_by_index and args[0].device.type != SIM.name:
            return write_on_the_host(plan, args, kwargs)
        conversion = Conversion(plan)
        host_args = conversion.positional(args)
        host_kwargs = conversion.keyword(kwargs)
        conversion.check(args)
        refuse_writing_to_the_host(plan, args, kwargs)
        if plan.written is not None:
            host_args = overlap.with_shared_storage(plan.written, args, host_args)
        if rule is not None:
            rule(args)
        if sync is not None:
            wait(sync, count)
        if plan.out_names and kwargs:
            return _run_with_outputs(plan, host_args, host_kwargs, args, kwargs)
        if conversion.number:
            value = _run_with_number(plan, host_args, host_kwargs)
        else:
            value = plan.host_operator(*host_args, **host_kwargs)
        return results(plan, value, args, kwargs)

    return kernel


def _run_with_number(plan: Plan, host_args: list[Any], host_kwargs: dict[str, Any]) -> Any:
    """Wrapped numbers reach Python as numbers: the overload for scalars promotes types rightly."""
    try:
        return plan.operator.overloadpacket(*host_args, **host_kwargs)
    except (RuntimeError, TypeError):
        as_tensors = [
            torch.tensor(value)
            if index in plan.tensor_slots and isinstance(value, (bool, int, float, complex))
            else value
            for index, value in enumerate(host_args)
        ]
        return plan.host_operator(*as_tensors, **host_kwargs)
