"""Tensors of NumPy's arrays that a function of another file of the project gives: of float64, which
is NumPy's own dtype, they cannot be moved to MPS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.basics.brief import brief
from mpslint.halfway import wide_batches
from mpslint.halfway.batch_moves import ALL, EVERY, PARTS, Known, Move, Turn
from mpslint.halfway.unread_arrays import NOT_MOVED, TENSORS
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.wide.class_parts import parameters
from mpslint.semantics.wide.sample_values import (
    UNREAD,
    WIDE,
    Many,
    Row,
    Table,
    Value,
    worst,
)
from mpslint.sources.screening import moves_something

if TYPE_CHECKING:
    from mpslint.halfway.data_sets import DataSets, Files
    from mpslint.semantics.wide.class_parts import Function
    from mpslint.semantics.wide.sample_kinds import Key, SampleKinds

_SURE = f"is float64 as {{}} gives it, which {NOT_MOVED}"
_DOUBT = f"may be float64 as {{}} gives it, which {NOT_MOVED}"
_MAKES = re.compile(rb"from_numpy|\btensor\(|as_tensor|float64|double")
_OF_ARRAYS = re.compile(rb"numpy|\btensor\(|as_tensor")
"""What the text of a file holds that may give an array."""
_DEFINES = re.compile(rb"^[ \t]*def (\w+)\(", re.MULTILINE)
_SEES = 60
_SHORT = 3
"""A method of so short a name is anybody's."""
_WORSE = (WIDE, UNREAD)
_ONE: Key = ""
"""What is a tensor itself."""
_EACH: Key = (0, -9)
"""What gives several of these, one in each turn."""
_DEPTH = 3
_TENSORS = ("from_numpy", *TENSORS)
_AROUND = ("enumerate", "tqdm", "list", "iter", "tuple")
"""What gives the items of what it is given, perhaps counted."""


class ReturnedArrays:
    def __init__(self, files: Files, data_sets: DataSets) -> None:
        self._files = files
        self._data_sets = data_sets
        self._kinds: dict[str, SampleKinds | None] = {}
        self._defined: dict[str, frozenset[bytes]] = {}
        self._values: dict[tuple[str, str], Value | None] = {}

    def around(self, path: str) -> dict[str, Value]:
        """By name the functions that a file calls, its own and those of files that it leads to, and
        what they give, where a tensor of float64 may be among that."""
        text = self._files.text_of(path)
        paths = (path, *self._files.led_to(path))
        if not any(moves_something(self._files.text_of(one)) for one in paths):
            return {}
        words: frozenset[bytes] | None = None
        made = _OF_ARRAYS if _MAKES.search(text) else _MAKES
        found: dict[str, list[Value | None]] = {}
        own = self._names_of(path)
        for other in paths:
            names = own if other == path else self._names_of(other) - own
            if not names or not made.search(self._files.text_of(other)):
                continue
            if words is None:
                words = frozenset(re.findall(rb"\w+(?=\()", text))
            for name in sorted(names & words):
                spelled = name.decode()
                found.setdefault(spelled, []).append(self._value(other, spelled))
        return {
            name: some[0]
            for name, some in found.items()
            if len(some) == 1 and some[0] is not None and worst_tensor(some[0]) in _WORSE
        }

    def taken(
        self, path: str, tree: ast.Module, given: dict[str, Value]
    ) -> Iterator[tuple[int, str, int]]:
        """The rows in which a file moves what such a function has given it, with the reason, and
        the row of the move itself."""
        functions = self._data_sets.functions_around(path)
        own = self._names_of(path)
        for name, value in given.items():
            moves = _Moves(tree, name, value, functions, is_own=name.encode() in own)
            for row, text, at, kind, is_fed in moves.found():
                # A network of float32 raises on any machine for what is none.
                is_known = kind == UNREAD and is_fed and not self._has_casts(path)
                if not is_known:
                    said = _SURE if kind == WIDE else _DOUBT
                    yield row, f"{brief(text, _SEES)} {said.format(name)}", at

    def _has_casts(self, path: str) -> bool:
        return self._data_sets.has_casts((path, *self._files.led_to(path)))

    def _names_of(self, path: str) -> frozenset[bytes]:
        if path not in self._defined:
            names = _DEFINES.findall(self._files.text_of(path))
            self._defined[path] = frozenset(
                name for name in names if len(name) > _SHORT and not name.startswith(b"__")
            )
        return self._defined[path]

    def _value(self, path: str, name: str) -> Value | None:
        if path not in self._kinds:
            from mpslint.semantics.wide.sample_kinds import SampleKinds

            tree = self._files.tree_of(path)
            self._kinds[path] = SampleKinds(tree) if tree is not None else None
        if (path, name) not in self._values:
            kinds = self._kinds[path]
            self._values[path, name] = kinds.returned(name) if kinds is not None else None
        return self._values[path, name]


def worst_tensor(value: Value | None) -> str:
    """The kind in a value that speaks most for a tensor of float64."""
    if isinstance(value, Row | Table | Many):
        parts = _parts(value)
        kinds = {worst_tensor(part) for part in parts}
        return next((kind for kind in _WORSE if kind in kinds), "")
    return worst(value)


def _parts(value: Row | Table | Many) -> Iterable[Value | None]:
    if isinstance(value, Row):
        return value.parts
    return value.keys.values() if isinstance(value, Table) else (value.each,)


class _Moves:
    """What a file does with what one function gives."""

    def __init__(
        self,
        tree: ast.Module,
        name: str,
        value: Value,
        functions_of: Callable[[str], list[Function]],
        *,
        is_own: bool,
    ) -> None:
        """`is_own`: it is one of the file itself, of whose own moves the rules tell."""
        self._is_own = is_own
        self._tree = tree
        self._name = name
        self._is_many = isinstance(value, Many)
        inner = value.each if isinstance(value, Many) else value
        self._parts: dict[Key, str] = {}
        if isinstance(inner, Row):
            count = len(inner.parts)
            kinds = [worst_tensor(part) for part in inner.parts]
            self._parts = {(count, at): kind for at, kind in enumerate(kinds)}
        elif isinstance(inner, Table):
            self._parts = {key: worst_tensor(one) for key, one in inner.keys.items()}
        elif inner is not None:
            self._parts = {_ONE: worst_tensor(inner)}
        self._functions_of = functions_of

    def found(self) -> Iterator[tuple[int, str, int, str, bool]]:
        """Each move with its row, its text, its own row, its kind, and whether a network is given
        it."""
        inner: Key = _ONE if _ONE in self._parts else ALL
        given = {self._name: _EACH if self._is_many else inner}
        known = Known(self._functions, lambda name: False, wide_batches.networks(self._tree))
        turn = _Returned(known, {}, given, inner)
        for names, body in _bodies(self._tree):
            turn.begin(names)
            turn.follow(body)
        every = turn.handed_on if self._is_own else turn.moves
        moves = {(one.row, one.text, one.key): one for one in every}.values()
        for move in moves:
            for part, kind in self._parts.items():
                if kind in _WORSE and _is_meant(move.key, part) and part not in turn.exact:
                    yield move.row, move.text, move.at, kind, part in turn.fed

    def _functions(self, function: ast.expr) -> list[Function]:
        name = last_name(function)
        found = self._functions_of(name) if name else []
        return found if len(found) == 1 else []


class _Returned(Turn):
    """Follows what the calls of a function give, as the parts of a batch are followed."""

    def __init__(
        self,
        known: Known,
        names: dict[str, Key],
        calls: dict[str, Key],
        inner: Key,
        depth: int = _DEPTH,
    ) -> None:
        """`calls`: what a call of a name gives, `inner` what is one of many such."""
        super().__init__(known, names, depth)
        self._calls = calls
        self._inner = inner
        self._kept: dict[str, Key] = {}
        self.handed_on: list[Move] = []
        """The moves by functions that are given it."""

    def begin(self, parameters: Iterable[str] | None) -> None:
        """A function with these parameters begins, after others or the top of the module (None),
        of which attributes are left and what is the module's."""
        if parameters is not None:
            own = {name: key for name, key in self._names.items() if "." in name}
            kept = self._kept if self._kept else dict(self._names)
            self._kept = kept
            self._names = {**kept, **own}
            for name in parameters:
                self._names.pop(name, None)

    def _deeper(self, given: dict[str, Key]) -> Turn:
        return _Returned(self._known, given, self._calls, self._inner, self._depth - 1)

    def _handed(self, node: ast.Call) -> None:
        before = len(self.moves)
        super()._handed(node)
        self.handed_on += self.moves[before:]

    def key_of(self, node: ast.expr) -> Key | None:
        if isinstance(node, ast.BinOp):  # With a number it keeps its dtype.
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(other, ast.Constant):
                    return self.key_of(one)
            return None
        return super().key_of(node)

    def _key_of_call(self, node: ast.Call) -> Key | None:
        name = last_name(node.func)
        if name in self._calls:
            return self._calls[name]
        if name == "next" and node.args:
            return self._inner if self.key_of(node.args[0]) == _EACH else None
        if name in _TENSORS and node.args:
            return None if keyword(node, "dtype") is not None else self.key_of(node.args[0])
        return super()._key_of_call(node)

    def _moved(self, node: ast.Call) -> None:
        if last_name(node.func) in _TENSORS and keyword(node, "device") is not None:
            key = self._key_of_call(node)
            if key is not None and key != ALL:
                row = self._row or node.lineno
                self.moves.append(Move(row, key, ast.unparse(node), node.lineno))
        else:
            super()._moved(node)

    def _statement(self, node: ast.stmt) -> None:
        super()._statement(node)
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.args:
            key = self.key_of(call.args[0]) if call.func.attr == "append" else None
            if key is not None:
                self._set(call.func.value, key)

    def _turns(self, target: ast.expr, over: ast.expr) -> None:
        while isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.args:
            if over.func.id not in _AROUND:
                break
            if over.func.id == "enumerate" and isinstance(target, ast.Tuple):
                target = target.elts[-1]
            over = over.args[0]
        if self.key_of(over) != _EACH:
            super()._turns(target, over)
        elif isinstance(target, ast.Tuple | ast.List):
            for at, one in enumerate(target.elts):
                self._set(one, (len(target.elts), at))
        else:
            self._set(target, self._inner)


def _bodies(tree: ast.Module) -> Iterator[tuple[list[str] | None, list[ast.stmt]]]:
    """What runs in a file, its top first, and the parameters of each function."""
    yield None, [one for one in tree.body if not isinstance(one, (*FUNCTIONS, ast.ClassDef))]
    for node in walk(tree):
        if isinstance(node, FUNCTIONS):
            yield parameters(node), node.body


def _is_meant(moved: Key, part: Key) -> bool:
    if moved in (EVERY, part) or (moved == PARTS and not isinstance(part, str)):
        return True
    if isinstance(moved, str) or isinstance(part, str):
        return False
    return moved[1] == part[1] and moved[0] in (0, part[0])
