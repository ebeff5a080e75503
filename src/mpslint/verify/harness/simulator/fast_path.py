"""The generic kernel for the common case, where most of the simulation's time goes.

The common case: every tensor is on the device, no output argument, no generator, no rule to apply.
Everything else is handed to the full kernel, which gives the same results and all the errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..recorder import RECORDER
from .host_calls import host_call, takes_numbers
from .overlap import is_alias
from .retag import to_device, to_host
from .state import SIM

if TYPE_CHECKING:
    from .kernel import Kernel, Plan

Tensor = torch.Tensor

_PLAIN, _TENSOR, _LIST = 0, 1, 2
_RESERVED_KEYWORDS = {"device", "pin_memory", "layout", "generator"}


def _kind(argument: Any) -> int:
    kind = str(argument.type)
    if kind in ("Tensor", "Optional[Tensor]"):
        return _TENSOR
    return _LIST if "Tensor" in kind else _PLAIN


def applies(plan: Plan) -> bool:
    """True where the short way gives what the long way would."""
    details = plan.details
    if plan.out_names or plan.is_index or plan.host_names or details.rule or details.sync:
        return False
    return not any(a.is_out for a in plan.operator._schema.arguments)


def make(plan: Plan, slow: Kernel) -> Kernel:
    """A kernel that takes the short way when it can, else calls ``slow``."""
    arguments = plan.operator._schema.arguments
    kinds = [_kind(argument) for argument in arguments]
    plain_keywords = {
        argument.name
        for argument, kind in zip(arguments, kinds, strict=False)
        if kind == _PLAIN and argument.name not in _RESERVED_KEYWORDS
    }
    is_simulated: Callable[[Any], bool] = getattr(Tensor, "is_" + SIM.name).__get__
    host = plan.details.host_operator or host_call(plan.operator)
    written = plan.written
    numbers = plan.details.host_operator is None and takes_numbers(plan.operator)
    convert = _result_converter(plan, slow)
    recorder = RECORDER

    def kernel(*args: Any, **kwargs: Any) -> Any:
        if recorder.tick() == 1:
            recorder.begins()
        if kwargs and not kwargs.keys() <= plain_keywords:
            return slow(*args, **kwargs)
        host_args: list[Any] = []
        if written is not None and _overlaps(args, written):
            return slow(*args, **kwargs)
        for value, kind in zip(args, kinds):  # noqa: B905 - the hottest line of all
            if kind == _PLAIN or value is None:
                host_args.append(value)
            elif kind == _TENSOR:
                if isinstance(value, Tensor):
                    if not is_simulated(value):
                        return slow(*args, **kwargs)
                    host_args.append(to_host(value))
                elif numbers:
                    host_args.append(value)
                else:
                    return slow(*args, **kwargs)
            else:
                row: list[Any] | None = _host_list(value, is_simulated)
                if row is None:
                    return slow(*args, **kwargs)
                host_args.append(row)
        result = host(*host_args, **kwargs) if kwargs else host(*host_args)
        return convert(result, args, kwargs)

    return kernel


def _overlaps(args: Sequence[Any], written: int) -> bool:
    target = args[written]
    return any(isinstance(value, Tensor) and is_alias(target, value) for value in args)


def _host_list(values: Any, is_simulated: Callable[[Any], bool]) -> list[Any] | None:
    row: list[Any] = []
    for value in values:
        if value is None:
            row.append(None)
        elif isinstance(value, Tensor) and is_simulated(value):
            row.append(to_host(value))
        else:
            return None
    return row


Converter = Callable[[Any, Any, dict[str, Any]], Any]


def _result_converter(plan: Plan, slow: Kernel) -> Converter:
    from .kernel import results

    returned = plan.returned

    def one_tensor(result: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return to_device(result)

    def first_argument(result: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return args[0]

    def any_result(result: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        return results(plan, result, args, kwargs)

    single = len(returned) == 1 and str(plan.operator._schema.returns[0].type) == "Tensor"
    if single and returned[0] is None:
        return one_tensor
    if single and returned[0] == 0:
        return first_argument
    return any_result
