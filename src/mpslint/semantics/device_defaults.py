"""Whether the device that a parameter, an option or a field has by default is one that is used.

A default is no fault where the code asks the machine before it uses it, replaces it, looks at it
and no more, or where nothing leaves the argument out.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.device_literals import not_of_torch
from mpslint.semantics.index import FUNCTIONS, FunctionNode
from mpslint.semantics.purpose import speaks_of_mps
from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices import Slot

_AVAILABLE = re.compile(r"(^|_)(is_)?(avail|available|is_built|device_count)($|_)|has_cuda")
_LOOKS = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.FormattedValue, ast.Assert)
_SAYING = frozenset({"print", "info", "debug", "warning", "warn", "error", "log", "isinstance"})
_RECORDS = frozenset({"NamedTuple", "TypedDict"})
_SCRIPT = "__main__"
_TEST_FILE = re.compile(r"(^|[/\\])(test_[^/\\]*|[^/\\]*_test|conftest)\.py$")
_DEPTH = 3


def unused_default(context: Context, slot: Slot) -> bool:
    """Whether nothing is put on the device that `slot`, a default, names, or not without a look
    at the machine."""
    if slot.kind == "parameter" and isinstance(slot.node, ast.arg):
        function = context.index.function(slot.node)
        if function is None:
            return False
        return _reconsidered(context, function, slot.node.arg) or _always_given(
            context, function, slot.node
        )
    if slot.kind == "option" and isinstance(slot.node, ast.Call):
        return _option_reconsidered(context, slot.node)
    if slot.kind == "field":
        owner = context.index.enclosing(slot.node, ast.ClassDef)
        return owner is not None and any(last_name(base) in _RECORDS for base in owner.bases)
    return False


def is_fallback(context: Context, statement: ast.stmt) -> bool:
    """Whether an assignment only fills in what was not said: `if not device: device = "cuda"`, or
    a setting at the top of a file that a configurator overwrites with `exec`."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    spelled = {ast.unparse(target) for target in targets if isinstance(target, ast.expr)}
    parent = context.index.parents.get(statement)
    if isinstance(parent, ast.If) and statement in parent.body:
        for part in (item for item in ast.walk(parent.test) if isinstance(item, ast.expr)):
            if _is_missing(part, spelled):
                return True
    return isinstance(parent, ast.Module) and any(
        call.lineno > statement.lineno and context.index.function(call) is None
        for call in context.index.calls.get("exec", ())
    )


def _is_missing(test: ast.expr, spelled: set[str]) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ast.unparse(test.operand) in spelled
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if not isinstance(test.ops[0], ast.Is | ast.Eq) or ast.unparse(test.left) not in spelled:
        return False
    right = test.comparators[0]
    return isinstance(right, ast.Constant) and right.value in (None, "", "auto", "default")


def _reconsidered(context: Context, function: FunctionNode, name: str, depth: int = _DEPTH) -> bool:
    """Whether the function looks at the machine, or replaces what it got, or only looks at it."""
    scope = context.names.own_scope(function)
    uses = [
        use for use in context.index.names.get(name, ()) if context.names.owner(name, use) is scope
    ]
    loads = [use for use in uses if isinstance(use.ctx, ast.Load)]
    if any(_replaces(context, use) for use in uses if isinstance(use.ctx, ast.Store)):
        return True
    if all(_puts_nothing(context, use, depth) for use in loads):
        return True
    return _checked(context, loads)


def _puts_nothing(context: Context, use: ast.expr, depth: int) -> bool:
    """Whether nothing is put on the device here: it is looked at, is another than CUDA here, goes
    to what is none of torch's, or to a function that does no more."""
    if _only_looked_at(context, use) or context.guards.has(use, "cuda", "no-cuda"):
        return True
    slot = context.devices.slot(use)
    if slot is not None and not_of_torch(context, slot):
        return True
    parent = context.index.parents[use]
    if isinstance(parent, ast.Assign) and use is parent.value and len(parent.targets) == 1:
        return _kept_for_nothing(context, parent.targets[0])
    call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
    if depth == 0 or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    bindings = context.names.bindings(call.func.id, call.func)
    function = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(function, FUNCTIONS):
        return False
    name = parent.arg if isinstance(parent, ast.keyword) else None
    positional = [*function.args.posonlyargs, *function.args.args]
    if name is None and use in call.args and call.args.index(use) < len(positional):
        name = positional[call.args.index(use)].arg
    return name is not None and _reconsidered(context, function, name, depth - 1)


def _kept_for_nothing(context: Context, target: ast.expr) -> bool:
    """`self.device = device`, of which the class makes nothing that is torch's."""
    owner = context.index.enclosing(target, ast.ClassDef)
    if not isinstance(target, ast.Attribute) or owner is None:
        return False
    spelled = ast.unparse(target)
    uses = [
        use
        for use in context.index.attributes.get(target.attr, ())
        if isinstance(use.ctx, ast.Load)
        and context.index.within(use, owner)
        and ast.unparse(use) == spelled
    ]
    slots = [context.devices.slot(use) for use in uses]
    return bool(slots) and all(slot is not None and not_of_torch(context, slot) for slot in slots)


def _replaces(context: Context, target: ast.Name) -> bool:
    """`device = "cpu"`, unlike `device = torch.device(device)` and `device = "cuda"`."""
    value = getattr(context.index.statement(target), "value", None)
    if value is None or context.values.of(value).devices == frozenset({"cuda"}):
        return False
    return not any(isinstance(x, ast.Name) and x.id == target.id for x in ast.walk(value))


