"""Modules of the program's own that are float64 as their constructor leaves them, in whole or in a
part: to move such a module to MPS raises, whatever is computed with it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from mpslint.facts import machines as facts
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.worlds.empty_modules import made_of, qualified
from mpslint.semantics.worlds.state import Class, FunctionNode
from mpslint.semantics.worlds.values import CLASS

_DEPTH = 4
"""So many classes deep are the parts of a module followed."""
_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_BUFFERS = frozenset({"register_buffer", "register_parameter"})
_MOVES = frozenset({"to", "type"})
_CASTS = _MOVES | frozenset(facts.FLOAT_CASTS)
_OTHERWISE = _MOVES | frozenset(facts.OF_OTHER_DTYPE) | {"type_as"}
"""Methods of a tensor whose result need not have its dtype."""

# Source: torch's documentation of these functions (torch 2.13); of several tensors the result is
# at least as wide as the first one.
_OF_SAME_DTYPE = frozenset(
    {"sin", "cos", "tan", "exp", "log", "sqrt", "rsqrt", "pow", "outer", "mul", "add", "sub", "div"}
    | {"neg", "square", "cumsum", "cumprod", "flip", "clone", "reshape", "transpose", "permute"}
    | {"unsqueeze", "squeeze", "flatten", "tril", "triu", "diag", "ones_like", "zeros_like"}
    | {"empty_like", "rand_like", "randn_like", "full_like"}
)
_OF_COMPLEX = {"polar": 2, "complex": 2}
"""What makes complex numbers of so many tensors, which have one dtype."""


def wide_dtype(cls: Class, depth: int = _DEPTH) -> str | None:
    """The dtype that MPS lacks of something of a module of this class, for sure once it is made."""
    if not depth or not cls.module:
        return None
    made = cls.methods.get("__init__")
    if made is None:
        return _first(wide_dtype(parent, depth - 1) for parent in cls.parents)
    return _Constructor(cls, made.node, depth).leaves_wide()


def _first(dtypes: Iterable[str | None]) -> str | None:
    return next((dtype for dtype in dtypes if dtype in facts.NOT_ON_MPS), None)


class _Constructor:
    """What the statements of a constructor that always run make of a module."""

    def __init__(self, cls: Class, made: FunctionNode, depth: int) -> None:
        self._cls = cls
        self._made = made
        self._depth = depth
        first = positional_parameters(made.args)
        self._self = first[0].arg if first else ""
        self._whole: str | None = None
        self._parts: dict[str, str | None] = {}
        """By the attribute the dtype of what it holds, where that is sure."""

    def leaves_wide(self) -> str | None:
        for statement in self._made.body:
            if isinstance(statement, ast.Assign):
                self._assign(statement)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                self._call(statement.value)
            elif any(isinstance(item, ast.Return) for item in ast.walk(statement)):
                return None
            else:
                self._forget(statement)
        return _first((self._whole, *self._parts.values()))

    def _assign(self, statement: ast.Assign) -> None:
        self._forget(statement.value)
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and self._is_self(target.value):
                self._parts[target.attr] = self._part(statement.value)
            else:
                self._forget(target)

    def _call(self, call: ast.Call) -> None:
        function = call.func
        if not isinstance(function, ast.Attribute):
            self._forget(call)
        elif _is_super(function.value):
            self._whole = _first((self._whole, self._base_dtype(call)))
        elif self._is_self(function.value) and function.attr in _BUFFERS:
            name, held = (*call.args, None, None)[:2]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self._parts[name.value] = self._tensor(held) if held is not None else None
        elif self._is_self(function.value):
            cast = self._cast(call)
            if cast is None:
                self._forget(call)
            else:
                self._whole, self._parts = cast, {}
        else:
            self._forget(call)

    def _forget(self, node: ast.AST) -> None:
        """What may be of another dtype once `node` has run: what it stores anew, and all where it,
        or a method of the class that it calls, casts something of the module."""
        for item in self._run_by(node):
            if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store | ast.Del):
                if self._is_self(item.value):
                    self._parts.pop(item.attr, None)
                elif item.attr == "data":
                    self._whole, self._parts = None, {}
            elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
                if item.func.attr in _CASTS and not self._is_fresh(item.func.value):
                    self._whole, self._parts = None, {}

    def _run_by(self, node: ast.AST) -> Iterator[ast.AST]:
        """All of `node`, and of the methods of the class that it names."""
        todo, seen = [node], {self._made.name}
        while todo:
            for item in ast.walk(todo.pop()):
                yield item
                if not isinstance(item, ast.Attribute) or not self._is_self(item.value):
                    continue
                method = _method(self._cls, item.attr) if item.attr not in seen else None
                seen.add(item.attr)
                todo += method.body if method is not None else ()

    def _is_fresh(self, node: ast.expr) -> bool:
        """Whether something was made here: to cast it casts nothing that the module has."""
        while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Name) or qualified(self._cls, node.func):
                    return True
            node = node.func if isinstance(node, ast.Call) else node.value
        return False

    def _is_self(self, node: ast.expr | None) -> bool:
        return isinstance(node, ast.Name) and node.id == self._self

    def _base_dtype(self, call: ast.Call) -> str | None:
        """`super().__init__(size, dtype=torch.float64)`"""
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr != "__init__":
            return None
        if self._cls.parents:
            return _first(wide_dtype(parent, self._depth - 1) for parent in self._cls.parents)
        return self._dtype(call)

    def _dtype(self, call: ast.Call) -> str | None:
        given = keyword(call, "dtype")
        return facts.DTYPES.get(qualified(self._cls, given)) if given is not None else None

    def _cast(self, call: ast.Call) -> str | None:
        """The dtype to which a method casts."""
        assert isinstance(call.func, ast.Attribute)
        if not call.args and call.func.attr in facts.FLOAT_CASTS:
            return facts.FLOAT_CASTS[call.func.attr]
        if call.func.attr not in _MOVES:
            return None
        named = [facts.DTYPES.get(qualified(self._cls, item)) for item in call.args]
        return self._dtype(call) or next(filter(None, named), None)

    def _part(self, value: ast.expr) -> str | None:
        """The dtype of something that the module keeps, and that goes where it goes."""
        if not isinstance(value, ast.Call):
            return None
        name = qualified(self._cls, value.func)
        if name in _PARAMETERS:
            return self._tensor(value.args[0]) if value.args else None
        if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
            listed = [
                item
                for one in value.args
                for item in (one.elts if isinstance(one, ast.List | ast.Tuple) else [one])
            ]
            bare = name.rpartition(".")[2] in facts.BARE_MODULES
            own = self._dtype(value) if not bare else None
            return _first((own, *map(self._part, listed)))
        if isinstance(value.func, ast.Name):
            made = made_of(self._cls, value.func.id)
            return wide_dtype(made.v, self._depth - 1) if made.kind == CLASS else None
        if not isinstance(value.func, ast.Attribute) or not isinstance(value.func.value, ast.Call):
            return None
        cast = self._cast(value)
        if cast is not None:
            return cast if self._is_module(value.func.value) else None
        return self._part(value.func.value) if value.func.attr in facts.MODULE_METHODS else None

    def _is_module(self, call: ast.Call) -> bool:
        """Whether a call makes a module that has something to cast."""
        name = qualified(self._cls, call.func)
        module, _, last = name.rpartition(".")
        return module == "torch.nn" and last[:1].isupper() and last not in facts.BARE_MODULES

    def _tensor(self, value: ast.expr) -> str | None:
        """The dtype of a tensor, where it is sure: by what is written, or by what it was when the
        file was run."""
        home, written = self._cls.home, self._written(value)
        seen = home.wide_parts.get(value) if home is not None else None
        return written if written is not None or seen is None else str(seen)

    def _written(self, value: ast.expr) -> str | None:
        if isinstance(value, ast.Name):
            stores = [
                item
                for item in ast.walk(self._made)
                if isinstance(item, ast.Name)
                and item.id == value.id
                and isinstance(item.ctx, ast.Store)
            ]
            given = [
                item.value
                for item in self._made.body
                if isinstance(item, ast.Assign)
                and any(target is store for target in item.targets for store in stores)
            ]
            known = len(stores) == len(given) == 1 and not isinstance(given[0], ast.Name)
            return self._tensor(given[0]) if known else None
        if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
            return self._tensor(value.left)
        if not isinstance(value, ast.Call):
            return None
        name = qualified(self._cls, value.func)
        if name.startswith("torch."):
            return self._made_by(value, name)
        if not isinstance(value.func, ast.Attribute):
            return None
        cast = self._cast(value)
        if cast is not None:
            return cast
        if keyword(value, "dtype") is not None:
            return self._dtype(value)
        return self._tensor(value.func.value) if value.func.attr not in _OTHERWISE else None

    def _made_by(self, call: ast.Call, name: str) -> str | None:
        """The dtype of what a function of torch makes, of tensors or of nothing."""
        if keyword(call, "dtype") is not None:
            return self._dtype(call)
        last = name.rpartition(".")[2]
        if not call.args or last not in _OF_SAME_DTYPE | _OF_COMPLEX.keys():
            return None
        dtypes = [self._tensor(item) for item in call.args[: _OF_COMPLEX.get(last, 1)]]
        if last in _OF_COMPLEX:
            return "complex128" if set(dtypes) == {"float64"} else None
        return dtypes[0]


def _method(cls: Class, name: str, depth: int = _DEPTH) -> FunctionNode | None:
    """A method of a class, or of one of its bases."""
    own = cls.methods.get(name)
    if own is not None or not depth:
        return own.node if own is not None else None
    found = (_method(parent, name, depth - 1) for parent in cls.parents)
    return next((method for method in found if method is not None), None)


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )
