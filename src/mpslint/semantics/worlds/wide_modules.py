"""Modules of the program's own that are float64 as their constructor leaves them, in whole or in a
part: to move such a module to MPS raises, whatever is computed with it."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.empty_modules import made_of, qualified
from mpslint.semantics.worlds.state import Class, FunctionNode
from mpslint.semantics.worlds.values import CLASS

_WIDE = "float64"
_DEPTH = 4
"""So many classes deep are the parts of a module followed."""
_PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter"})
_BUFFERS = frozenset({"register_buffer", "register_parameter"})
_MOVES = frozenset({"to", "type"})


def is_made_wide(cls: Class, depth: int = _DEPTH) -> bool:
    """Whether something of a module of this class is float64 for sure once it is made."""
    if not depth or not cls.module:
        return False
    made = cls.methods.get("__init__")
    if made is None:
        return any(is_made_wide(parent, depth - 1) for parent in cls.parents)
    return _Constructor(cls, made.node, depth).leaves_wide()


class _Constructor:
    """What the statements of a constructor that always run make of a module."""

    def __init__(self, cls: Class, made: FunctionNode, depth: int) -> None:
        self._cls = cls
        self._made = made
        self._depth = depth
        first = [*made.args.posonlyargs, *made.args.args]
        self._self = first[0].arg if first else ""

    def leaves_wide(self) -> bool:
        wide = False
        parts: dict[str, bool] = {}
        for statement in self._made.body:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if self._is_self(getattr(target, "value", None)):
                        parts[ast.unparse(target)] = self._is_part(statement.value)
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                call = statement.value
                if not isinstance(call.func, ast.Attribute):
                    continue
                if _is_super(call.func.value):
                    wide = wide or self._base_is_wide(call)
                elif self._is_self(call.func.value):
                    cast = self._cast(call)
                    if cast is not None:
                        wide, parts = cast == _WIDE, {}
                    elif call.func.attr in _BUFFERS and len(call.args) > 1:
                        parts[ast.unparse(call.args[0])] = self._is_tensor(call.args[1])
        return wide or any(parts.values())

    def _is_self(self, node: ast.expr | None) -> bool:
        return isinstance(node, ast.Name) and node.id == self._self

    def _base_is_wide(self, call: ast.Call) -> bool:
        """`super().__init__(size, dtype=torch.float64)`"""
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr != "__init__":
            return False
        if self._cls.parents:
            return any(is_made_wide(parent, self._depth - 1) for parent in self._cls.parents)
        return self._dtype(call) == _WIDE

    def _dtype(self, call: ast.Call) -> str | None:
        given = next((item.value for item in call.keywords if item.arg == "dtype"), None)
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

    def _is_part(self, value: ast.expr) -> bool:
        """Whether something that the module keeps goes where it goes, and is float64."""
        if not isinstance(value, ast.Call):
            return False
        name = qualified(self._cls, value.func)
        if name in _PARAMETERS:
            return bool(value.args) and self._is_tensor(value.args[0])
        if name.startswith("torch.nn.") and name.rpartition(".")[2][:1].isupper():
            listed = [
                item
                for one in value.args
                for item in (one.elts if isinstance(one, ast.List | ast.Tuple) else [one])
            ]
            bare = name.rpartition(".")[2] in facts.BARE_MODULES
            wide = self._dtype(value) == _WIDE and not bare
            return wide or any(map(self._is_part, listed))
        if isinstance(value.func, ast.Name):
            made = made_of(self._cls, value.func.id)
            return made.kind == CLASS and is_made_wide(made.v, self._depth - 1)
        if not isinstance(value.func, ast.Attribute) or not isinstance(value.func.value, ast.Call):
            return False
        cast = self._cast(value)
        if cast is not None:
            return cast == _WIDE and self._is_module(value.func.value)
        return value.func.attr in facts.MODULE_METHODS and self._is_part(value.func.value)

    def _is_module(self, call: ast.Call) -> bool:
        """Whether a call makes a module that has something to cast."""
        name = qualified(self._cls, call.func)
        module, _, last = name.rpartition(".")
        return module == "torch.nn" and last[:1].isupper() and last not in facts.BARE_MODULES

    def _is_tensor(self, value: ast.expr) -> bool:
        """Whether a tensor is float64."""
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
            return known and self._is_tensor(given[0])
        if isinstance(value, ast.BinOp) and isinstance(value.right, ast.Constant):
            return self._is_tensor(value.left)
        if not isinstance(value, ast.Call):
            return False
        if qualified(self._cls, value.func).startswith("torch."):
            return self._dtype(value) == _WIDE
        if not isinstance(value.func, ast.Attribute):
            return False
        cast = self._cast(value)
        if cast is not None:
            return cast == _WIDE
        return value.func.attr not in _MOVES and self._is_tensor(value.func.value)


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )
