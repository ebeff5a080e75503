"""Device selections: where code chooses between cuda, mps and cpu.

A *chain* is a conditional expression, or an `if` statement, whose arms name devices. What counts
is which backends it can choose, and whether a later or earlier statement adds MPS to it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.records import NamedTuple
from mpslint.semantics.devices.devices import Devices
from mpslint.semantics.guards.guards import Guards
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, Index, N
from mpslint.semantics.values.values import Kind, Value, Values

_CUDA = frozenset({"cuda"})
_CPU = frozenset({"cpu"})
_SETTLED = frozenset(
    {"mps", "asked-mps", "no-mps", "not-darwin", "no-accelerator", "cuda", "xpu", "npu"}
)
"""Facts under which nobody expects a selection to ask for MPS."""
_KNOWS_MPS = frozenset({"mps", "asked-mps", "mps-built", "mps-attribute", "accelerator"})


class Chain(NamedTuple):
    """A choice between CUDA and the CPU that does not know MPS."""

    node: ast.IfExp | ast.If
    test: ast.expr
    cuda_arm: ast.expr
    cpu_arm: ast.expr | None
    """None where an `if` has no other arm (the CPU was chosen before it)."""
    inverted: bool
    """The test asks whether CUDA is *absent*."""
    asked_only: bool
    """The test is a switch of the user's (`--cuda`) that nothing compares with the machine."""


