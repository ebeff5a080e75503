"""What helpers write that a program calls before it reads: `save_checkpoint(model, folder)`, then
`torch.load(os.path.join(folder, "model.pt"))`. The helper may stand in another file of the project.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.index import FUNCTIONS, LOOPS, FunctionNode
from mpslint.semantics.order import precedes
from mpslint.semantics.value_syntax import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SAVERS = ("torch.save", "torch.jit.save")


class _Helper(NamedTuple):
    context: Context
    node: FunctionNode


def written_by_helpers(context: Context, call: ast.Call, place: ast.expr) -> bool:
    """Whether a function that was called before `call`, or at an earlier turn of the loop in which
    `call` repairs an error, writes the file that `place` names there."""
    wanted = ast.unparse(place)
    return any(
        wanted == ast.unparse(written)
        for step, helper in _helped(context, call)
        for written in _places(helper, step)
    )


def _helped(context: Context, call: ast.Call) -> Iterator[tuple[ast.Call, _Helper]]:
    function = context.index.function(call)
    loop = _repaired(context, call)
    for step in context.index.of(ast.Call):
        if step is call or context.index.function(step) is not function:
            continue
        before = precedes(context, step, call)
        if before or (loop is not None and context.index.within(step, loop)):
            helper = _called(context, step)
            if helper is not None:
                yield step, helper


def _repaired(context: Context, call: ast.Call) -> ast.AST | None:
    """The loop in which `call` stands in the handler of an error."""
    handler = context.index.enclosing(call, ast.ExceptHandler)
    return context.index.enclosing(handler, *LOOPS) if handler is not None else None


def _called(context: Context, step: ast.Call) -> _Helper | None:
    """The function of the project that is called by its name."""
    if not isinstance(step.func, ast.Name | ast.Attribute):
        return None
    if isinstance(step.func, ast.Name):
        own = [item.node for item in context.names.module.bindings.get(step.func.id, ())]
        if len(own) == 1 and isinstance(own[0], FUNCTIONS):
            return _Helper(context, own[0])
    qualified = context.resolve(step.func)
    if qualified is None or context.elsewhere is None:
        return None
    found = context.elsewhere.definition(context.source.path, qualified)
    if found is None or len(found.bindings) != 1:
        return None
    node = found.bindings[0].node
    return _Helper(found.context, node) if isinstance(node, FUNCTIONS) else None


def _places(helper: _Helper, step: ast.Call) -> Iterator[ast.expr]:
    """The files that a helper writes, as its caller would name them."""
    context, node = helper
    given: dict[str, ast.expr] | None = None
    for name in _SAVERS:
        for saved in context.calls_of(name):
            if context.index.function(saved) is not node or len(saved.args) < 2:
                target = keyword(saved, "f") if context.index.function(saved) is node else None
            else:
                target = saved.args[1]
            if target is None:
                continue
            if given is None:
                given = _given(node, step)
            named = _Named(context, given)
            place = named.visit(copy.deepcopy(_spelled_out(context, target)))
            if named.known:
                yield place


def _spelled_out(context: Context, target: ast.expr) -> ast.expr:
    """What a name for a path was assigned: `path = os.path.join(folder, "model.pt")`."""
    bindings = context.flow.reaching(target) if isinstance(target, ast.Name) else ()
    if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
        return bindings[0].value
    return target


def _given(node: FunctionNode, step: ast.Call) -> dict[str, ast.expr]:
    """What a call gives the parameters of a function, or what they are by default."""
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = zip(reversed(positional), reversed(node.args.defaults), strict=False)
    given = {item.arg: default for item, default in defaults}
    if any(isinstance(item, ast.Starred) for item in step.args):
        return {}
    given.update(zip((item.arg for item in positional), step.args, strict=False))
    given.update({item.arg: item.value for item in step.keywords if item.arg is not None})
    return given


class _Named(ast.NodeTransformer):
    """Puts what a call gives in place of parameters."""

    def __init__(self, context: Context, given: dict[str, ast.expr]) -> None:
        self._context = context
        self._given = given
        self.known = True
        """Whether all names are the caller's as well."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._given:
            return self._given[node.id]
        bindings = self._context.names.module.bindings.get(node.id, ())
        self.known &= bool(bindings) and all(item.kind == "import" for item in bindings)
        return node
