"""Take away what asks for CUDA before it moves things there.

`if cuda: x = x.cuda()`, `x.cuda() if cuda else x` and
`Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor` are one idiom. `.to(device)` is
right on every machine, so nothing is left to ask; but a model on MPS and a batch that is left on
the CPU do not meet, so the idiom is rewritten as a whole, or not at all.

A flag that the user may switch off (`--no-cuda`) is asked by the selection instead, which then
stands right behind the flag.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.chain import user_switch
from mpslint.patterns.legacy import Alias, convert_alias, find_aliases
from mpslint.patterns.selection import Reference, reference, torch_name, wrapped_chain
from mpslint.patterns.statements import dedent_body, delete_statement
from mpslint.patterns.text import alone_on_lines, holds_comment, insert, quote, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_GUARDED = frozenset({"cuda", "asked-cuda", "no-mps", "caught"})
_KEY = "gates"


class Gate(NamedTuple):
    """A choice between moving to CUDA and leaving things where they are."""

    node: ast.If | ast.IfExp
    moves: tuple[ast.Call, ...]


def open_gates(context: Context) -> Fix | None:
    """One fix for all gated moves of the file; None where one of them must stay gated."""
    if _KEY not in context.memo:
        context.memo[_KEY] = _open_gates(context)
    found = context.memo[_KEY]
    return found if isinstance(found, Fix) else None


def _open_gates(context: Context) -> Fix | None:
    gates = _find_gates(context)
    aliases = find_aliases(context)
    if gates is None or aliases is None or not (gates or aliases):
        return None
    edits: list[Edit] = []
    for gate in gates:
        device = _device_for(context, gate.node.test)
        rewritten = _rewrite(context, gate, device) if device is not None else None
        if device is None or rewritten is None:
            return None
        edits += [*device.edits, *rewritten]
    for alias in aliases:
        device = _device_for(context, alias.test)
        converted = convert_alias(context, alias, device) if device is not None else None
        if device is None or converted is None:
            return None
        edits += [*device.edits, *converted]
    edits += _dead_flag(context, gates, aliases)
    return Fix("Move to the selected device", tuple(dict.fromkeys(edits)), Applicability.SAFE)


# finding


def _find_gates(context: Context) -> list[Gate] | None:
    """The gates around every guarded `.cuda()` of the file; None where one is not understood."""
    found: dict[ast.AST, list[ast.Call]] = {}
    for call in context.index.calls.get("cuda", ()):
        if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
            continue
        if not context.guards.at(call) & _GUARDED:
            continue
        gate = _conditional(context, call) or context.chains.gate(call)
        if gate is None:
            return None
        found.setdefault(gate, []).append(call)
    gates = []
    for node, calls in found.items():
        assert isinstance(node, ast.If | ast.IfExp)
        if not _is_idiom(context, node, calls):
            return None
        gates.append(Gate(node, tuple(calls)))
    return gates


def _conditional(context: Context, call: ast.Call) -> ast.IfExp | None:
    """The conditional expression that decides whether `call` runs."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.stmt):
            return None
        if isinstance(parent, ast.IfExp) and parent.body is child:
            if context.guards.implied(parent.test, True) & {"cuda", "asked-cuda"}:
                return parent
        child = parent
    return None


def _is_idiom(context: Context, node: ast.If | ast.IfExp, calls: list[ast.Call]) -> bool:
    """Whether all that the test decides is where things live."""
    if isinstance(node, ast.IfExp):
        return _unmoved(node.body) == ast.dump(node.orelse)
    bare = [_unmoved(statement) for statement in node.body]
    if node.orelse and not all(isinstance(item, ast.Pass) for item in node.orelse):
        return bare == [ast.dump(statement) for statement in node.orelse]
    return all(_only_moves(statement) for statement in node.body)


def _only_moves(statement: ast.stmt) -> bool:
    """`m.cuda()`, `x = x.cuda()`, `a, b = a.cuda(), b.cuda()`: nothing, but for the place."""
    if isinstance(statement, ast.Expr):
        return _is_move(statement.value) and not any(
            isinstance(n, ast.Call) and n is not statement.value for n in ast.walk(statement.value)
        )
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) != len(value.elts):
            return False
        pairs = list(zip(target.elts, value.elts, strict=True))
    return all(_is_move(right) and _same(left, right.func.value) for left, right in pairs)  # type: ignore[attr-defined]


