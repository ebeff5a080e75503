"""Calls that move to CUDA: `.cuda()`, `.to("cuda")`, and their portable form."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit
from mpslint.patterns.availability import cuda_available
from mpslint.patterns.early_cast import cast_behind, cast_first
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.named_gpus import several_gpus
from mpslint.patterns.references import Reference
from mpslint.patterns.text import holds_comment, quote, replace, replace_span
from mpslint.semantics.destinations.sure_devices import may_be_text
from mpslint.semantics.devices.gpu_numbers import number_beside, type_given, written_out
from mpslint.semantics.reads.let_go import may_let_go
from mpslint.semantics.syntax.expressions import arguments_for, is_path
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.worlds.state import Class

_OWNERS = "classes with a cuda method"


def is_cuda_move(node: ast.AST) -> bool:
    """Whether `node` reads like `x.cuda(...)` or `x.to("cuda", ...)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "cuda" or (node.func.attr == "to" and _target(node) is not None)


def _target(call: ast.Call) -> ast.expr | None:
    """`"cuda"` or `torch.device("cuda")`, where `.to(...)` is given that."""
    given = arguments_for(call, 0, "device")
    for value in given:
        inner = value
        if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
            inner = value.args[0]
        if isinstance(inner, ast.Constant) and inner.value in ("cuda", "cuda:0"):
            return value
    return None


OWN_CUDA = ".cuda() may be a method of this file, which .to() would not call"


def rebinds(context: Context, call: ast.Call) -> bool:
    """`x = x.cuda()`: without the call, `x` is what it was."""
    statement = context.index.parents[call]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    assert isinstance(call.func, ast.Attribute)
    return ast.unparse(statement.targets[0]) == ast.unparse(call.func.value)


def overrides_cuda(context: Context, call: ast.Call) -> bool:
    """Whether `.cuda()` is, or may be, a method of the project itself, which `.to()` leaves out."""
    assert isinstance(call.func, ast.Attribute)
    if call in context.worlds.own_moves:
        return True
    return bool(_owners(context)) and context.values.of(call.func.value).kind is not Kind.TENSOR


def _lacks_to(context: Context, call: ast.Call) -> bool:
    """Whether what has such a method has no `to`, and no base to have one from."""
    method = context.worlds.own_moves.get(call)
    if method is not None and method.cls is not None:
        return not _has_to(method.cls)
    return any(
        not item.bases
        and not any(isinstance(m, ast.FunctionDef) and m.name == "to" for m in item.body)
        for item in _owners(context)
    )


def _has_to(cls: Class) -> bool:
    if "to" in cls.methods or any(_has_to(base) for base in cls.parents):
        return True
    return len(cls.parents) < len(cls.node.bases)


def _owners(context: Context) -> list[ast.ClassDef]:
    """The classes of this file that have a `cuda` method."""
    if _OWNERS not in context.memo:
        around = [context.index.parents[f] for f in context.index.functions() if f.name == "cuda"]
        context.memo[_OWNERS] = [item for item in around if isinstance(item, ast.ClassDef)]
    owners = context.memo[_OWNERS]
    assert isinstance(owners, list)
    return owners


def rewrite_call(
    context: Context, call: ast.Call, device: Reference, *, replaces: bool = False
) -> tuple[Edit, ...] | None:
    """Edits from `.cuda(...)` or `.to("cuda", ...)` to `.to(device, ...)`; None where it goes to a
    GPU of its own, unless the device `replaces` that one."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    source = context.source
    if function.attr == "to":
        target = _target(call)
        if target is None or holds_comment(source, *source.span(target)):
            return None
        return (replace(source, target, device.text),)
    if overrides_cuda(context, call) and _lacks_to(context, call):
        return None
    name_start, name_end = context.name_token(function)
    end = source.span(call)[1]
    if holds_comment(source, name_end, end):
        return None
    arguments = [device.text]
    own = gpu_of(call)
    follows = replaces or (own is not None and _is_device_of(source.segment(own), device.text))
    for position, argument in enumerate(call.args):
        if position == 0:
            if not default_gpu(context, argument) and not follows:
                return None
        else:
            arguments.append(_non_blocking(context, call, argument, device))
    for keyword in call.keywords:
        if keyword.arg == "device":
            if not default_gpu(context, keyword.value) and not follows:
                return None
        elif keyword.arg == "non_blocking":
            arguments.append(_non_blocking(context, call, keyword.value, device))
        elif keyword.arg == "memory_format":
            arguments.append(f"{keyword.arg}={source.segment(keyword.value)}")
        else:
            return None
    text = f"to({', '.join(arguments)})"
    cast = cast_behind(context, call)
    return (
        cast_first(context, call, cast, text)
        if cast
        else replace_span(source, name_start, end, text),
    )


def _is_device_of(tensor: str, device: str) -> bool:
    """Whether a device is written as that of a tensor; its `.data` lies where it does."""
    return device.replace(".data.device", ".device") == f"{tensor.removesuffix('.data')}.device"


def _non_blocking(context: Context, call: ast.Call, given: ast.expr, device: Reference) -> str:
    """The argument, for CUDA alone where the copy to MPS may come after its source is gone: the
    memory of a CPU tensor that the call's own statement lets go of (pytorch#189690, #139550), or
    that of another such copy of the function, which reads the same."""
    source = context.source
    text = f"non_blocking={source.segment(given)}"
    if not isinstance(given, ast.Constant) or given.value is not True:
        return text
    if not any(may_let_go(context, one) for one in _beside(context, call)):
        return text
    torch = torch_name(context, call)
    at_hand = context.devices.at_hand(call)
    is_text = device.is_string or (
        at_hand is not None
        and at_hand.text == device.text
        and may_be_text(context, at_hand.bindings)
    )
    if is_text or not device.text.replace(".", "").isidentifier():
        return f"non_blocking={cuda_available(torch)}" if torch is not None else text
    mark = quote(source)
    return f"non_blocking={device.type_text} == {mark}cuda{mark}"


def _beside(context: Context, call: ast.Call) -> list[ast.Call]:
    """The copies of the function around a call that ask for what it asks, itself among them."""
    function = context.index.function(call)
    return [
        one
        for one in context.index.calls.get("cuda", ())
        if isinstance(one.func, ast.Attribute)
        and context.index.function(one) is function
        and any(
            isinstance(given, ast.Constant) and given.value is True
            for given in (*one.args[1:], *(k.value for k in one.keywords))
        )
    ]


def gpu_of(call: ast.Call) -> ast.expr | None:
    """The tensor whose GPU `.cuda(x.get_device())` goes to: wherever that lies, its device does."""
    given = arguments_for(call, 0, "device")
    asked = given[0] if given else None
    if not isinstance(asked, ast.Call) or not isinstance(asked.func, ast.Attribute):
        return None
    is_asked = asked.func.attr == "get_device" and not (asked.args or asked.keywords)
    return asked.func.value if is_asked and is_path(asked.func.value) else None


def named_index(call: ast.Call) -> int | None:
    """The GPU that `.cuda(0)` names."""
    given = arguments_for(call, 0, "device")
    value = given[0].value if given and isinstance(given[0], ast.Constant) else None
    return value if isinstance(value, int) else None


def names_first_gpu(call: ast.Call) -> bool:
    """`.cuda(0)`, `.to("cuda:0")`, `torch.device("cuda:0")`: the first GPU, not the current."""
    given = arguments_for(call, 0, "device")
    return any(
        isinstance(item, ast.Constant) and (item.value == "cuda:0" or type(item.value) is int)
        for value in given
        for item in ast.walk(value)
    )


def default_gpu(context: Context, argument: ast.expr) -> bool:
    """Whether `.cuda(argument)` means the GPU that the selected device means."""
    if isinstance(argument, ast.Constant):
        if argument.value in (None, "cuda"):
            return True
        return argument.value == 0 and not several_gpus(context)
    if isinstance(argument, ast.Call) and context.resolve(argument.func) == "torch.device":
        given, number = type_given(argument), number_beside(context.names, argument)
        if number is not None and (written_out(number) != 0 or several_gpus(context)):
            return False
        return given is not None and default_gpu(context, given)
    return False
