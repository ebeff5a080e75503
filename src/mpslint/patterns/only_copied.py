"""Whether a checkpoint is only copied into modules and optimizers, wherever it is loaded to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.patterns.kept_entries import is_kept_number, kept_on
from mpslint.semantics.consumers import given_to
from mpslint.semantics.value_syntax import last_name
from mpslint.semantics.values import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.context import Context

_WEIGHTS = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")
"""Functions that load what somebody has published for a module."""
_ALIASES = 3
"""So many names are followed from what is loaded to where it goes."""
_OF_SHAPE = ("dim", "dtype", "ndim", "numel", "shape", "size")
_FROM_NUMPY = ("torch.from_numpy", "torch.frombuffer")
"""Functions that take what has no device."""
_SHAPES = ("numpy.shape", "numpy.ndim", "numpy.size")
"""Functions that ask an object for these, and copy nothing."""
_COPYING = ("copy.copy", "copy.deepcopy", "collections.OrderedDict")
_OF_TEXTS = ("packaging.version.parse", "packaging.version.Version")
"""Functions that take a text."""
_TAKING = ("pop", "get")
"""Methods of a dictionary that give one of its entries."""
_OF_MODULES = ("eval", "parameters", "named_parameters", "requires_grad_")
"""What only modules are asked for, among the things that have a `load_state_dict`."""


def goes_to_state_dict(context: Context, call: ast.Call) -> bool:
    """Whether what is loaded is only copied into modules and optimizers that are there; a number
    beside it may be counted on with."""
    return kept_on_devices(context, call) == []


def kept_on_devices(context: Context, call: ast.Call) -> list[ast.expr] | None:
    """The devices of what the objects of a class keep of that which is loaded, where the rest is
    only copied; None where anything else becomes of it."""
    kept: list[ast.expr] = []
    weights = (context.resolve(call.func) or "") in _WEIGHTS
    copied = _only_copied(context, call, kept, weights=weights, names=frozenset())
    return kept if copied else None


def _only_copied(
    context: Context,
    node: ast.expr,
    kept: list[ast.expr],
    *,
    weights: bool,
    names: frozenset[str | ast.Name],
) -> bool:
    """`kept`: devices of entries that objects keep; `names`: those that are followed already."""
    node = _item(context, node)
    parent = context.index.parents[node]
    if _feeds_state_dict(context, node, weights=weights) or _is_only_looked_at(context, node):
        return True
    if is_plain_entry(context, node) or (
        _key(node) is not None and (_is_shown(parent) or _is_read_as_text(context, parent))
    ):
        return True
    if _goes_elsewhere(context, parent) or _is_asked_of_its_shape(context, parent):
        return True
    if _is_an_array(context, parent) or _fills_a_tensor(node, parent):
        return True
    devices = kept_on(context, node)
    if devices:
        kept += devices
        return True
    if isinstance(node, ast.Subscript) and isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is node else parent.left
        return isinstance(other, ast.Constant)  # `checkpoint["epoch"] + 1`
    if isinstance(node, ast.Call) and isinstance(parent, ast.Expr):
        return True  # `state.pop(key)`
    if isinstance(parent, ast.Call | ast.keyword) and len(names) < _ALIASES:
        taken = _taken(context, node, parent)
        if taken is not None:
            function, reads = taken
            more = names | {f"{function}()"}
            return all(
                _only_copied(context, use, kept, weights=weights, names=more) for use in reads
            )
    copy = next(iter(_copied_into(context, node)), None)
    if isinstance(copy, ast.Name):
        # One name may be given what was loaded twice, and hold it in another place each time.
        known = copy if isinstance(copy.ctx, ast.Store) else copy.id
        if known in names:
            return True
        if len(names) >= _ALIASES:
            return False
        uses, more = _uses(context, copy, node), names | {known}
        if not uses:
            return _is_for_nobody(context, copy)
        return all(_only_copied(context, use, kept, weights=weights, names=more) for use in uses)
    return copy is not None and _only_copied(context, copy, kept, weights=weights, names=names)


def _fills_a_tensor(node: ast.expr, parent: ast.AST) -> bool:
    """`self.step.copy_(checkpoint["step"])`: it copies from whatever device."""
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "copy_"
        and bool(parent.args)
        and parent.args[0] is node
    )


def _taken(
    context: Context, node: ast.expr, parent: ast.Call | ast.keyword
) -> tuple[str, list[ast.expr]] | None:
    """The function of this file that is called with what was loaded, and where it reads that."""
    call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or node is call.func:
        return None
    function, reads = given_to(context, call, parent if parent is not call else node)
    return (function.name, reads) if function is not None else None


def is_plain_entry(context: Context, node: ast.expr) -> bool:
    """Whether an entry of a checkpoint is a number or a setting."""
    key = _key(node)
    if key is None:
        return False
    return _is_plain(key, context.index.parents[node]) or is_kept_number(context, node)


def _is_plain(key: str | None, parent: ast.AST) -> bool:
    """Whether an entry is a number or a setting, by its key or by the name that it gets."""
    names = [key]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        names.append(last_name(parent.targets[0]))
    return any(matches("plain-entries", name) for name in names if name)


def _copied_into(context: Context, node: ast.expr) -> Iterable[ast.expr]:
    """The name, or the other dictionary, that is given what a checkpoint holds, in one of the ways
    in which its keys are renamed."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Subscript):
            target = target.value  # `names[k] = checkpoint.pop(key)`
        if isinstance(target, ast.Name):
            yield target
    elif isinstance(parent, ast.Call) and context.resolve(parent.func) in _COPYING:
        yield parent
    elif isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        # `names.update(checkpoint)`
        other = parent.func.value
        if parent.func.attr == "update" and parent.args == [node] and isinstance(other, ast.Name):
            yield other
    elif isinstance(parent, ast.Attribute) and parent.attr == "items":
        yield from _renamed(context, context.index.parents[parent])