class Chains:
    def __init__(
        self, index: Index, names: Names, guards: Guards, values: Values, devices: Devices
    ) -> None:
        self._index = index
        self._names = names
        self._guards = guards
        self._values = values
        self._devices = devices
        self._found: list[Chain] | None = None

    @property
    def without_mps(self) -> list[Chain]:
        """Every selection between CUDA and CPU that can never choose MPS, in source order."""
        if self._found is None:
            found = [*self._expressions(), *self._statements()]
            self._found = sorted(found, key=lambda c: (c.node.lineno, c.node.col_offset))
        return self._found

    def arms(self) -> set[ast.AST]:
        """The CUDA arms of those selections: the selection is wrong, not they."""
        return {chain.cuda_arm for chain in self.without_mps}

    # expressions

    def _expressions(self) -> Iterator[Chain]:
        for node in self._near_literals(ast.IfExp):
            body, orelse = self._device(node.body), self._device(node.orelse)
            if body is None or orelse is None:
                continue
            if body.devices == _CUDA and orelse.devices == _CPU:
                chain = self._tested(node, node.test, node.body, node.orelse, inverted=False)
            elif body.devices == _CPU and orelse.devices == _CUDA:
                chain = self._tested(node, node.test, node.orelse, node.body, inverted=True)
            else:
                continue
            if chain is None or self._index.enclosing(node, ast.FormattedValue):
                continue  # `f"on {'cuda' if ... else 'cpu'}"` is a text
            if not self._knows_mps(node):
                yield chain

    def _device(self, node: ast.expr) -> Value | None:
        value = self._values.of(node)
        if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING) and value.devices is not None:
            return value
        return None

    def _tested(
        self,
        node: ast.IfExp | ast.If,
        test: ast.expr,
        cuda_arm: ast.expr,
        cpu_arm: ast.expr | None,
        *,
        inverted: bool,
    ) -> Chain | None:
        facts = self._guards.implied(test, not inverted)
        if "nccl" in facts:
            return None
        if "cuda" in facts and "impossible" not in facts:
            # `x.device.type == "cuda"` compares a device that somebody else selected.
            decided = self._guards.behind(test)
            if self._compares(decided) and not self._asks_machine(decided):
                return None
            return Chain(node, test, cuda_arm, cpu_arm, inverted, asked_only=False)
        if "asked-cuda" in facts:
            return Chain(node, test, cuda_arm, cpu_arm, inverted, asked_only=True)
        return None

    def _asks_machine(self, test: ast.expr) -> bool:
        """Whether the test, or the flag it reads, calls `torch.cuda.is_available` or its like."""
        return any(
            isinstance(item, ast.Call)
            and (
                "cuda" in self._guards.implied(item, True)
                or "no-cuda" in self._guards.implied(item, False)
            )
            for item in ast.walk(test)
        )

    def _compares(self, test: ast.expr) -> bool:
        """Whether the test looks at a device: `d.type == "cuda"`, `x.is_cuda`."""
        return any(
            isinstance(item, ast.Compare)
            or (isinstance(item, ast.Attribute) and item.attr == "is_cuda")
            for item in ast.walk(test)
        )

    def _knows_mps(self, node: ast.expr) -> bool:
        """MPS was asked before, is asked in an outer chain, or is assigned to the same name."""
        facts = self._guards.at(node)
        if facts & _SETTLED:
            return True
        if self._in_cuda_function(node):
            return True
        statement = self._index.statement(node)
        if isinstance(statement, ast.Assign):
            return any(self._gets_mps(target, statement) for target in statement.targets)
        if isinstance(statement, ast.AnnAssign):
            return self._gets_mps(statement.target, statement)
        return False

    def _in_cuda_function(self, node: ast.AST) -> bool:
        function = self._index.function(node)
        return function is not None and "cuda" in function.name.lower()

    def _gets_mps(self, target: ast.expr, statement: ast.stmt) -> bool:
        """Whether another statement near gives `target` an mps device."""
        spelled = ast.unparse(target)
        function = self._index.function(statement)
        for other in self._index.of(ast.Assign):
            if other is statement or self._index.function(other) is not function:
                continue
            if any(ast.unparse(t) == spelled for t in other.targets):
                devices = self._values.of(other.value).devices
                if devices is not None and "mps" in devices:
                    return True
                if "mps" in self._guards.at(other):
                    return True
        return False

    # statements

    def _statements(self) -> Iterator[Chain]:
        for node in self._near_literals(ast.If):
            yield from self._statement(node)

    def _near_literals(self, kind: type[N]) -> list[N]:
        """The conditions of one kind around written-out CUDA devices: all that can be chains."""
        found: dict[N, None] = {}
        for literal in self._devices.literals:
            if literal.backend == "cuda":
                for parent in self._index.ancestors(literal.node):
                    if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                        break
                    if isinstance(parent, kind):
                        found[parent] = None
        return list(found)

    def _statement(self, node: ast.If) -> Iterator[Chain]:
        for block, other, inverted in (
            (node.body, self._last_arm(node), False),
            (node.orelse, node.body, True),
        ):
            chosen = self._choices(block)
            for name, cuda_arm in chosen.items():
                value = self._device(cuda_arm)
                if value is None or value.devices != _CUDA:
                    continue
                cpu_arm = self._choices(other).get(name)
                if cpu_arm is None and inverted:
                    continue
                if cpu_arm is not None:
                    cpu_value = self._device(cpu_arm)
                    if cpu_value is None or cpu_value.devices != _CPU:
                        continue
                elif not self._falls_to_cpu(node, name):
                    continue
                if not inverted and self._later_arm_has(node, _KNOWS_MPS):
                    continue
                chain = self._tested(node, node.test, cuda_arm, cpu_arm, inverted=inverted)
                if chain is not None and not self._statement_knows_mps(node, name, cuda_arm):
                    yield chain
                    return

    def _choices(self, block: list[ast.stmt]) -> dict[str, ast.expr]:
        """Names that get a device in a block, and `return` where it returns one."""
        found: dict[str, ast.expr] = {}
        for statement in block:
            if isinstance(statement, ast.If) and statement.orelse:
                found.update(self._agreed(statement))
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]
                if isinstance(target, ast.Name | ast.Attribute):
                    found[ast.unparse(target)] = statement.value
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                found[ast.unparse(statement.target)] = statement.value
            elif isinstance(statement, ast.Return) and statement.value is not None:
                found["return"] = statement.value
        return found

    def _agreed(self, statement: ast.If) -> dict[str, ast.expr]:
        """Names that get a device of the same type in both arms: `"cuda:0"` or `f"cuda:{rank}"`."""
        one, two = self._choices(statement.body), self._choices(statement.orelse)
        agreed = {}
        for name in one.keys() & two.keys():
            values = self._device(one[name]), self._device(two[name])
            if values[0] and values[1] and values[0].devices == values[1].devices:
                agreed[name] = one[name]
        return agreed

    def _last_arm(self, node: ast.If) -> list[ast.stmt]:
        """The `else` of an `if`, past the `elif` arms of other accelerators (xpu, npu)."""
        arm = node.orelse
        while len(arm) == 1 and isinstance(arm[0], ast.If):
            if not self._guards.implied(arm[0].test, True) & {"xpu", "npu"}:
                break
            arm = arm[0].orelse
        return arm

    def _falls_to_cpu(self, node: ast.If, name: str) -> bool:
        """`name` was the CPU before this `if`, or the function returns the CPU after it."""
        block = self._index.block(node)
        position = next(i for i, item in enumerate(block) if item is node)
        if name == "return":
            if node.orelse:
                return False
            following = self._choices(block[position + 1 :]).get("return")
            value = self._device(following) if following is not None else None
            return value is not None and value.devices == _CPU
        if node.orelse:
            return False
        before = self._choices(block[:position]).get(name)
        value = self._device(before) if before is not None else None
        if value is None or value.devices != _CPU:
            return False
        return not any(self._takes_device(item, name) for item in block[:position])

    def _takes_device(self, statement: ast.stmt, name: str) -> bool:
        """Whether an `if` gives `name` the device of something that has one, a model or a tensor:
        whoever moved that chose, and what follows only overrides it."""
        if not isinstance(statement, ast.If):
            return False
        for arm in (statement.body, statement.orelse):
            chosen = self._choices(arm).get(name)
            if isinstance(chosen, ast.Attribute) and chosen.attr == "device":
                source = chosen.value
                held = self._values.of(source).kind in (Kind.MODULE, Kind.TENSOR)
                if held or isinstance(source, ast.Call):
                    return True
        return False

    def _later_arm_has(self, node: ast.If, wanted: frozenset[str]) -> bool:
        arm = node.orelse
        while len(arm) == 1 and isinstance(arm[0], ast.If):
            inner = arm[0]
            if self._guards.implied(inner.test, True) & wanted:
                return True
            arm = inner.orelse
        return False

    def _statement_knows_mps(self, node: ast.If, name: str, arm: ast.expr) -> bool:
        facts = self._guards.at(node)
        if facts & _SETTLED:
            return True
        if self._in_cuda_function(node):
            return True
        statement = self._index.statement(arm)
        if name == "return":
            function = self._index.enclosing(node, *FUNCTIONS)
            return function is not None and self._mentions_mps(function)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        return target is not None and self._gets_mps(target, statement)

    def _mentions_mps(self, function: ast.AST) -> bool:
        return any(
            literal.backend == "mps" and self._index.within(literal.node, function)
            for literal in self._devices.literals
        ) or any(
            self._index.within(attribute, function)
            for attribute in self._index.attributes.get("mps", ())
        )

    # guarded moves

    def gate(self, node: ast.AST) -> ast.If | None:
        """The `if` statement whose CUDA arm `node` stands in, if nothing else gates it.

        None under decorators, early exits, assertions and in arms of a chain that knows MPS:
        there somebody decided that this code is for CUDA.
        """
        child = node
        for parent in self._index.ancestors(node):
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                return None
            if isinstance(parent, ast.If) and isinstance(child, ast.stmt):
                inside = any(item is child for item in parent.body)
                facts = self._guards.implied(parent.test, inside)
                if "nccl" in facts:
                    return None
                if facts & {"cuda", "asked-cuda"}:
                    outer = self._guards.at(parent)
                    if outer & {"cuda", "no-mps", "mps", "not-darwin"}:
                        return None
                    if self._later_arm_has(parent, _KNOWS_MPS | {"xpu", "npu"}):
                        return None
                    other = parent.orelse if inside else parent.body
                    return None if self._moves_elsewhere(other) else parent
            child = parent
        return None

    def _moves_elsewhere(self, block: list[ast.stmt]) -> bool:
        """Whether the other arm of a gate moves things too: `else: x = x.to(device)`."""
        return any(
            isinstance(item, ast.Call)
            and isinstance(item.func, ast.Attribute)
            and item.func.attr == "to"
            for statement in block
            for item in ast.walk(statement)
        )
