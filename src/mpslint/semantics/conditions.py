"""What follows when a condition holds, or does not: facts about backends and devices.

Facts are short words:

- `cuda`, `mps`, `accelerator`: that backend is available (or the device at hand is of that type);
- `no-cuda`, `no-mps`, `no-accelerator`: it is known to be absent (or the device is another);
- `cpu`: the device at hand is the CPU; `darwin`: the system is macOS; `not-darwin`;
- `mps-built`: the wheel knows MPS, which says nothing of the machine; `mps-attribute`:
  `torch.mps` or `torch.backends.mps` exists;
- `caught`: an exception raised here is caught in this function;
- `asked-cuda`, `asked-mps`: a switch of the user's whose name says so (`--cuda`), no more;
- `nccl`: the process group talks through NCCL, which only CUDA has (said beside `cuda`).
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.flow import Flow
from mpslint.semantics.index import FUNCTIONS, Index
from mpslint.semantics.names import Binding, Names

if TYPE_CHECKING:
    from mpslint.semantics.guards import Guards

Facts = frozenset[str]
NONE: Facts = frozenset()
IMPOSSIBLE: Facts = frozenset(
    {
        "cuda",
        "no-cuda",
        "mps",
        "no-mps",
        "accelerator",
        "no-accelerator",
        "cpu",
        "darwin",
        "not-darwin",
        "mps-built",
        "mps-attribute",
        "asked-cuda",
        "asked-mps",
        "nccl",
        "impossible",
    }
)
"""Everything follows from a test that cannot succeed."""
DEVICE_FACTS = IMPOSSIBLE - {"impossible", "asked-cuda", "asked-mps"}

_CALLS: dict[str, tuple[Facts, Facts]] = {
    "torch.cuda.is_available": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "torch.cuda.device_count": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "torch.cuda.is_initialized": (frozenset({"cuda"}), NONE),
    "torch.cuda.is_bf16_supported": (frozenset({"cuda"}), NONE),
    "torch.distributed.is_nccl_available": (frozenset({"cuda"}), NONE),
    "torch.backends.cuda.is_built": (NONE, frozenset({"no-cuda"})),
    "torch.backends.cudnn.is_available": (frozenset({"cuda"}), NONE),
    "torch.backends.mps.is_available": (frozenset({"mps"}), frozenset({"no-mps"})),
    "torch.mps.is_available": (frozenset({"mps"}), frozenset({"no-mps"})),
    "torch.mps.device_count": (frozenset({"mps"}), frozenset({"no-mps"})),
    "torch.backends.mps.is_built": (frozenset({"mps-built"}), frozenset({"no-mps"})),
    "torch.accelerator.is_available": (
        frozenset({"accelerator"}),
        frozenset({"no-accelerator", "no-cuda", "no-mps"}),
    ),
    "torch.accelerator.current_accelerator": (frozenset({"accelerator"}), NONE),
    "torch.xpu.is_available": (frozenset({"xpu", "no-cuda", "no-mps"}), NONE),
    "torch.npu.is_available": (frozenset({"npu", "no-cuda", "no-mps"}), NONE),
}
_NAMED_CALLS: dict[str, tuple[Facts, Facts]] = {
    # Helpers of well-known libraries, resolved by their last name only.
    "is_torch_cuda_available": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "is_cuda_available": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "has_cuda": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "is_torch_mps_available": (frozenset({"mps"}), frozenset({"no-mps"})),
    "is_mps_available": (frozenset({"mps"}), frozenset({"no-mps"})),
    "has_mps": (frozenset({"mps"}), frozenset({"no-mps"})),
}
_BACKENDS = ("cuda", "mps", "cpu", "xpu", "npu")
_CUDA_SWITCH = re.compile(r"(^|_)(cuda|gpu|use_?cuda|use_?gpu|on_gpu|with_cuda)($|_)", re.I)
_MPS_SWITCH = re.compile(r"(^|_)(mps|use_?mps|with_mps)($|_)", re.I)
_NEGATIVE = re.compile(r"(^|_)(no|not|disable|without|skip)(_|$)", re.I)


class Conditions:
    """Facts from tests, read through flags, helper functions and attributes."""

    def __init__(self, guards: Guards, index: Index, names: Names, flow: Flow) -> None:
        self._guards = guards
        self._index = index
        self._names = names
        self._flow = flow
        self._busy: set[object] = set()
        self._attributes: dict[str, list[ast.expr]] | None = None

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
            return _common(parts)
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
            return _common(
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
        if name in _CALLS:
            return _CALLS[name][0 if outcome else 1]
        last = last_name(call.func)
        if name == "bool" or (last == "bool" and call.args):
            return self.implied(call.args[0], outcome) if call.args else NONE
        if last in ("any", "all") and len(call.args) == 1:
            argument = call.args[0]
            if isinstance(argument, ast.List | ast.Tuple) and argument.elts:
                parts = [self.implied(item, outcome) for item in argument.elts]
                if (last == "all") == outcome:
                    return frozenset().union(*parts)
                return _common(parts)
        if last == "hasattr" and len(call.args) == 2:
            return self._hasattr(call, outcome)
        if (
            last in ("startswith", "endswith")
            and isinstance(call.func, ast.Attribute)
            and call.args
        ):
            backend = _backend_word(call.args[0])
            if backend and last == "startswith":
                return _is_backend(backend, outcome)
        if last in _NAMED_CALLS:
            return _NAMED_CALLS[last][0 if outcome else 1]
        return self._helper(call, outcome)

    def _hasattr(self, call: ast.Call, outcome: bool) -> Facts:
        holder, attribute = call.args
        name = self._names.resolve(holder)
        word = attribute.value if isinstance(attribute, ast.Constant) else None
        if (name, word) in (("torch", "mps"), ("torch.backends", "mps")) or name == "torch.mps":
            return frozenset({"mps-attribute"}) if outcome else frozenset({"no-mps"})
        if name == "torch" and word == "accelerator" and not outcome:
            return NONE
        return NONE

    def _helper(self, call: ast.Call, outcome: bool) -> Facts:
        """A function of this file that returns a flag."""
        if not isinstance(call.func, ast.Name):
            return NONE
        bindings = self._names.bindings(call.func.id, call.func)
        if len(bindings) != 1 or not isinstance(bindings[0].node, ast.FunctionDef):
            return NONE
        function = bindings[0].node
        if bindings[0].kind != "def":
            return NONE
        returns = [
            item.value
            for item in self._index.of(ast.Return)
            if item.value is not None and self._index.function(item) is function
        ]
        if not returns or len(returns) > 4:
            return NONE
        return _common(
            [
                self._guards.at(value) - self._guards.at(function) | self.implied(value, outcome)
                for value in returns
            ]
        )

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
        if not isinstance(right, ast.Constant) or not isinstance(right.value, int):
            return None
        counted = left
        if isinstance(counted, ast.Name):
            reaching = self._flow.reaching(counted)
            if (
                len(reaching) == 1
                and reaching[0].kind == "assign"
                and reaching[0].value is not None
            ):
                counted = reaching[0].value
        if not isinstance(counted, ast.Call):
            return None
        name = self._names.resolve(counted.func)
        if name not in ("torch.cuda.device_count", "torch.mps.device_count"):
            return None
        yes, no = _CALLS[name]
        number = int(right.value)
        least = number + 1 if isinstance(operator, ast.Gt) else number
        if isinstance(operator, ast.Gt | ast.GtE) and least >= 1:
            return yes, no if least == 1 else NONE
        if isinstance(operator, ast.Eq | ast.NotEq):
            return (yes if number > 0 else no), (yes if number == 0 else NONE)
        if isinstance(operator, ast.Lt | ast.LtE):
            most = number - 1 if isinstance(operator, ast.Lt) else number
            return (no if most == 0 else NONE, yes) if most >= 0 else None
        return None

    def _equal(self, left: ast.expr, right: ast.expr, outcome: bool) -> Facts:
        if isinstance(left, ast.Constant) and not isinstance(right, ast.Constant):
            left, right = right, left
        backend = _backend_word(right) or self._device_call_backend(right)
        if backend:
            system = self._system(left)
            if system:
                return NONE
            return _is_backend(backend, outcome)
        word = right.value if isinstance(right, ast.Constant) else None
        if isinstance(word, str) and word.startswith("torch.cuda.") and outcome:
            # `x.type() == "torch.cuda.HalfTensor"`
            return _is_backend("cuda", outcome)
        if outcome and (word == "nccl" or self._is_nccl(right)):
            return _is_backend("cuda", outcome) | {"nccl"}
        if outcome and word == "gpu":
            return frozenset({"asked-cuda"})
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
            if isinstance(left, ast.Call) and not outcome:
                return self.implied(left, True)
        return NONE

    def _device_call_backend(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call) and node.args:
            if self._names.resolve(node.func) == "torch.device":
                return _backend_word(node.args[0])
        return None

    def _is_nccl(self, node: ast.expr) -> bool:
        """`torch.distributed.Backend.NCCL`"""
        return (self._names.resolve(node) or "").endswith(".Backend.NCCL")

    def _system(self, node: ast.expr) -> bool:
        target = node.func if isinstance(node, ast.Call) else node
        return self._names.resolve(target) in ("sys.platform", "platform.system", "os.name")

    def _member(self, left: ast.expr, right: ast.expr, outcome: bool) -> Facts:
        backend = _backend_word(left)
        if backend:
            # `"cuda" in str(device)`, `"cuda" in device`
            return _is_backend(backend, outcome)
        if isinstance(right, ast.Tuple | ast.List | ast.Set) and right.elts:
            words = [_backend_word(item) for item in right.elts]
            if all(words):
                facts = [_is_backend(word, outcome) for word in words if word]
                return _common(facts) if outcome else frozenset().union(*facts)
        return NONE

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
                facts.append(_by_constant_name(last, outcome))
            else:
                facts.append(NONE)
        known = _common(facts) if facts else NONE
        return known | self._switch(name.id, outcome, known)

    def _attribute(self, node: ast.Attribute, outcome: bool) -> Facts:
        if node.attr in ("is_cuda", "is_mps"):
            return _is_backend(node.attr[3:], outcome)
        name = self._names.resolve(node)
        if name == "torch.version.cuda":
            return frozenset({"cuda"}) if outcome else frozenset({"no-cuda"})
        if name == "torch.has_mps":
            return frozenset({"mps-built"}) if outcome else frozenset({"no-mps"})
        if name == "torch.has_cuda":
            return NONE
        if name is not None and not name.startswith("torch"):
            found = _by_constant_name(node.attr, outcome)
            if found:
                return found
        values = self.assigned(node)
        known = _common([self.implied(value, outcome) for value in values]) if values else NONE
        return known | self._switch(node.attr, outcome, known)

    def assigned(self, node: ast.Attribute) -> list[ast.expr]:
        """Right sides of all assignments in this file to the same spelling (`args.cuda`)."""
        if self._attributes is None:
            self._attributes = {}
            for statement in self._index.of(ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Attribute):
                        spelled = ast.unparse(target)
                        self._attributes.setdefault(spelled, []).append(statement.value)
            for annotated in self._index.of(ast.AnnAssign):
                if isinstance(annotated.target, ast.Attribute) and annotated.value is not None:
                    spelled = ast.unparse(annotated.target)
                    self._attributes.setdefault(spelled, []).append(annotated.value)
        if not any(key.endswith("." + node.attr) for key in self._attributes):
            return []
        return self._attributes.get(ast.unparse(node), [])

    def _switch(self, word: str, outcome: bool, known: Facts) -> Facts:
        """A switch named after a backend of which nothing else is known."""
        if outcome == bool(_NEGATIVE.search(word)):
            return NONE
        if _CUDA_SWITCH.search(word) and "cuda" not in known:
            return frozenset({"asked-cuda"})
        if _MPS_SWITCH.search(word) and "mps" not in known:
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
            if len(values) == 1 and not self._perhaps(values[0]):
                # `args.cuda = args.cuda and ...` reads what the user said under the same name.
                spelled = ast.dump(test)
                own = any(ast.dump(item) == spelled for item in ast.walk(values[0]))
                return test if own else values[0]
        return test

    def _perhaps(self, node: ast.AST) -> bool:
        """Whether some way through the function around passes `node` by."""
        for parent in self._index.ancestors(node):
            if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
                return False
            if isinstance(parent, ast.If | ast.For | ast.While | ast.Try | ast.Match):
                return not (isinstance(parent, ast.If) and _is_main(parent.test))
        return False


def _is_main(test: ast.expr) -> bool:
    """`if __name__ == "__main__":`"""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def bound_part(binding: Binding, name: str) -> ast.expr | None:
    """The expression that a binding gives to `name`, also out of `a, b = x, y`."""
    value = binding.value
    if binding.kind in ("assign", "annotate", "walrus"):
        return value
    if binding.kind != "unpack" or not isinstance(value, ast.Tuple | ast.List):
        return None
    for target in getattr(binding.node, "targets", ()):
        if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
            for place, item in zip(target.elts, value.elts, strict=True):
                if isinstance(place, ast.Name) and place.id == name:
                    return item
    return None


def _common(parts: list[Facts]) -> Facts:
    if not parts:
        return NONE
    common = parts[0]
    for part in parts[1:]:
        common &= part
    return common


def _is_backend(backend: str, outcome: bool) -> Facts:
    if outcome:
        others = {f"no-{other}" for other in ("cuda", "mps") if other != backend}
        return frozenset({backend, *others})
    return frozenset({f"no-{backend}"})


def _backend_word(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        word = node.value.split(":")[0]
        return word if word in _BACKENDS else None
    return None


def _by_constant_name(name: str, outcome: bool) -> Facts:
    """Imported flags such as `HAS_CUDA`, `TEST_CUDA`, `IS_MPS_AVAILABLE`."""
    upper = name.upper()
    if upper in (
        "HAS_CUDA",
        "TEST_CUDA",
        "HAS_GPU",
        "RUN_CUDA",
        "CUDA_AVAILABLE",
        "IS_CUDA",
        "HAS_CUDA_AND_TRITON",
        "HAS_FA3",
        "HAS_FLASH_ATTN",
        "HAS_TRITON",
    ):
        return _is_backend("cuda", outcome)
    if upper in ("HAS_MPS", "TEST_MPS", "MPS_AVAILABLE", "IS_MPS", "IS_MPS_AVAILABLE"):
        return _is_backend("mps", outcome)
    return NONE


def last_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return None
