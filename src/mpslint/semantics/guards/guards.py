"""What is known to be true where a node runs: is CUDA there, is MPS there, which device is it.

The facts are those of `conditions`, collected on the way from the module down to the node:
branches, early exits, assertions, decorators, loops over GPUs, handlers.
"""

from __future__ import annotations

import ast
import weakref
from typing import TYPE_CHECKING

from mpslint.facts.priors import decorator_worlds
from mpslint.semantics.guards.callers import Callers
from mpslint.semantics.guards.conditions import Conditions
from mpslint.semantics.guards.gpu_counts import GpuCounts
from mpslint.semantics.guards.settling import Settling
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.terms.facts_known import NONE, Facts, last_name

if TYPE_CHECKING:
    from mpslint.semantics.elsewhere.imported import Imported

_CATCHING = (
    "contextlib.suppress",
    "pytest.raises",
    "unittest.mock.patch",
    "unittest.mock.patch.object",
)
"""Context managers in which nothing raises for good, or nothing real is called."""
_BROAD = {"Exception", "BaseException", "RuntimeError", "AssertionError", "NotImplementedError"}


_Place = tuple[list[ast.stmt], list[Facts], int]
"""The block of a statement, what is settled before each of its first statements, its number."""


class Guards:
    def __init__(
        self, index: Index, names: Names, flow: Flow, told: Imported | None = None
    ) -> None:
        """`told` tells of names that the file imports from its project."""
        self._index = index
        self._names = names
        self._flow = flow
        self._at: dict[ast.AST, Facts] = {}
        self._places: dict[ast.AST, dict[ast.stmt, _Place]] = {}
        # The parts ask back; weakly, so that no cycle keeps a file's tree.
        back = weakref.proxy(self)
        self._counts = counts = GpuCounts(back, index, names, flow)
        self._conditions = Conditions(back, counts, index, names, flow, told)
        self._settling = Settling(back, index, names, told)
        self.callers = Callers(back, self._settling, counts, index, names, told)

    def at(self, node: ast.AST) -> Facts:
        """All facts that hold whenever `node` is evaluated."""
        chain: list[ast.AST] = []
        facts: Facts = NONE
        current: ast.AST | None = node
        while current is not None:
            known = self._at.get(current)
            if known is not None:
                facts = known
                break
            chain.append(current)
            current = self._index.parents.get(current)
        # Downwards again; a loop, because `elif` chains nest hundreds deep in generated code.
        for step in reversed(chain):
            parent = self._index.parents.get(step)
            if parent is not None:
                if isinstance(parent, FUNCTIONS) and "caught" in facts:
                    facts -= {"caught"}  # It is caught where it is defined, not where it runs.
                facts |= self._step(parent, step)
            self._at[step] = facts
        return facts

    def has(self, node: ast.AST, *facts: str) -> bool:
        """Whether one of `facts` holds at `node`."""
        return not self.at(node).isdisjoint(facts)

    def on_cuda(self, node: ast.AST) -> bool:
        """Whether `node` runs only where CUDA is there (or not at all)."""
        return "cuda" in self.at(node)

    def on_mps(self, node: ast.AST) -> bool:
        return "mps" in self.at(node)

    def catches(self, statement: ast.With | ast.AsyncWith) -> bool:
        """Whether what is raised in a `with` block is expected there."""
        for item in statement.items:
            call = item.context_expr
            if isinstance(call, ast.Call):
                asserted = (last_name(call.func) or "").startswith("assertRaises")
                if asserted or self._names.resolve(call.func) in _CATCHING:
                    return True
        return False

    # from parent to child

    def _step(self, parent: ast.AST, child: ast.AST) -> Facts:
        facts: Facts = NONE
        if isinstance(parent, ast.If | ast.While | ast.IfExp):
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            orelse = parent.orelse if isinstance(parent.orelse, list) else [parent.orelse]
            if child in body:
                facts = self.implied(parent.test, True)
            elif child in orelse and not isinstance(parent, ast.While):
                facts = self.implied(parent.test, False)
        elif isinstance(parent, ast.BoolOp):
            for value in parent.values:
                if value is child:
                    break
                facts |= self.implied(value, isinstance(parent.op, ast.And))
        elif isinstance(parent, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            if not isinstance(child, ast.comprehension):
                for generator in parent.generators:
                    if self._over_gpus(generator.iter):
                        facts |= {"cuda"}
                    for test in generator.ifs:
                        facts |= self.implied(test, True)
        elif (isinstance(parent, FUNCTIONS) and isinstance(child, ast.stmt)) or (
            isinstance(parent, ast.ClassDef) and isinstance(child, ast.stmt)
        ):
            facts = self._marked(parent.decorator_list) | self.callers.entry(parent)
        elif isinstance(parent, ast.Try) and child in parent.body:
            if any(self._catches(handler) for handler in parent.handlers):
                facts = frozenset({"caught"})
        elif isinstance(parent, ast.With | ast.AsyncWith) and isinstance(child, ast.stmt):
            if self.catches(parent):
                facts = frozenset({"caught"})
        elif isinstance(parent, ast.For) and child in parent.body:
            if self._over_gpus(parent.iter):
                facts = frozenset({"cuda"})
        if isinstance(child, ast.stmt):
            facts |= self._earlier(parent, child)
        return facts

    def _over_gpus(self, iterable: ast.expr) -> bool:
        """`for i in range(torch.cuda.device_count())`: no GPU, no turn."""
        if not isinstance(iterable, ast.Call) or last_name(iterable.func) != "range":
            return False
        *start, stop = iterable.args or [iterable]
        if len(start) > 1 or any(not isinstance(item, ast.Constant) for item in start):
            return False
        return self._counts.implies_cuda(stop, 1)

    def _earlier(self, parent: ast.AST, child: ast.stmt) -> Facts:
        """What early exits and assertions before `child` in its block have settled."""
        places = self._places.get(parent)
        if places is None:
            places = self._places[parent] = _places(parent)
        place = places.get(child)
        if place is None:
            return NONE
        # Each statement of a block is looked at once, however many children are asked about.
        block, settled, at = place
        while len(settled) <= at:
            last = len(settled) - 1
            facts = settled[last] | self._settled(parent, block[last])
            if len(settled) == last + 1:
                settled.append(facts)
        return settled[at]

    def _settled(self, parent: ast.AST, statement: ast.stmt) -> Facts:
        """What is so behind `statement`, a child of `parent`, because of it."""
        facts = self._settling.by(statement)
        if isinstance(statement, ast.Assign) and isinstance(parent, ast.Module):
            target = statement.targets[0]
            if isinstance(target, ast.Name) and target.id == "pytestmark":
                marks = statement.value
                items = marks.elts if isinstance(marks, ast.List | ast.Tuple) else [marks]
                facts |= self._marked(items)
        return facts

    def _catches(self, handler: ast.ExceptHandler) -> bool:
        last, kinds = handler.body[-1], handler.type
        if isinstance(last, ast.Raise) and last.exc is None:
            return False
        if kinds is None:
            return True
        items = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
        return any(last_name(item) in _BROAD for item in items)

    def _marked(self, decorators: list[ast.expr]) -> Facts:
        facts: Facts = NONE
        for decorator in decorators:
            if isinstance(decorator, ast.Name):
                # `needs_gpu = pytest.mark.skipif(...)`, used as `@needs_gpu`
                kept = self.behind(decorator)
                if isinstance(kept, ast.Call):
                    facts |= self._marked([kept])
            call = decorator if isinstance(decorator, ast.Call) else None
            function = call.func if call else decorator
            last = last_name(function) or ""
            if call and call.args and last in ("skipif", "skipIf", "skip_if"):
                facts |= self.implied(call.args[0], False)
            elif call and call.args and last in ("skipUnless", "skip_unless"):
                facts |= self.implied(call.args[0], True)
            elif (worlds := decorator_worlds(last)) is not None:
                facts |= {worlds}
        return facts

    # conditions

    def implied(self, test: ast.expr, outcome: bool) -> Facts:
        """The facts that follow when `test` is true (or false) in the boolean sense."""
        return self._conditions.implied(test, outcome)

    def after(self, function: FunctionNode) -> Facts:
        """What holds once a call of `function`, one of this file, has come back."""
        return self._settling.after(function)

    def implied_by_return(self, function: ast.FunctionDef, outcome: bool) -> Facts:
        """What follows when `function`, one of this file, returns something true (or false)."""
        return self._conditions.returning.implied(function, outcome)

    def assigned(self, node: ast.Attribute) -> list[ast.expr]:
        """Right sides of all assignments in this file to the same spelling (`args.cuda`)."""
        return self._conditions.assigned(node)

    def behind(self, test: ast.expr) -> ast.expr:
        """What a flag was assigned, where that is one expression; else the test itself."""
        return self._conditions.behind(test)


def _places(parent: ast.AST) -> dict[ast.stmt, _Place]:
    """The place of each statement in the blocks of `parent`."""
    places: dict[ast.stmt, _Place] = {}
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list):
            settled = [NONE]
            places.update((item, (block, settled, at)) for at, item in enumerate(block))
    return places
