"""Add the MPS arm to a selection between CUDA and CPU, in the selection's own style."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from mpslint.model import Edit, Fix, doubtful
from mpslint.patterns.arms import arms_beside
from mpslint.patterns.availability import mps_available, opening_level, wants_mps
from mpslint.patterns.default_device import as_default_device, doubt_of_default, sets_inside
from mpslint.patterns.flat import flat
from mpslint.patterns.gates import parts_data, stays_behind
from mpslint.patterns.given_numbers import with_numbers
from mpslint.patterns.late_casts import casts_put_first
from mpslint.patterns.layout import arms_laid_out, is_ragged, on_one_line
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.met import device_of_met
from mpslint.patterns.met_by_global import devices_of_met
from mpslint.patterns.named_gpus import changes_gpu, several_gpus
from mpslint.patterns.refusal import opened_refusals
from mpslint.patterns.repeated_chain import shared_choice
from mpslint.patterns.selection import in_style
from mpslint.patterns.statements import row_of_last_comment
from mpslint.patterns.styles import is_inline
from mpslint.patterns.switches import asked, joined
from mpslint.patterns.text import (
    alone_on_lines,
    holds_comment,
    insert,
    line_limit,
    needs_parentheses,
    quote,
    replace,
    replace_span,
)
from mpslint.patterns.told import told_on_mps
from mpslint.patterns.waits import waits_along
from mpslint.semantics.devices.gpu_numbers import device_made, number_beside, written_out
from mpslint.semantics.packages.flag_uses import moved_elsewhere
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.chains import Chain

_MESSAGE = "Choose MPS where it is there"


def add_mps_arm(context: Context, chain: Chain) -> Fix | None:
    """The fix for a selection without MPS; None where its arms cannot be copied."""
    torch = torch_name(context, chain.node)
    if torch is None or not wants_mps(context) or _keeps_number(context, chain):
        return None
    beside = _with_operand(context, chain)
    if beside is not None:
        return beside
    level = opening_level(context)
    waits, unwaited = waits_along(context)
    doubt = parts_data(context, chain.test) or unwaited or doubt_of_default(context, chain.node)
    styled = _in_style(context, chain)
    if styled is not None:
        styled = (*styled, *casts_put_first(context), *waits)
        return doubtful(Fix("Select the device as the project does", styled, level), doubt)
    if isinstance(chain.node, ast.IfExp):
        edits = _expression(context, chain, chain.node, torch)
    else:
        edits = _statement(context, chain, chain.node, torch)
        edits = edits and (*edits, *_called_modules(context, chain, torch))
    if not edits:
        return None
    moved = _moved_beside(context, chain, chain.node) if isinstance(chain.node, ast.If) else None
    if isinstance(chain.node, ast.If) and any(not sets_inside(context, one) for one in moved or ()):
        others = arms_beside(context, chain.node)
        if others is None and stays_behind(context):
            return None  # What other tests move would stay beside what this one does.
        if others is not None:
            edits, doubt = (*edits, *others), moved_elsewhere(context) or unwaited
    along = (*opened_refusals(context), *casts_put_first(context), *waits)
    return doubtful(Fix(_MESSAGE, (*edits, *along), level), doubt)


def _with_operand(context: Context, chain: Chain) -> Fix | None:
    """The device of the tensor that all meet for which the choice is made, where nobody but the
    machine is asked."""
    if chain.asked_only or asked(context, chain.test, not chain.inverted) != []:
        return None
    return device_of_met(context, chain.node) or devices_of_met(context, chain.node)


def _keeps_number(context: Context, chain: Chain) -> bool:
    """`torch.device("cuda" if cuda else "cpu", 1)`: MPS in the place of that type is `mps:1`."""
    made = device_made(context.index, context.names, chain.node)
    number = number_beside(context.names, made) if made is not None else None
    return number is not None and bool(written_out(number))


def mps_arm(context: Context, arm: ast.expr) -> str | None:
    """The text of a CUDA arm, with MPS in the place of CUDA and without its index."""
    source, inside = context.source, set(ast.walk(arm))
    for literal in context.devices.literals:
        if literal.node in inside and literal.backend == "cuda":
            start, end = source.span(arm)
            inner_start, inner_end = source.span(literal.node)
            text = source.segment(literal.node)
            mark = '"' if '"' in text else "'"
            if number_beside(context.names, arm) is not None:
                assert isinstance(arm, ast.Call)
                word = "" if arm.args else "type="
                return f"{source.segment(arm.func)}({word}{mark}mps{mark})"
            head = source.text[start:inner_start]
            tail = source.text[inner_end:end]
            return None if tail.lstrip().startswith(",") else f"{head}{mark}mps{mark}{tail}"
    return None


def mps_test(context: Context, chain: Chain, torch: str) -> str | None:
    """The test for MPS, with whatever else the user was asked (`--no-cuda`); None: not clear."""
    parts = asked(context, chain.test, not chain.inverted)
    if parts is None:
        return None
    parts = with_numbers(context, parts, [chain.cuda_arm])
    return joined([*parts, mps_available(context, torch)])


def _in_style(context: Context, chain: Chain) -> tuple[Edit, ...] | None:
    """The whole selection in the project's style, where it asks nobody but the machine."""
    if is_inline(context) or chain.asked_only:
        return None
    if asked(context, chain.test, not chain.inverted) != [] or not _plain_cuda(context, chain):
        return None
    if isinstance(chain.node, ast.If):
        return _statement_in_style(context, chain.node)
    found = in_style(context, chain.node)
    if found is None:
        return None
    node: ast.expr = chain.node
    parent = context.index.parents[node]
    as_string = context.values.of(node).kind is Kind.DEVICE_STRING
    if isinstance(parent, ast.Call) and context.resolve(parent.func) == "torch.device":
        if len(parent.args) == 1 and not parent.keywords and not found[0].is_string:
            node, as_string = parent, False
    start, end = context.source.span(node)
    if holds_comment(context.source, start, end):
        return None
    text = found[0].as_string() if as_string else found[0].expression
    if found[0].compound and not as_string:
        text = f"({text})" if needs_parentheses(node, context.index.parents[node]) else text
    return (*found[1], replace_span(context.source, start, end, text))


def _statement_in_style(context: Context, node: ast.If) -> tuple[Edit, ...] | None:
    """`if cuda: device = ...`, `else: device = ...`, and nothing else."""
    source = context.source
    start, end = source.span(node)
    if len(node.body) != 1 or len(node.orelse) != 1 or holds_comment(source, start, end):
        return None
    one, two = node.body[0], node.orelse[0]
    if not isinstance(one, ast.Assign) or not isinstance(two, ast.Assign):
        return None
    targets = [[ast.unparse(target) for target in item.targets] for item in (one, two)]
    found = in_style(context, node)
    header = source.text[source.starts[node.lineno - 1] : start].strip()
    if found is None or targets[0] != targets[1] or header or source.text[start] != "i":
        return None
    as_string = context.values.of(one.value).kind is Kind.DEVICE_STRING
    head = source.text[source.span(one)[0] : source.span(one.value)[0]]
    text = found[0].as_string() if as_string else found[0].expression
    return (*found[1], replace_span(source, start, end, f"{head}{text}"))


def _plain_cuda(context: Context, chain: Chain) -> bool:
    """Whether the CUDA arm is the current CUDA device: with no index of its own, or with that of
    the only one there is a word of."""
    first = not changes_gpu(context) and not several_gpus(context)
    return any(
        literal.backend == "cuda"
        and (literal.ordinal is None or (literal.ordinal == 0 and first))
        and not literal.computed_index
        for literal in context.devices.literals
        if context.index.within(literal.node, chain.cuda_arm)
    )


def _operand(context: Context, node: ast.expr) -> str:
    text = context.source.segment(node)
    return f"({text})" if isinstance(node, ast.BoolOp | ast.IfExp) else text


def _cuda_test(context: Context, chain: Chain, torch: str) -> str:
    """The chain's own test; a mere switch is also held against the machine."""
    text = context.source.segment(chain.test)
    if not chain.asked_only:
        return text
    machine = f"{torch}.cuda.is_available()"
    if chain.inverted:
        return f"{_operand(context, chain.test)} or not {machine}"
    return f"{_operand(context, chain.test)} and {machine}"


# conditional expressions


def _expression(
    context: Context, chain: Chain, node: ast.IfExp, torch: str
) -> tuple[Edit, ...] | None:
    assert chain.cpu_arm is not None
    mps = mps_arm(context, chain.cuda_arm)
    source = context.source
    start, end = source.span(node)
    test = mps_test(context, chain, torch)
    if mps is None or test is None:
        return None
    if holds_comment(source, start, end):
        return _before_cpu_arm(context, chain, mps, test)
    cpu = source.segment(chain.cpu_arm)
    for called in _called_modules(context, chain, torch):
        cpu = f"{called.text}{cpu.removeprefix(called.expect)}"
    if chain.inverted:
        pieces = [source.segment(chain.cuda_arm), _turned(context, chain, torch)]
    else:
        pieces = [source.segment(chain.cuda_arm), _cuda_test(context, chain, torch)]
    if is_ragged(context, node):
        pieces, test = [on_one_line(piece) for piece in pieces], on_one_line(test)
    parts = [pieces[0], f"if {pieces[1]}", f"else {mps}", f"if {test}", f"else {cpu}"]
    laid_out = arms_laid_out(context, node, parts)
    if source.newline in laid_out:
        choice = [(pieces[0], pieces[1]), (mps, test), (cpu, "")]
        shared = shared_choice(context, node, choice)
        if shared is not None:
            return shared
        edit = flat(context, node, choice)
        if edit is not None:
            return (edit,)
    return (replace_span(source, start, end, laid_out),)


def _before_cpu_arm(context: Context, chain: Chain, mps: str, test: str) -> tuple[Edit, ...] | None:
    """The MPS arm between the others, so that every comment keeps its place."""
    assert chain.cpu_arm is not None
    if chain.inverted or chain.asked_only:
        return None
    source, gap = context.source, " "
    start = source.span(chain.cpu_arm)[0]
    row, column = source.position(start)
    if source.line(row)[: column - 1].strip() == "else":
        gap = source.newline + source.indentation(row)
    return (insert(start, f"{mps}{gap}if {test}{gap}else "),)


def _turned(context: Context, chain: Chain, torch: str) -> str:
    """The opposite of an inverted test, so that CUDA comes first."""
    test = chain.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        text = context.source.segment(test.operand)
    else:
        text = f"not {_operand(context, test)}"
    return f"{text} and {torch}.cuda.is_available()" if chain.asked_only else text


# statements


def _statement(context: Context, chain: Chain, node: ast.If, torch: str) -> tuple[Edit, ...] | None:
    moved = _moved_beside(context, chain, node)
    if moved is None or (moved and (chain.inverted or chain.asked_only)):
        return None  # What only the arm for CUDA moves would stay where it is.
    if chain.inverted or chain.asked_only or not _plain_arm(context, chain, node, moved):
        return None if moved else _into_cpu_arm(context, chain, torch)
    mps, test = mps_arm(context, chain.cuda_arm), mps_test(context, chain, torch)
    if mps is None or test is None:
        return None
    source = context.source
    arm_statement = context.index.statement(chain.cuda_arm)
    last = node.body[-1]
    row = row_of_last_comment(source, last, source.indentation(node.lineno))
    behind_colon = node.body == [arm_statement] and arm_statement.lineno == node.lineno
    alone = alone_on_lines(source, last) and alone_on_lines(source, arm_statement)
    if not alone and not behind_colon:
        return None if moved else _into_cpu_arm(context, chain, torch)
    arm_start = source.span(chain.cuda_arm)[0]
    head = source.text[source.span(arm_statement)[0] : arm_start]
    newline, indent = source.newline, source.indentation(node.lineno)
    gap = " " if behind_colon else newline + source.indentation(arm_statement.lineno)
    said = "" if behind_colon else "".join(f"{gap}{one}" for one in told_on_mps(context, node))
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    lead = newline if offset == len(source.text) and not source.text.endswith(("\n", "\r")) else ""
    before = "".join(f"{one}{gap}" for at, one in moved.items() if at.lineno < arm_statement.lineno)
    after = "".join(f"{gap}{one}" for at, one in moved.items() if at.lineno > arm_statement.lineno)
    text = f"{lead}{indent}elif {test}:{gap}{before}{head}{mps}{after}{said}{newline}"
    return (insert(offset, text),)


def _called_modules(context: Context, chain: Chain, torch: str) -> list[Edit]:
    """`torch.cuda("cpu")` for the CPU, which calls a module, is `torch.device("cpu")`."""
    arm = chain.cpu_arm
    if not isinstance(arm, ast.Call) or context.resolve(arm.func) != "torch.cuda":
        return []
    return [replace(context.source, arm.func, f"{torch}.device")]


def _moved_beside(context: Context, chain: Chain, node: ast.If) -> dict[ast.stmt, str] | None:
    """What the arm for CUDA moves besides, each as it is moved to MPS: `net.cuda()`, `net =
    net.cuda()`. None where it does something else with CUDA's devices."""
    chosen = context.index.statement(chain.cuda_arm)
    found: dict[ast.stmt, str] = {}
    block = next((block for block in (node.body, node.orelse) if chosen in block), [])
    source = context.source
    if chosen not in block and sets_inside(context, node):
        return None
    named = {item.node for item in context.devices.literals if item.backend == "cuda"}
    for item in block:
        if sets_inside(context, item):
            line = as_default_device(context, item, _chosen_before(context, chosen, item))
            if line is None:
                return None
            found[item] = line
            continue
        inside = list(ast.walk(item)) if item is not chosen else []
        moves = [call for call in inside if _moves(call, named)]
        if not moves:
            continue
        move = moves[0]
        assert isinstance(move, ast.Call)
        assert isinstance(move.func, ast.Attribute)
        whole = item.value if isinstance(item, ast.Assign | ast.Expr) else None
        if whole is not move or len(moves) > 1 or move.keywords:
            return None
        if move.args and (move.func.attr == "cuda" or named.isdisjoint(move.args)):
            return None
        start, end = source.span(item)[0], source.span(move.func.value)[1]
        mark = quote(source)
        found[item] = f"{source.text[start:end]}.to({mark}mps{mark})"
    return found


