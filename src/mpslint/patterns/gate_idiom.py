"""A choice between moving to CUDA and leaving things where they are: what counts as one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.calls import is_cuda_move
from mpslint.patterns.item_moves import moves_items
from mpslint.patterns.load_arms import as_loaded_anywhere, is_copied
from mpslint.patterns.text import holds_comment, replace_span
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import is_path, last_name

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context


_PARTS = ("items", "keys", "values", "parameters", "buffers")


class Gate(NamedTuple):
    """A choice between moving to CUDA and leaving things where they are."""

    node: ast.If | ast.IfExp
    moves: tuple[ast.Call, ...]
    inverted: bool
    """The moves stand in the other arm: `if not cuda: pass`, `else: x = x.cuda()`."""


def stands_in(context: Context, call: ast.Call, node: ast.If | ast.IfExp) -> bool:
    """Whether `call` is in the first arm of `node`."""
    first = node.body if isinstance(node.body, list) else [node.body]
    return any(context.index.within(call, item) for item in first)


def is_idiom(context: Context, gate: Gate) -> bool:
    """Whether all that the test decides is where things live."""
    node = gate.node
    if isinstance(node, ast.IfExp):
        return _is_same_thing(node, inverted=gate.inverted)
    arm, other = (node.orelse, node.body) if gate.inverted else (node.body, node.orelse)
    if gate.inverted and arm[0].col_offset == node.col_offset:
        return False  # `elif`
    if other and not all(isinstance(item, ast.Pass) for item in other):
        return _do_the_same(context, arm, other)
    if returned_behind(context, gate) is not None:
        return True
    return all(_only_moves(context, statement) for statement in arm)


def returned_behind(context: Context, gate: Gate) -> ast.Return | None:
    """`return x` right behind `if cuda: return x.cuda()`, which then is said already."""
    node = gate.node
    if not isinstance(node, ast.If) or gate.inverted or node.orelse or len(node.body) != 1:
        return None
    parent = context.index.parents[node]
    for block in (getattr(parent, name, None) for name in ("body", "orelse", "finalbody")):
        if isinstance(block, list) and node in block[:-1]:
            behind = block[block.index(node) + 1]
            same = isinstance(behind, ast.Return) and _unmoved(node.body[0]) == ast.dump(behind)
            return behind if same else None
    return None


def _do_the_same(context: Context, arm: list[ast.stmt], other: list[ast.stmt]) -> bool:
    """Whether an arm does what the other one does, and moves things besides; what it copies from
    checkpoints the other may have loaded to the CPU."""
    left = list(other)
    for statement in arm:
        if left and _unmoved(statement) == ast.dump(left[0]):
            left.pop(0)
        elif left and _unmoved(statement) == ast.dump(as_loaded_anywhere(context, left[0])):
            if not is_copied(context, statement):
                return False
            left.pop(0)
        elif not _only_moves(context, statement):
            return False
    return not left


def _is_same_thing(node: ast.IfExp, *, inverted: bool) -> bool:
    """`x.cuda() if cuda else x`: one value, here or there."""
    arm, other = (node.orelse, node.body) if inverted else (node.body, node.orelse)
    return _unmoved(arm) == ast.dump(other)


def _only_moves(context: Context, statement: ast.stmt) -> bool:
    """`m.cuda()`, `x = x.cuda()`, `a, b = a.cuda(), b.cuda()`, `x = [item.cuda() for item in x]`:
    nothing, but for the place; also below a question of its own, `if mask is not None:`."""
    if isinstance(statement, ast.If):
        if not _asks_for_nothing(context, statement.test):
            return False
        return all(_only_moves(context, item) for item in (*statement.body, *statement.orelse))
    if isinstance(statement, ast.For):
        if statement.orelse or not _is_looked_through(statement.iter):
            return False
        return all(_only_moves(context, item) for item in statement.body)
    if isinstance(statement, ast.Expr):
        value = statement.value
        return is_cuda_move(value) and not any(
            isinstance(n, ast.Call)
            for n in ast.walk(value.func.value)  # type: ignore[attr-defined]
        )
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target, value = statement.targets[0], statement.value
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) != len(value.elts):
            return False
        pairs = list(zip(target.elts, value.elts, strict=True))
    return all(
        moves_items(left, right)
        or (
            is_cuda_move(right)
            and (_same(left, right.func.value) or _is_item(context, left, right.func.value))  # type: ignore[attr-defined]
        )
        for left, right in pairs
    )


def _is_looked_through(given: ast.expr) -> bool:
    """`batch`, `batch.items()`, `optimizer.state.values()`: to go through it has no effect."""
    if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        return not given.args and given.func.attr in _PARTS and is_path(given.func.value)
    return is_path(given)


def _is_item(context: Context, target: ast.expr, value: ast.expr) -> bool:
    """`state[k] = v.cuda()` in a loop over `state.items()`."""
    loop = context.index.enclosing(target, ast.For)
    return (
        isinstance(target, ast.Subscript)
        and isinstance(loop, ast.For)
        and ast.unparse(loop.iter) == f"{ast.unparse(target.value)}.items()"
        and ast.unparse(loop.target).strip("()")
        == f"{ast.unparse(target.slice)}, {ast.unparse(value)}"
    )


def _asks_for_nothing(context: Context, test: ast.expr) -> bool:
    """Whether a test has no effect and no say in where things live."""
    if isinstance(test, ast.Call) and last_name(test.func) in ("isinstance", "is_tensor"):
        return all(is_path(given) for given in test.args)
    if any(isinstance(node, ast.Call | ast.NamedExpr | ast.Await) for node in ast.walk(test)):
        return False
    words = ("cuda", "gpu", "device")
    return not any(
        word in (node.id if isinstance(node, ast.Name) else node.attr).lower()
        for node in ast.walk(test)
        if isinstance(node, ast.Name | ast.Attribute)
        for word in words
    )


def _same(target: ast.expr, value: ast.expr) -> bool:
    return ast.unparse(target) == ast.unparse(value)


class _Unmoved(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if is_cuda_move(node):
            assert isinstance(node.func, ast.Attribute)
            return node.func.value
        return node


def _unmoved(node: ast.AST) -> str:
    """`ast.dump` of the node without its `.cuda()` calls."""
    import copy

    return ast.dump(_Unmoved().visit(copy.deepcopy(node)))


def keep_arm(
    context: Context, node: ast.IfExp, arm: ast.expr, inner: list[Edit]
) -> list[Edit] | None:
    source = context.source
    start, end = source.span(node)
    body_start, body_end = source.span(arm)
    if holds_comment(source, start, end):
        return None
    pieces, at = [], body_start
    for edit in sorted(inner):
        pieces += [source.text[at : edit.start], edit.text]
        at = edit.end
    text = "".join([*pieces, source.text[at:body_end]])
    # What stands around a conditional binds no stronger than what stands in it; only the brackets
    # in which an arm went over several lines are lost.
    if "\n" in text and isinstance(arm, ast.BinOp | ast.BoolOp | ast.Compare | ast.UnaryOp):
        text = f"({text})"
    return [replace_span(source, start, end, text)]
