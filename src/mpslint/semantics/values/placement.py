"""Where a tensor lives at the place that reads it, and copies to the CPU that only CUDA gets.

`if use_cuda: y = y.cpu()` and `y.cpu().numpy() if use_cuda else y.numpy()` are right as long as
there is CUDA or nothing; with a third device the other arm meets a tensor that is not on the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from mpslint.facts.priors import matches, names_device
from mpslint.semantics.guards.guards import Guards
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Binding, Names
from mpslint.semantics.syntax.expressions import (
    arguments_for,
    keyword,
    last_name,
    names_in,
    root_of,
)
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.terms.facts_known import Facts
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.own_models import trained_on_host
from mpslint.semantics.values.values import Values

_ACCELERATORS = frozenset({"cuda", "mps", "xpu", "npu", "hpu", "xla"})
_ON_CPU_FACTS = frozenset({"cpu", "no-accelerator", "no-mps"})
_CUDA_FACTS = frozenset({"cuda", "asked-cuda"})
_OF_TENSORS = frozenset({"dtype", "shape", "size", "ndim", "dim", "new_zeros", "new_tensor"})

_TOLD_ONLY = frozenset({"device", "str", "print", "isinstance", "len", "format", "int", "type"})
"""What is told a device, and places nothing there."""
_PLACING = {"accelerate": "Accelerator", "lightning": "Fabric", "lightning_fabric": "Fabric"}
"""Fact: classes of libraries whose `prepare` and `setup` bring models and batches to the device
that they choose, MPS too (`accelerate/state.py`, `lightning/fabric/accelerators/registry.py`)."""


class Placement:
    def __init__(
        self,
        index: Index,
        names: Names,
        flow: Flow,
        guards: Guards,
        values: Values,
        places_nothing: Callable[[str], bool],
    ) -> None:
        self._index = index
        self._names = names
        self._flow = flow
        self._guards = guards
        self._values = values
        self._places_nothing = places_nothing
        """Of a class of another file of the project."""
        self._uses: list[ast.Call] | None = None
        self._others_use: bool | None = None
        self._library_places: bool | None = None
        self._calls_with_device: list[ast.Call] | None = None
        self._asked_as_tensors: set[tuple[str, FunctionNode | None]] | None = None
        """Names of which a function asks what only tensors have."""

    def on_accelerator(self, node: ast.expr) -> bool:
        """Whether the value of `node` is known to come from a device that is not only the CPU.

        A selection without MPS counts where CUDA is absent: it becomes MPS when it is ported.
        """
        devices = self._values.of(node).devices
        if devices is None or devices.isdisjoint(_ACCELERATORS):
            return False
        facts = self._guards.at(node)
        if "cuda" in facts and "cuda" in devices:
            return True
        return facts.isdisjoint(_ON_CPU_FACTS) and not self._comes_back(node)

    @property
    def file_uses_devices(self) -> bool:
        """Whether this file moves anything to a device, or creates anything on one."""
        return bool(self._all_uses())

    @property
    def program_uses_devices(self) -> bool:
        """Whether this file does so, or leaves it to others: it hands them the device
        (`featurize(batch, device)`), or copies to the host what they have put there."""
        if self._others_use is None:
            self._others_use = self.file_uses_devices or self._leaves_it_to_others()
        return self._others_use

    @property
    def library_places(self) -> bool:
        """Whether this file makes an object of a library that places what is trained."""
        if self._library_places is None:
            self._library_places = any(
                _PLACING.get((self._names.resolve(call.func) or "").partition(".")[0]) == name
                and keyword(call, "cpu") is None
                for name in set(_PLACING.values())
                for call in self._index.calls.get(name, ())
            )
        return self._library_places

    def used_between(self, first: int, last: int) -> bool:
        """Whether lines `first` to `last` (counted from 1, both included) do so."""
        return any(first <= call.lineno <= last for call in self._all_uses())

    def handed_on_between(self, first: int, last: int) -> bool:
        """Whether these lines hand a device to somebody: `featurize(batch, device)`."""
        return any(first <= call.lineno <= last for call in self._handed_on())

    def used_in(self, function: ast.AST | None) -> bool:
        """Whether `function` (None: the top of the file) does so itself."""
        return any(self._index.function(call) is function for call in self._all_uses())

    def uses_in(self, function: ast.AST | None) -> list[ast.Call]:
        """Where `function` (None: the top of the file) moves or makes something on a device."""
        return [call for call in self._all_uses() if self._index.function(call) is function]

    def all_uses(self) -> list[ast.Call]:
        """Where the file moves or makes something on a device, or hands a device to somebody who
        may."""
        return [*self._all_uses(), *self._handed_on()]

    def _all_uses(self) -> list[ast.Call]:
        if self._uses is None:
            self._uses = list(self._device_uses())
        return self._uses

    def _device_uses(self) -> Iterator[ast.Call]:
        for name in ("set_default_device", "set_default_tensor_type"):
            for call in self._index.calls.get(name, ()):
                if not any(map(_names_cpu, call.args[:1])):
                    yield call
        for call in self._index.calls.get("cuda", ()):
            if isinstance(call.func, ast.Attribute):
                yield call
        for call in self._index.calls.get("to", ()):
            for given in (*call.args[:1], *(k.value for k in call.keywords)):
                if self.names_accelerator(given):
                    yield call
        for item in self._index.of(ast.keyword):
            parent = self._index.parents[item]
            if item.arg != "device" or not isinstance(parent, ast.Call):
                continue
            if self.names_accelerator(item.value):
                yield parent

    def _leaves_it_to_others(self) -> bool:
        if any(map(_refuses_a_gpu, self._index.of(ast.keyword))):
            return bool(self._handed_on())
        if self.library_places:
            return True
        if self._handed_on():
            return True
        copied = [
            call
            for call in self._index.calls.get("cpu", ())
            if isinstance(call.func, ast.Attribute) and not call.args
            if not self._values.of(call.func.value).on_cpu
        ]
        if not copied:
            return False
        makers = trained_on_host(self._index, self._names, self._places_nothing)
        return None not in makers and any(self._index.function(c) not in makers for c in copied)

    def _handed_on(self) -> list[ast.Call]:
        """Calls that are given a device by its place."""
        if self._calls_with_device is None:
            self._calls_with_device = [
                call
                for name in self._names_of_devices()
                if isinstance(call := self._index.parents[name], ast.Call)
                and name in call.args
                and not self._is_told_only(call)
                and self.names_accelerator(name)
            ]
        return self._calls_with_device

    def _names_of_devices(self) -> Iterator[ast.Name | ast.Attribute]:
        for word, names in self._index.names.items():
            if names_device(word):
                yield from names
        for word, attributes in self._index.attributes.items():
            if names_device(word):
                yield from attributes

    def _is_told_only(self, call: ast.Call) -> bool:
        """Whether a call makes, shows or asks about the device it is given, and places nothing."""
        name = last_name(call.func) or ""
        return name in _TOLD_ONLY or isinstance(self._index.parents[call], ast.Expr | ast.Compare)

    def names_accelerator(self, node: ast.expr) -> bool:
        """Whether `node` stands for a device that is not only the CPU, by what is known of it or
        else by its name."""
        if self._follows(node):
            return False
        value = self._values.of(node)
        if value.kind is Kind.UNKNOWN:
            # `self.device["teacher"]` is one of several that are kept under a name for them.
            return names_device(last_name(node.value if isinstance(node, ast.Subscript) else node))
        if value.kind not in (Kind.DEVICE, Kind.DEVICE_STRING):
            return False
        return value.devices is None or not value.devices.isdisjoint(_ACCELERATORS)

    def _follows(self, node: ast.expr) -> bool:
        """`x.device` of a tensor: what goes there is beside `x`, wherever that is."""
        if not isinstance(node, ast.Attribute) or node.attr != "device":
            return False
        base = node.value
        if self._values.of(base).kind is Kind.TENSOR:
            return self._values.of(base).devices is None
        if not isinstance(base, ast.Name):
            return False
        # Options have a device; what has a device and a dtype or a shape is a tensor.
        return self.is_asked_as_tensor(base)

    def is_asked_as_tensor(self, name: ast.Name) -> bool:
        """Whether the function around `name` asks it what only tensors have."""
        if self._asked_as_tensors is None:
            self._asked_as_tensors = {
                (asked.value.id, self._index.function(asked))
                for name in _OF_TENSORS
                for asked in self._index.attributes.get(name, ())
                if isinstance(asked.value, ast.Name)
            }
        return (name.id, self._index.function(name)) in self._asked_as_tensors

    # copies to the CPU on CUDA only

    def copied_only_on_cuda(self, node: ast.expr) -> ast.AST | None:
        """The copy to the CPU that `node` gets on CUDA and not here; None where there is none.

        `node` is what a host-only call (`.numpy()`) is made on, without a copy in its own chain.
        """
        if not self._guards.at(node).isdisjoint(_ON_CPU_FACTS | {"cuda"}):
            return None
        return self._in_other_arm(node) or self._conditional_rebinding(node)

    def _in_other_arm(self, node: ast.expr) -> ast.AST | None:
        wanted = _without_copies(node)
        for test, outcome, other in self._other_arms(node):
            if not self._implied(test, outcome).isdisjoint(_CUDA_FACTS):
                for copy in _host_copies(other):
                    if _without_copies(copy) == wanted:
                        return copy
        return None

    def _other_arms(self, node: ast.expr) -> Iterator[tuple[ast.expr, bool, list[ast.AST]]]:
        """The arms of the same function that are run in place of those in which a node stands, from
        the nearest on, each with the test and the outcome that lead there."""
        child: ast.AST = node
        for parent in self._index.ancestors(node):
            if isinstance(parent, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
                return
            if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
                other, outcome = _other_arm(parent, child)
                yield parent.test, outcome, other
            child = parent

    def copied_where_it_is_on_cuda(self, node: ast.expr) -> ast.AST | None:
        """The copy that `node` gets where a tensor itself says that it is on CUDA (`x.is_cuda`),
        when `node` stands in the arm for all others: what is not on CUDA need not be on the CPU.

        What the one arm gives to NumPy is on the CPU, so whatever is done to `node` there first
        brings it to it.
        """
        wanted = _without_copies(node)
        for test, outcome, other in self._other_arms(node):
            if _is_on_cuda(test, outcome):
                for read in _reads_by_numpy(other):
                    if any(_without_copies(item) == wanted for item in _made_of(read)):
                        return read
        return None

    def _implied(self, test: ast.expr, outcome: bool) -> Facts:
        return self._guards.implied(test, outcome)

    def _conditional_rebinding(self, node: ast.expr) -> ast.AST | None:
        root = root_of(node)
        if not isinstance(root, ast.Name):
            return None
        bindings = self._flow.reaching(root)
        here = self._guards.at(node)
        copies = [b for b in bindings if self._copies_itself(b, root.id)]
        if not copies or len(copies) == len(bindings):
            return None
        # `if y.is_mps: y = y.cpu()` or `if y.device.type != "cpu"` beside it: all is well.
        if any(not (self._guards.at(b.node) - here) & _CUDA_FACTS for b in copies):
            return None
        return copies[0].value

    def _comes_back(self, node: ast.expr) -> bool:
        """Whether the test that decides on each move of the function brings `node` back as well:
        `if args.cuda: net.cuda()`, and `if args.cuda: y = y.cpu()` behind it."""
        root = root_of(node)
        if not isinstance(root, ast.Name):
            return False
        copies = [b for b in self._flow.reaching(root) if self._copies_itself(b, root.id)]
        tests = {test for copy in copies for test in self._tests_around(copy.node)}
        moves = self.uses_in(self._index.function(node)) if tests else []
        return bool(moves) and all(tests & self._tests_around(move) for move in moves)

    def _tests_around(self, node: ast.AST) -> frozenset[str]:
        """What the statements that have `node` in their first arm ask, as text."""
        tests, child = set(), node
        for parent in self._index.ancestors(node):
            if isinstance(parent, FUNCTIONS):
                break
            if isinstance(parent, ast.If) and child in parent.body:
                tests.add(ast.unparse(parent.test))
            child = parent
        return frozenset(tests)

    def _copies_itself(self, binding: Binding, name: str) -> bool:
        """`y = y.cpu()`, however long the chain."""
        value = binding.value
        if (
            binding.kind != "assign"
            or value is None
            or not any(True for _ in _host_copies([value]))
        ):
            return False
        return name in names_in(value)


def _is_on_cuda(test: ast.expr, outcome: bool) -> bool:
    """Whether `outcome` of the test says that a tensor is on CUDA."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_on_cuda(test.operand, not outcome)
    return isinstance(test, ast.Attribute) and test.attr == "is_cuda" and outcome


