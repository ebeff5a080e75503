"""What helpers write that a program calls before it reads: `save_checkpoint(model, folder)`, then
`torch.load(os.path.join(folder, "model.pt"))`. The helper may stand in another file of the project.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.records import NamedTuple
from mpslint.semantics.saved.file_names import spelling_of
from mpslint.semantics.syntax.expressions import argument, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS, FunctionNode
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.order import precedes
from mpslint.semantics.syntax.parameters import defaults_of, positional_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKING = ("exists", "isfile", "is_file")
"""What `os.path` and `pathlib` ask whether a file is there by."""
_SAVERS = ("torch.save", "torch.jit.save")


class _Helper(NamedTuple):
    context: Context
    node: FunctionNode
    bound: bool = False
    """A method, whose first parameter no call gives."""


def written_by_helpers(context: Context, call: ast.Call, place: ast.expr) -> bool:
    """Whether a function that was called before `call`, or at an earlier turn of the loop in which
    `call` repairs an error, writes the file that `place` names there."""
    wanted = {ast.unparse(place), ast.unparse(_spelled_out(context, place))}
    spelled = spelling_of(context, place, named=True)
    return any(
        _is_told_to_save(context, step, spelled)
        or any(
            ast.unparse(written) in wanted
            for helper in (_called(context, step),)
            if helper is not None
            for written in _places(helper, step)
        )
        for step in _before(context, call)
        if not only_fills_a_gap(context, step, spelled)
    )


def only_fills_a_gap(context: Context, step: ast.Call, place: str) -> bool:
    """Whether a file is only written where it is not there yet: `if not path.exists():`. Most runs
    read what another one has left, which somebody may have got from elsewhere."""
    return any(
        _asks_for(context, test.operand, place)
        for around in context.index.ancestors(step)
        if isinstance(around, ast.If)
        and any(context.index.within(step, item) for item in around.body)
        for test in ast.walk(around.test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    )


def _asks_for(context: Context, asked: ast.expr, place: str) -> bool:
    """`os.path.exists(path)`, `path.exists()`"""
    if not isinstance(asked, ast.Call) or last_name(asked.func) not in _ASKING:
        return False
    given = asked.args[0] if asked.args else getattr(asked.func, "value", None)
    return given is not None and spelling_of(context, given, named=True) == place


def _is_told_to_save(context: Context, step: ast.Call, place: str) -> bool:
    """`trainer.save(path="run", model_filename="model.pt")`, for `"run/model.pt"`: whoever saves is
    given the very file, or its folder and its name, whatever writes it."""
    if not matches("saving-functions", last_name(step.func) or ""):
        return False
    given = [item for item in step.args if not isinstance(item, ast.Starred)]
    given += [item.value for item in step.keywords if item.arg is not None]
    parts = [spelling_of(context, item, named=True) for item in given]
    return place in parts or any(
        place == f"{folder.rstrip('/')}/{name}"
        for index, folder in enumerate(parts)
        for name in parts[index + 1 :]
    )


def _before(context: Context, call: ast.Call) -> Iterator[ast.Call]:
    """What the same function calls before `call`."""
    function = context.index.function(call)
    loop = _repaired(context, call)
    for step in context.index.of(ast.Call):
        if step is call or context.index.function(step) is not function:
            continue
        before = precedes(context, step, call)
        if before or (loop is not None and context.index.within(step, loop)):
            yield step


def _repaired(context: Context, call: ast.Call) -> ast.AST | None:
    """The loop in which `call` stands in the handler of an error."""
    handler = context.index.enclosing(call, ast.ExceptHandler)
    return context.index.enclosing(handler, *LOOPS) if handler is not None else None


def _called(context: Context, step: ast.Call) -> _Helper | None:
    """The function of the project that is called by its name."""
    if not isinstance(step.func, ast.Name | ast.Attribute):
        return None
    if isinstance(step.func, ast.Name):
        made = _spelled_out(context, step.func)
        if isinstance(made, ast.Call):
            cls = _defined(context, made.func)
            node = method_of(cls[1], "__call__") if cls is not None else None
            return _Helper(cls[0], node, bound=True) if cls is not None and node else None
    found = _defined(context, step.func)
    if found is None or not isinstance(found[1], FUNCTIONS):
        return None
    return _Helper(found[0], found[1])


def _defined(context: Context, name: ast.expr) -> tuple[Context, ast.AST] | None:
    """The one function or class of the project that a name stands for, with its file."""
    if isinstance(name, ast.Name):
        own = [item.node for item in context.names.module.bindings.get(name.id, ())]
        if len(own) == 1 and isinstance(own[0], (*FUNCTIONS, ast.ClassDef)):
            return context, own[0]
    qualified = context.resolve(name)
    if qualified is None or context.elsewhere is None:
        return None
    found = context.elsewhere.definition(context.source.path, qualified)
    if found is None or len(found.bindings) != 1:
        return None
    return found.context, found.bindings[0].node


def _places(helper: _Helper, step: ast.Call) -> Iterator[ast.expr]:
    """The files that a helper writes, as its caller would name them."""
    context, node, bound = helper
    given: dict[str, ast.expr] | None = None
    for target in (*_saved_to(context, node), *_saved_by_methods(helper)):
        if given is None:
            given = _given(node, step, bound=bound)
        named = _Named(context, given)
        place = named.visit(copy.deepcopy(_spelled_out(context, target)))
        if named.known:
            yield place


def _saved_by_methods(helper: _Helper) -> Iterator[ast.expr]:
    """The files that the methods write which a method calls on its object, as it names them."""
    context, node, bound = helper
    owner = context.index.parents[node]
    if not bound or not node.args.args:
        return
    for call in context.index.of(ast.Call):
        function = call.func
        if context.index.function(call) is not node or not isinstance(function, ast.Attribute):
            continue
        if ast.unparse(function.value) == node.args.args[0].arg:
            method = method_of(owner, function.attr)
            if method is not None and method is not node:
                given = _given(method, call, bound=True)
                for target in _saved_to(context, method):
                    named = _Named(context, given)
                    place = named.visit(copy.deepcopy(_spelled_out(context, target)))
                    if named.known:
                        yield place


def _saved_to(context: Context, node: FunctionNode) -> Iterator[ast.expr]:
    """The files that a function itself writes, as it names them."""
    for name in _SAVERS:
        for saved in context.calls_of(name):
            if context.index.function(saved) is not node:
                continue
            target = argument(saved, 1, "f")
            if target is not None:
                yield target


def _spelled_out(context: Context, target: ast.expr) -> ast.expr:
    """What a name for a path was assigned: `path = os.path.join(folder, "model.pt")`."""
    bindings = context.flow.reaching(target) if isinstance(target, ast.Name) else ()
    if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
        return bindings[0].value
    return target


def _given(node: FunctionNode, step: ast.Call, *, bound: bool) -> dict[str, ast.expr]:
    """What a call gives the parameters of a function, or what they are by default."""
    positional = positional_parameters(node.args)[1 if bound else 0 :]
    given = {item.arg: default for item, default in defaults_of(node.args)}
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
