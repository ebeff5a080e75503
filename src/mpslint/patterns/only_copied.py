"""Whether a checkpoint is only copied into modules and optimizers, wherever it is loaded to."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.patterns.filled_objects import feeds_state_dict
from mpslint.patterns.followed_values import callers, is_table, next_places, taken
from mpslint.patterns.kept_entries import is_counted, is_kept_number, kept_on
from mpslint.patterns.tensor_entries import meets_tensor, seeks_tensor, takes_rows
from mpslint.records import NamedTuple
from mpslint.semantics.saved.kept_numbers import sets_a_generator
from mpslint.semantics.syntax.expressions import last_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

_WEIGHTS = ("torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url")
"""Functions that load what somebody has published for a module."""
_LENGTH, _BREADTH = 60, 600
"""So many names and calls in a row, and so many places in all, are looked at: a guard against what
nobody has written by hand."""
_ALIASES = 3
_BINDING = ("assign", "annotate", "walrus")
_OF_SHAPE = ("dim", "dtype", "ndim", "numel", "shape", "size")
_FROM_NUMPY = ("torch.from_numpy", "torch.frombuffer")
"""Functions that take what has no device."""
_SHAPES = ("numpy.shape", "numpy.ndim", "numpy.size")
"""Functions that ask an object for these, and copy nothing."""
_OF_TEXTS = ("packaging.version.parse", "packaging.version.Version")
"""Functions that take a text."""
_PLAIN = (Kind.NUMBER, Kind.STRING, Kind.FLAG)
_OF_OPTIMIZERS = ("step", "zero_grad", "param_groups", "state_dict")
"""What only optimizers, and the like of them, are asked for: their state is beside the module's."""
_TAKING = ("pop", "get")
"""Methods of a dictionary that give one of its entries."""


def goes_to_state_dict(context: Context, call: ast.Call) -> bool:
    """Whether what is loaded is only copied into modules and optimizers that are there; a number
    beside it may be counted on with."""
    return kept_on_devices(context, call) == []


class _Way(NamedTuple):
    """How a value was come to."""

    home: Context
    """The file that loads it."""
    kept: list[ast.expr]
    """Devices of entries that objects of this file keep."""
    seen: set[tuple[object, ...]]
    """What is followed already: one way in which it is more than copied speaks for all."""
    weights: bool
    length: int = 0
    calls: tuple[tuple[ast.AST, Context, ast.Call], ...] = ()
    """The functions that it was handed to, and the calls that did so."""

    def on(self) -> _Way:
        return self._replace(length=self.length + 1)


def kept_on_devices(context: Context, call: ast.Call) -> list[ast.expr] | None:
    """The devices of what the objects of a class keep of that which is loaded, where the rest is
    only copied; None where anything else becomes of it."""
    way = _Way(context, [], set(), (context.resolve(call.func) or "") in _WEIGHTS)
    return way.kept if _only_copied(context, call, way) else None


def _only_copied(context: Context, node: ast.expr, way: _Way) -> bool:
    node = _item(context, node)
    parent = context.index.parents[node]
    if feeds_state_dict(context, node, weights=way.weights) or _is_only_looked_at(context, node):
        return True
    if is_plain_entry(context, node) or _is_shown(node, parent):
        return True
    if _key(node) is not None and _is_read_as_text(context, parent):
        return True
    if is_counted(context, node) or _is_compared(context, node, parent):
        return True
    if isinstance(parent, ast.Subscript) and parent.slice is node:
        return True  # A tensor takes indices from the CPU, and a table keys.
    if _goes_elsewhere(context, parent) or _is_asked_of_its_shape(context, parent):
        return True
    if _is_of_the_host(context, parent) or _fills_a_tensor(context, node, parent):
        return True
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
        return not isinstance(parent, ast.AugAssign)  # `checkpoint["args"]["size"] = 1`
    devices = kept_on(context, node) if context is way.home else []
    if devices:
        way.kept.extend(devices)
        return True
    if isinstance(node, ast.Subscript) and isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is node else parent.left
        return isinstance(other, ast.Constant) and isinstance(other.value, str)
    if isinstance(node, ast.Call) and isinstance(parent, ast.Expr):
        return True  # `state.pop(key)`
    if way.length >= _LENGTH or len(way.seen) >= _BREADTH:
        return False
    if isinstance(parent, ast.Return):
        return _is_handed_back(context, parent, way.on())
    places = next_places(context, node)
    if places is not None:
        return all(_goes_on(context, place, node, way.on()) for place in places)
    return _is_taken(context, node, way.on())