def _renamed(context: Context, items: ast.AST) -> Iterable[ast.expr]:
    """`{f(k): v for k, v in checkpoint.items()}`, and `names[f(k)] = v` in such a loop."""
    parent = context.index.parents[items]
    if isinstance(parent, ast.comprehension):
        made = context.index.parents[parent]
        value = _second(parent.target)
        if isinstance(made, ast.DictComp) and isinstance(made.value, ast.Name):
            if value == made.value.id and made.generators == [parent]:
                yield made
    elif isinstance(parent, ast.For) and parent.iter is items:
        value = _second(parent.target)
        stored = [
            item
            for statement in parent.body
            for item in ast.walk(statement)
            if isinstance(item, ast.Name) and item.id == value
            if not _is_asked_of_its_shape(context, context.index.parents[item])
        ]
        # In each arm of a test it may get another key.
        kept = [_kept_by(context, item) for item in stored]
        first = kept[0] if kept else None
        if first is not None and all(one is not None and one.id == first.id for one in kept):
            yield first


def _kept_by(context: Context, value: ast.Name) -> ast.Name | None:
    """`names` of `names[f(k)] = v` and of `names.update({f(k): v})`."""
    parent = context.index.parents[value]
    if isinstance(parent, ast.Dict):
        call = context.index.parents[parent]
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return None
        other = call.func.value
        return other if call.func.attr == "update" and isinstance(other, ast.Name) else None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1 or parent.value is not value:
        return None
    target = parent.targets[0]
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        return target.value
    return None


def _second(target: ast.expr) -> str | None:
    """`v` of `k, v`."""
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        last = target.elts[1]
        return last.id if isinstance(last, ast.Name) else None
    return None


def _uses(context: Context, name: ast.Name, given: ast.expr) -> list[ast.Name]:
    """The places that read a name which is given what was loaded, but for those that fill it or
    take something out, and those where it holds another value for sure; all of them where `given`
    is put into it."""
    scope = context.names.owner(name.id, name)
    uses = [
        use
        for use in context.index.names[name.id]
        if scope is not None
        and context.names.owner(use.id, use) is scope
        and isinstance(use.ctx, ast.Load)
        and not _is_filled(context, use)
    ]
    if not isinstance(name.ctx, ast.Store):
        return uses
    return [use for use in uses if may_hold(context, use, given)]


def _is_for_nobody(context: Context, name: ast.Name) -> bool:
    """Whether nothing reads a variable, of a program or of a function."""
    scope = context.names.owner(name.id, name)
    if not isinstance(name.ctx, ast.Store) or scope is None or name.id in scope.globals:
        return False
    if any(isinstance(use.ctx, ast.Load) for use in context.index.names[name.id]):
        return False
    if scope.parent is not None:
        return not isinstance(scope.node, ast.ClassDef)
    around = context.elsewhere
    return around is not None and not around.is_imported(context.source.path)


def may_hold(context: Context, use: ast.Name, given: ast.expr) -> bool:
    """Whether a name may be read there with the value `given`."""
    bindings = context.flow.reaching(use)
    return not bindings or any(binding.value is given for binding in bindings)


def _is_filled(context: Context, use: ast.Name) -> bool:
    """`names[k] = v`, `del names[k]` and `names.update(other)`."""
    parent = context.index.parents[use]
    if isinstance(parent, ast.Subscript) and parent.value is use:
        return isinstance(parent.ctx, ast.Store | ast.Del)
    return isinstance(parent, ast.Attribute) and parent.attr == "update"