def _reads_by_numpy(nodes: list[ast.AST]) -> Iterator[ast.expr]:
    """What `.numpy()` is called on."""
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "numpy":
                    yield node.func.value


def _made_of(read: ast.expr) -> Iterator[ast.expr]:
    """`x` of `x.cpu()` and of `to_host(x)`; nothing of what is read as it is."""
    if has_host_copy(read):
        yield read
    while isinstance(read, ast.Attribute | ast.Call):
        if isinstance(read, ast.Call):
            yield from read.args
        read = read.func if isinstance(read, ast.Call) else read.value


def _other_arm(branch: ast.If | ast.IfExp, child: ast.AST) -> tuple[list[ast.AST], bool]:
    """The arm that `child` is not in, and the outcome of the test that leads there."""
    body: list[ast.AST] = list(branch.body) if isinstance(branch.body, list) else [branch.body]
    orelse: list[ast.AST] = (
        list(branch.orelse) if isinstance(branch.orelse, list) else [branch.orelse]
    )
    if any(item is child for item in body):
        return orelse, False
    return body, True


def _host_copies(nodes: list[ast.AST] | list[ast.expr]) -> Iterator[ast.expr]:
    """Copies to the CPU, with the rest of the chain where a `.numpy()` ends it."""
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr in ("numpy", "tolist") and has_host_copy(node.func.value):
                    yield node.func.value
                elif is_host_copy(node):
                    yield node