def _is_taken(context: Context, node: ast.expr, way: _Way) -> bool:
    """Whether a function of the project only copies what it is called with."""
    parent = context.index.parents[node]
    call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
    found = taken(context, node) if isinstance(call, ast.Call) else None
    if found is None or not isinstance(call, ast.Call):
        return False
    inside = way._replace(calls=(*way.calls, (found.function, context, call)))
    return all(_only_copied(found.context, use, inside) for use in found.reads)


def _is_handed_back(context: Context, statement: ast.Return, way: _Way) -> bool:
    """Whether those who called the function around only copy what it returns."""
    function = context.index.function(statement)
    if not isinstance(function, FUNCTIONS):
        return False
    if way.calls and way.calls[-1][0] is function:
        _, where, call = way.calls[-1]
        return _only_copied(where, call, way._replace(calls=way.calls[:-1]))
    if way.calls and not isinstance(context.index.parents[function], FUNCTIONS):
        return False
    found = callers(context, function)
    return found is not None and all(_goes_on(context, one, statement, way) for one in found)


def _goes_on(context: Context, place: ast.expr, node: ast.AST, way: _Way) -> bool:
    known = (place, node, *(call for _, _, call in way.calls))
    if known in way.seen:
        return True
    way.seen.add(known)
    if not isinstance(place, ast.Name) or not _is_given(context, place):
        return _only_copied(context, place, way)
    if isinstance(place.ctx, ast.Load) and not _is_of_this_function(context, place, way):
        return False
    uses = _uses(context, place, node)
    if not uses:
        return _is_for_nobody(context, place)
    return all(_only_copied(context, use, way) for use in uses)


def _is_of_this_function(context: Context, table: ast.Name, way: _Way) -> bool:
    """Whether what is put into a table is read where its name is, and nowhere else: the function
    makes it, or it is what was loaded; one that others hand in is followed to them."""
    for binding in context.names.bindings(table.id, table):
        if binding.kind == "parameter":
            if not _is_followed_to_callers(context, table, way):
                return False
        elif not _is_bound_to_made(context, binding, way, _ALIASES):
            return False
    return True


def _is_bound_to_made(context: Context, binding: Binding, way: _Way, aliases: int) -> bool:
    value = binding.value
    known = value is not None and binding.kind in _BINDING
    return known and _is_made(context, value, way, aliases)  # type: ignore[arg-type]


def _is_made(context: Context, value: ast.expr, way: _Way, aliases: int) -> bool:
    """A new table, or what is followed already, under this name or another."""
    if isinstance(value, ast.Dict | ast.DictComp | ast.Call):
        return True
    if isinstance(value, ast.IfExp):
        return all(_is_made(context, arm, way, aliases) for arm in (value.body, value.orelse))
    root = root_of(value, ast.Subscript)
    if isinstance(root, ast.Call):
        return True  # `torch.load(path)["model"]`
    if not isinstance(root, ast.Name) or not aliases:
        return False
    given = context.flow.reaching(root)
    handed = bool(way.calls) and context.index.function(root) is way.calls[-1][0]
    return bool(given) and all(
        handed if item.kind == "parameter" else _is_bound_to_made(context, item, way, aliases - 1)
        for item in given
    )


def _is_followed_to_callers(context: Context, table: ast.Name, way: _Way) -> bool:
    """Whether the call by which the value came here gives the table what is only copied as well."""
    if not way.calls or context.index.function(table) is not way.calls[-1][0]:
        return False
    function, where, call = way.calls[-1]
    given = given_for(function.args, call, table.id) if isinstance(function, FUNCTIONS) else None
    if given is None:
        return False
    before = way._replace(calls=way.calls[:-1])
    if not isinstance(given, ast.Name):
        return _goes_on(where, given, table, before)
    known = (given, table)
    if known in way.seen:
        return True
    way.seen.add(known)
    if not _is_of_this_function(where, given, before):
        return False
    return all(_only_copied(where, use, before) for use in _uses(where, given, table))


