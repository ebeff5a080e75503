"""Take away what asks for CUDA before it moves things there.

`if cuda: x = x.cuda()`, `x.cuda() if cuda else x` and
`Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor` are one idiom. `.to(device)` is
right on every machine, so nothing is left to ask; but a model on MPS and a batch that is left on
the CPU do not meet, so the idiom is rewritten as a whole, or not at all: with all that the same
flag decides, and with what functions from elsewhere move to CUDA.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.already_there import drop_gate
from mpslint.patterns.arms import add_arms
from mpslint.patterns.calls import (
    OWN_CUDA,
    is_cuda_move,
    names_first_gpu,
    overrides_cuda,
    rewrite_call,
)
from mpslint.patterns.gate_device import device_for, positive
from mpslint.patterns.gate_idiom import Gate, is_idiom, keep_arm, returned_behind, stands_in
from mpslint.patterns.handed_flags import handed_flags, reference_to
from mpslint.patterns.legacy import Alias, convert_alias, find_aliases
from mpslint.patterns.load_arms import loads_to_host
from mpslint.patterns.named_gpus import changes_gpu, several_gpus
from mpslint.patterns.operand import operand_gate
from mpslint.patterns.references import Reference
from mpslint.patterns.statements import can_dedent, dedent_body, delete_statement
from mpslint.patterns.switches import asked
from mpslint.semantics.operands.partners import partner
from mpslint.semantics.packages.flag_uses import moved_elsewhere, parting
from mpslint.semantics.packages.moved_by_flag import stays_by_flag
from mpslint.semantics.purpose.settled_moves import settled
from mpslint.semantics.worlds.choices import choices
from mpslint.semantics.worlds.refused import is_behind_refusal

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.worlds.events import Event

_STAYS = "{}: other moves of the file keep a test for CUDA"
_KEY, _LEVEL = "gates", "level of the gates"
_LEFT = "what tests decide beside the gates"


def open_gates(context: Context) -> Fix | None:
    """One fix for all gated moves of the file; None where one of them must stay gated."""
    if _KEY not in context.memo:
        context.memo[_KEY] = _open_gates(context)
    found = context.memo[_KEY]
    return found if isinstance(found, Fix) else None


def gates_level(context: Context) -> Applicability | None:
    """The level of `open_gates`, found without laying out what it writes (no libcst)."""
    if _LEVEL not in context.memo:
        fix = _open_gates(context, laid_out=False)
        context.memo[_LEVEL] = fix.applicability if fix is not None else None
    found = context.memo[_LEVEL]
    return found if isinstance(found, Applicability) else None


def stays_behind(context: Context) -> bool:
    """Whether something is moved where CUDA is and no safe fix moves it to MPS: a device that is
    opened to MPS would leave it on the CPU."""
    if _find_gates(context) == [] and find_aliases(context) == []:
        return False
    level = gates_level(context)
    if level is None:
        return not only_asked(context) and add_arms(context) is None
    return level < Applicability.SAFE


def opens_all(context: Context, tests: Iterable[ast.expr]) -> bool:
    """Whether nothing is left that these tests decide once the gates of the file are open."""
    if gates_level(context) is None:
        return False
    if _LEFT not in context.memo:
        left = choices(context.worlds, lambda event: _is_opened(context, event))
        context.memo[_LEFT] = {test for choice in left for test in choice.tests}
    still = context.memo[_LEFT]
    assert isinstance(still, set)
    return still.isdisjoint(tests)


def _is_opened(context: Context, event: Event) -> bool:
    """Whether an event is a move of a gate, or asks for the tensor type of an alias."""
    node = event.node
    if any(node is move for gate in _find_gates(context) or () for move in gate.moves):
        return True
    names = {alias.name.id for alias in find_aliases(context) or ()}
    asked_for = (node.func, *node.args) if isinstance(node, ast.Call) else (node,)
    return any(isinstance(one, ast.Name) and one.id in names for one in asked_for)


def parts_data(context: Context, test: ast.expr) -> str:
    """How a device that is selected by `test`, and opened to MPS, would leave behind what other
    functions move to CUDA, or what the same flag decides elsewhere; empty: it would not."""
    moved = moved_elsewhere(context)
    if moved:
        return moved
    if stays_behind(context):
        return _STAYS.format(context.line(next(_gated_moves(context), test)))
    gates, aliases = _find_gates(context) or [], find_aliases(context) or []
    known = [gate.node.test for gate in gates] + [alias.test for alias in aliases]
    known += [chain.test for chain in context.chains.without_mps]
    return parting(context, [test], known)


def only_asked(context: Context) -> bool:
    """Whether every guarded move of the file is behind a switch of the user's (`--cuda`, a
    parameter) that nothing compares with the machine, neither here nor where it is given.

    Then the gates may stay: who asks for the GPU gets the one there is, for all that is moved.
    """
    facts = {call: settled(context, call) for call in _moves(context)}
    guarded = {call: found for call, found in facts.items() if found}
    if not guarded or not all(found == {"asked-cuda"} for found in guarded.values()):
        return False
    # Somebody who is seen to call may pass on what the machine has: no Mac comes there then.
    left = {
        event.node
        for event in context.worlds.moves_without_twin
        if not event.on_mac and not is_behind_refusal(event)
    }
    return left.isdisjoint(guarded)


def _open_gates(context: Context, *, laid_out: bool = True) -> Fix | None:
    gates = _find_gates(context)
    aliases = find_aliases(context)
    if gates is None or aliases is None or not (gates or aliases):
        return None
    if any(stays_by_flag(context, gate.node) for gate in gates):
        return None
    edits: list[Edit] = []
    level, reason = Applicability.SAFE, ""
    handed = handed_flags(context, [gate.node.test for gate in gates])
    given = handed.replaced if handed is not None else ()
    flags = _dead_flags(context, gates, aliases, given)
    going = {*flags, *(alias.statement for alias in aliases)}
    for gate in gates:
        dropped = drop_gate(context, gate.node, gate.moves) if not gate.inverted else None
        if dropped is not None:
            edits.append(dropped)
            continue
        device = reference_to(handed, gate.node.test) if handed is not None else None
        if device is None:
            device = _beside(context, gate)
        if device is None:
            device = device_for(context, gate.node.test, not gate.inverted)
        rewritten = _rewrite(context, gate, device, laid_out) if device is not None else None
        if device is None or rewritten is None:
            return None
        edits += [*device.edits, *rewritten]
        level, reason = min(level, device.level), reason or device.reason
    for alias in aliases:
        device = device_for(context, alias.test)
        converted = convert_alias(context, alias, device, going) if device is not None else None
        if device is None or converted is None:
            return None
        edits += [*device.edits, *converted]
        level, reason = min(level, device.level), reason or device.reason
    removed = [delete_statement(context, flag, going) for flag in flags]
    edits += [edit for edit in removed if edit is not None]
    if any(overrides_cuda(context, call) for gate in gates for call in gate.moves):
        reason = OWN_CUDA
    tests = [item.node.test for item in gates] + [alias.test for alias in aliases]
    reason = moved_elsewhere(context) or parting(context, tests, [*tests, *given]) or reason
    fix = Fix("Move to the selected device", tuple(dict.fromkeys(edits)), level)
    return doubtful(fix, reason)


# finding


def _find_gates(context: Context) -> list[Gate] | None:
    """The gates around every guarded move of the file; None where one is not understood."""
    found: dict[ast.AST, list[ast.Call]] = {}
    for call in _moves(context):
        if not settled(context, call) or operand_gate(context, call) is not None:
            continue  # What goes where an operand is needs no choice of the file's.
        holder = _conditional(context, call) or context.chains.gate(call)
        if holder is None:
            return None
        found.setdefault(holder, []).append(call)
    gates = []
    for node, calls in found.items():
        assert isinstance(node, ast.If | ast.IfExp)
        sides = {stands_in(context, call, node) for call in calls}
        gate = Gate(node, tuple(calls), inverted=False in sides)
        if len(sides) != 1 or not is_idiom(context, gate):
            return None
        gates.append(gate)
    return gates


def _moves(context: Context) -> Iterator[ast.Call]:
    """`x.cuda()`, and `x.to("cuda")` below a test for CUDA."""
    for call in context.index.calls.get("cuda", ()):
        if isinstance(call.func, ast.Attribute) and not context.resolve(call.func):
            yield call
    for call in context.index.calls.get("to", ()):
        if is_cuda_move(call) and context.chains.gate(call) is not None:
            yield call


def _gated_moves(context: Context) -> Iterator[ast.expr]:
    return (call for call in _moves(context) if settled(context, call))


def _conditional(context: Context, call: ast.Call) -> ast.IfExp | None:
    """The conditional expression that decides whether `call` runs."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.stmt):
            return None
        if isinstance(parent, ast.IfExp) and parent.test is not child:
            if context.guards.implied(parent.test, parent.body is child) & {"cuda", "asked-cuda"}:
                return parent
        child = parent
    return None


