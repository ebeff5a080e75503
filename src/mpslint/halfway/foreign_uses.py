"""What a file does with a package of others that has no part in where tensors are: it is named in
an annotation or asked for as a type, or is given, and gives, what lies on the host.

`Config.fromfile(args.config)` reads a file whatever the device is, `viewer.add(x.numpy())` shows an
array. Where a tensor, or a model, may go in or come out, nobody knows what becomes of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator
from functools import partial
from typing import Any, cast

from mpslint.facts.priors import names_device
from mpslint.semantics.syntax.index import FUNCTIONS, children, walk

_SCOPES = (ast.Module, *FUNCTIONS, ast.Lambda, ast.ClassDef)
_ASKING = frozenset({"isinstance", "issubclass", "hasattr"})
_PLAIN_BUILTINS = frozenset(
    {"len", "int", "float", "bool", "str", "print", "range", "repr", "open", "hasattr", "format"}
    | {"bytes", "id", "type", "callable", "input", "ord", "chr", "hash"}
)
"""Builtins that give back what lies on the host, whatever they are given."""
_PASSING_BUILTINS = frozenset(
    {"list", "tuple", "dict", "set", "sorted", "min", "max", "sum", "abs", "round", "zip", "next"}
    | {"enumerate", "reversed", "iter", "vars", "getattr", "frozenset", "any", "all"}
)
"""Builtins that give back what they are given, or of its kind."""
_PLAIN_MODULES = frozenset(
    {"os", "sys", "json", "math", "time", "datetime", "random", "re", "pathlib", "glob", "shutil"}
    | {"tempfile", "argparse", "logging", "csv", "io", "string", "platform", "warnings", "uuid"}
    | {"socket", "subprocess", "textwrap", "hashlib", "base64", "urllib", "configparser", "yaml"}
)
"""Modules whose functions give back what lies on the host, whatever they are given."""
_TO_HOST = frozenset(
    {"cpu", "numpy", "item", "tolist", "size", "dim", "shape", "ndim", "numel", "__name__"}
)
"""Members that lie on the host, whatever they are of."""
_OF_PACKAGES = frozenset({"__version__", "__file__", "__name__", "__path__", "__doc__"})
_PLAIN_TYPES = frozenset(
    {"str", "int", "float", "bool", "bytes", "Path", "ndarray", "None", "List", "list", "Optional"}
    | {"Union", "Dict", "dict", "Tuple", "tuple", "Sequence", "Iterable", "Literal", "np", "numpy"}
    | {"pathlib", "os", "PathLike", "typing", "NDArray", "npt", "Namespace", "argparse"}
)
"""The names that an annotation of what lies on the host is made of."""
_PLAIN_ITEMS = frozenset({"str", "int", "float", "bool", "bytes", "Path", "ndarray"})
"""Those that say what lies there, where others only say that it is many."""
_OF_MODULES = frozenset(
    {"to", "cuda", "half", "float", "double", "bfloat16", "eval", "train", "parameters", "modules"}
    | {"named_parameters", "state_dict", "load_state_dict", "forward", "requires_grad_", "apply"}
    | {"children", "compile", "step", "zero_grad", "backward", "share_memory", "register_buffer"}
)
"""Methods of what holds tensors, or moves them."""
_TAKING = frozenset(
    {"tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "Tensor", "load"}
)
"""Functions of torch that make a tensor of what lies on the host, or read a file."""
_DEEPEST = 40


class ForeignUses:
    def __init__(
        self,
        tree: ast.Module,
        foreign: Container[str],
        hosts: Container[str],
        is_taken: Callable[[str], bool],
    ) -> None:
        """`foreign` are the names of the packages, and of what is theirs; `hosts` those of what
        computes on the host; `is_taken` tells whether other files may use a name of the module."""
        self._top = tree
        self._is_taken = is_taken
        self._foreign = foreign
        self._hosts = hosts
        self._around: dict[ast.AST, ast.AST] = {}
        self._given: dict[tuple[ast.AST, str], list[Callable[[], bool]]] = {}
        """By scope and name whether what it is given lies on the host, each time."""
        self._imports: set[tuple[ast.AST, str]] = set()
        """By scope the names that are foreign in it."""
        self._loads: dict[str, list[ast.Name]] = {}
        self._asked: set[tuple[ast.AST, str]] = set()
        """The names of which somebody has asked what they are given: one that is not of the host
        ends a whole question, so that each is followed once."""
        self._followed: set[tuple[ast.AST, str]] = set()
        """Those of which somebody has asked what becomes of them."""
        self._depth = 0
        for node in walk(tree):
            for child in children(node):
                self._around[child] = node
        for node in self._around:
            self._note(node)

    def is_foreign(self, name: ast.Name) -> bool:
        """Whether a name stands for a foreign thing where it is used: no parameter, nor what a
        function has of this name by itself."""
        return (self._scope_of(name), name.id) in self._imports

    def is_apart(self, name: ast.Name) -> bool:
        """Whether no tensor has a part in what is done with a foreign thing where it is named."""
        self._asked.clear()
        self._followed.clear()
        node: ast.expr = name
        while isinstance(self._around.get(node), ast.Attribute):
            node = self._around[node]  # type: ignore[assignment]
            if node.attr in _OF_PACKAGES:  # type: ignore[attr-defined]
                return True
        if self._is_only_asked_for(node):
            return True
        call = self._around.get(node)
        if not isinstance(call, ast.Call) or call.func is not node:
            return self._is_for_entry(node)
        if self._is_for_entry(call):
            return self._is_given_host(call)
        if isinstance(self._around.get(call), ast.Expr):
            return False  # Nothing comes of it that could be seen: it may change what others do.
        return self._is_given_host(call) and self._stays_host(call)

    def _is_only_asked_for(self, node: ast.AST) -> bool:
        around = self._around.get(node)
        if isinstance(around, ast.Compare):
            return True
        if isinstance(around, ast.ExceptHandler):
            return True
        if isinstance(around, ast.Tuple):
            return self._is_only_asked_for(around)
        if isinstance(around, ast.Call) and around.func is not node:
            return isinstance(around.func, ast.Name) and around.func.id in _ASKING
        if isinstance(around, ast.keyword):
            call = self._around.get(around)
            function = call.func if isinstance(call, ast.Call) else None
            return isinstance(function, ast.Attribute) and function.attr == "add_argument"
        return self._is_annotation(node)

    def _is_for_entry(self, decorator: ast.expr) -> bool:
        """Whether something decorates a function that is given settings alone, of classes of the
        file that hold nothing else, and gives nothing back: `@wrap()` of `def main(run: Run)`."""
        entry = self._around.get(decorator)
        if not isinstance(entry, FUNCTIONS) or decorator not in entry.decorator_list:
            return False
        given = entry.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        if not every or given.vararg or given.kwarg:
            return False
        if not all(one.annotation and self._is_of_settings(one.annotation) for one in every):
            return False
        return not any(
            self._own_scope(node) is entry
            for node in walk(entry)
            if isinstance(node, ast.Yield | ast.YieldFrom)
            or (isinstance(node, ast.Return) and node.value is not None)
        )

    def _is_of_settings(self, annotation: ast.expr) -> bool:
        if not isinstance(annotation, ast.Name):
            return False
        classes = [
            one
            for one in children(self._top)
            if isinstance(one, ast.ClassDef) and one.name == annotation.id
        ]
        return len(classes) == 1 and self._holds_settings(classes[0])

    def _holds_settings(self, owner: ast.ClassDef) -> bool:
        """Whether a class derives from none, and says of all that it holds that it is plain."""
        fields = [one for one in owner.body if isinstance(one, ast.AnnAssign)]
        return (
            not owner.bases and bool(fields) and all(_is_plain_item(f.annotation) for f in fields)
        )

    def _is_annotation(self, node: ast.AST) -> bool:
        """Whether a type is only named; what a function is given of it is used on the host."""
        around = self._around.get(node)
        while around is not None and not isinstance(around, ast.stmt):
            if isinstance(around, ast.arg):
                return self._are_uses_on_host(self._own_scope(around), around.arg)
            node, around = around, self._around.get(around)
        if isinstance(around, ast.AnnAssign):
            return around.annotation is node
        return isinstance(around, FUNCTIONS) and around.returns is node

    def _is_given_host(self, call: ast.Call) -> bool:
        if any(names_device(one.arg) for one in call.keywords):
            return False
        return all(map(self._is_host, (*call.args, *(one.value for one in call.keywords))))

    # What becomes of what a foreign thing gives.

    def _stays_host(self, node: ast.AST) -> bool:
        """Whether what an expression gives is used as what lies on the host, as far as it goes."""
        return self._deeper(self._is_used_on_host, node)

    def _is_used_on_host(self, node: ast.AST) -> bool:
        around = self._around.get(node)
        if isinstance(around, ast.Attribute):
            return around.attr in _TO_HOST or (
                around.attr not in _OF_MODULES and self._stays_host(around)
            )
        if isinstance(around, ast.Call):
            if around.func is node:
                ends = isinstance(self._around.get(around), ast.Expr)
                return self._is_given_host(around) and (ends or self._stays_host(around))
            return self._takes_host(around)
        if isinstance(around, ast.keyword):
            call = self._around[around]
            return isinstance(call, ast.Call) and self._takes_host(call)
        if isinstance(around, ast.Subscript):
            return around.slice is node or self._stays_host(around)
        if isinstance(around, ast.AnnAssign):
            is_field = isinstance(self._around.get(around), ast.ClassDef)
            return is_field and _is_plain_item(around.annotation)
        if isinstance(around, ast.Assign) and len(around.targets) == 1:
            return all(map(self._is_kept_on_host, _parts(around.targets[0])))
        if isinstance(around, ast.withitem):
            return around.optional_vars is not None and self._is_kept_on_host(around.optional_vars)
        if isinstance(around, ast.For | ast.comprehension) and around.iter is node:
            return all(map(self._is_kept_on_host, _parts(around.target)))
        if isinstance(around, ast.BinOp | ast.IfExp | ast.BoolOp | ast.Tuple | ast.List | ast.Dict):
            return self._stays_host(around)
        return isinstance(
            around,
            ast.Expr
            | ast.Compare
            | ast.UnaryOp
            | ast.FormattedValue
            | ast.If
            | ast.While
            | ast.Assert,
        )

    def _takes_host(self, call: ast.Call) -> bool:
        """Whether a call takes what it is given as what lies on the host."""
        function = call.func
        if isinstance(function, ast.Name):
            if function.id in _PASSING_BUILTINS:
                return self._stays_host(call)
            return function.id in _PLAIN_BUILTINS or function.id in self._hosts
        root = _root(function)
        if root == "torch":
            return isinstance(function, ast.Attribute) and function.attr in _TAKING
        return root in _PLAIN_MODULES or root in self._hosts

    def _is_kept_on_host(self, target: ast.AST) -> bool:
        if not isinstance(target, ast.Name):
            return False
        scope = self._own_scope(target)
        return not isinstance(scope, ast.ClassDef) and self._are_uses_on_host(scope, target.id)

    def _are_uses_on_host(self, scope: ast.AST, name: str) -> bool:
        key = scope, name
        if key in self._followed:
            return True
        if scope is self._top and self._is_taken(name):
            return False
        self._followed.add(key)
        uses = (one for one in self._loads.get(name, ()) if self._scope_of(one) is scope)
        return all(map(self._stays_host, uses))

    # What a foreign thing is given.

    def _is_host(self, node: ast.expr) -> bool:
        return self._deeper(self._lies_on_host, node)

    def _deeper(self, asks: Callable[[Any], bool], node: ast.AST) -> bool:
        self._depth += 1
        try:
            return self._depth < _DEEPEST and asks(node)
        finally:
            self._depth -= 1

    def _lies_on_host(self, node: ast.expr) -> bool:
        if _names_place(node):
            return False
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return True
        if isinstance(node, ast.Compare):
            return all(map(self._is_host, (node.left, *node.comparators)))
        if isinstance(node, ast.Name):
            return self.is_foreign(node) or self._is_host_name(node)
        if isinstance(node, ast.Attribute):
            return node.attr in _TO_HOST or self._is_host(node.value)
        if isinstance(node, ast.Subscript | ast.Starred):
            return self._is_host(node.value)
        if isinstance(node, ast.Call):
            return self._gives_host(node)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return all(map(self._is_host, node.elts))
        if isinstance(node, ast.Dict):
            return all(map(self._is_host, node.values))
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._is_host(node.elt)
        if isinstance(node, ast.Lambda):
            return self._is_host(node.body)
        if isinstance(node, ast.BinOp):
            return self._is_host(node.left) and self._is_host(node.right)
        if isinstance(node, ast.BoolOp):
            return all(map(self._is_host, node.values))
        if isinstance(node, ast.UnaryOp):
            return self._is_host(node.operand)
        if isinstance(node, ast.IfExp):
            return self._is_host(node.body) and self._is_host(node.orelse)
        return False

    def _gives_host(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in _TO_HOST:
            return True
        if isinstance(function, ast.Name) and function.id in _PLAIN_BUILTINS:
            return True
        if isinstance(function, ast.Name) and function.id in _PASSING_BUILTINS:
            return self._is_given_host(call)
        place = _place(function)
        root = place.id if isinstance(place, ast.Name) else ""
        is_foreign = isinstance(place, ast.Name) and self.is_foreign(place)
        if is_foreign or root in _PLAIN_MODULES or root in self._hosts:
            return True  # Whether a foreign thing is given a tensor is asked where that is named.
        if root == "Path":
            return True
        return isinstance(function, ast.Attribute) and self._is_host(function.value)

    def _is_host_name(self, name: ast.Name) -> bool:
        key = self._scope_of(name), name.id
        if key in self._asked:
            return True
        given = self._given.get(key)
        if not given:
            return False
        self._asked.add(key)
        return all(one() for one in given)

    # Names.

    def _scope_of(self, name: ast.Name) -> ast.AST:
        """The scope that a name is of where it is used."""
        is_own, node = True, cast("ast.AST", name)
        around = self._around.get(node)
        while around is not None:
            node = around
            if isinstance(node, _SCOPES):
                if (is_own or not isinstance(node, ast.ClassDef)) and (
                    node,
                    name.id,
                ) in self._given:
                    return node
                is_own = False
            around = self._around.get(node)
        return node

    def _own_scope(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, _SCOPES):
            node = self._around[node]
        return node

    def _note(self, node: ast.AST) -> None:
        """What a node gives names."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self._loads.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._give(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            if node.value is not None:
                self._give(node.target, node.value)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._give(node.target, node.iter)
        elif isinstance(node, ast.withitem):
            if node.optional_vars is not None:
                self._give(node.optional_vars, node.context_expr)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self._import(node, alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                self._import(node, name)
                for scope in (self._own_scope(node), self._top):
                    self._given.setdefault((scope, name), []).append(lambda: False)
        elif isinstance(node, (*FUNCTIONS, ast.Lambda)):
            self._give_parameters(node)

    def _import(self, node: ast.AST, name: str) -> None:
        """An import gives a name to the scope around, or what says that it is of another one."""
        if name in self._foreign:
            key = self._own_scope(node), name
            self._imports.add(key)
            self._given.setdefault(key, [])

    def _give(self, target: ast.expr, value: ast.expr) -> None:
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts, strict=True))
        for part, given in pairs:
            for name in _parts(part):
                if isinstance(name, ast.Name):
                    key = self._own_scope(name), name.id
                    self._given.setdefault(key, []).append(partial(self._is_host, given))

    def _give_parameters(self, function: ast.AST) -> None:
        arguments: ast.arguments = function.args  # type: ignore[attr-defined]
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
        defaults += arguments.defaults
        every = [*zip(plain, defaults, strict=True)]
        every += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        others = (arguments.vararg, arguments.kwarg)
        for one, default in (*every, *((other, None) for other in others if other is not None)):
            is_plain = _is_plain_type(one.annotation) if one.annotation else _is_plain(default)
            self._given.setdefault((function, one.arg), []).append(lambda plain=is_plain: plain)  # type: ignore[misc]


def _parts(target: ast.AST) -> Iterator[ast.AST]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _parts(one)
    elif isinstance(target, ast.Starred):
        yield from _parts(target.value)
    else:
        yield target


def _place(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


def _root(node: ast.expr) -> str:
    place = _place(node)
    return place.id if isinstance(place, ast.Name) else ""


def _is_plain_type(annotation: ast.expr) -> bool:
    """`str | None`, `Path`, `np.ndarray`"""
    for node in walk(annotation):
        if isinstance(node, ast.Name) and node.id not in _PLAIN_TYPES:
            return False
        if isinstance(node, ast.Attribute) and node.attr not in _PLAIN_TYPES:
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value not in _PLAIN_TYPES:
                return False
    return True


def _is_plain_item(annotation: ast.expr) -> bool:
    """`list[str]`, `Path`: what it is of lies on the host, and so does each part."""
    words = (getattr(one, "id", getattr(one, "attr", "")) for one in walk(annotation))
    return _is_plain_type(annotation) and not _PLAIN_ITEMS.isdisjoint(words)


def _is_plain(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value is not None


def _names_place(given: ast.expr) -> bool:
    """Whether something says, or holds by its name, where tensors go."""
    if isinstance(given, ast.Constant):
        return isinstance(given.value, str) and given.value.partition(":")[0] in ("cuda", "mps")
    name = given.attr if isinstance(given, ast.Attribute) else getattr(given, "id", None)
    return names_device(name)
