"""Beside moves to CUDA that must stay as they are, an arm that moves the same things to MPS.

`if torch.cuda.is_available(): model.cuda(args.gpu)` names a GPU that no device at hand names, and
other arms wrap the model for several GPUs. There the CUDA code stays; on MPS the program does
what it did on the CPU, and moves what CUDA moved. All such moves of a file get their arm, or none.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit, Fix, doubtful
from mpslint.patterns.availability import (
    cuda_available,
    mps_available,
    opening_level,
    wants_mps,
)
from mpslint.patterns.calls import overrides_cuda, rewrite_call
from mpslint.patterns.given_numbers import with_numbers
from mpslint.patterns.legacy import find_aliases
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.references import Reference
from mpslint.patterns.statements import row_of_last_comment
from mpslint.patterns.switches import asked, joined
from mpslint.patterns.text import (
    alone_on_lines,
    holds_comment,
    indent_unit,
    insert,
    line_limit,
    quote,
    replace_span,
)
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.cuda_machine import outcome as on_cuda
from mpslint.semantics.packages.flag_uses import foreign_mover, parting
from mpslint.semantics.purpose.arm_tests import tests_around
from mpslint.semantics.purpose.settled_moves import settled
from mpslint.semantics.syntax.expressions import arguments_for, last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KEY = "arms for MPS"
_SOME_DEVICE = Reference("device", False, ())
_CPU_TALK = ("print", "warn", "warning", "info", "log", "debug")


class Move(NamedTuple):
    """A statement that moves a name: `model.cuda(gpu)`, `model = Wrapped(model).cuda()`."""

    statement: ast.Expr | ast.Assign
    call: ast.Call
    root: str


def add_arms(context: Context) -> Fix | None:
    """One fix for all moves of the file that keep their GPU; None where one is not understood."""
    if _KEY not in context.memo:
        context.memo[_KEY] = _add_arms(context)
    found = context.memo[_KEY]
    return found if isinstance(found, Fix) else None


def _add_arms(context: Context) -> Fix | None:
    if not wants_mps(context) or find_aliases(context) != [] or foreign_mover(context) is not None:
        return None
    found = _to_tell_apart(context)
    if found is None:
        return None
    gates, alone = found
    if _gated_otherwise(context, gates):
        return None
    edits: list[Edit] = []
    for gate, inside in gates.items():
        edit = _beside(context, gate, inside)
        if edit is None:
            return None
        edits += edit
    for call in alone:
        edit = _dispatched(context, call)
        if edit is None:
            return None
        edits += edit
    tests = [gate.test for gate in gates]
    fix = Fix("Move to MPS where it is there", tuple(edits), opening_level(context))
    return doubtful(fix, parting(context, tests, tests)) if edits else None


def arms_beside(context: Context, node: ast.If) -> list[Edit] | None:
    """The arms of all other gates of the file, where `node` gets one that moves what it moves; None
    where one of them is not understood."""
    found = _to_tell_apart(context) if wants_mps(context) and find_aliases(context) == [] else None
    if found is None or foreign_mover(context) is not None:
        return None
    gates, alone = found
    if alone or _gated_otherwise(context, {node: [], **gates}):
        return None
    edits: list[Edit] = []
    for gate, calls in gates.items():
        edit = _beside(context, gate, calls) if gate is not node else []
        if edit is None:
            return None
        edits += edit
    return edits


def _to_tell_apart(
    context: Context,
) -> tuple[dict[ast.If, list[ast.Call]], list[ast.Call]] | None:
    """The gated moves by their gates, and the moves by an index that nothing gates."""
    gates: dict[ast.If, list[ast.Call]] = {}
    alone: list[ast.Call] = []
    for call in context.index.calls.get("cuda", ()):
        if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
            continue
        if overrides_cuda(context, call):
            return None
        if settled(context, call):
            gate = context.chains.gate(call)
            if gate is None:
                return None
            gates.setdefault(gate, []).append(call)
        elif rewrite_call(context, call, _SOME_DEVICE) is None:
            if _numbered(call):
                return None
            alone.append(call)
    return gates, alone


def _numbered(call: ast.Call) -> bool:
    """`.cuda(1)`: a program for several GPUs."""
    given = arguments_for(call, 0, "device")
    return any(isinstance(value, ast.Constant) for value in given)


def _gated_otherwise(context: Context, gates: dict[ast.If, list[ast.Call]]) -> bool:
    """Whether a flag of these gates, or the machine, is asked for other moves as well:
    `move_to_cuda(x) if use_cuda else x`."""
    flags = {ast.unparse(gate.test) for gate in gates}
    nodes: list[ast.If | ast.IfExp] = [*context.index.of(ast.If), *context.index.of(ast.IfExp)]
    for node in nodes:
        if node in gates or not context.guards.implied(node.test, True) & {"cuda", "asked-cuda"}:
            continue
        text = " ".join(ast.unparse(item) for item in _parts(node))
        if "cuda(" in text or (ast.unparse(node.test) in flags and "(" in text):
            return True
    return False


def _parts(node: ast.If | ast.IfExp) -> list[ast.AST]:
    return list(node.body) if isinstance(node, ast.If) else [node.body, node.orelse]


# beside a gate


def _beside(context: Context, gate: ast.If, calls: list[ast.Call]) -> list[Edit] | None:
    """The arm for MPS: in front of an inverted gate, behind the CUDA arm of any other."""
    torch, source = torch_name(context, gate), context.source
    first = [any(context.index.within(call, item) for item in gate.body) for call in calls]
    if torch is None or len(set(first)) != 1:
        return None
    inverted = not first[0]
    switches = asked(context, gate.test, not inverted)
    other = gate.body if inverted else gate.orelse
    if switches is None or not all(_only_talks(item) for item in other):
        return None
    if not inverted and joined(switches) == source.segment(gate.test):
        return None  # It asks for nothing else: an arm below it would never be reached.
    start = source.span(gate)[0]
    header = source.text[source.starts[gate.lineno - 1] : start].strip()
    if header or source.text[start : start + 2] != "if" or gate.body[0].lineno == gate.lineno:
        return None
    indent, unit = source.indentation(gate.lineno), indent_unit(source)
    arm = gate.orelse if inverted else gate.body
    lines = _arm(context, arm, calls, indent + unit)
    if lines is None:
        return None
    given = [value for call in calls for value in (*call.args, *call.keywords)]
    parts = [*with_numbers(context, switches, given), mps_available(context, torch)]
    newline = source.newline
    if inverted:
        header = _header(context, "if", parts, indent)
        return [insert(start, newline.join([header, *lines]) + f"{newline}{indent}el")]
    last = gate.body[-1]
    if not alone_on_lines(source, last):
        return None
    row = row_of_last_comment(source, last, indent)
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    lead = newline if not source.text[:offset].endswith(("\n", "\r")) else ""
    body = newline.join([indent + _header(context, "elif", parts, indent), *lines])
    return [insert(offset, f"{lead}{body}{'' if lead else newline}")]


def _header(context: Context, word: str, parts: list[str], indent: str) -> str:
    """`elif a and b:`, in parentheses over several lines where it is too long for one."""
    source, test = context.source, joined(parts)
    if len(indent.expandtabs()) + len(word) + len(test) + 2 <= line_limit(source):
        return f"{word} {test}:"
    inner = source.newline + indent + indent_unit(source)
    return f"{word} ({inner}{f'{inner}and '.join(dict.fromkeys(parts))}{source.newline}{indent}):"


def _only_talks(statement: ast.stmt) -> bool:
    """`pass`, `print("using the CPU")`: nothing that MPS would miss."""
    if isinstance(statement, ast.Pass):
        return True
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    word = last_name(function)
    return word in _CPU_TALK


def _arm(
    context: Context, block: list[ast.stmt], calls: list[ast.Call], indent: str
) -> list[str] | None:
    """The lines that move to MPS what the block moves to CUDA."""
    plain = _plain(context, block, indent)
    if plain is not None:
        return plain
    moves = [_move(context, call) for call in calls]
    roots = dict.fromkeys(move.root for move in moves if move is not None)
    direct = all(move is not None and move.statement in block for move in moves)
    if None in moves or not roots or not (direct or len(roots) == 1):
        return None
    if not all(_through_ifs(context, move.statement, block) for move in moves if move is not None):
        return None
    mark = quote(context.source)
    return [f"{indent}{root} = {root}.to({mark}mps{mark})" for root in roots]


def _plain(context: Context, block: list[ast.stmt], indent: str) -> list[str] | None:
    """The block, with its moves to MPS, where it does nothing else."""
    source, lines = context.source, list[str]()
    for statement in block:
        if isinstance(statement, ast.If) and not statement.orelse:
            inner = _plain(context, statement.body, indent + indent_unit(source))
            test = source.segment(statement.test)
            if inner is None or "\n" in test or _says_cuda(statement.test):
                return None
            lines += [f"{indent}if {test}:", *inner]
        elif _is_cuda_call(context, statement):
            continue
        else:
            text = _moved(context, statement)
            if text is None:
                return None
            lines.append(f"{indent}{text}")
    return lines or None


def _says_cuda(test: ast.expr) -> bool:
    return any(word in ast.unparse(test).lower() for word in ("cuda", "gpu", "nccl", "(", "rank"))


def _is_cuda_call(context: Context, statement: ast.stmt) -> bool:
    """`torch.cuda.set_device(rank)`, which has no counterpart."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    return (context.resolve(statement.value.func) or "").startswith("torch.cuda.")