def _is_only_looked_at(context: Context, node: ast.expr) -> bool:
    """`k in checkpoint`, `len(checkpoint)` and `checkpoint.keys()`, which are the same anywhere."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Compare):
        if isinstance(parent.ops[0], ast.Is | ast.IsNot):
            return True
        return node in parent.comparators and isinstance(parent.ops[0], ast.In | ast.NotIn)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return parent.func.id == "len"
    return isinstance(parent, ast.Attribute) and parent.attr == "keys"


def _item(context: Context, node: ast.expr) -> ast.expr:
    """`node["model"]` and `node.pop("model")`, where one is taken out."""
    parent = context.index.parents[node]
    while True:
        if isinstance(parent, ast.Subscript) and parent.value is node:
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in _TAKING:
            call = context.index.parents[parent]
            if not isinstance(call, ast.Call) or call.func is not parent or len(call.args) != 1:
                return node
            node = call
        else:
            return node
        parent = context.index.parents[node]


def _goes_elsewhere(context: Context, method: ast.AST) -> bool:
    """`checkpoint["codes"].cuda()`: it is copied to a device at once, from wherever it is."""
    call = context.index.parents.get(method)
    if not isinstance(method, ast.Attribute) or not isinstance(call, ast.Call):
        return False
    if call.func is not method or method.attr not in ("cuda", "to", "cpu"):
        return False
    if method.attr != "to":
        return True
    given = call.args[0] if call.args else None
    return given is not None and context.values.of(given).kind in (Kind.DEVICE, Kind.DEVICE_STRING)


def _is_asked_of_its_shape(context: Context, parent: ast.AST) -> bool:
    """`isinstance(checkpoint["codes"], torch.Tensor)`, and how large that is."""
    if isinstance(parent, ast.Call):
        if context.resolve(parent.func) in _SHAPES:
            return True
        return isinstance(parent.func, ast.Name) and parent.func.id == "isinstance"
    return isinstance(parent, ast.Attribute) and parent.attr in _OF_SHAPE


def _is_an_array(context: Context, parent: ast.AST) -> bool:
    """`torch.from_numpy(checkpoint["codes"])`: arrays are where they are on every machine."""
    return isinstance(parent, ast.Call) and context.resolve(parent.func) in _FROM_NUMPY


def _key(node: ast.expr) -> str | None:
    """`"epoch"` of `checkpoint["epoch"]`."""
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and node.args:
        key = node.args[0]
    else:
        return None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _is_shown(parent: ast.AST) -> bool:
    """What is put into a text, or printed."""
    if isinstance(parent, ast.FormattedValue):
        return True
    if not isinstance(parent, ast.Call):
        return False
    if isinstance(parent.func, ast.Attribute):
        return parent.func.attr == "format" and isinstance(parent.func.value, ast.Constant)
    return isinstance(parent.func, ast.Name) and parent.func.id in ("print", "str", "repr")


def _is_read_as_text(context: Context, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Call) and context.resolve(parent.func) in _OF_TEXTS


def _feeds_state_dict(context: Context, node: ast.expr, *, weights: bool) -> bool:
    """`m.load_state_dict(node)`, `Net.from_pretrained(name, state_dict=node)`; published `weights`
    are those of a module."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.keyword) and parent.arg == "state_dict":
        # Fact: Hugging Face's `from_pretrained(..., state_dict=...)` copies into what it makes.
        call = context.index.parents[parent]
        return isinstance(call, ast.Call) and last_name(call.func) == "from_pretrained"
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "load_state_dict"
        and node in parent.args
        and not any(keyword.arg in ("assign", None) for keyword in parent.keywords)
        and (_copies(context, parent.func.value) or (weights and _may_copy(parent.func.value)))
    )


def _may_copy(receiver: ast.expr) -> bool:
    return not matches("keeping-objects", ast.unparse(receiver))


def _copies(context: Context, receiver: ast.expr) -> bool:
    """Whether `load_state_dict` of this copies to where its own tensors are, as that of modules
    and optimizers does. An object of another class may keep what it is given: it is taken for a
    module by its value, or else by its name, where no class of this file has the method and the
    name does not speak of averages or buffers."""
    if context.values.of(receiver).kind in (Kind.MODULE, Kind.OPTIMIZER, Kind.SCALER):
        return True
    if any(function.name == "load_state_dict" for function in context.index.functions()):
        return False
    spelled = ast.unparse(receiver)
    if matches("keeping-objects", spelled):
        return False
    return matches("copying-objects", spelled) or _is_used_as_module(context, spelled)


def _is_used_as_module(context: Context, spelled: str) -> bool:
    """Whether the file asks this for what only modules have, or it is what `.to(device)` gives, or
    nobody takes that: of what has a `load_state_dict`, only modules give themselves, and move."""
    moved = [call for name in ("to", "cuda") for call in context.index.calls.get(name, ())]
    for call in moved:
        given = context.index.parents[call]
        if isinstance(given, ast.Assign) and spelled in map(ast.unparse, given.targets):
            return True
        if isinstance(given, ast.Expr) and isinstance(call.func, ast.Attribute):
            if ast.unparse(call.func.value) == spelled:
                return True
    return any(
        isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == spelled
        for name in _OF_MODULES
        for call in context.index.calls.get(name, ())
    )