def _is_move(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "cuda"
    )


def _same(target: ast.expr, value: ast.expr) -> bool:
    return ast.unparse(target) == ast.unparse(value)


class _Unmoved(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            return node.func.value
        return node


def _unmoved(node: ast.AST) -> str:
    """`ast.dump` of the node without its `.cuda()` calls."""
    import copy

    return ast.dump(_Unmoved().visit(copy.deepcopy(node)))


# the device


def _device_for(context: Context, test: ast.expr) -> Reference | None:
    """A device that is CUDA exactly where the test holds on a machine with CUDA."""
    switch = user_switch(context, test, inverted=False)
    if switch is None:
        return reference(context, test)
    at_hand = context.devices.at_hand(test)
    if at_hand is not None:
        return Reference(at_hand.text, at_hand.is_string, ())
    return _behind_flag(context, test, switch)


def _behind_flag(context: Context, test: ast.expr, switch: str) -> Reference | None:
    """A selection that asks the user's flag, placed right behind the flag's assignment."""
    torch = torch_name(context, test)
    definition = _definition(context, test)
    name = context.settings.device_name
    source = context.source
    if definition is None or torch is None or not alone_on_lines(source, definition):
        return None
    if any(bound == name for bound, _ in context.names.every_binding()):
        return None
    flag, mark = source.segment(test), quote(source)
    machine = f"{torch}.cuda.is_available()"
    known = "cuda" in context.guards.implied(test, True)
    cuda = flag if known else f"{flag} and {machine}"
    indent = source.indentation(definition.lineno)
    text = (
        f"{mark}cuda{mark} if {cuda} else "
        f"{mark}mps{mark} if {switch} and {torch}.backends.mps.is_available() else {mark}cpu{mark}"
    )
    head = f"{name} = {torch}.device("
    laid_out = wrapped_chain(context, text, indent, len(indent) + len(head) + 1)
    if laid_out.startswith("("):
        laid_out = laid_out[1:-1]
    row = definition.end_lineno or definition.lineno
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    unfinished = offset == len(source.text) and not source.text.endswith(("\n", "\r"))
    lead = source.newline if unfinished else ""
    line = f"{lead}{indent}{head}{laid_out}){source.newline}"
    return Reference(name, False, (insert(offset, line),))


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


# rewriting


def _rewrite(context: Context, gate: Gate, device: Reference) -> list[Edit] | None:
    from mpslint.patterns.moves import rewrite_call

    inner: list[Edit] = []
    for call in gate.moves:
        edits = rewrite_call(context, call, device)
        if edits is None:
            return None
        inner += edits
    if isinstance(gate.node, ast.If):
        edit = dedent_body(context, gate.node, inner)
        return [edit] if edit is not None else None
    return _keep_body(context, gate.node, inner)


def _keep_body(context: Context, node: ast.IfExp, inner: list[Edit]) -> list[Edit] | None:
    source = context.source
    start, end = source.span(node)
    body_start, body_end = source.span(node.body)
    if holds_comment(source, start, end):
        return None
    pieces, at = [], body_start
    for edit in sorted(inner):
        pieces += [source.text[at : edit.start], edit.text]
        at = edit.end
    text = "".join([*pieces, source.text[at:body_end]])
    if isinstance(node.body, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp):
        text = f"({text})"
    return [replace_span(source, start, end, text)]


def _dead_flag(context: Context, gates: list[Gate], aliases: list[Alias]) -> list[Edit]:
    """Remove a flag that only the rewritten tests have read."""
    tests = [gate.node.test for gate in gates] + [alias.test for alias in aliases]
    names = {test.id for test in tests if isinstance(test, ast.Name)}
    edits: list[Edit] = []
    for name in sorted(names):
        reads = [u for u in context.index.names[name] if isinstance(u.ctx, ast.Load)]
        if not all(any(read is test for test in tests) for read in reads):
            continue
        bindings = [b for bound, b in context.names.every_binding() if bound == name]
        if len(bindings) != 1 or bindings[0].kind != "assign":
            continue
        statement = bindings[0].node
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            if user_switch(context, statement.value, inverted=False) is None:
                edit = delete_statement(context, statement)
                edits += [edit] if edit is not None else []
    return edits
