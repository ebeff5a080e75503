"""What a statement has made sure of once it is done: it would have left, or raised, otherwise.

Early exits, assertions, skips; a process group that starts on NCCL; helpers of the file that do
one of these (`check_gpu()`, `setup(rank)`). A `.cuda()` that runs without a test proves CUDA as
well, but what comes after it is not right for that: the fact is another, `cuda-used`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import leaves
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.syntax.methods import method_of, only_method_of_self
from mpslint.semantics.terms.facts_known import NONE, Facts, last_name

if TYPE_CHECKING:
    from mpslint.semantics.elsewhere.imported import Imported
    from mpslint.semantics.guards.guards import Guards

_NCCL: Facts = frozenset({"cuda", "nccl"})
_USED: Facts = frozenset({"cuda-used"})
_RAISING = (
    "set_device",
    "current_device",
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
)
_PASSING = (ast.Call, ast.keyword, ast.Attribute, ast.Tuple, ast.List, ast.Dict, ast.Starred)
_PASSING_TOO = (ast.BinOp, ast.Subscript, ast.Await, ast.withitem)
"""Expressions that evaluate all their parts."""
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.With)
_HARMLESS = ("torch.device", "torch.amp.", "torch.autocast")
"""What takes CUDA for a device and raises nothing yet."""
_ARMS = 8
_DEPTH = 4


class Settling:
    def __init__(
        self, guards: Guards, index: Index, names: Names, told: Imported | None = None
    ) -> None:
        self._guards = guards
        self._index = index
        self._names = names
        self._told = told
        self._raisers: dict[ast.stmt, Facts] | None = None
        self._returns: dict[ast.AST, int] | None = None
        self._after: dict[ast.AST, Facts] = {}
        self._busy: list[ast.AST] = []

    def by(self, statement: ast.stmt, depth: int = _DEPTH) -> Facts:
        """What holds behind `statement`, whatever was known before it."""
        if isinstance(statement, ast.Assert):
            return self._guards.implied(statement.test, True)
        if isinstance(statement, ast.If):
            return self._branched(statement, depth)
        facts: Facts = NONE
        if isinstance(statement, ast.With | ast.AsyncWith):
            if depth and not self._guards.catches(statement):
                for item in statement.body:
                    facts |= self.by(item, depth - 1)
        elif not isinstance(statement, _SIMPLE):
            return NONE
        elif isinstance(statement, ast.Expr):
            facts = self._unless_skipped(statement.value)
        if self._raisers is None:
            self._raisers = self._find_raisers()
        facts |= self._raisers.get(statement, NONE)
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute):
            function = self._local(value.func)
            if function is not None:
                facts |= self.after(function)
            elif self._told is not None:
                facts |= self._told.settled(self._names.resolve(value.func))
        return facts

    def after(self, function: FunctionNode) -> Facts:
        """What holds once a call of `function` has come back."""
        known = self._after.get(function)
        if known is not None:
            return known
        if function in self._busy or len(self._busy) > _DEPTH:
            return NONE
        self._busy.append(function)
        facts: Facts = NONE
        try:
            end = self._first_return(function)
            for statement in function.body:
                if end is not None and (statement.end_lineno or 0) >= end:
                    break
                facts |= self.by(statement)
        finally:
            self._busy.pop()
        self._after[function] = facts
        return facts

    def _branched(self, statement: ast.If, depth: int) -> Facts:
        """Of an `if` some of whose arms leave: what the others have in common."""
        arms: list[tuple[ast.expr | None, list[ast.stmt]]] = []
        last: list[ast.stmt] = [statement]
        while len(last) == 1 and isinstance(last[0], ast.If) and len(arms) < _ARMS:
            arms.append((last[0].test, last[0].body))
            last = last[0].orelse
        arms.append((None, last))
        if depth == 0 or not any(leaves(block) for _, block in arms):
            return NONE
        refused: Facts = NONE
        staying: list[Facts] = []
        for test, block in arms:
            if not leaves(block):
                facts = refused | (self._guards.implied(test, True) if test else NONE)
                staying.append(facts)
                if not facts:
                    return NONE
            if test is not None:
                refused |= self._guards.implied(test, False)
        return frozenset.intersection(*staying) if staying else NONE

    def _unless_skipped(self, call: ast.expr) -> Facts:
        """`pytest.skip`-like calls that take their condition as an argument."""
        if isinstance(call, ast.Call) and call.args:
            name = self._names.resolve(call.func) or last_name(call.func) or ""
            if name.endswith(("skipIf", "skip_if")):
                return self._guards.implied(call.args[0], False)
            if name.endswith(("skipUnless", "assertTrue", "check")):
                return self._guards.implied(call.args[0], True)
        return NONE

    # calls that raise without CUDA

    def _find_raisers(self) -> dict[ast.stmt, Facts]:
        """Statements that cannot pass without CUDA, for a call that they surely make."""
        found: dict[ast.stmt, Facts] = {}
        calls = self._index.calls
        for call in calls.get("init_process_group", ()):
            if self.starts_nccl(call):
                self._note(call, _NCCL, found)
        for call in calls.get("cuda", ()):
            if isinstance(call.func, ast.Attribute) and self._names.resolve(call.func) is None:
                self._note(call, _USED, found)
        for word in _RAISING:
            for call in calls.get(word, ()):
                if (self._names.resolve(call.func) or "").startswith("torch.cuda."):
                    self._note(call, _USED, found)
        for text in self._index.strings:
            if text.value == "cuda" and self._places(text):
                self._note(text, _USED, found)
        return found

    def _places(self, text: ast.Constant) -> bool:
        """`x.to("cuda")`, `torch.ones(3, device="cuda")`"""
        parent = self._index.parents[text]
        if isinstance(parent, ast.keyword) and parent.arg == "device":
            call = self._index.parents[parent]
            if isinstance(call, ast.Call):
                name = self._names.resolve(call.func) or last_name(call.func) or ""
                if name.startswith(_HARMLESS):
                    return False
                return name.startswith("torch.") or name == "to"
        if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
            return parent.func.attr == "to" and parent.args[:1] == [text]
        return False

    def starts_nccl(self, call: ast.Call) -> bool:
        """Whether a process group is started on NCCL, and could not be on anything else."""
        given = arguments_for(call, 0, "backend")
        if len(given) != 1:
            return False
        backend = self._guards.behind(given[0])
        return isinstance(backend, ast.Constant) and backend.value == "nccl"

    def _note(self, node: ast.AST, facts: Facts, found: dict[ast.stmt, Facts]) -> None:
        """Hand `facts` to the statement of `node`, where it evaluates `node` each time."""
        parent = self._index.parents[node]
        while not isinstance(parent, ast.stmt):
            if not isinstance(parent, (*_PASSING, *_PASSING_TOO)):
                return
            parent = self._index.parents[parent]
        if isinstance(parent, _SIMPLE):
            found[parent] = found.get(parent, NONE) | facts

    # functions of the file

    def _local(self, function: ast.Name | ast.Attribute) -> FunctionNode | None:
        """The one function of this file that a call means; of a class, its constructor."""
        if isinstance(function, ast.Attribute):
            return only_method_of_self(self._index, function)
        bindings = self._names.bindings(function.id, function)
        if len(bindings) != 1:
            return None
        node = bindings[0].node
        if isinstance(node, ast.ClassDef):
            return method_of(node, "__init__")
        return node if isinstance(node, FUNCTIONS) and bindings[0].kind == "def" else None

    def _first_return(self, function: FunctionNode) -> int | None:
        """The row of the first `return` (or `yield`) of a function."""
        if self._returns is None:
            self._returns = {}
            for item in self._index.of(ast.Return):
                self._returns_at(item, item.lineno)
            for kind in (ast.Yield, ast.YieldFrom):
                for node in self._index.by_type.get(kind, ()):
                    self._returns_at(node, 0)  # Calling a generator runs nothing of it.
        return self._returns.get(function)

    def _returns_at(self, node: ast.AST, row: int) -> None:
        owner = self._index.function(node)
        if owner is not None and self._returns is not None:
            self._returns[owner] = min(row, self._returns.get(owner, row))
