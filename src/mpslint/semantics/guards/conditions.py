"""What follows when a condition holds, or does not: facts about backends and devices.

Tests are read through flags, helper functions of the file, attributes and counts of GPUs. The
facts are those of `mpslint.semantics.terms.facts_known`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.elsewhere.imported import imported_base
from mpslint.semantics.guards.gpu_counts import GpuCounts
from mpslint.semantics.guards.returning import Returning
from mpslint.semantics.names.assigned import Assigned
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.syntax.order import may_be_passed_by
from mpslint.semantics.terms.facts_known import (
    CALLS,
    DEVICE_FACTS,
    IMPOSSIBLE,
    NONE,
    OTHER_DEVICES,
    Facts,
    backend_word,
    by_constant_name,
    by_helper_name,
    common,
    is_backend,
    last_name,
    names_device,
)

if TYPE_CHECKING:
    from mpslint.semantics.elsewhere.imported import Imported
    from mpslint.semantics.guards.guards import Guards


class Conditions:
    """Facts from tests, read through flags, helper functions and attributes."""

    def __init__(
        self,
        guards: Guards,
        counts: GpuCounts,
        index: Index,
        names: Names,
        flow: Flow,
        told: Imported | None = None,
    ) -> None:
        self._guards = guards
        self._counts = counts
        self._index = index
        self._names = names
        self._flow = flow
        self._told = told
        self._busy: set[object] = set()
        self._assigned = Assigned(index)
        self.returning = Returning(guards, index, names)

    def implied(self, test: ast.expr, outcome: bool) -> Facts:
        """The facts that follow when `test` is true (or false) in the boolean sense."""
        key = (test, outcome)
        if key in self._busy:
            return NONE
        self._busy.add(key)
        try:
            return self._implied(test, outcome)
        finally:
            self._busy.discard(key)

    def _implied(self, test: ast.expr, outcome: bool) -> Facts:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.implied(test.operand, not outcome)
        if isinstance(test, ast.BoolOp):
            parts = [self.implied(value, outcome) for value in test.values]
            if isinstance(test.op, ast.And) == outcome:
                return frozenset().union(*parts)
            return common(parts)
        if isinstance(test, ast.BinOp) and isinstance(test.op, ast.BitAnd | ast.BitOr):
            # `torch.cuda.is_available() & config.cuda`: of truth values, `and` and `or`.
            both = self.implied(test.left, outcome), self.implied(test.right, outcome)
            every = isinstance(test.op, ast.BitAnd) == outcome
            return both[0] | both[1] if every else common([*both])
        if isinstance(test, ast.Constant):
            return NONE if bool(test.value) == outcome else IMPOSSIBLE
        if isinstance(test, ast.Call):
            return self._call(test, outcome)
        if isinstance(test, ast.Compare):
            return self._compare(test, outcome)
        if isinstance(test, ast.Name):
            return self._name(test, outcome)
        if isinstance(test, ast.Attribute):
            return self._attribute(test, outcome)
        if isinstance(test, ast.IfExp):
            return common(
                [
                    self.implied(test.test, True) | self.implied(test.body, outcome),
                    self.implied(test.test, False) | self.implied(test.orelse, outcome),
                ]
            )
        if isinstance(test, ast.NamedExpr):
            return self.implied(test.value, outcome)
        return NONE

    def _call(self, call: ast.Call, outcome: bool) -> Facts:
        name = self._names.resolve(call.func)
        if name in CALLS:
            return CALLS[name][0 if outcome else 1]
        last = last_name(call.func)
        if name == "bool" or (last == "bool" and call.args):
            return self.implied(call.args[0], outcome) if call.args else NONE
        if last in ("any", "all") and len(call.args) == 1:
            argument = call.args[0]
            if isinstance(argument, ast.List | ast.Tuple) and argument.elts:
                parts = [self.implied(item, outcome) for item in argument.elts]
                if (last == "all") == outcome:
                    return frozenset().union(*parts)
                return common(parts)
        if last == "hasattr" and len(call.args) == 2:
            return self._hasattr(call, outcome)
        if (
            last in ("startswith", "endswith")
            and isinstance(call.func, ast.Attribute)
            and call.args
        ):
            backend = backend_word(call.args[0])
            if backend and last == "startswith":
                return is_backend(backend, outcome)
        helper = by_helper_name(last or "", outcome)
        if helper is not None:
            return helper
        if name is not None and "." in name:
            return self._imported(name, outcome, called=True)
        return self.returning.called(call, outcome)

    def _imported(self, name: str | None, outcome: bool, *, called: bool) -> Facts:
        """A flag, or what a function returns, of another module of the project."""
        return self._told.implied(name, outcome, called=called) if self._told is not None else NONE

    def _hasattr(self, call: ast.Call, outcome: bool) -> Facts:
        holder, attribute = call.args
        name = self._names.resolve(holder)
        word = attribute.value if isinstance(attribute, ast.Constant) else None
        if (name, word) in (("torch", "mps"), ("torch.backends", "mps")) or name == "torch.mps":
            return frozenset({"mps-attribute"}) if outcome else frozenset({"no-mps"})
        return NONE

    def _compare(self, test: ast.Compare, outcome: bool) -> Facts:
        if len(test.ops) != 1:
            return NONE
        left, operator, right = test.left, test.ops[0], test.comparators[0]
        if isinstance(operator, ast.NotEq | ast.NotIn | ast.IsNot):
            outcome = not outcome
        counted = self._counted(left, operator, right)
        if counted is not None:
            return counted[0 if outcome else 1]
        if isinstance(operator, ast.Eq | ast.NotEq | ast.Is | ast.IsNot):
            return self._equal(left, right, outcome)
        if isinstance(operator, ast.In | ast.NotIn):
            return self._member(left, right, outcome)
        return NONE

    def _counted(
        self, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> tuple[Facts, Facts] | None:
        """`torch.cuda.device_count() > 0` and its spellings: (if it holds, if it does not).

        `!=` is asked for as `==`, with the outcome turned round by the caller.
        """
        number = self._counts.constant(right)
        if number is None:
            return None
        if isinstance(operator, ast.Gt | ast.GtE):
            return self._counts.reached(left, number + isinstance(operator, ast.Gt))
        if isinstance(operator, ast.Lt | ast.LtE):
            yes, no = self._counts.reached(left, number + isinstance(operator, ast.LtE))
            return no, yes
        if not isinstance(operator, ast.Eq | ast.NotEq):
            return None
        yes, no = self._counts.reached(left, max(number, 1))
        if not yes and not no:
            return None
        return (yes, NONE) if number > 0 else (no, yes)

    def _equal(self, left: ast.expr, right: ast.expr, outcome: bool) -> Facts:
        if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
            left, right = right, left
        backend = backend_word(right) or self._device_call_backend(right)
        if backend:
            if self._system(left):
                return NONE
            return is_backend(backend, outcome) | self._chosen(left, backend, outcome)
        word = right.value if isinstance(right, ast.Constant) else None
        if isinstance(word, str) and word.startswith("torch.cuda.") and outcome:
            # `x.type() == "torch.cuda.HalfTensor"`
            return is_backend("cuda", outcome)
        if outcome and (word == "nccl" or self._is_nccl(right)):
            return is_backend("cuda", outcome) | {"nccl"}
        if outcome and word == "gpu":
            return frozenset({"asked-cuda"})
        if outcome and word in OTHER_DEVICES and names_device(left):
            return frozenset({"no-cuda", "no-mps"})
        if word in ("darwin", "Darwin") and self._system(left):
            return frozenset({"darwin"}) if outcome else frozenset({"not-darwin", "no-mps"})
        if isinstance(word, str) and self._system(left) and outcome:
            return frozenset({"not-darwin", "no-mps"})
        if isinstance(word, bool):
            return self.implied(left, outcome if word else not outcome)
        if word is None and isinstance(right, ast.Constant):
            name = self._names.resolve(left)
            if name == "torch.version.cuda":
                return frozenset({"no-cuda"}) if outcome else frozenset({"cuda"})
            return self._absent(left, outcome)
        return NONE

    def _chosen(self, device: ast.expr, backend: str, outcome: bool) -> Facts:
        """What was so when a device was chosen that is (or is not) of this backend."""
        value = self.behind(device)
        if not isinstance(value, ast.IfExp):
            return NONE
        return common(
            [
                facts
                for chosen, facts in self._arms(value, NONE)
                if chosen is None or (chosen == backend) == outcome
            ]
        )

    def _arms(self, value: ast.expr, known: Facts) -> list[tuple[str | None, Facts]]:
        """The backends that a choice may come to, each with what is so then."""
        if isinstance(value, ast.IfExp):
            yes, no = (known | self.implied(value.test, way) for way in (True, False))
            return [*self._arms(value.body, yes), *self._arms(value.orelse, no)]
        return [(backend_word(value) or self._device_call_backend(value), known)]

    def _absent(self, value: ast.expr, outcome: bool) -> Facts:
        """What follows from `value is None`, or from its being something."""
        if isinstance(value, ast.Call):
            return self.implied(value, True) if not outcome else NONE
        value = self.behind(value)
        if not isinstance(value, ast.IfExp):
            return NONE
        ways = [
            self.implied(value.test, way)
            for way, arm in ((True, value.body), (False, value.orelse))
            if not isinstance(arm, ast.Constant) or (arm.value is None) == outcome
        ]
        return common(ways)

    def _device_call_backend(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call) and node.args:
            if self._names.resolve(node.func) == "torch.device":
                return backend_word(node.args[0])
        return None

    def _is_nccl(self, node: ast.expr) -> bool:
        """`torch.distributed.Backend.NCCL`"""
        return (self._names.resolve(node) or "").endswith(".Backend.NCCL")

    def _system(self, node: ast.expr) -> bool:
        target = node.func if isinstance(node, ast.Call) else node
        return self._names.resolve(target) in ("sys.platform", "platform.system", "os.name")

    def _member(self, left: ast.expr, right: ast.expr, outcome: bool) -> Facts:
        backend = backend_word(left)
        if backend:
            # `"cuda" in str(device)`, `"cuda" in device`
            return is_backend(backend, outcome)
        if isinstance(right, ast.Name):
            right = self.behind(right)
        if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
            return NONE
        if not all(isinstance(item, ast.Constant) for item in right.elts):
            return NONE
        words = [word for item in right.elts if (word := backend_word(item))]
        if not outcome:
            return frozenset().union(*(is_backend(word, False) for word in words))
        if len(words) == len(right.elts):
            return common([is_backend(word, True) for word in words])
        # `device in ["cuda", "lazy"]`: of the backends, CUDA.
        return frozenset({"no-mps"}) if set(words) == {"cuda"} else NONE

    def _name(self, name: ast.Name, outcome: bool) -> Facts:
        facts: list[Facts] = []
        reaching = self._flow.reaching(name)
        if any(binding.kind == "for" for binding in reaching):
            return NONE  # `for gpu in [False, True]` is no switch of the user's
        for binding in reaching:
            value = bound_part(binding, name.id)
            if value is not None:
                # `use_cuda = True` below `if torch.cuda.is_available():` knows what the test knew.
                there = self._guards.at(binding.node) & DEVICE_FACTS
                facts.append(there | self.implied(value, outcome))
            elif binding.kind == "import":
                last = (binding.qualified or "").rsplit(".", 1)[-1]
                named = by_constant_name(last, outcome)
                facts.append(named or self._imported(binding.qualified, outcome, called=False))
            else:
                facts.append(NONE)
        if not reaching and self._names.owner(name.id, name) is None:
            # By `from module import *`, if from anywhere: an answer of torch's that is kept there;
            # a constant (`USE_GPU = False`) is for its user to change.
            kept = self._imported(self._names.resolve(name), outcome, called=False)
            facts.append(NONE if "impossible" in kept else kept)
        known = common(facts) if facts else NONE
        return known | self._switch(name.id, outcome, known)

    def _attribute(self, node: ast.Attribute, outcome: bool) -> Facts:
        if node.attr in ("is_cuda", "is_mps"):
            return is_backend(node.attr[3:], outcome)
        name = self._names.resolve(node)
        if name == "torch.version.cuda":
            return frozenset({"cuda"}) if outcome else frozenset({"no-cuda"})
        if name == "torch.has_mps":
            return frozenset({"mps-built"}) if outcome else frozenset({"no-mps"})
        if name == "torch.has_cuda":
            return NONE
        if name is not None and not name.startswith("torch"):
            found = by_constant_name(node.attr, outcome)
            found = found or self._imported(name, outcome, called=False)
            if found:
                return found
        known = self._assigned_facts(node, outcome) or self._kept_elsewhere(node, outcome)
        return known | self._switch(node.attr, outcome, known)

    def _assigned_facts(self, node: ast.Attribute, outcome: bool) -> Facts:
        """What all assignments to the spelling have in common. One that reads the spelling itself
        (`a.x = a.x and b`) adds nothing, and must not be followed from each of the others."""
        values = self.assigned(node)
        if not values and self._told is not None and ast.unparse(node.value) == "self":
            base = imported_base(self._index, self._names, node)
            return self._told.inherited(base, node.attr, outcome)
        key = ("assigned", values[0] if values else None, outcome)
        if not values or key in self._busy:
            return NONE
        self._busy.add(key)
        try:
            return common([self.implied(value, outcome) for value in values])
        finally:
            self._busy.discard(key)

    def _kept_elsewhere(self, node: ast.Attribute, outcome: bool) -> Facts:
        """What an attribute says whose object other files of the project make (`args.cuda`)."""
        if self._told is None or not matches("cuda-switches", node.attr) or self.assigned(node):
            return NONE
        if self._names.resolve(node) is not None:
            return NONE  # A name of a module.
        return self._told.kept(node.attr, outcome)

    def assigned(self, node: ast.Attribute) -> list[ast.expr]:
        """Right sides of all assignments in this file to the same spelling (`args.cuda`)."""
        return self._assigned.to(node)

    def _switch(self, word: str, outcome: bool, known: Facts) -> Facts:
        """A switch named after a backend of which nothing else is known."""
        if outcome == matches("negations", word):
            return NONE
        if matches("cuda-switches", word) and "cuda" not in known:
            return frozenset({"asked-cuda"})
        if matches("mps-words", word) and "mps" not in known:
            return frozenset({"asked-mps"})
        return NONE

    def behind(self, test: ast.expr) -> ast.expr:
        """What a flag was assigned, where that is one expression; else the test itself."""
        if isinstance(test, ast.Name):
            bindings = self._flow.reaching(test)
            if len(bindings) == 1 and bindings[0].kind in ("assign", "annotate"):
                return bindings[0].value or test
        elif isinstance(test, ast.Attribute):
            values = self.assigned(test)
            if len(values) == 1 and not may_be_passed_by(self._index, values[0]):
                # `args.cuda = args.cuda and ...` reads what the user said under the same name.
                spelled = ast.dump(test)
                own = any(ast.dump(item) == spelled for item in ast.walk(values[0]))
                return test if own else values[0]
        return test