def _moved(context: Context, statement: ast.stmt) -> str | None:
    """`x = x.cuda(gpu, non_blocking=True)` with `.to("mps")`."""
    source = context.source
    calls = [
        node
        for node in ast.walk(statement)
        if isinstance(node, ast.Call) and node in context.index.calls.get("cuda", ())
    ]
    start, end = source.span(statement)
    if "\n" in source.text[start:end] or not calls:
        return None
    values = [_move(context, call) for call in calls]
    if any(move is None or not _is_bare(move) for move in values):
        if not _side_by_side(statement):
            return None
    pieces, at, mark = list[str](), start, quote(source)
    for call in sorted(calls, key=lambda item: source.span(item)):
        assert isinstance(call.func, ast.Attribute)
        name = context.name_token(call.func)[0]
        pieces += [source.text[at:name], f"to({mark}mps{mark})"]
        at = source.span(call)[1]
    return "".join([*pieces, source.text[at:end]])


def _is_bare(move: Move) -> bool:
    """The statement moves the name as it is."""
    assert isinstance(move.call.func, ast.Attribute)
    value = move.statement.value
    return value is move.call and ast.unparse(move.call.func.value) == move.root


def _side_by_side(statement: ast.stmt) -> bool:
    """`a, b = a.cuda(gpu), b.cuda(gpu)`"""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    left, right = statement.targets[0], statement.value
    if not isinstance(left, ast.Tuple) or not isinstance(right, ast.Tuple):
        return False
    return len(left.elts) == len(right.elts) and all(
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "cuda"
        and ast.unparse(value.func.value) == ast.unparse(target)
        for target, value in zip(left.elts, right.elts, strict=True)
    )


