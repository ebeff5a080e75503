"""What a name stands for: scopes, bindings and fully qualified names.

`resolve` follows every form of import (`import torch as th`, `from torch import cuda`, inside
functions, under `try`, `torch = pytest.importorskip("torch")`) and plain aliases
(`is_available = torch.cuda.is_available`), and knows when a local name shadows one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from functools import cached_property

from mpslint.records import NamedTuple
from mpslint.semantics.names.cells import cells_of, imported_in
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.index import FUNCTIONS, SCOPE_NODES, FunctionNode, Index
from mpslint.semantics.syntax.parameters import (
    defaults_of,
    explicit_parameters,
    positional_parameters,
)

_MODULE_LOADERS = {
    "pytest.importorskip",
    "importlib.import_module",
    "__import__",
    "importorskip",
    "import_module",
}
_MODULES_KEPT = frozenset({"torch", "torch.cuda"})
"""Modules that objects keep, to make their tensors with the types in them."""
_OF_PYTHON = frozenset(dir(builtins))
_SCOPE_KINDS = frozenset(SCOPE_NODES)
_CANONICAL = {
    "torch.cuda.amp.autocast_mode": "torch.cuda.amp",
    "torch.cuda.amp.grad_scaler": "torch.cuda.amp",
    "torch.amp.autocast_mode.autocast": "torch.autocast",
    "torch.amp.autocast": "torch.autocast",
    "torch.GradScaler": "torch.amp.GradScaler",
    "torch.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.nn.parallel.DataParallel": "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel.DataParallel": "torch.nn.DataParallel",
    "torch.distributed.distributed_c10d": "torch.distributed",
}


class Binding(NamedTuple):
    """One place that gives a name its value."""

    kind: str
    """import, assign, augment, annotate, unpack, for, with, except, parameter, def, class,
    walrus, delete, match or global."""
    node: ast.AST
    """The statement (or parameter, comprehension, walrus) that binds."""
    value: ast.expr | None
    """What is bound, where it is one expression: the right side, the iterable, the context
    manager, the default of a parameter."""
    target: ast.AST | None
    qualified: str | None = None


class Scope:
    __slots__ = ("bindings", "globals", "node", "nonlocals", "parent")

    def __init__(self, node: ast.AST, parent: Scope | None) -> None:
        self.node = node
        self.parent = parent
        self.bindings: dict[str, list[Binding]] = {}
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()

    def add(self, name: str, binding: Binding) -> None:
        self.bindings.setdefault(name, []).append(binding)


class Names:
    """Scopes and bindings of a file."""

    def __init__(self, index: Index, offers: Callable[[str], bool] | None = None) -> None:
        """`offers` says whether a module of the project has a name, given as `module.name`."""
        self._index = index
        self._offers = offers
        self._scopes: dict[ast.AST, Scope] = {}
        self._around: dict[ast.AST, Scope] = {}
        self._resolved: dict[ast.AST, str | None] = {}
        self._busy: set[tuple[Scope, str]] = set()
        self.module = self._scope_for(index.tree)
        self._collect()

    # scopes

    def _scope_for(self, node: ast.AST) -> Scope:
        scope = self._scopes.get(node)
        if scope is None:
            parent = None if isinstance(node, ast.Module) else self.scope_of(node)
            scope = self._scopes[node] = Scope(node, parent)
        return scope

    def scope_of(self, node: ast.AST) -> Scope:
        """The scope in which `node` itself is evaluated (its own scope is not its)."""
        known = self._around.get(node)
        if known is not None:
            return known
        parents = self._index.parents
        passed = [node]
        child, parent = node, parents.get(node)
        found: Scope | None = None
        while parent is not None:
            if parent.__class__ in _SCOPE_KINDS and _inside(child, parent):
                found = self._scope_for(parent)
                break
            found = self._around.get(parent)
            if found is not None:
                break
            passed.append(parent)
            child, parent = parent, parents.get(parent)
        scope = found if found is not None else self._scope_for(self._index.tree)
        for item in passed:
            self._around[item] = scope
        return scope

    def own_scope(self, node: ast.AST) -> Scope:
        """The scope that a function, class or module opens."""
        return self._scope_for(node)

    def owner(self, name: str, node: ast.AST) -> Scope | None:
        """The scope whose `name` is meant at `node`; None for builtins and unknown names."""
        scope: Scope | None = self.scope_of(node)
        first = True
        while scope is not None:
            if name in scope.globals:
                return self.module if name in self.module.bindings else None
            visible = first or not isinstance(scope.node, ast.ClassDef)
            if visible and name in scope.bindings and name not in scope.nonlocals:
                return scope
            # A comprehension in a class body still sees nothing of the class but its iterable.
            first = False
            scope = scope.parent
        return None

    def bindings(self, name: str, node: ast.AST) -> list[Binding]:
        """All bindings of `name` in the scope that `node` sees it from."""
        scope = self.owner(name, node)
        return scope.bindings[name] if scope is not None else []

    # collecting

    def _collect(self) -> None:
        index = self._index
        for statement in index.of(ast.Global):
            self.scope_of(statement).globals.update(statement.names)
        for statement_ in index.of(ast.Nonlocal):
            self.scope_of(statement_).nonlocals.update(statement_.names)
        for imported in index.of(ast.Import):
            scope = self.scope_of(imported)
            for alias in imported.names:
                local = alias.asname or alias.name.split(".")[0]
                qualified = alias.name if alias.asname else local
                self._add(scope, local, Binding("import", imported, None, alias, qualified))
        for item in index.of(ast.ImportFrom):
            scope = self.scope_of(item)
            module = "." * item.level + (item.module or "")
            for alias in item.names:
                qualified = (
                    f"{module}.{alias.name}" if not module.endswith(".") else module + alias.name
                )
                binding = Binding("import", item, None, alias, qualified)
                self._add(scope, alias.asname or alias.name, binding)
        for function in index.functions():
            binding = Binding("def", function, None, None)
            self._add(self.scope_of(function), function.name, binding)
            self._parameters(function, function.args)
        for function_ in index.of(ast.Lambda):
            self._parameters(function_, function_.args)
        for klass in index.of(ast.ClassDef):
            binding = Binding("class", klass, None, None)
            self._add(self.scope_of(klass), klass.name, binding)
        for handler in index.of(ast.ExceptHandler):
            if handler.name:
                self.scope_of(handler).add(
                    handler.name, Binding("except", handler, handler.type, None)
                )
        for kind in (ast.MatchAs, ast.MatchStar):
            for capture in index.by_type.get(kind, ()):
                name = getattr(capture, "name", None)
                if name:
                    self.scope_of(capture).add(name, Binding("match", capture, None, None))
        for names in index.names.values():
            for use in names:
                if type(use.ctx) is not ast.Load:
                    self._store(use)

    def _parameters(self, function: ast.AST, arguments: ast.arguments) -> None:
        scope = self._scope_for(function)
        defaults = dict(defaults_of(arguments))
        for arg in (*explicit_parameters(arguments), arguments.vararg, arguments.kwarg):
            if arg is not None:
                scope.add(arg.arg, Binding("parameter", arg, defaults.get(arg), None))

    def _store(self, name: ast.Name) -> None:
        parents = self._index.parents
        scope = self.scope_of(name)
        target: ast.AST = name
        parent = parents[name]
        unpacked = False
        while isinstance(parent, ast.Tuple | ast.List | ast.Starred):
            unpacked, target, parent = True, parent, parents[parent]
        binding: Binding
        if isinstance(parent, ast.Assign):
            binding = Binding("unpack" if unpacked else "assign", parent, parent.value, name)
        elif isinstance(parent, ast.AnnAssign):
            if parent.value is None and not isinstance(scope.node, ast.ClassDef):
                return
            binding = Binding("annotate", parent, parent.value, name)
        elif isinstance(parent, ast.AugAssign):
            binding = Binding("augment", parent, parent.value, name)
        elif isinstance(parent, ast.For | ast.AsyncFor | ast.comprehension):
            binding = Binding("for", parent, parent.iter, target)
        elif isinstance(parent, ast.withitem):
            binding = Binding("with", parents[parent], parent.context_expr, target)
        elif isinstance(parent, ast.NamedExpr):
            binding = Binding("walrus", parent, parent.value, name)
            while isinstance(
                scope.node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
            ):
                assert scope.parent is not None
                scope = scope.parent
        elif isinstance(parent, ast.Delete):
            binding = Binding("delete", parent, None, name)
        else:
            binding = Binding("other", self._index.statement(name), None, name)
        self._add(scope, name.id, binding)

    def _add(self, scope: Scope, name: str, binding: Binding) -> None:
        """Bind a name where `global` and `nonlocal` say that it belongs."""
        if name in scope.globals:
            scope = self.module
        elif name in scope.nonlocals:
            outer: Scope | None = scope.parent
            while outer is not None and name not in outer.bindings:
                outer = outer.parent
            scope = outer or scope
        scope.add(name, binding)

    def every_binding(self) -> Iterator[tuple[str, Binding]]:
        """All bindings of all scopes with their names."""
        # Who asks may look further before the next one, and meet a scope that is made only then.
        for scope in list(self._scopes.values()):
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    yield name, binding

    # qualified names

    def resolve(self, node: ast.AST) -> str | None:
        """The dotted name of what `node` refers to, such as `torch.cuda.is_available`.

        None for anything that is not a chain of attributes on an imported name. Relative
        imports keep their leading dots. A few names with several homes are given the usual one
        (`torch.amp.autocast` is `torch.autocast`).
        """
        if node in self._resolved:
            return self._resolved[node]
        self._resolved[node] = None
        result: str | None = None
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            result = f"{base}.{node.attr}" if base else self._kept_module(node)
        elif isinstance(node, ast.Name):
            result = self._resolve_name(node)
        elif isinstance(node, ast.Call):
            result = self._resolve_loader(node)
        if result is not None:
            result = canonical(result)
        self._resolved[node] = result
        return result

    def _resolve_name(self, node: ast.Name) -> str | None:
        scope = self.owner(node.id, node)
        if scope is None:
            return self._of_all_names(node.id) if "*" in self.module.bindings else None
        bindings = scope.bindings[node.id]
        imported = [b for b in bindings if b.kind == "import"]
        if imported:
            others = [b for b in bindings if b.kind not in ("import", "delete")]
            if any(not _is_stand_in(b) for b in others):
                return None
            known = [b.qualified for b in imported if b.qualified]
            return next((q for q in known if q.split(".")[0] == "torch"), known[0])
        if len(bindings) != 1 or (scope, node.id) in self._busy:
            return None
        (binding,) = bindings
        if binding.kind == "parameter" and scope.node in self._cells:
            return imported_in(self._cells).get(node.id)
        if binding.kind in ("assign", "annotate", "walrus") and binding.value is not None:
            self._busy.add((scope, node.id))
            try:
                if isinstance(binding.value, ast.Attribute | ast.Name | ast.Call):
                    return self.resolve(binding.value)
            finally:
                self._busy.discard((scope, node.id))
        return None

    def _of_all_names(self, name: str) -> str | None:
        """What a name means that the file does not bind, where it imports all names of modules:
        the last of those in the project that has it."""
        if name == "torch":
            return name
        if self._offers is None or name in _OF_PYTHON:
            return None
        for star in reversed(self.module.bindings["*"]):
            qualified = (star.qualified or "").removesuffix("*") + name
            if self._offers(qualified):
                return qualified
        return None

    @cached_property
    def _cells(self) -> list[FunctionNode]:
        return cells_of(self._index.tree)

    def _kept_module(self, node: ast.Attribute) -> str | None:
        """The module of torch that an object keeps: `self.tt` behind `self.tt = torch.cuda`."""
        if not isinstance(node.value, ast.Name) or node.attr not in self._kept_modules:
            return None
        klass, receiver, module = self._kept_modules[node.attr]
        if node.value.id != receiver or type(node.ctx) is not ast.Load:
            return None
        return module if self._index.enclosing(node, ast.ClassDef) is klass else None

    @cached_property
    def _kept_modules(self) -> dict[str, tuple[ast.ClassDef, str, str]]:
        """By attribute, the one class that gives it a module of torch, once and nothing else."""
        kept: dict[str, tuple[ast.ClassDef, str, str]] = {}
        for statement in self._index.of(ast.Assign):
            target, value = statement.targets[0], statement.value
            if len(statement.targets) != 1 or not isinstance(value, ast.Name | ast.Attribute):
                continue
            if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
                continue
            module = self._module_of_torch(value)
            if module is None:
                continue
            klass = self._index.enclosing(statement, ast.ClassDef)
            stores = [x for x in self._index.attributes[target.attr] if type(x.ctx) is ast.Store]
            if klass is None or stores != [target] or not self._is_receiver(target.value):
                continue
            if target.attr not in self._scope_for(klass).bindings:
                kept[target.attr] = klass, target.value.id, module
        return kept

    def _module_of_torch(self, node: ast.Name | ast.Attribute) -> str | None:
        """Which of the modules that make tensors an imported name is."""
        root = root_of(node, ast.Attribute)
        if not isinstance(root, ast.Name):
            return None
        if not any(binding.kind == "import" for binding in self.bindings(root.id, root)):
            return None
        name = self.resolve(node)
        return name if name in _MODULES_KEPT else None

    def _is_receiver(self, name: ast.Name) -> bool:
        """Whether a name is the object whose method this is: its first parameter."""
        method = self.scope_of(name).node
        if not isinstance(method, FUNCTIONS):
            return False
        parameters = positional_parameters(method.args)
        return bool(parameters) and parameters[0].arg == name.id

    def _resolve_loader(self, node: ast.Call) -> str | None:
        """The module that `importorskip("torch")` and its like return."""
        function = node.func
        last = function.attr if isinstance(function, ast.Attribute) else None
        if isinstance(function, ast.Name):
            last = function.id
        if last not in ("importorskip", "import_module", "__import__") or not node.args:
            return None
        argument = node.args[0]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            name = self.resolve(function) or last
            if name in _MODULE_LOADERS:
                return argument.value
        return None

    def imports(self, package: str) -> bool:
        """Whether the file imports `package` (or something below it) anywhere."""
        prefix = package + "."
        for imported in self._index.of(ast.Import):
            if any(a.name == package or a.name.startswith(prefix) for a in imported.names):
                return True
        return any(
            item.level == 0
            and item.module is not None
            and (item.module == package or item.module.startswith(prefix))
            for item in self._index.of(ast.ImportFrom)
        )


def canonical(name: str) -> str:
    """The usual name of what has several homes in torch."""
    if not name.startswith("torch."):
        return name
    for old, new in _CANONICAL.items():
        if name == old or name.startswith(old + "."):
            return new + name[len(old) :]
    return name


def _is_stand_in(binding: Binding) -> bool:
    """`torch = None` beside `import torch` does not change what the name means."""
    return isinstance(binding.value, ast.Constant) and binding.value.value in (None, False)


def _inside(child: ast.AST, scope: ast.AST) -> bool:
    """Whether `child`, a field of `scope`, is evaluated inside it.

    Decorators, defaults, annotations and base classes belong to the scope around.
    """
    if isinstance(scope, (*FUNCTIONS, ast.ClassDef)):
        return isinstance(child, ast.stmt)
    if isinstance(scope, ast.Lambda):
        return child is scope.body
    return True