def _is_given(context: Context, name: ast.Name) -> bool:
    """A name that is bound, and `names` of `names[k] = v` and of `names.update(other)`."""
    if isinstance(name.ctx, ast.Store):
        return True
    part: ast.AST = name
    parent = context.index.parents[name]
    while isinstance(parent, ast.Subscript) and parent.value is part:
        if isinstance(parent.ctx, ast.Store):
            return True
        part, parent = parent, context.index.parents[parent]
    return isinstance(parent, ast.Attribute) and parent.attr == "update"


def _fills_a_tensor(context: Context, node: ast.expr, parent: ast.AST) -> bool:
    """`self.step.copy_(checkpoint["step"])` and `rows[:n] = checkpoint["rows"]`: it copies from
    whatever device, where `rows` is known for a tensor; a list keeps what it is given."""
    if isinstance(parent, ast.Assign):
        return _is_a_tensor(context, node) and all(
            isinstance(target, ast.Subscript)
            and any(isinstance(item, ast.Slice) for item in ast.walk(target.slice))
            and context.values.of(target.value).kind is Kind.TENSOR
            for target in parent.targets
        )
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "copy_"
        and bool(parent.args)
        and parent.args[0] is node
    )


def _is_a_tensor(context: Context, node: ast.expr) -> bool:
    """Whether the function around asks it for its shape."""
    spelled, function = ast.unparse(node), context.index.function(node)
    return any(
        ast.unparse(item.value) == spelled and context.index.function(item) is function
        for name in _OF_SHAPE
        for item in context.index.attributes.get(name, ())
    )


def may_be_moved(context: Context, call: ast.Call, held: set[str], modules: set[str]) -> bool:
    """Whether what a function has loaded under the names `held` may go to a device as a whole:
    each entry is one of the `modules`, plain, handed to a `load_state_dict`, or moved anyway."""
    around = context.index.function(call)
    return all(
        _may_be_moved(context, _item(context, use), modules)
        for name in held
        for use in context.index.names.get(name, ())
        if isinstance(use.ctx, ast.Load)
        if context.index.function(use) is around and may_hold(context, use, call)
    )


def meets_tensors(context: Context, call: ast.Call, held: set[str]) -> bool:
    """Whether an entry of what a function has loaded meets a tensor, and all of it may go where
    that is."""
    around = context.index.function(call)
    return any(
        meets_tensor(context, _item(context, use))
        for name in held
        for use in context.index.names.get(name, ())
        if context.index.function(use) is around
    ) and may_be_moved(context, call, held, set())


def _may_be_moved(context: Context, entry: ast.expr, modules: set[str]) -> bool:
    if _is_harmless(context, entry):
        return True
    kept = context.index.parents[entry]
    if _key(entry) is None or not isinstance(kept, ast.Assign) or len(kept.targets) != 1:
        return False
    (name,) = kept.targets
    return isinstance(name, ast.Name) and (
        name.id in modules or all(_is_harmless(context, use) for use in _uses(context, name, entry))
    )


def _is_harmless(context: Context, node: ast.expr) -> bool:
    """Whether this is the same wherever it is loaded to, or goes to a device, or to the state of
    something."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Call) and last_name(parent.func) == "load_state_dict":
        return node in parent.args
    return (
        is_plain_entry(context, node)
        or _is_shown(node, parent)
        or _is_only_looked_at(context, node)
        or _is_asked_of_its_shape(context, parent)
        or _goes_elsewhere(context, parent)
        or meets_tensor(context, node)
        or (isinstance(parent, ast.Attribute) and parent.attr in _OF_OPTIMIZERS)
    )


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


def _uses(context: Context, name: ast.Name, given: ast.AST) -> list[ast.Name]:
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
    if any(
        isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope
        for use in context.index.names[name.id]
    ):
        return False
    if scope.parent is not None:
        return not isinstance(scope.node, ast.ClassDef)
    around = context.elsewhere
    return around is not None and not around.is_imported(context.source.path)


def may_hold(context: Context, use: ast.Name, given: ast.AST) -> bool:
    """Whether a name may be read there with the value `given`."""
    bindings = context.flow.reaching(use)
    return not bindings or any(binding.value is given for binding in bindings)


def _is_filled(context: Context, use: ast.Name) -> bool:
    """`names[k] = v`, `del names[k]` and `names.update(other)`."""
    parent = context.index.parents[use]
    if isinstance(parent, ast.Subscript) and parent.value is use:
        counted = isinstance(context.index.parents[parent], ast.AugAssign)
        return isinstance(parent.ctx, ast.Store | ast.Del) and not counted
    return isinstance(parent, ast.Attribute) and parent.attr == "update"


def _is_only_looked_at(context: Context, node: ast.expr) -> bool:
    """`k in checkpoint`, `len(checkpoint)` and `checkpoint.keys()`, which are the same anywhere."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Compare):
        if isinstance(parent.ops[0], ast.Is | ast.IsNot):
            return True
        asked = node in parent.comparators and isinstance(parent.ops[0], ast.In | ast.NotIn)
        return asked and not seeks_tensor(context, parent)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        if parent.func.id in ("iter", "list", "sorted", "set", "tuple"):
            return is_table(context, node)  # It is the keys.
        return parent.func.id in ("len", "type")
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert) and parent.test is node:
        return True
    return isinstance(parent, ast.Attribute) and parent.attr == "keys"


