"""`Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor` and what is made with it."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.handed_flags import is_used_elsewhere
from mpslint.patterns.layout import folded
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.operand import operand_of
from mpslint.patterns.references import Reference
from mpslint.patterns.selection import reference, reference_level
from mpslint.patterns.statements import delete_statement
from mpslint.patterns.text import holds_comment, replace
from mpslint.records import NamedTuple
from mpslint.semantics.terms.facts_known import CUDA_SETTLED
from mpslint.semantics.terms.legacy_types import CUDA_TYPES, DTYPE_OF_TYPE
from mpslint.semantics.uses.idle_devices import is_idle_device
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


class Alias(NamedTuple):
    """A name for the tensor type of whichever device is there."""

    statement: ast.Assign
    name: ast.Name
    test: ast.expr
    dtype: str


def find_aliases(context: Context) -> list[Alias] | None:
    """The aliases of the file; None where a legacy CUDA type is used in any other way."""
    found: list[Alias] = []
    for type_name in CUDA_TYPES:
        for node in context.index.attributes.get(type_name, ()):
            if context.resolve(node) != f"torch.cuda.{type_name}":
                continue
            if is_idle_device(context, node.lineno):
                continue  # Nobody reads what it is kept in.
            if (
                with_operand(context, node) is not None
                or direct_use(context, node) is not None
                or _renamed(context, node) is not None
            ):
                continue  # They need no choice of the file's.
            alias = alias_of(context, node, type_name)
            if alias is None:
                return None
            found.append(alias)
    return found


def alias_of(context: Context, node: ast.Attribute, type_name: str) -> Alias | None:
    """The alias that the choice of a CUDA type, or of the same on the CPU, makes."""
    choice = context.index.parents[node]
    if not isinstance(choice, ast.IfExp) or choice.body is not node:
        return None
    if type_name == "DoubleTensor":
        return None  # MPS has no float64
    if context.resolve(choice.orelse) not in (f"torch.{type_name}", "torch.Tensor"):
        return None
    if not context.guards.implied(choice.test, True) & {"cuda", "asked-cuda"}:
        return None
    return _alias_named(context, choice, type_name, again=True)


def _alias_named(
    context: Context, choice: ast.IfExp, type_name: str, *, again: bool = False
) -> Alias | None:
    """The alias that a choice makes; where it may be made `again`, also of a name that is given the
    same several times."""
    statement = context.index.parents[choice]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return None
    if len(context.names.bindings(target.id, target)) != 1:
        if not again or not _is_made_again(context, target, choice):
            return None
    if not is_read_here_alone(context, target):
        return None
    return Alias(statement, target, choice.test, DTYPE_OF_TYPE[type_name])


def is_read_here_alone(context: Context, name: ast.Name) -> bool:
    """Whether all that reads a name is seen, so that it may go: no object of a class, no text and
    no other file of the project does."""
    scope = context.names.scope_of(name)
    if isinstance(scope.node, ast.ClassDef) or context.index.spelled(name.id):
        return False
    return context.index.function(name) is not None or not is_used_elsewhere(
        context, name.id, method=False
    )


def _is_made_again(context: Context, target: ast.Name, choice: ast.IfExp) -> bool:
    """Whether all that binds a name is one choice, by a flag that has one value."""
    same = ast.dump(choice)
    return all(
        isinstance(binding.node, ast.Assign)
        and len(binding.node.targets) == 1
        and ast.dump(binding.node.value) == same
        for binding in context.names.bindings(target.id, target)
    ) and all(
        len(context.names.bindings(name.id, name)) == 1
        for name in ast.walk(choice.test)
        if isinstance(name, ast.Name)
    )


def convert_alias(
    context: Context, alias: Alias, device: Reference, going: Collection[ast.AST] = ()
) -> list[Edit] | None:
    """Edits of all uses of an alias, and its own removal; None where one use is unclear."""
    torch = torch_name(context, alias.statement)
    removal = delete_statement(context, alias.statement, going)
    if torch is None or removal is None:
        return None
    edits = [removal]
    for use in _uses(context, alias):
        edit = _convert(context, use, alias.dtype, device, torch)
        if edit is None:
            return None
        edits.append(edit)
    return edits


def _operand_alias(context: Context, node: ast.expr) -> tuple[Alias, str] | None:
    """An alias that asks a tensor where it is (`torch.cuda.FloatTensor if x.is_cuda else
    torch.FloatTensor`), and that tensor as it is written, which its function has under this name
    throughout."""
    choice = context.index.parents[node]
    if not isinstance(choice, ast.IfExp) or choice.body is not node:
        return None
    type_name = (context.resolve(node) or "").rpartition(".")[2]
    if type_name == "DoubleTensor" or type_name not in DTYPE_OF_TYPE:
        return None
    if context.resolve(choice.orelse) not in (f"torch.{type_name}", "torch.Tensor"):
        return None
    operand = operand_of(context, choice.test) if isinstance(choice.test, ast.Attribute) else None
    is_data = isinstance(operand, ast.Attribute) and operand.attr == "data"
    named = operand.value if is_data else operand  # type: ignore[union-attr]
    if not isinstance(named, ast.Name) or context.index.function(choice) is None:
        return None
    scope = context.names.scope_of(choice)
    if len(scope.bindings.get(named.id, [])) != 1:
        return None
    alias = _alias_named(context, choice, type_name)
    return (alias, f"{named.id}.data" if is_data else named.id) if alias is not None else None


def with_operand(context: Context, node: ast.expr) -> Fix | None:
    """What is made with such an alias is made where the tensor is."""
    found = _operand_alias(context, node)
    if found is None:
        return None
    alias, operand = found
    device = Reference(f"{operand}.device", False, ())
    edits = convert_alias(context, alias, device)
    if edits is None:
        return None
    return Fix(f"Use the device of {operand}", tuple(edits), Applicability.SAFE, follows=True)


def with_operand_level(context: Context, node: ast.expr) -> Applicability | None:
    return Applicability.SAFE if with_operand(context, node) is not None else None


def follows_operand(context: Context, node: ast.expr) -> bool:
    return _operand_alias(context, node) is not None


def direct_use(context: Context, node: ast.expr) -> tuple[ast.Call, str] | None:
    """The call of a CUDA type, or of `x.type(...)` with one, on every machine that comes there, and
    the dtype of the type; None for another use, and for float64, which MPS lacks."""
    if isinstance(node, ast.Constant):
        type_name = str(node.value).rpartition(".")[2]
    else:
        type_name = (context.resolve(node) or "").rpartition(".")[2]
    call = context.index.parents[node]
    if type_name == "DoubleTensor" or not isinstance(call, ast.Call) or call.keywords:
        return None
    if context.guards.at(node) & CUDA_SETTLED:
        return None
    if call.func is not node:
        is_cast = isinstance(call.func, ast.Attribute) and call.func.attr == "type"
        return (call, DTYPE_OF_TYPE[type_name]) if is_cast and call.args == [node] else None
    return (call, DTYPE_OF_TYPE[type_name]) if _maker(context, call) is not None else None


def _renamed(context: Context, node: ast.expr) -> Alias | None:
    """`Tensor = torch.cuda.FloatTensor`, come what may, in a scope whose every use of the name is
    seen; None also for float64, which MPS lacks."""
    statement = context.index.parents[node]
    type_name = (context.resolve(node) or "").rpartition(".")[2]
    if not isinstance(statement, ast.Assign) or type_name == "DoubleTensor":
        return None
    if len(statement.targets) != 1 or type_name not in DTYPE_OF_TYPE:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or len(context.names.bindings(target.id, target)) != 1:
        return None
    if context.guards.at(node) & CUDA_SETTLED or not is_read_here_alone(context, target):
        return None
    return Alias(statement, target, node, DTYPE_OF_TYPE[type_name])


def _uses(context: Context, alias: Alias) -> list[ast.Name]:
    scope = context.names.owner(alias.name.id, alias.name)
    return [
        use
        for use in context.index.names[alias.name.id]
        if not isinstance(use.ctx, ast.Store) and context.names.owner(use.id, use) is scope
    ]


def unclear_use(context: Context, alias: Alias) -> tuple[ast.Name, bool] | None:
    """The first use of an alias that cannot become one on a device, and whether that is since
    nobody sees what it is given; None where there is none."""
    for use in _uses(context, alias):
        if _convert(context, use, alias.dtype, Reference("", False, ()), "torch") is None:
            call = context.index.parents[use]
            if isinstance(call, ast.Call) and call.func is use:
                return use, _maker(context, call) is None
            return use, False
    return None


def _without_name(context: Context, alias: Alias) -> Fix | None:
    """What is made with the name of a type that only CUDA has is made on the selected device."""
    uses = _uses(context, alias)
    devices = [reference(context, context.index.parents[use]) for use in uses]
    first = devices[0] if devices else None
    if first is None or any(one is None or one.text != first.text for one in devices):
        return None
    converted = convert_alias(context, alias, first)
    if converted is None:
        return None
    needed = [edit for one in devices if one is not None for edit in one.edits]
    fix = Fix(
        "Use the selected device",
        (*dict.fromkeys(needed), *converted),
        min(one.level for one in devices if one is not None),
    )
    return doubtful(fix, next((one.reason for one in devices if one and one.reason), ""))


def with_device(context: Context, node: ast.expr) -> Fix | None:
    """`torch.empty(2, device=device)` for `torch.cuda.FloatTensor(2)`, and
    `x.to(device, torch.float32)` for `x.type(torch.cuda.FloatTensor)`, also behind a name."""
    alias = _renamed(context, node)
    if alias is not None:
        return _without_name(context, alias)
    used, torch = direct_use(context, node), torch_name(context, node)
    if used is None or torch is None:
        return None
    call, dtype = used
    device = reference(context, call)
    edit = _convert(context, node, dtype, device, torch) if device is not None else None
    if device is None or edit is None:
        return None
    fix = Fix("Use the selected device", (*device.edits, edit), device.level)
    return doubtful(fix, device.reason)


def with_device_level(context: Context, node: ast.expr) -> Applicability | None:
    """The level of `with_device`, as far as that costs little."""
    alias = _renamed(context, node)
    if alias is not None:
        fix = _without_name(context, alias)
        return None if fix is None else fix.applicability
    used = direct_use(context, node)
    return reference_level(context, used[0]) if used is not None else None


def _convert(
    context: Context, use: ast.expr, dtype: str, device: Reference, torch: str
) -> Edit | None:
    source = context.source
    parent = context.index.parents[use]
    if not isinstance(parent, ast.Call) or parent.keywords:
        return None
    if _loses_comment(context, parent):
        return None
    where = f"dtype={torch}.{dtype}, device={device.text}"
    if parent.func is use:
        inner = ", ".join(source.segment(argument) for argument in parent.args)
        made = _maker(context, parent)
        if made is None:
            return None
        lead = f"{inner}, " if inner else "0, "
        if made == "empty" and dtype == "float32" and not _sets_default(context):
            where = f"device={device.text}"
        edit = replace(source, parent, f"{torch}.{made}({lead}{where})")
        return folded(context, parent, [edit])[0]
    function = parent.func
    if isinstance(function, ast.Attribute) and function.attr == "type" and parent.args == [use]:
        start, end = context.name_token(function)[0], source.span(parent)[1]
        text = f"to({device.text}, {torch}.{dtype})"
        return Edit(start, end, text, source.text[start:end])
    return None


def _loses_comment(context: Context, call: ast.Call) -> bool:
    """Whether a comment stands in a call outside of its arguments, which stay as they are."""
    source = context.source
    at, end = source.span(call.func)[1], source.span(call)[1]
    for argument in call.args:
        first, last = source.span(argument)
        if holds_comment(source, at, first):
            return True
        at = last
    return holds_comment(source, at, end)


def _sets_default(context: Context) -> bool:
    """Whether the file changes the type that tensors have by default, float32."""
    words = ("set_default_dtype", "set_default_tensor_type")
    return any(context.index.calls.get(word) for word in words)


def _maker(context: Context, call: ast.Call) -> str | None:
    """`empty` for sizes, `tensor` for data; None where nobody can tell."""
    arguments = call.args
    if len(arguments) != 1 or isinstance(arguments[0], ast.Starred):
        return "empty"
    (argument,) = arguments
    if isinstance(argument, ast.List | ast.Tuple | ast.ListComp):
        return "tensor"
    value = context.values.of(argument)
    if value.kind is Kind.NDARRAY:
        return "tensor"
    if value.kind is Kind.NUMBER or _is_shape(context, argument):
        return "empty"
    return None


def _is_shape(context: Context, node: ast.expr) -> bool:
    """`x.shape` and `x.size()` of a tensor; the shape of an array would be taken for numbers."""
    if isinstance(node, ast.Call) and not node.args and not node.keywords:
        held, name = node.func, "size"
    else:
        held, name = node, "shape"
    return (
        isinstance(held, ast.Attribute)
        and held.attr == name
        and context.values.of(held.value).kind is Kind.TENSOR
    )
