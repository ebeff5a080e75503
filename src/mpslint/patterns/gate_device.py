"""The device that the moves behind a gate go to, and where it is selected.

A flag that the user may switch off (`--no-cuda`) is asked by the selection instead, which then
stands right behind the flag.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability
from mpslint.patterns.availability import mps_available, opening_level, wants_mps
from mpslint.patterns.flat import of_chain, statement_of
from mpslint.patterns.in_use import follows_machine
from mpslint.patterns.layout import wrapped_chain
from mpslint.patterns.local_names import free_name, torch_name
from mpslint.patterns.place import settles_too_early
from mpslint.patterns.references import Reference
from mpslint.patterns.selection import other_device, reference
from mpslint.patterns.switches import asked, joined
from mpslint.patterns.text import alone_on_lines, indent_unit, insert, quote
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName

_DEVICE = "device"
_PLAIN_BASES = ("object", "torch.nn.Module")
"""Classes whose objects have no `device` of their own."""
_STORED = ("vars(", "__dict__", "json", "yaml", "Namespace(")
"""Words of files that may write down all options, of which a `torch.device` cannot be one, or make
some without a command line."""
_TOPS = "selections at the tops of functions"
_ACCELERATOR = "torch.accelerator.current_accelerator"


def device_for(context: Context, test: ast.expr, wanted: bool = True) -> Reference | None:
    """A device that is CUDA exactly where the test comes out as wanted on a machine with CUDA."""
    test, wanted = positive(test, wanted)
    kept = _beside_kept_flag(context, test, wanted) if isinstance(test, ast.Attribute) else None
    if kept is not None:
        return kept
    switches = asked(context, test, wanted)
    if switches is None:
        return None
    at_hand = context.devices.at_hand(test)
    if not switches:
        found = reference(context, test)
        if found is None or at_hand is None or follows_machine(context, at_hand):
            return found
        # Off CUDA things stayed with what goes to the device that somebody else chose.
        reason = other_device(at_hand.text)
        return found._replace(level=Applicability.UNSAFE, reason=reason)
    if at_hand is not None and _asks(context, at_hand) == set(switches):
        return Reference(at_hand.text, at_hand.is_string, ())
    behind = _behind_flag(context, test, wanted, joined(switches))
    return behind or _at_the_top(context, test, wanted, joined(switches))


def positive(test: ast.expr, wanted: bool) -> tuple[ast.expr, bool]:
    """`not x`, wanted, is `x`, not wanted."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, wanted = test.operand, not wanted
    return test, wanted


def _asks(context: Context, device: DeviceName) -> set[str] | None:
    """What the selection of a device asks the user; None where that is not in sight."""
    for binding in device.bindings:
        if binding.kind != "assign" or binding.value is None:
            return None
        for node in ast.walk(binding.value):
            if isinstance(node, ast.IfExp):
                first = _names_cuda(context, node.body)
                if not first and not _names_cuda(context, node.orelse):
                    return None
                switches = asked(context, node.test, first)
                return set(switches) if switches is not None else None
        holder = context.index.parents[binding.node]
        if _names_cuda(context, binding.value) and isinstance(holder, ast.If):
            inside = any(item is binding.node for item in holder.body)
            switches = asked(context, holder.test, inside)
            return set(switches) if switches is not None else None
    return None


def _names_cuda(context: Context, value: ast.expr) -> bool:
    """Whether CUDA is named, or the accelerator, which is CUDA where that is."""
    return any(
        (isinstance(node, ast.Constant) and isinstance(node.value, str) and "cuda" in node.value)
        or (isinstance(node, ast.Call) and context.resolve(node.func) == _ACCELERATOR)
        for node in ast.walk(value)
    )


def _behind_flag(context: Context, test: ast.expr, wanted: bool, switch: str) -> Reference | None:
    """A selection that asks the user's flag, placed right behind the flag's assignment."""
    name = free_name(context, test)
    return _selected_behind(context, test, wanted, switch, _definition(context, test), name)


def _beside_kept_flag(context: Context, test: ast.Attribute, wanted: bool) -> Reference | None:
    """`self.device` of an object that keeps a flag (`self.use_cuda = use_cuda and ...`), and
    `args.device` of options that hold one: it is selected behind the flag, and goes where that
    goes."""
    values = context.guards.assigned(test)
    if len(values) != 1:
        return None
    value, definition = values[0], context.index.statement(values[0])
    holder = test.value
    switches = asked(context, value, wanted)
    function = context.index.function(definition)
    if not switches or not isinstance(holder, ast.Name) or function is None:
        return None
    spelled = ast.unparse(test)
    if any(isinstance(node, ast.expr) and ast.unparse(node) == spelled for node in ast.walk(value)):
        return None  # An option of its own, which may be asked before that.
    uses = context.index.attributes.get(test.attr, ())
    if any(isinstance(one.ctx, ast.Store) and ast.unparse(one) != spelled for one in uses):
        return None  # Somebody may turn it off from outside.
    if all(context.index.function(one) is function for one in uses if ast.unparse(one) == spelled):
        return None  # What one function alone asks needs to be kept by nobody.
    if holder.id == "self":
        owner = context.index.enclosing(test, ast.ClassDef)
        if not isinstance(owner, ast.ClassDef) or function.name != "__init__":
            return None
        if context.index.parents[function] is not owner or not may_keep_device(context, owner):
            return None
    elif _has_device(context, holder.id) or _may_come_from_elsewhere(context):
        return None
    name = f"{holder.id}.{_DEVICE}"
    # One thing is asked in one spelling: the flag may be just what the user said.
    switch = joined(switches)
    switch = spelled if switch == ast.unparse(value) else switch
    return _selected_behind(context, test, wanted, switch, definition, name)


