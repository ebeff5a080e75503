"""Functions and classes where they are defined: who may call them, in which worlds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from mpslint.facts import machines as facts
from mpslint.facts.priors import call_worlds, decorator_worlds, definition_worlds
from mpslint.semantics.names.cells import cells_of, imported_in
from mpslint.semantics.syntax.expressions import last_name, maker
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.worlds.machines import ALL, GPUS, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.parametrized import Parametrized, with_symbol
from mpslint.semantics.worlds.runners import is_test, takes_several_gpus
from mpslint.semantics.worlds.state import Class, Env, Function, FunctionNode, is_dataset
from mpslint.semantics.worlds.values import (
    CLASS,
    DEVICE,
    FUNCTION,
    NAME,
    NO_TESTS,
    Atom,
    Tests,
    Value,
    cases_of,
    left_by_marks,
    one,
    where,
)

_OF_ARRAYS = (".tensor(", "as_tensor(", "from_numpy(", ".asarray(", "DataLoader(", "Dataset)")
_OF_ROWS = frozenset({"append", "appendleft", "extend", "insert", "sample", "choices"})
_OF_SAMPLES = frozenset({"__init__", "__getitem__", "__iter__"})
_PLAIN_DECORATORS = frozenset({"torch", "functools", "contextlib", "typing", "abc"})


class Definitions(Parametrized):
    functions: dict[FunctionNode, Function]
    classes: dict[ast.ClassDef, Class]
    fixtures: dict[str, Function]
    automatic: list[Function]
    """Fixtures that every test uses."""
    outer_of_class: list[Env]

    def s_FunctionDef(self, node: FunctionNode) -> None:
        frame = self.frame
        mask, tests, cases = self.decorated(node)
        if any(map(self._is_of_a_group, (*node.args.args, *node.args.kwonlyargs))):
            mask &= NVIDIA
        in_class = frame.in_class
        up = self.outer_of_class if in_class else [frame.env, *frame.up]
        function = self.functions.get(node)
        for default in (*node.args.defaults, *node.args.kw_defaults) if self.recording else ():
            if isinstance(default, ast.IfExp | ast.Call):
                self.kept(self.eval(default), node.name)
        if function is None:
            function = Function(node, frame.cls if in_class else None, up, mask, tests, self)
            matters = self.is_relevant(node) or _only_compares(node)
            matters = matters or self._samples(node) or self._gives_arrays(node)
            function.leading = not matters and node in self.leading
            function.relevant = matters or function.leading
            self.functions[node] = function
        elif self.recording:
            function.up, function.mask, function.tests = up, mask, tests
        function.cases = {
            name: with_symbol(value, (function, name)) for name, value in cases.items()
        }
        for decorator in node.decorator_list:
            last = last_name(decorator)
            if last in ("property", "cached_property"):
                function.prop = True
            elif last == "staticmethod":
                function.static = True
        if node.decorator_list:
            function.mask &= self._through_decorators(node, function)
            if node in self._cells:
                function.cases = self._handed_by_cells(node)
        if self.count_of("device_ids") and is_test(function) and takes_several_gpus(function):
            function.mask &= GPUS
        if in_class:
            assert frame.cls is not None
            frame.cls.methods[node.name] = function
            return
        if node.decorator_list:
            function.decorated = True
            if any(map(self._hands_on, node.decorator_list)):
                function.escaped = True
                function.handed.append((ALL, NO_TESTS))
            for decorator in node.decorator_list:
                made_by = maker(decorator)
                if isinstance(made_by, ast.Attribute) and made_by.attr == "fixture":
                    self.fixtures[node.name] = function
                    if isinstance(decorator, ast.Call) and any(
                        item.arg == "autouse" for item in decorator.keywords
                    ):
                        self.automatic.append(function)
        frame.env[node.name] = Atom(FUNCTION, function)

    s_AsyncFunctionDef = s_FunctionDef

    def _samples(self, node: FunctionNode) -> bool:
        """Whether a method says what a dataset of torch's gives: numbers, of which a loader makes
        tensors, need no word of torch."""
        cls = self.frame.cls if self.frame.in_class else None
        return cls is not None and node.name in _OF_SAMPLES and is_dataset(cls)

    def _gives_arrays(self, node: FunctionNode) -> bool:
        """Whether a function gives what NumPy makes, where the file makes tensors of arrays: of a
        number that is one of its own, which is float64; or keeps rows for who makes some of these,
        and gives them back."""
        return bool(self._arrays) and (
            any(
                isinstance(item, ast.Name) and item.id in self._arrays
                for found in of_kinds(node, (ast.Return,))
                for item in walk(found)
            )
            or (self.frame.in_class and any(map(_keeps_rows, of_kinds(node, (ast.Call,)))))
        )

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """The names by which the file knows NumPy; none, where it makes no tensors of arrays."""
        if not any(map(self.count_of, _OF_ARRAYS)):
            return frozenset()
        return frozenset(
            alias.asname or alias.name
            for item in self.tree.body
            if isinstance(item, ast.Import)
            for alias in item.names
            if alias.name == "numpy"
        )

    @cached_property
    def _cells(self) -> list[FunctionNode]:
        return cells_of(self.tree)

    def _handed_by_cells(self, cell: FunctionNode) -> Env:
        """The packages that a cell of a notebook has from others."""
        imported = imported_in(self._cells)
        return {
            item.arg: Atom(NAME, imported[item.arg])
            for item in cell.args.args
            if item.arg in imported
        }

    def _is_of_a_group(self, parameter: ast.arg) -> bool:
        """`model: FSDP`: who gives it has a process for each GPU."""
        if not isinstance(parameter.annotation, ast.Name | ast.Attribute):
            return False
        key = self.key(parameter.annotation)
        value = self.lookup(key.partition(".")[0]) if key is not None else None
        if value.__class__ is not Atom or value.kind != NAME or key is None:
            return False
        _, dot, rest = key.partition(".")
        return call_worlds(f"{value.v}{dot}{rest}") == "cuda"

    def _hands_on(self, decorator: ast.expr) -> bool:
        """Whether a decorator may give the function to somebody who calls it: a command, a route.
        Those of torch and of the standard library (`@torch.no_grad()`) do not."""
        name = one(self.named_only(maker(decorator)), ALL)
        return name.kind != NAME or str(name.v).partition(".")[0] not in _PLAIN_DECORATORS

    def _through_decorators(self, node: FunctionNode, function: Function) -> int:
        """The worlds in which decorators of the project call the function that they are given. A
        test of CUDA that they ask for is about CUDA, no port's choice."""
        left = ALL
        for decorator in node.decorator_list:
            if not self._hands_on(decorator):
                continue
            recording, self.recording = self.recording, False
            value = one(self.eval(maker(decorator)), ALL)
            given: Env | None = None
            if value.kind == FUNCTION and isinstance(decorator, ast.Call):
                args = [self.eval(item) for item in decorator.args]
                keywords = {k.arg: self.eval(k.value) for k in decorator.keywords if k.arg}
                given = self.bound_arguments(value.v, decorator, args, keywords, bound=False)
            self.recording = recording
            if value.kind == FUNCTION:
                left &= self.left_by_decorator(value.v, given)
        if is_test(function) and not left & MAC:
            left &= ~PORTED
        return left

    def left_by_decorator(self, wrapper: Function, given: Env | None) -> int:
        raise NotImplementedError

    def bound_arguments(
        self, function: Function, node: ast.Call, args: list[Value], keywords: Env, *, bound: bool
    ) -> Env:
        raise NotImplementedError

    def decorated(self, node: FunctionNode | ast.ClassDef) -> tuple[int, Tests, Env]:
        """The worlds that a function or class runs in, as its decorators say, and what these give
        its parameters."""
        mask = self.frame.mask
        tables: list[ast.Call] = []
        cases: Env = {}
        for decorator in node.decorator_list:
            table = self.parametrize(decorator)
            if table is not None:
                tables.append(table)
                continue
            made = self.eval(decorator)
            mask &= left_by_marks(made)
            if one(made, ALL).kind == DEVICE and isinstance(decorator, ast.Call):
                cases[_option_of(decorator)] = made
            name = last_name(maker(decorator)) or ""
            said = decorator_worlds(name, tuple(_options_of(decorator)))
            if said == "cuda":
                mask &= NVIDIA
            elif said == "mps":
                mask &= MACS
        if definition_worlds(node.name) == "cuda" and not self._is_called_anywhere(node):
            if not self._gives_back_elsewhere(node):
                mask &= NVIDIA
        for table in tables:  # What marks keep from all cases, none is tried on.
            given, left = self.cases_of_test(table, mask)
            cases.update(given)
            mask &= left
        return mask, self.frame.tests, cases

    def _is_called_anywhere(self, node: FunctionNode | ast.ClassDef) -> bool:
        """Whether a trainer calls the hooks of this class, on whatever machine it runs: its name
        says what it tells of (`CUDACallback`), not where."""
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        return any(
            atom.kind == NAME and atom.v in facts.CALLBACKS
            for atom in (one(self.eval(base), ALL) for base in bases)
        )

    def _gives_back_elsewhere(self, node: FunctionNode | ast.ClassDef) -> bool:
        """Whether a function moves what it is given where CUDA is, and gives it back as it is where
        it is not: `def maybe_cuda(x): return x.cuda() if use_gpu else x`."""
        if isinstance(node, ast.ClassDef) or self.frame.in_class:
            return False
        given = {item.arg for item in node.args.args}
        for item in walk(node):
            if isinstance(item, ast.IfExp):
                arms = (item.body, item.orelse)
                if any(isinstance(arm, ast.Name) and arm.id in given for arm in arms):
                    if any(map(_moves, arms)) and self._asks_machine(item.test):
                        return True
            elif isinstance(item, ast.If) and item in node.body:
                rest = node.body[node.body.index(item) + 1 :] if not item.orelse else item.orelse
                arms_of = (item.body, rest)
                if any(_returns_one(arm, given) for arm in arms_of):
                    moves = any(_moves(part) for arm in arms_of for part in arm)
                    if moves and self._asks_machine(item.test):
                        return True
        return False

    def _asks_machine(self, test: ast.expr) -> bool:
        """Whether a test lets machines with CUDA one way, and a Mac the other."""
        recording, self.recording = self.recording, False
        yes, no, tests = self.cond(test)
        self.recording = recording
        return not tests.isdisjoint(self.cuda_tests) and (not yes & MAC or not no & MAC)

    def s_ClassDef(self, node: ast.ClassDef) -> None:
        frame = self.frame
        mask, _, _ = self.decorated(node)
        cls = self.classes.get(node)
        if cls is None:
            cls = self.classes[node] = Class(node, self)
        for base in node.bases:
            atom = one(self.eval(base), ALL)
            if atom.kind == CLASS:
                for name, function in atom.v.methods.items():
                    cls.methods.setdefault(name, function)
                if atom.v is not cls and atom.v not in cls.parents:
                    cls.parents.append(atom.v)
                cls.bases += [item for item in atom.v.bases if item not in cls.bases]
                cls.module = cls.module or atom.v.module
            elif atom.kind == NAME:
                cls.bases.append(str(atom.v))
                cls.module = cls.module or str(atom.v).endswith("Module")
        saved = (frame.cls, frame.in_class, frame.env, self.outer_of_class, frame.mask, frame.up)
        self.outer_of_class = [frame.env, *frame.up]
        frame.cls, frame.in_class, frame.env, frame.up = cls, True, {}, self.outer_of_class
        frame.mask = mask
        self.block(node.body)
        for name, value in frame.env.items():
            cls.sites.setdefault(name, {})[0] = value
            if any(where(atom) in ("cuda", "mps") for _, atom in cases_of(value, mask)):
                if not any("Enum" in base for base in map(ast.dump, node.bases)):
                    self.kept(value, name)
        frame.cls, frame.in_class, frame.env, self.outer_of_class, frame.mask, frame.up = saved
        frame.env[node.name] = Atom(CLASS, cls)