def _move(context: Context, call: ast.Call) -> Move | None:
    """The move that `call` is part of, where it moves a name that keeps its value otherwise."""
    statement = context.index.statement(call)
    assert isinstance(call.func, ast.Attribute)
    if isinstance(statement, ast.Expr) and statement.value is call:
        root = call.func.value
        if isinstance(root, ast.Name | ast.Attribute):
            return Move(statement, call, ast.unparse(root))
        return None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, innermost = statement.targets[0], _innermost(statement.value)
    if isinstance(target, ast.Name | ast.Attribute) and innermost is not None:
        name = ast.unparse(target)
        return Move(statement, call, name) if ast.unparse(innermost) == name else None
    return None


def _innermost(value: ast.expr) -> ast.expr | None:
    """`model` of `model.cuda().half()` and of `Wrapped(model).cuda()`."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in ("cuda", "half", "eval"):
            value = value.func.value
        elif value.args:
            value = value.args[0]
        else:
            return None
    return value if isinstance(value, ast.Name | ast.Attribute) else None


def _through_ifs(context: Context, statement: ast.stmt, block: list[ast.stmt]) -> bool:
    """Whether nothing but `if` stands between the block and the statement."""
    child: ast.AST = statement
    for parent in context.index.ancestors(statement):
        if any(child is item for item in block):
            return True
        if not isinstance(parent, ast.If):
            return False
        child = parent
    return False


# on its own


def _dispatched(context: Context, call: ast.Call) -> list[Edit] | None:
    """`x = E.cuda(gpu)`, which runs on every machine."""
    statement, torch = context.index.statement(call), torch_name(context, call)
    if torch is None or not alone_on_lines(context.source, statement):
        return None
    gate = context.index.parents[statement]
    if isinstance(gate, ast.If) and gate.body == [statement] and not gate.orelse:
        if _asks_for_index(gate.test, call):
            if _goes_without(context, gate.test):
                return _in_front_of(context, gate, statement, torch)
            return _kept_question(context, statement, torch)
    if any(_goes_without(context, test) for test in _questions_around(context, call)):
        return None  # That question would stay, where others of the same number are turned.
    return _told_apart(context, statement, call, torch)


def _questions_around(context: Context, call: ast.Call) -> list[ast.expr]:
    """The tests around a move that hold where its number is given."""
    around = ((test, outcome) for test, outcome, _ in tests_around(context, call))
    return [test for test, outcome in around if outcome and _asks_for_index(test, call)]


def _asks_for_index(test: ast.expr, call: ast.Call) -> bool:
    """`if args.gpu is not None:` around `.cuda(args.gpu)`"""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.IsNot)
        and bool(call.args)
        and ast.unparse(test.left) == ast.unparse(call.args[0])
    )


def _goes_without(context: Context, asked_for: ast.expr) -> bool:
    """Whether things go to CUDA as well where the number is None, which there stands for all GPUs,
    or the first: `loss.cuda(args.gpu)` behind no such question, and `DataParallel(model).cuda()` in
    the other arm of one. Else who gives no number keeps everything on the CPU."""
    assert isinstance(asked_for, ast.Compare)
    number = asked_for.left
    for call in context.index.calls.get("cuda", ()):
        if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
            continue
        around = [(test, outcome) for test, outcome, _ in tests_around(context, call)]
        if any(_is_without(context, test, outcome, number) for test, outcome in around):
            return True
        given = call.args[0] if call.args else None
        if given is not None and _is_one(context, given, number):
            if all(on_cuda(context, test) is outcome for test, outcome in around):
                return True
    return False


def _is_without(context: Context, test: ast.expr, outcome: bool, number: ast.expr) -> bool:
    """Whether a test that comes out so says that there is no number."""
    if not isinstance(test, ast.Compare) or not _is_one(context, test.left, number):
        return False
    other = test.comparators[0]
    if not isinstance(other, ast.Constant) or other.value is not None:
        return False
    return isinstance(test.ops[0], ast.Is if outcome else ast.IsNot)


def _is_one(context: Context, one: ast.expr, number: ast.expr) -> bool:
    """Whether two expressions are spelled alike and of one variable."""
    if ast.unparse(one) != ast.unparse(number):
        return False
    if not isinstance(one, ast.Name):
        return True
    return context.names.owner(one.id, one) is context.names.owner(one.id, number)


def _kept_question(context: Context, statement: ast.stmt, torch: str) -> list[Edit] | None:
    """Both arms below the question whether there is a number."""
    source, text = context.source, _moved(context, statement)
    start, end = source.span(statement)
    if text is None or not alone_on_lines(source, statement) or "\n" in source.text[start:end]:
        return None
    unit, indent = indent_unit(source), source.indentation(statement.lineno)
    lines = [
        f"if {mps_available(context, torch)}:",
        f"{unit}{text}",
        "else:",
        f"{unit}{source.text[start:end]}",
    ]
    return [replace_span(source, start, end, f"{source.newline}{indent}".join(lines))]


def _in_front_of(
    context: Context, gate: ast.If, statement: ast.stmt, torch: str
) -> list[Edit] | None:
    source, text = context.source, _moved(context, statement)
    start = source.span(gate)[0]
    if text is None or source.text[start : start + 2] != "if":
        return None
    if source.text[source.starts[gate.lineno - 1] : start].strip():
        return None
    indent, newline = source.indentation(gate.lineno), source.newline
    test = mps_available(context, torch)
    inner = indent + indent_unit(source)
    return [insert(start, f"if {test}:{newline}{inner}{text}{newline}{indent}el")]


def _told_apart(
    context: Context, statement: ast.stmt, call: ast.Call, torch: str
) -> list[Edit] | None:
    """The value first, then where it goes."""
    source = context.source
    start, end = source.span(statement)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return None
    if len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
        return None
    if holds_comment(source, start, end):
        return None
    assert isinstance(call.func, ast.Attribute)
    name, mark = statement.targets[0].id, quote(source)
    value_end, arguments = source.span(call.func.value)[1], source.span(call.func)[1]
    indent, unit = source.indentation(statement.lineno), indent_unit(source)
    head = source.text[start:value_end]
    same = ast.unparse(call.func.value) == name
    if source.text[value_end : source.span(call.func)[1]] != ".cuda":
        return None
    lines = [] if same else [head]
    lines += [
        f"if {cuda_available(torch)}:",
        f"{unit}{name} = {name}.cuda{source.text[arguments:end]}",
        f"elif {mps_available(context, torch)}:",
        f"{unit}{name} = {name}.to({mark}mps{mark})",
    ]
    return [replace_span(source, start, end, f"{source.newline}{indent}".join(lines))]