# rewriting


def _beside(context: Context, gate: Gate) -> Reference | None:
    """The device of the one tensor that all that is moved is computed with."""
    names = {partner(context, call) for call in gate.moves}
    name = names.pop() if len(names) == 1 else None
    return Reference(f"{name}.device", False, ()) if name is not None else None


def _rewrite(context: Context, gate: Gate, device: Reference, laid_out: bool) -> list[Edit] | None:
    inner: list[Edit] = []
    for call in gate.moves:
        if names_first_gpu(call) and (several_gpus(context) or changes_gpu(context)):
            return None
        edits = rewrite_call(context, call, device)
        if edits is None:
            return None
        inner += edits
    if isinstance(gate.node, ast.If):
        inner += loads_to_host(context, gate.node, other_arm=gate.inverted)
        if not laid_out:
            return inner if can_dedent(context, gate.node, other_arm=gate.inverted) else None
        edit = dedent_body(context, gate.node, inner, other_arm=gate.inverted)
        behind = returned_behind(context, gate)
        gone = delete_statement(context, behind) if behind is not None else None
        if edit is None or (behind is not None and gone is None):
            return None
        return [edit, gone] if gone is not None else [edit]
    arm = gate.node.orelse if gate.inverted else gate.node.body
    return keep_arm(context, gate.node, arm, inner)