def is_host_copy(node: ast.AST) -> bool:
    """`x.cpu()`, `x.to("cpu")`, `x.to(device="cpu")`, `x.to(torch.device("cpu"))`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "cpu":
        return True
    if node.func.attr != "to":
        return False
    places = arguments_for(node, 0, "device")
    return any(_is_cpu(place) for place in places)


def _is_cpu(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return isinstance(node, ast.Constant) and node.value == "cpu"


def _refuses_a_gpu(given: ast.keyword) -> bool:
    """`CLAP(use_cuda=False)`: whose copies to the host are there for who wants one."""
    refused = isinstance(given.value, ast.Constant) and given.value.value is False
    return refused and given.arg is not None and matches("requests", given.arg)


def _names_cpu(node: ast.expr) -> bool:
    """`"cpu"`, or a type of tensors that are on the CPU (`torch.DoubleTensor`)."""
    text = node.value if isinstance(node, ast.Constant) else ast.unparse(node)
    if not isinstance(text, str) or "cuda" in text:
        return False
    return _is_cpu(node) or (text.startswith("torch.") and text.endswith("Tensor"))


def has_host_copy(node: ast.AST) -> bool:
    """Whether a copy to the CPU stands in the chain of calls and attributes that ends here."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if is_host_copy(node):
            return True
        node = node.func if isinstance(node, ast.Call) else node.value
    return False


def _without_copies(node: ast.AST) -> str:
    """The chain as text, without what only readies it for NumPy."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if not is_host_copy(node) and node.func.attr not in ("detach", "float", "contiguous"):
                arguments = [ast.unparse(item) for item in node.args]
                steps.append(f".{node.func.attr}({','.join(arguments)})")
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            steps.append(f"[{ast.unparse(node.slice)}]")
            node = node.value
        elif isinstance(node, ast.Attribute):
            if node.attr != "data":
                steps.append(f".{node.attr}")
            node = node.value
        else:
            break
    return ast.unparse(node) + "".join(reversed(steps))