def _keeps_rows(call: ast.AST) -> bool:
    """`self.rows.append(...)`, `random.sample(self.rows, n)`"""
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in _OF_ROWS


def _moves(node: ast.AST) -> bool:
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr in ("cuda", "to")
        for item in ast.walk(node)
    )


def _returns_one(arm: list[ast.stmt], given: set[str]) -> bool:
    """Whether an arm does nothing but give back what the function was given."""
    only = arm[0] if len(arm) == 1 else None
    if not isinstance(only, ast.Return):
        return False
    return isinstance(only.value, ast.Name) and only.value.id in given


def _only_compares(node: FunctionNode) -> bool:
    """Whether all that a function does is to say what a name of the module is: `return state ==
    State.CPU` tells machines apart where the name does."""
    body = [item for item in node.body if not isinstance(item, ast.Global)]
    if len(body) != 1 or not isinstance(body[0], ast.Return):
        return False
    value = body[0].value
    return isinstance(value, ast.Compare) and not isinstance(value.left, ast.Call)


def _options_of(decorator: ast.expr) -> Iterator[str]:
    """The names of what a decorator is told, but for what is told to be off; of those in a table,
    where the decorator is known to take its options so."""
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if not _is_off(keyword.value):
            yield keyword.arg or ""
        if isinstance(keyword.value, ast.Dict) and keyword.arg in facts.TABLES_OF_OPTIONS:
            for key, value in zip(keyword.value.keys, keyword.value.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    if not _is_off(value):
                        yield key.value


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _option_of(decorator: ast.Call) -> str:
    """The parameter that `click.option("-d", "--device", "device_name", default="cuda")` fills: the
    name without dashes, else the first with two."""
    names = [
        item.value
        for item in decorator.args
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    ]
    first = min(
        names, key=lambda name: (name.startswith("-"), not name.startswith("--")), default=""
    )
    return first.lstrip("-").replace("-", "_").lower()