def _dead_flags(
    context: Context, gates: list[Gate], aliases: list[Alias], given: Iterable[ast.expr]
) -> list[ast.Assign]:
    """Assignments of flags that nothing reads but the rewritten tests, the calls that give a device
    for them now, and other such flags."""
    tests = [positive(gate.node.test, True)[0] for gate in gates]
    reads: list[ast.AST] = [*tests, *given, *(alias.test for alias in aliases)]
    dead: list[ast.Assign] = []
    while True:
        flag = next((f for f in _flags_read(context, reads) if f not in dead), None)
        if flag is None:
            return dead
        dead.append(flag)
        reads += [node for node in ast.walk(flag.value) if isinstance(node, ast.Name)]


def _flags_read(context: Context, reads: list[ast.AST]) -> Iterator[ast.Assign]:
    """The assignments of flags that are read here, and nowhere else."""
    names = context.names
    for read in sorted(
        (one for one in reads if isinstance(one, ast.Name)), key=lambda one: (one.id, one.lineno)
    ):
        owner = names.owner(read.id, read)
        bindings = owner.bindings.get(read.id, []) if owner is not None else []
        loads = [
            use
            for use in context.index.names[read.id]
            if isinstance(use.ctx, ast.Load) and names.owner(read.id, use) is owner
        ]
        if len(bindings) != 1 or not all(any(load is one for one in reads) for load in loads):
            continue
        flag = bindings[0].node
        if bindings[0].kind == "assign" and isinstance(flag, ast.Assign) and len(flag.targets) == 1:
            if [] in (asked(context, flag.value), asked(context, flag.value, False)):
                yield flag
