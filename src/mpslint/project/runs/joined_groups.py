"""Functions of a project that join a process group of NCCL whatever they are asked for, be it by
way of others, some files away.

`with job_context(output_dir):` calls `setup_job(distributed_enabled=True)`, which calls
`distributed.enable()`: no Mac comes to what stands below it. What a test of a parameter decides is
decided by what the call says, or leaves to the default.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import apart
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import argument
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, walk
from mpslint.semantics.syntax.parameters import defaults_of, positional_parameters
from mpslint.semantics.syntax.ways_through import JUMPS
from mpslint.semantics.worlds.said import Said

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.runs.imported_runs import ImportedRuns
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Definition

Known = dict[str, object]
"""What parameters are; `...`: anything."""
_STARTS = "torch.distributed.init_process_group"
_WORD = b"init_process_group"
_NCCL = "nccl"
_GLOO = b"gloo"
_HOPS = 3
"""So many functions lie between a program and the start of its group."""
_FILES = 6
"""And so many files, of which each package has one that hands on what others define."""
_DEFERRED = (*FUNCTIONS, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.IfExp, ast.BoolOp)


class _Code(NamedTuple):
    """A function that is followed, with what its parameters are."""

    context: Context
    node: FunctionNode
    known: Known


class JoinedGroups:
    def __init__(
        self,
        modules: Modules,
        runs: ImportedRuns,
        definition: Callable[[str, str], Definition | None],
        hear: Callable[[int], None],
    ) -> None:
        self._modules = modules
        self._runs = runs
        self._definition = definition
        self._hear = hear
        self._leading: dict[str, bool] = {}

    def joins(self, path: str, qualified: str, given: Said) -> bool:
        """Whether a call of the function that the file at the absolute `path` calls so joins NCCL
        on each way."""
        found = self._found(path, qualified)
        if found is None:
            return False
        self._hear(self._runs.rests_on(found))
        if not self._leads(found):
            return False
        code = self._code(path, qualified, given)
        return code is not None and self._block(code, code.node.body, _HOPS) is True

    def _found(self, path: str, qualified: str) -> str | None:
        module, _ = apart(qualified)
        return self._modules.find(path, module)[0] if module.strip(".") else None

    def _leads(self, path: str) -> bool:
        """Whether a module, or one that it imports, and they in turn, starts process groups, of
        which none speaks of those without GPUs."""
        known = self._leading.get(path)
        if known is None:
            known = self._leading[path] = self._follows(path)
        return known

    def _follows(self, path: str) -> bool:
        todo, seen, found = [path], {path}, False
        for _ in range(_FILES):
            new: list[str] = []
            for module in todo:
                text = self._modules.text(module) or b""
                if _WORD in text:
                    if _GLOO in text:
                        return False
                    found = True
                new += [one for one in self._runs.imports_of(module) if one not in seen]
                seen.update(new)
            todo = new
        return found

    def _code(self, path: str, qualified: str, given: Said) -> _Code | None:
        definition = self._definition(path, qualified)
        if definition is None or len(definition.bindings) != 1:
            return None
        node = definition.bindings[0].node
        if not isinstance(node, FUNCTIONS):
            return None
        return _Code(definition.context, node, _bound(definition.context, node, given))

    def _block(self, code: _Code, body: Iterable[ast.stmt], hops: int) -> bool | None:
        """Whether a block joins; None where it is left before, on some way."""
        for statement in body:
            if isinstance(statement, ast.If):
                told = self._branch(code, statement, hops)
            elif isinstance(statement, ast.With):
                entered = (item.context_expr for item in statement.items)
                told = any(self._joins_in(code, one, hops) for one in entered)
                told = told or self._block(code, statement.body, hops)
            elif isinstance(statement, ast.Try) and not statement.handlers:
                told = self._block(code, (*statement.body, *statement.finalbody), hops)
            elif isinstance(statement, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return):
                told = statement.value is not None and self._joins_in(code, statement.value, hops)
            else:
                told = False
            if told or told is None:
                return told
            if not isinstance(statement, ast.If | ast.With) and _leaves(statement):
                return None
        return False

    def _branch(self, code: _Code, statement: ast.If, hops: int) -> bool | None:
        outcome = _outcome(statement.test, code.known)
        if outcome is not None:
            return self._block(code, statement.body if outcome else statement.orelse, hops)
        arms = statement.body, statement.orelse
        told = [self._block(code, arm, hops) for arm in arms if not _raises(arm)]
        if None in told:
            return None
        return bool(told) and all(told)

    def _joins_in(self, code: _Code, value: ast.expr, hops: int) -> bool:
        return any(self._joins(code, call, hops) for call in _calls(value))

    def _joins(self, code: _Code, call: ast.Call, hops: int) -> bool:
        qualified = code.context.resolve(call.func)
        if qualified == _STARTS:
            return _backend(call, code.known) == _NCCL
        if not hops or qualified is None or qualified.startswith("torch."):
            return False
        path = code.context.source.path
        given = _given(call, code.known)
        own = self._own(code.context, call.func, given)
        if own is not None:
            return own.node is not code.node and self._block(own, own.node.body, hops - 1) is True
        found = self._found(path, qualified)
        if found is None or not self._leads(found):
            return False
        other = self._code(path, qualified, given)
        return other is not None and self._block(other, other.node.body, hops - 1) is True

    def _own(self, context: Context, function: ast.expr, given: Said) -> _Code | None:
        """A function of the same module."""
        if not isinstance(function, ast.Name):
            return None
        bindings = context.names.module.bindings.get(function.id, [])
        node = bindings[0].node if len(bindings) == 1 else None
        if not isinstance(node, FUNCTIONS):
            return None
        return _Code(context, node, _bound(context, node, given))


def _calls(value: ast.AST) -> Iterator[ast.Call]:
    """The calls that an expression makes on each way."""
    if isinstance(value, _DEFERRED):
        return
    if isinstance(value, ast.Call):
        yield value
    for child in ast.iter_child_nodes(value):
        yield from _calls(child)


def _raises(arm: list[ast.stmt]) -> bool:
    return bool(arm) and isinstance(arm[-1], ast.Raise)


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement may lead out of the block; a generator gives what it gives there."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return False
    return any(isinstance(item, (*JUMPS, ast.Yield, ast.YieldFrom)) for item in walk(statement))


def _bound(context: Context, node: FunctionNode, given: Said) -> Known:
    """What the parameters of a function are throughout, by its defaults and what a call gives; one
    that the function binds again (`distributed = distributed and workers > 1`) may be anything."""
    positional = positional_parameters(node.args)
    known: Known = {
        item.arg: default.value
        for item, default in defaults_of(node.args)
        if isinstance(default, ast.Constant)
    }
    for key, value in given:
        if isinstance(key, str):
            known[key] = value
        elif key < 0:
            return {}
        elif key < len(positional):
            known[positional[key].arg] = value
    bindings = context.names.own_scope(node).bindings
    return {
        name: value
        for name, value in known.items()
        if all(binding.kind == "parameter" for binding in bindings.get(name, ()))
    }


def _given(call: ast.Call, known: Known) -> Said:
    if any(isinstance(item, ast.Starred) for item in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    ):
        return ((-1, ...),)
    return (
        *((at, _value(item, known)) for at, item in enumerate(call.args)),
        *((item.arg or "", _value(item.value, known)) for item in call.keywords),
    )


def _value(node: ast.expr, known: Known) -> object:
    if isinstance(node, ast.Constant):
        return node.value
    return known.get(node.id, ...) if isinstance(node, ast.Name) else ...


def _backend(call: ast.Call, known: Known) -> object:
    given = argument(call, 0, "backend")
    return _value(given, known) if given is not None else None


def _outcome(test: ast.expr, known: Known) -> bool | None:
    """How a test of a parameter comes out; None where that is not known."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        outcome = _outcome(test.operand, known)
        return None if outcome is None else not outcome
    if not isinstance(test, ast.Name):
        return None
    value = known.get(test.id, ...)
    return None if value is ... else bool(value)
