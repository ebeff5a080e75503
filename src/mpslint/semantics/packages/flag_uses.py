"""What else a flag for CUDA decides: whether a move that it gates can be opened alone.

`if use_cuda: net = net.cuda()` is opened to MPS only where nothing else that the flag decides
stays on the CPU then: `x = move_to_cuda(x) if use_cuda else x`, `if use_cuda: prepare(x)`, and
`run(net, use_cuda)` with a body out of sight would part the data from the model. Seeds, pinned
memory, autocast, cuDNN, messages and the choice of the device itself do no harm.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.packages.consumers import given_to, reads
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CALM_CALLS = frozenset(
    {"print", "info", "debug", "warning", "warn", "error", "exception", "critical", "log", "write"}
    | {"format", "join", "append", "str", "int", "float", "bool", "len", "range", "list", "dict"}
    | {"tuple", "set", "min", "max", "sum", "getattr", "hasattr", "isinstance", "startswith"}
    | {"split", "replace", "update", "get", "setdefault", "DataParallel", "GradScaler"}
    | {"DistributedDataParallel", "Event", "record", "elapsed_time", "add_argument", "exit"}
    | {"seed", "manual_seed", "manual_seed_all", "seed_all", "add_scalar", "cpu", "numpy"}
)
_THROUGH = ("bool", "int", "all", "any", "not_")
_DEPTH = 5


_FOREIGN_MOVER = "{}: a function of elsewhere moves other things to CUDA by itself"
_PARTING = "{}: the same flag decides what goes to CUDA, and that would stay"


def moved_elsewhere(context: Context) -> str:
    """Why what moves to MPS here would not meet what a function from elsewhere moves; empty: there
    is none."""
    call = foreign_mover(context)
    return _FOREIGN_MOVER.format(context.line(call)) if call is not None else ""


def parting(context: Context, tests: Iterable[ast.expr], rewritten: Iterable[ast.AST]) -> str:
    """Why data would be left behind if tests were opened to MPS; empty: see `parting_use`."""
    use = parting_use(context, tests, rewritten)
    return _PARTING.format(context.line(use)) if use is not None else ""


def foreign_mover(context: Context) -> ast.Call | None:
    """A call of a function from elsewhere that moves to CUDA by its name (`move_to_cuda(x)`); one
    that the project defines is looked at where it stands."""
    for name, calls in context.index.calls.items():
        if name == "cuda" or not matches("cuda-movers", name):
            continue
        for call in calls:
            if not _is_own(context, call) and not _of_torch(context, call):
                name_elsewhere = context.resolve(call.func)
                if name_elsewhere is None or context.definition_elsewhere(name_elsewhere) is None:
                    return call
    return None


def parting_use(
    context: Context, tests: Iterable[ast.expr], rewritten: Iterable[ast.AST]
) -> ast.AST | None:
    """A use of a flag in `tests` that would leave data behind if the tests were opened to MPS.

    Only flags that are false wherever CUDA is not: what a mere switch (`--cuda`) decides raises
    there today. `rewritten` are the tests that go, or choose the device.
    """
    done = set(rewritten)
    for test in tests:
        for flag in _flags(context, test):
            for use in _uses(context, flag):
                if not _harmless(context, use, done, _DEPTH):
                    return use
    return None


def _is_own(context: Context, call: ast.Call) -> bool:
    """Whether a function of this file is called: its body is fixed with the rest."""
    if isinstance(call.func, ast.Name):
        bindings = context.names.bindings(call.func.id, call.func)
        return bool(bindings) and all(isinstance(b.node, FUNCTIONS) for b in bindings)
    name = last_name(call.func)
    return any(function.name == name for function in context.index.functions())


def _of_torch(context: Context, call: ast.Call) -> bool:
    top = (context.resolve(call.func) or "").split(".")[0]
    return top in ("torch", "faiss", "cupy", "cv2")


def _flags(context: Context, test: ast.expr) -> Iterator[ast.Name | ast.Attribute]:
    """The names in a test that say that CUDA is there."""
    if isinstance(test, ast.UnaryOp):
        yield from _flags(context, test.operand)
    elif isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _flags(context, value)
    elif isinstance(test, ast.Name | ast.Attribute):
        for outcome in (True, False):
            facts = context.guards.implied(test, outcome)
            # A flag that is always on is no question to the machine.
            if "cuda" in facts and "impossible" not in facts:
                yield test


def _uses(context: Context, flag: ast.Name | ast.Attribute) -> Iterator[ast.expr]:
    """Everything that reads the same flag."""
    if isinstance(flag, ast.Name):
        owner = context.names.owner(flag.id, flag)
        for use in context.index.names.get(flag.id, ()):
            if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is owner:
                yield use
        return
    spelled = ast.unparse(flag)
    for read in context.index.attributes.get(flag.attr, ()):
        if isinstance(read.ctx, ast.Load) and ast.unparse(read) == spelled:
            yield read


def _harmless(context: Context, use: ast.AST, done: set[ast.AST], depth: int) -> bool:
    child, parent = use, context.index.parents[use]
    while child not in done and _is_condition(context, parent, child):
        child, parent = parent, context.index.parents[parent]
    if child in done:
        return True
    if depth == 0:
        return False
    if isinstance(parent, ast.If | ast.While):
        arm = parent.body
        if isinstance(parent, ast.If) and "cuda" not in context.guards.implied(parent.test, True):
            arm = parent.orelse or parent.body
        return all(_is_calm(context, statement, done) for statement in arm)
    if isinstance(parent, ast.IfExp):
        return _is_calm_value(context, parent.body) and _is_calm_value(context, parent.orelse)
    if isinstance(parent, ast.keyword | ast.Call):
        return _harmless_argument(context, parent, child, done, depth)
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return all(_harmless_target(context, target, done, depth) for target in targets)
    return isinstance(
        parent, ast.Expr | ast.Assert | ast.FormattedValue | ast.JoinedStr | ast.BinOp
    )


def _is_condition(context: Context, parent: ast.AST, child: ast.AST) -> bool:
    if isinstance(parent, ast.UnaryOp | ast.BoolOp | ast.Compare | ast.NamedExpr):
        return True
    if isinstance(parent, ast.IfExp):
        return parent.test is not child
    if isinstance(parent, ast.Call):
        return child in parent.args and last_name(parent.func) in _THROUGH
    return isinstance(parent, ast.Tuple) and isinstance(context.index.parents[parent], ast.BinOp)


def _harmless_argument(
    context: Context, parent: ast.keyword | ast.Call, given: ast.AST, done: set[ast.AST], depth: int
) -> bool:
    call: ast.AST = parent
    if isinstance(parent, ast.keyword):
        given, call = parent, context.index.parents[parent]
    if not isinstance(call, ast.Call):
        return False
    if (context.resolve(call.func) or "").startswith("torch."):
        return True
    if last_name(call.func) in _CALM_CALLS:
        return True
    function, inside = given_to(context, call, given)
    return function is not None and all(_harmless(context, u, done, depth - 1) for u in inside)


def _harmless_target(context: Context, target: ast.expr, done: set[ast.AST], depth: int) -> bool:
    if not isinstance(target, ast.Name | ast.Attribute):
        return False
    return all(_harmless(context, use, done, depth - 1) for use in reads(context, target))


# what runs where the flag is on


def _is_calm(context: Context, statement: ast.stmt, done: set[ast.AST]) -> bool:
    """Whether a statement moves nothing, as far as it can be seen."""
    if isinstance(statement, ast.If):
        if statement.test in done:
            return True
        blocks = [*statement.body, *statement.orelse]
        return _is_calm_value(context, statement.test) and all(
            _is_calm(context, item, done) for item in blocks
        )
    if isinstance(statement, ast.For | ast.With | ast.Try | ast.While):
        inner: list[ast.stmt] = list(statement.body)
        inner += [item for h in getattr(statement, "handlers", ()) for item in h.body]
        return all(_is_calm(context, item, done) for item in inner)
    return all(_is_calm_value(context, node) for node in ast.iter_child_nodes(statement))


def _is_calm_value(context: Context, value: ast.AST) -> bool:
    return all(
        _is_calm_call(context, node) for node in ast.walk(value) if isinstance(node, ast.Call)
    )


def _is_calm_call(context: Context, call: ast.Call) -> bool:
    name = last_name(call.func) or ""
    if (context.resolve(call.func) or "").startswith("torch.") or name in _CALM_CALLS:
        return True
    if name in ("cuda", "to") or matches("device-words", name):
        return False
    return not call.args and not call.keywords
