"""What runs in a forward pass of a module: its `forward`, what that calls in this file, and what a
`forward` of another file of the project calls of this one.

A forward pass is a part of every step of training and of every prediction, whoever writes the
loop around it. So a loop that stands in one is as hot as a training loop, in a file that trains
nothing itself and never names a device.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cached_property

from mpslint.facts.priors import matches
from mpslint.semantics.elsewhere.imported import Imported
from mpslint.semantics.loops.loops import Loop, Loops
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.names.type_arms import is_of_type
from mpslint.semantics.syntax.expressions import arguments_for, last_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index, walk
from mpslint.semantics.syntax.methods import methods_named
from mpslint.semantics.syntax.parameters import given_for, positional_names, positional_parameters
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy
from mpslint.semantics.values.values import Values

_ELSEWHERE_RUN = ("is_scripting", "is_tracing", "is_in_onnx_export", "is_exporting")
"""Questions of `torch.jit`, `torch.onnx` and `torch.compiler`: where one is asked, one arm is not
of an ordinary forward pass."""
_HOST_KINDS = frozenset({Kind.NDARRAY, Kind.NUMBER, Kind.STRING, Kind.FLAG, Kind.OTHER})


class ForwardPasses:
    def __init__(
        self,
        index: Index,
        names: Names,
        flow: Flow,
        values: Values,
        loops: Loops,
        told: Imported | None = None,
        on_host: Callable[[], bool] = lambda: False,
    ) -> None:
        """`told` tells what the files of the project that use this one run in forward passes;
        `on_host` whether all that the file has stays on the CPU, so that no pass is of a device."""
        self._told = told
        self._on_host = on_host
        self._known: dict[FunctionNode, bool] = {}
        self._index = index
        self._names = names
        self._flow = flow
        self._values = values
        self._loops = loops

    def loop(self, node: ast.AST) -> tuple[Loop, FunctionNode] | None:
        """The innermost loop around `node`, and the function it stands in, where each forward
        pass that `runs` the function runs every turn of it with gradients."""
        loop = self._loops.innermost(node)
        function = self._index.function(node)
        if loop is None or function is None:
            return None
        if self._loops.without_gradients(node) or self._is_aside(node, function):
            return None
        if not self.may_run(function) or not self._loops.every_step(node, loop):
            return None
        return loop, function

    def around(self, node: ast.AST) -> FunctionNode | None:
        """The function around `node`, where each forward pass runs it and comes to `node`."""
        function = self._index.function(node)
        if function is None or self._is_aside(node, function):
            return None
        runs = self._loops.every_step(node, function) and self.runs(function)
        return function if runs else None

    def may_run(self, function: FunctionNode) -> bool:
        """Whether a forward pass may run `function`, before another file is looked at."""
        if function in self._reached:
            return True
        return self._told is not None and isinstance(self._index.parents[function], ast.Module)

    def runs(self, function: FunctionNode) -> bool:
        """Whether a forward pass runs `function`: one of this file, or one of another that calls it
        or what calls it here."""
        if function in self._reached:
            return True
        if self._told is None or not self.may_run(function):
            return False
        if function not in self._known:
            self._known[function] = False  # It may call itself.
            self._known[function] = self._told.runs_in_forward(function.name) or any(
                caller is not None and self.runs(caller)
                for call in self._index.calls.get(function.name, ())
                if function in self._functions(call)
                for caller in (self._index.function(call),)
            )
        return self._known[function]

    def is_read_back(self, node: ast.expr, loop: Loop, function: FunctionNode) -> bool:
        """Whether the tensor `node` may lie on the module's device, as far as this file knows: it
        is no value of the host's, and no caller hands a copy on the host in its place."""
        looked_at = [node] if isinstance(loop, ast.While) else [node, loop.iter]
        return not self._is_on_host(node) and self._is_of_the_device(looked_at, function)

    def is_compared(self, node: ast.expr, function: FunctionNode) -> bool:
        """Whether `node` is `(x < 0).any()` in the `forward` of a module of this file: of tensors,
        as whatever comes to a module and has many values, and of its device, as far as this file
        knows."""
        klass = self._index.parents[function]
        if not isinstance(node, ast.Call) or node.args or node.keywords:
            return False
        if not isinstance(klass, ast.ClassDef) or not self._values.is_module_class(klass):
            return False
        if function.name != "forward" or not isinstance(node.func, ast.Attribute):
            return False
        asked = node.func.value
        if node.func.attr not in ("any", "all") or not isinstance(asked, ast.Compare):
            return False
        sides = [asked.left, *asked.comparators]
        known = {Kind.TENSOR, Kind.UNKNOWN}
        left = asked.left
        if self._values.of(left).kind not in known or self._is_on_host(left):
            return False
        if any(self._counts_a_pack(name) for name in ast.walk(left) if isinstance(name, ast.Name)):
            return False
        return self._is_of_the_device(sides, function)

    def _counts_a_pack(self, name: ast.Name) -> bool:
        """Whether something is the lengths of `pack_padded_sequence` as well, which takes them on
        the CPU alone."""
        for call in self._index.calls.get("pack_padded_sequence", ()):
            given = arguments_for(call, 1, "lengths")
            if any(isinstance(item, ast.Name) and item.id == name.id for item in given):
                if self._index.function(call) is self._index.function(name):
                    return True
        return False

    def _is_of_the_device(self, looked_at: list[ast.expr], function: FunctionNode) -> bool:
        """Whether nothing that is looked at is of the host, by its name or by what is given for a
        parameter."""
        parameters = positional_names(function.args)
        for name in (item for root in looked_at for item in ast.walk(root)):
            word = last_name(name)
            if word is not None and matches("host-fields", word):
                return False
            if not isinstance(name, ast.Name):
                continue
            if name.id in parameters:
                if any(map(self._is_on_host, self._given(function, name.id))):
                    return False
        return True

    def is_tensor(self, node: ast.expr, function: FunctionNode, depth: int = 3) -> bool:
        """Whether `node` is what a kernel makes, or a part of it; or all calls of this file hand
        such to the parameter that it is of."""
        node = root_of(node, ast.Subscript)
        value = self._values.of(node)
        if value.kind is Kind.TENSOR:
            return value.computed
        if value.kind is Kind.UNKNOWN and value.may_be_on_accelerator:
            return True  # Something of somebody's that was moved there.
        parameters = positional_names(function.args)
        if not depth or not isinstance(node, ast.Name) or node.id not in parameters:
            return False
        if any(binding.kind != "parameter" for binding in self._flow.reaching(node)):
            return False
        given = [(item, self._index.function(item)) for item in self._given(function, node.id)]
        return bool(given) and all(
            around is not None and self.is_tensor(item, around, depth - 1) for item, around in given
        )

    def _is_on_host(self, node: ast.expr, depth: int = 3) -> bool:
        """A value of the host's, a copy there, or what a function of this file makes of one."""
        value = self._values.of(node)
        if value.on_cpu or value.kind in _HOST_KINDS or has_host_copy(node):
            return True
        if not depth:
            return False
        if isinstance(node, ast.Name):
            bound = self._flow.reaching(node)
            return bool(bound) and all(
                item.value is not None
                and item.kind != "parameter"  # Its default says nothing of what callers hand over.
                and self._is_on_host(item.value, depth - 1)
                for item in bound
            )
        if isinstance(node, ast.Call) and any(self._functions(node)):
            return any(self._is_on_host(item, depth - 1) for item in node.args)
        return False

    @cached_property
    def _reached(self) -> dict[FunctionNode, list[ast.Call]]:
        """Functions that a forward pass runs, with the calls that lead to them."""
        reached: dict[FunctionNode, list[ast.Call]] = {}
        if self._on_host():
            return reached
        todo = [
            item
            for klass in self._index.of(ast.ClassDef)
            if self._values.is_module_class(klass)
            for item in methods_named(klass, "forward")
            if not _trains(item)
        ]
        reached.update((function, []) for function in todo)
        while todo:
            for call, function in self._called(todo.pop()):
                if function not in reached:
                    reached[function] = []
                    todo.append(function)
                reached[function].append(call)
        return reached

    def _called(self, function: FunctionNode) -> Iterator[tuple[ast.Call, FunctionNode]]:
        """Functions of this file that `function` calls, with their calls."""
        for call in walk(function):
            if isinstance(call, ast.Call) and not self._loops.is_run_once(call, function):
                for called in self._functions(call):
                    yield call, called

    def _functions(self, call: ast.Call) -> Iterator[FunctionNode]:
        """What of this file `call` runs: a function by its name, a method by way of `self`, a
        function or the `forward` of a module that the object holds, what makes an object of a
        class, and a method of one that has just been made."""
        target = call.func
        if isinstance(target, ast.Name):
            for binding in self._names.bindings(target.id, target):
                if isinstance(binding.node, FUNCTIONS):
                    yield binding.node
            for made in self._plain_classes(target):
                yield from methods_named(made, "__init__")
        elif (
            isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
            and (klass := self._index.enclosing(call, ast.ClassDef)) is not None
        ):
            yield from methods_named(klass, target.attr)
            for held in self._held(klass, target.attr):
                yield from methods_named(held, "forward")
            yield from self._held_functions(klass, target.attr)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            bindings = self._flow.reaching(target.value)
            given = bindings[0].value if len(bindings) == 1 else None
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Name):
                for made in self._plain_classes(given.func):
                    yield from methods_named(made, target.attr)

    def _plain_classes(self, name: ast.Name) -> Iterator[ast.ClassDef]:
        """The classes of this file of which `name` is the name, but for modules, which are made
        before the passes."""
        for binding in self._names.bindings(name.id, name):
            if isinstance(binding.node, ast.ClassDef):
                if not self._values.is_module_class(binding.node):
                    yield binding.node

    def _held(self, klass: ast.ClassDef, attribute: str) -> Iterator[ast.ClassDef]:
        """The classes of this file of which `klass` keeps an object as `self.attribute`."""
        for use in self._index.attributes.get(attribute, ()):
            made = self._index.parents[use]
            if (
                isinstance(use.ctx, ast.Store)
                and isinstance(made, ast.Assign)
                and isinstance(made.value, ast.Call)
                and isinstance(made.value.func, ast.Name)
                and self._index.within(use, klass)
            ):
                for binding in self._names.bindings(made.value.func.id, made.value.func):
                    if isinstance(binding.node, ast.ClassDef):
                        yield binding.node

    def _held_functions(self, klass: ast.ClassDef, attribute: str) -> Iterator[FunctionNode]:
        """The functions of this file that `klass` keeps as `self.attribute`, to call them by it."""
        for use in self._index.attributes.get(attribute, ()):
            made = self._index.parents[use]
            if not isinstance(use.ctx, ast.Store) or not self._index.within(use, klass):
                continue
            if isinstance(made, ast.Assign) and isinstance(made.value, ast.Name):
                for binding in self._names.bindings(made.value.id, made.value):
                    if isinstance(binding.node, FUNCTIONS):
                        yield binding.node

    def _given(self, function: FunctionNode, name: str) -> Iterator[ast.expr]:
        """What the calls in this file hand to the parameter `name`."""
        for call in self._reached.get(function, ()):
            given = given_for(function.args, call, name)
            if given is not None:
                yield given

    def _is_aside(self, node: ast.AST, function: FunctionNode) -> bool:
        """In an arm for predictions alone, for a try of the module, or for what traces it, in one
        for another type than a parameter has by default, or in a loop whose first turn hangs on the
        numbers of a tensor: most passes do not come to it."""
        child = node
        for parent in self._index.ancestors(node):
            if parent is function:
                return False
            if isinstance(parent, ast.While) and child is not parent.test:
                if self._asks_for_numbers(parent.test):
                    return True
            if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
                if self._is_for_another_type(parent, child, function):
                    return True
                for item in ast.walk(parent.test):
                    if isinstance(item, ast.Attribute) and item.attr == "training":
                        return True
                    if isinstance(item, ast.Name) and item.id == "__name__":
                        return True  # Who tries the module out runs it as a program.
                    called = isinstance(item, ast.Call) and self._values.last_name(item.func)
                    if called in _ELSEWHERE_RUN:
                        return True
            child = parent
        return False

    def _is_for_another_type(
        self, parent: ast.If | ast.IfExp, child: ast.AST, function: FunctionNode
    ) -> bool:
        """Whether a test asks for the type of a parameter, and what this is by default, a number or
        a text, comes to the other arm."""
        asked = {
            call.args[0].id
            for call in ast.walk(parent.test)
            if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.Name)
        }
        for word in asked:
            default = self._default(function, word)
            if default is not None and default.value is not None:
                found = is_of_type(self._names, parent.test, word, default.value)
                body = parent.body if isinstance(parent.body, list) else [parent.body]
                if found is not None and found is not (child in body):
                    return True
        return False

    def _default(self, function: FunctionNode, word: str, depth: int = 3) -> ast.Constant | None:
        """What a parameter is by default, or what all calls in this file that say what it is hand
        on of such; None: it has no default, is given a new value, or something else by a call."""
        arguments = function.args
        positional = positional_parameters(arguments)
        names = [item.arg for item in positional]
        bound = self._names.bindings(word, function.body[0])
        if not depth or len(bound) != 1 or bound[0].kind != "parameter":
            return None
        if self._index.function(bound[0].node) is not function:
            return None
        default = bound[0].value
        found: list[ast.expr | None] = [default] if default is not None else []
        for given in self._given(function, word) if word in names else ():
            around = self._index.function(given)
            if isinstance(given, ast.Name) and around is not None:
                found.append(self._default(around, given.id, depth - 1))
            else:
                found.append(given)
        constants = [item for item in found if isinstance(item, ast.Constant)]
        kinds = {type(item.value) for item in constants}
        return constants[0] if len(constants) == len(found) and len(kinds) == 1 else None

    def _asks_for_numbers(self, test: ast.expr) -> bool:
        """Whether all that a test asks is of tensors: `S.min() < 1e-3 or torch.any(x > 1)`"""
        if isinstance(test, ast.BoolOp):
            return all(map(self._asks_for_numbers, test.values))
        if isinstance(test, ast.UnaryOp):
            return self._asks_for_numbers(test.operand)
        return self._values.of(test).kind is Kind.TENSOR


def _trains(function: FunctionNode) -> bool:
    """Whether a `forward` that is given nothing goes back through losses and steps in a loop of its
    own: a program that trains, by whatever name it is started, and no pass through a model."""
    given = function.args
    if len(given.posonlyargs) + len(given.args) != 1 or given.vararg or given.kwonlyargs:
        return False
    called = {
        last_name(call.func)
        for loop in walk(function)
        if isinstance(loop, ast.For | ast.While)
        for call in walk(loop)
        if isinstance(call, ast.Call)
    }
    return {"backward", "step"} <= called