def _chosen_before(context: Context, chosen: ast.stmt, item: ast.stmt) -> str:
    """The device as a statement beside its choice names it."""
    target = chosen.targets[0] if isinstance(chosen, ast.Assign) else None
    if isinstance(target, ast.Name) and chosen.lineno < item.lineno:
        return target.id
    mark = quote(context.source)
    return f"{mark}mps{mark}"


def _moves(node: ast.AST, named: set[ast.expr]) -> bool:
    """`x.cuda()`, and `x.to("cuda")` of a device that is written there."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    given = (*node.args, *(item.value for item in node.keywords))
    return node.func.attr == "cuda" or (
        node.func.attr == "to" and any(not named.isdisjoint(ast.walk(item)) for item in given)
    )


def _plain_arm(
    context: Context, chain: Chain, node: ast.If, moved: Collection[ast.stmt] = ()
) -> bool:
    """Whether all that the arms do for the rest of the program is to choose the device, and to
    move to it."""
    statement = context.index.statement(chain.cuda_arm)
    if statement not in node.body:
        return False
    chosen = {statement, *moved}
    if chain.cpu_arm is not None:
        chosen.add(context.index.statement(chain.cpu_arm))
    return all(
        item in chosen or _only_says_so(item)
        for item in (*node.body, *(node.orelse if chain.cpu_arm is not None else ()))
    )


def _only_says_so(statement: ast.stmt) -> bool:
    """A call for its effect (`print`, `set_device`), or nothing."""
    return isinstance(statement, ast.Pass | ast.Expr)


def _into_cpu_arm(context: Context, chain: Chain, torch: str) -> tuple[Edit, ...] | None:
    """Choose between MPS and CPU where the chain has come to the CPU."""
    if chain.cpu_arm is None or chain.asked_only:
        return None
    source = context.source
    arm = chain.cpu_arm
    literal, test = _cpu_literal(arm), mps_test(context, chain, torch)
    if literal is None or test is None:
        return None
    text = source.segment(literal)
    mark = '"' if '"' in text else "'"
    selected = f"{mark}mps{mark} if {test} else {text}"
    if needs_parentheses(literal, context.index.parents[literal]):
        selected = f"({selected})"
    line = source.line(literal.lineno).rstrip("\r\n")
    if len(line) - len(text) + len(selected) > line_limit(source):
        arm_of_its_own = _before_cpu_statement(context, chain, literal, f"{mark}mps{mark}", test)
        if arm_of_its_own is not None:
            return (arm_of_its_own,)
    return (replace(source, literal, selected),)


def _before_cpu_statement(
    context: Context, chain: Chain, literal: ast.Constant, mps: str, test: str
) -> Edit | None:
    """An `elif` with the statement that chooses the CPU, and MPS in it, in front of the `else` that
    holds nothing more: what a line that would get too long says as well."""
    source, statement = context.source, context.index.statement(literal)
    choice = context.index.parents[statement]
    if not isinstance(choice, ast.If) or choice.orelse != [statement] or statement.lineno < 2:
        return None
    if not isinstance(statement, ast.Return | ast.Assign):
        return None
    row = statement.lineno - 1
    if source.line(row).strip() != "else:" or not alone_on_lines(source, statement):
        return None
    start, end = source.span(statement)
    first, last = source.span(literal)
    if "\n" in source.text[start:end]:
        return None
    chosen = f"{source.text[start:first]}{mps}{source.text[last:end]}"
    newline, indent = source.newline, source.indentation(row)
    inner = source.indentation(statement.lineno)
    text = f"{indent}elif {test}:{newline}{inner}{chosen}{newline}"
    return insert(source.starts[row - 1], text)


def _cpu_literal(arm: ast.expr) -> ast.Constant | None:
    if isinstance(arm, ast.Constant):
        return arm
    if isinstance(arm, ast.Call) and len(arm.args) == 1 and isinstance(arm.args[0], ast.Constant):
        return arm.args[0]
    return None