def _item(context: Context, node: ast.expr) -> ast.expr:
    """`node["model"]` and `node.pop("model")`, where one is taken out."""
    parent = context.index.parents[node]
    while True:
        if isinstance(parent, ast.Subscript) and parent.value is node:
            if takes_rows(context, parent):
                return node
            node = parent
        elif isinstance(parent, ast.Attribute) and parent.attr in _TAKING:
            call = context.index.parents[parent]
            if (
                not isinstance(call, ast.Call)
                or call.func is not parent
                or not 1 <= len(call.args) <= 2
            ):
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


def _is_of_the_host(context: Context, parent: ast.AST) -> bool:
    """`torch.from_numpy(checkpoint["codes"])`: arrays are where they are on every machine, and
    states of random generators have to be on the CPU."""
    return isinstance(parent, ast.Call) and (
        context.resolve(parent.func) in _FROM_NUMPY or sets_a_generator(parent)
    )


def _key(node: ast.expr) -> str | None:
    """`"epoch"` of `checkpoint["epoch"]`."""
    if isinstance(node, ast.Subscript):
        key = node.slice
    elif isinstance(node, ast.Call) and node.args:
        key = node.args[0]
    else:
        return None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _is_compared(context: Context, node: ast.expr, parent: ast.AST) -> bool:
    """`checkpoint["version"] != __version__`: with what has no device. With a number a tensor makes
    another one, unless that is no more than a test."""
    if not isinstance(parent, ast.Compare) or len(parent.comparators) != 1:
        return False
    other = parent.comparators[0] if parent.left is node else parent.left
    if isinstance(parent.ops[0], ast.Eq | ast.NotEq) and _is_a_test(context, parent):
        return True  # Of tensors one number has a truth, which may be asked across devices.
    if isinstance(other, ast.Constant) or context.values.of(other).kind in _PLAIN:
        if isinstance(other, ast.Constant) and (
            other.value is None or isinstance(other.value, str)
        ):
            return True
        return _is_a_test(context, parent)
    return isinstance(other, ast.Name) and other.id.startswith("__") and other.id.endswith("__")


def _is_a_test(context: Context, node: ast.expr) -> bool:
    """Whether an expression is asked for its truth alone."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.BoolOp | ast.UnaryOp):
        return _is_a_test(context, parent)
    return isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert) and parent.test is node


def _is_shown(node: ast.expr, parent: ast.AST) -> bool:
    """What is put into a text, or printed."""
    if isinstance(parent, ast.FormattedValue):
        return True
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod):
        return isinstance(parent.left, ast.Constant)  # `"%d" % checkpoint["epoch"]`
    if not isinstance(parent, ast.Call):
        return False
    if isinstance(parent.func, ast.Attribute):
        return parent.func.attr == "format" and isinstance(parent.func.value, ast.Constant)
    if _key(node) is None:
        return False
    return isinstance(parent.func, ast.Name) and parent.func.id in ("print", "str", "repr")


def _is_read_as_text(context: Context, parent: ast.AST) -> bool:
    return isinstance(parent, ast.Call) and context.resolve(parent.func) in _OF_TEXTS