def may_keep_device(context: Context, owner: ast.ClassDef) -> bool:
    """Whether the objects of a class have no `device` yet, as far as its text and bases say."""
    if any(context.resolve(base) not in _PLAIN_BASES for base in owner.bases):
        return False
    if any(getattr(item, "name", "") == _DEVICE for item in owner.body):
        return False
    return not any(
        context.index.within(read, owner) and ast.unparse(read) == f"self.{_DEVICE}"
        for read in context.index.attributes.get(_DEVICE, ())
    )


def _may_come_from_elsewhere(context: Context) -> bool:
    """Whether options may go to a file, or come from others who know nothing of their device."""
    elsewhere = context.elsewhere
    if any(word in context.source.text for word in _STORED):
        return True
    return elsewhere is not None and elsewhere.is_imported(context.source.path)


def _has_device(context: Context, holder: str) -> bool:
    """Whether options may have a device already."""
    return f"--{_DEVICE}" in context.source.text or any(
        ast.unparse(read.value) == holder for read in context.index.attributes.get(_DEVICE, ())
    )


def _selected_behind(
    context: Context,
    test: ast.expr,
    wanted: bool,
    switch: str,
    definition: ast.stmt | None,
    name: str | None,
) -> Reference | None:
    """A selection of that name that asks a flag, right behind the statement that sets it."""
    source = context.source
    if definition is None or name is None:
        return None
    if not alone_on_lines(source, definition) or settles_too_early(context, definition):
        return None
    indent = source.indentation(definition.lineno)
    lines = _selection(context, test, wanted, switch, name, indent)
    if lines is None:
        return None
    row = definition.end_lineno or definition.lineno
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    unfinished = offset == len(source.text) and not source.text.endswith(("\n", "\r"))
    lead = source.newline if unfinished else ""
    return Reference(name, False, (insert(offset, f"{lead}{lines}"),), opening_level(context))


def _at_the_top(context: Context, test: ast.expr, wanted: bool, switch: str) -> Reference | None:
    """The same at the top of a function that is handed the flag, and asks the machine with it:
    `def train(net, use_cuda=True)` with `if use_cuda and torch.cuda.is_available():`."""
    function, name = context.index.function(test), free_name(context, test)
    if not isinstance(function, FUNCTIONS) or name is None or not wanted:
        return None
    scope = context.names.own_scope(function)
    read = [one for one in ast.walk(test) if isinstance(one, ast.Name)]
    flags = [one for one in read if context.names.owner(one.id, one) is scope]
    if not flags or "cuda" not in context.guards.implied(test, wanted):
        return None
    if any([one.kind for one in scope.bindings[flag.id]] != ["parameter"] for flag in flags):
        return None
    if any(context.index.function(one) is not function for one in flags):
        return None
    first = next((item for item in function.body if not _is_text(item)), None)
    if first is None or not alone_on_lines(context.source, first):
        return None
    known: dict[ast.AST, str] = context.memo.setdefault(_TOPS, {})  # type: ignore[assignment]
    indent = context.source.indentation(first.lineno)
    lines = _selection(context, test, wanted, switch, name, indent)
    if lines is None or known.setdefault(function, lines) != lines:
        return None
    row = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", ()))])
    edit = insert(context.source.starts[row - 1], lines)
    return Reference(name, False, (edit,), opening_level(context))


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _selection(
    context: Context, test: ast.expr, wanted: bool, switch: str, name: str, indent: str
) -> str | None:
    """The lines of a selection that asks a flag, and the machine where the flag does not."""
    torch, source = torch_name(context, test), context.source
    if torch is None:
        return None
    flag, mark = source.segment(test), quote(source)
    if not wanted:
        flag = f"not {flag}"
    machine = f"{torch}.cuda.is_available()"
    known = "cuda" in context.guards.implied(test, wanted)
    cuda = flag if known else f"{flag} and {machine}"
    text = f"{mark}cuda{mark} if {cuda} else "
    if wants_mps(context):
        text += f"{mark}mps{mark} if {switch} and {mps_available(context, torch)} else "
    text += f"{mark}cpu{mark}"
    head = f"{name} = {torch}.device("
    laid_out = wrapped_chain(context, text, indent, len(indent) + len(head) + 1)
    if laid_out.startswith("("):
        choice = [(f"{head}{value})", asking) for value, asking in of_chain(text)]
        lines = statement_of(choice, indent_unit(source))
    else:
        lines = [f"{head}{laid_out})"]
    return "".join(f"{indent}{line}{source.newline}" for line in lines)


def _definition(context: Context, test: ast.expr) -> ast.stmt | None:
    """The only assignment of the flag, where it surely has run before the gate."""
    if isinstance(test, ast.Name):
        bindings = context.names.bindings(test.id, test)
        if len(bindings) != 1 or bindings[0].kind != "assign":
            return None
        found = context.index.statement(bindings[0].node)
    elif isinstance(test, ast.Attribute):
        values = context.guards.assigned(test)
        if len(values) != 1:
            return None
        found = context.index.statement(values[0])
    else:
        return None
    same_scope = context.names.scope_of(found) is context.names.scope_of(test)
    module_level = isinstance(context.index.parents[found], ast.Module)
    return found if same_scope or module_level else None