def _only_looked_at(context: Context, use: ast.expr) -> bool:
    """Compared, printed, or handed to autocast, which does nothing where there is no CUDA."""
    parent = context.index.parents[use]
    if isinstance(parent, _LOOKS) or (
        isinstance(parent, ast.If | ast.IfExp) and use is parent.test
    ):
        return True
    if isinstance(parent, ast.Attribute) and parent.attr in ("startswith", "type"):
        return True
    slot = context.devices.slot(use)
    if slot is not None and slot.kind == "autocast":
        return True
    call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call):
        return False
    word = last_name(call.func) or ""
    if word == "partial" and isinstance(parent, ast.keyword):
        return parent.arg == "device_type"
    return word in _SAYING or word == "autocast"


def _checked(context: Context, uses: list[ast.Name] | list[ast.Attribute]) -> bool:
    """Whether a test speaks of the device and of what is available, or one stands in the other.

    Where the answer is no more than an error, the default is as wrong as before, unless MPS is
    among the devices that may be asked for.
    """
    for use in uses:
        test = _test_around(context, use)
        if test is None:
            continue
        holder = context.index.parents[test]
        if _asks(test) and (_goes_on(holder) or speaks_of_mps(context) or _of_module(context, use)):
            return True
        for item in holder.body if isinstance(holder, ast.If) else ():
            if isinstance(item, ast.If | ast.Assert) and _asks(item.test):
                if _goes_on(item) or speaks_of_mps(context):
                    return True
    return False


def _of_module(context: Context, use: ast.expr) -> bool:
    """`getattr(torch, device).is_available()`: whatever device it is."""
    call = context.index.parents[use]
    return isinstance(call, ast.Call) and last_name(call.func) in ("getattr", "get_device_module")


def _goes_on(test: ast.AST) -> bool:
    """Whether a test that fails leads to anything but an error."""
    if isinstance(test, ast.If):
        return not isinstance(test.body[-1], ast.Raise)
    return not isinstance(test, ast.Assert)


def _test_around(context: Context, use: ast.expr) -> ast.expr | None:
    child: ast.AST = use
    for parent in context.index.ancestors(use):
        if isinstance(parent, ast.If | ast.IfExp | ast.Assert | ast.While):
            return parent.test if child is parent.test else None
        if isinstance(parent, ast.stmt):
            return None
        child = parent
    return None


def _asks(test: ast.expr) -> bool:
    """Whether a test calls something like `torch.cuda.is_available`."""
    calls = (item for item in ast.walk(test) if isinstance(item, ast.Call))
    return any(_AVAILABLE.search(last_name(call.func) or "") for call in calls)


def _always_given(context: Context, function: FunctionNode, parameter: ast.arg) -> bool:
    """Whether the file alone calls the function, and gives the argument each time."""
    owner = context.index.parents[function]
    named: FunctionNode | ast.ClassDef = function
    skip = 0
    if isinstance(owner, ast.ClassDef):
        skip = 1
        if function.name == "__init__":
            named = owner
    tests = bool(_TEST_FILE.search(context.source.path))
    script = tests or any(node.value == _SCRIPT for node in context.index.strings)
    if not (named.name.startswith("_") or script):
        return False
    sites = context.guards.callers.mentions(named)
    return (tests or bool(sites)) and all(
        isinstance(call := context.index.parents[site], ast.Call)
        and call.func is site
        and _gives(function, parameter, call, skip)
        for site in sites
    )


def _gives(function: FunctionNode, parameter: ast.arg, call: ast.Call, skip: int) -> bool:
    if any(keyword.arg in (None, parameter.arg) for keyword in call.keywords):
        return True
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    positional = [*function.args.posonlyargs, *function.args.args][skip:]
    return parameter in positional and positional.index(parameter) < len(call.args)


def _option_reconsidered(context: Context, call: ast.Call) -> bool:
    """`args.device = "cpu"` behind `parse_args`, `if args.device == "cuda" and not ...`."""
    destination = _destination(call)
    if destination is None:
        return False
    function = context.index.parents.get(call)
    if isinstance(function, FUNCTIONS):  # `@click.option(...)`
        return _reconsidered(context, function, destination)
    found = context.index.attributes.get(destination, ())
    held = [x for x in found if isinstance(x.value, ast.Name) and x.value.id != "self"]
    if any(isinstance(x.ctx, ast.Store) and _resets(x, context) for x in held):
        return True
    loads = [x for x in held if isinstance(x.ctx, ast.Load)]
    if loads and all(_puts_nothing(context, use, _DEPTH) for use in loads):
        return True
    return _checked(context, loads)


def _resets(target: ast.Attribute, context: Context) -> bool:
    value = getattr(context.index.statement(target), "value", None)
    if value is None:
        return False
    spelled = ast.unparse(target)
    return not any(
        isinstance(item, ast.Attribute) and ast.unparse(item) == spelled for item in ast.walk(value)
    )


def _destination(call: ast.Call) -> str | None:
    """The name that the value of an option is given."""
    for keyword in call.keywords:
        if keyword.arg == "dest" and isinstance(keyword.value, ast.Constant):
            return str(keyword.value.value)
    words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    long = [word for word in words if word.startswith("--")] or words
    return long[0].lstrip("-").replace("-", "_") if long else None
