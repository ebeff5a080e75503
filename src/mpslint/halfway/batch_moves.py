"""What becomes of the parts of a batch in a loop: which are moved to a device as they are, and
which are put to a use that takes no float64: a program that does so runs nowhere with one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.facts import batches
from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.parameters import positional_names
from mpslint.semantics.terms.facts_known import backend_word

if TYPE_CHECKING:
    from mpslint.semantics.wide.class_parts import Function
    from mpslint.semantics.wide.sample_kinds import Key

ALL: Key = (0, -1)
"""A whole batch."""
EVERY: Key = (0, -2)
"""Each part of it in turn."""
PARTS: Key = (0, -3)
"""Each of what a batch gives in a loop: of a table these are the keys."""
_WHOLE = (ALL, EVERY, PARTS)
_DEPTH = 2
"""Calls are followed so deep."""
_DTYPES = ("float", "half", "long", "int", "double", "dtype", "bool", "short", "byte")
_WRAPPING = frozenset({"Variable", "squeeze", "unsqueeze", "flatten", "reshape", "tuple", "list"})


class Move(NamedTuple):
    row: int
    key: Key
    text: str
    at: int
    """Its own row, where it stands in a function that is called in that `row`."""


class Known(NamedTuple):
    """What is known of a program."""

    functions: Callable[[ast.expr], list[Function]]
    """The functions that a call may mean."""
    is_loss: Callable[[str], bool]
    """Whether a name is that of a loss whose target is no float64."""
    networks: frozenset[str]


class Turn:
    """One turn of a loop, or the body of a function that it hands its batch to."""

    def __init__(self, known: Known, names: dict[str, Key], depth: int = _DEPTH) -> None:
        self._known = known
        self._names = names
        self._depth = depth
        self._row: int | None = None
        self._takes_any = False
        self.moves: list[Move] = []
        self.exact: set[Key] = set()
        """What takes no float64."""
        self.fed: set[Key] = set()
        """What a network is given, whose weights are float32."""

    def follow(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def called(self, function: Function, given: dict[str, Key], row: int) -> Turn:
        turn = self._deeper(given)
        turn._row = row
        turn._takes_any = any(
            isinstance(node, ast.Name) and node.id == "isinstance" for node in walk(function)
        )
        turn.follow(function.body)
        return turn

    def _deeper(self, given: dict[str, Key]) -> Turn:
        return Turn(self._known, given, self._depth - 1)

    def _statement(self, node: ast.stmt) -> None:
        inner: list[ast.stmt] = []
        for field, value in ast.iter_fields(node):
            if field in ("body", "orelse", "finalbody"):
                inner += value
            elif field == "handlers":
                inner += [one for handler in value for one in handler.body]
            else:
                for one in value if isinstance(value, list) else (value,):
                    if isinstance(one, ast.AST):
                        self._expression(one)
        if isinstance(node, ast.For | ast.AsyncFor):
            self._turns(node.target, node.iter)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._bind(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._bind(node.target, node.value)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.follow(inner)

    # names

    def _turns(self, target: ast.expr, over: ast.expr) -> None:
        inner = over
        method = ""
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Attribute):
            method = over.func.attr if over.func.attr in ("items", "values") else ""
            inner = over.func.value if method else over
        if self.key_of(inner) != ALL:
            return
        if method == "items" and isinstance(target, ast.Tuple):
            target = target.elts[-1]
        if isinstance(target, ast.Name):
            self._names[target.id] = EVERY if method else PARTS

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            if isinstance(value, ast.Tuple | ast.List):
                keys = [self.key_of(one) for one in value.elts]
                for one, key in zip(target.elts, keys, strict=False):
                    self._set(one, key)
                return
            whole = self.key_of(value)
            for at, one in enumerate(target.elts):
                is_part = whole in _WHOLE
                self._set(one, (len(target.elts), at) if is_part else None)
        elif not isinstance(target, ast.Subscript):
            self._set(target, self.key_of(value))

    def _set(self, target: ast.expr, key: Key | None) -> None:
        if isinstance(target, ast.Name | ast.Attribute):
            spelled = ast.unparse(target)
            if key is None:
                self._names.pop(spelled, None)
            else:
                self._names[spelled] = key

    def key_of(self, node: ast.expr) -> Key | None:
        """The part of the batch that an expression is, in its own dtype."""
        if isinstance(node, ast.Name | ast.Attribute):
            found = self._names.get(ast.unparse(node))
            if found is None and isinstance(node, ast.Attribute) and node.attr in ("data", "T"):
                return self.key_of(node.value)
            return found
        if isinstance(node, ast.Subscript):
            whole = self.key_of(node.value)
            return whole if whole not in _WHOLE else _at(node.slice)
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.DictComp):
            for one in node.generators:
                self._turns(one.target, one.iter)
            elt = node.value if isinstance(node, ast.DictComp) else node.elt
            return ALL if self.key_of(elt) in (EVERY, PARTS) else None
        if isinstance(node, ast.IfExp):
            return self.key_of(node.body) or self.key_of(node.orelse)
        return self._key_of_call(node) if isinstance(node, ast.Call) else None

    def _key_of_call(self, node: ast.Call) -> Key | None:
        function = node.func
        name = last_name(function) or ""
        if name in _WRAPPING and node.args and _is_plain(function):
            return self.key_of(node.args[0])
        if name in ("get", "pop") and isinstance(function, ast.Attribute) and node.args:
            return _at(node.args[0]) if self.key_of(function.value) == ALL else None
        if isinstance(function, ast.Attribute):
            if name in batches.SHAPING or name in ("cuda", "cpu"):
                return self.key_of(function.value)
            if name == "to" and not _casts(node):
                return self.key_of(function.value)
        moved = [self.key_of(one) for one in node.args[:1]]
        is_helper = len(node.args) > 1 and any(map(_is_device, node.args[1:]))
        return moved[0] if moved and (is_helper or any(_named_device(node))) else None

    # expressions

    def _expression(self, top: ast.AST) -> None:
        for node in walk(top):
            if isinstance(node, ast.comprehension):
                self._turns(node.target, node.iter)
        for node in walk(top):
            if isinstance(node, ast.Call):
                self._moved(node)
                self._used(node)
                self._handed(node)
                self._mapped(node)
            elif isinstance(node, ast.Subscript):
                inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                if self.key_of(node.value) not in _WHOLE:
                    self._note(self.exact, inner)
            elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
                self._note(self.exact, [node.operand])
            elif isinstance(node, ast.BinOp):
                if isinstance(node.op, ast.BitAnd | ast.BitOr | ast.LShift | ast.RShift):
                    self._note(self.exact, [node.left, node.right])

    def _note(self, found: set[Key], parts: Iterable[ast.expr]) -> None:
        keys = {self.key_of(one) for one in parts}
        found.update(one for one in keys if one is not None and one not in _WHOLE)

    def _moved(self, node: ast.Call) -> None:
        function = node.func
        if not isinstance(function, ast.Attribute) or not is_move(node, function.attr):
            return
        key = self.key_of(function.value)
        if key is not None and (key != ALL or self._takes_any):
            key = EVERY if key == ALL else key
            self.moves.append(Move(self._row or node.lineno, key, ast.unparse(node), node.lineno))

    def _mapped(self, node: ast.Call) -> None:
        """`map(lambda part: part.to(device), batch)`"""
        if isinstance(node.func, ast.Name) and node.func.id == "map" and len(node.args) == 2:
            function = node.args[0]
            if isinstance(function, ast.Lambda) and self.key_of(node.args[1]) == ALL:
                for one in function.args.args:
                    self._names[one.arg] = PARTS

    def _used(self, node: ast.Call) -> None:
        function = node.func
        name = last_name(function) or ""
        if isinstance(function, ast.Call):
            made = function.func
            name = last_name(made) or ""
        told = {one.arg: one.value for one in node.keywords if one.arg}
        given = [*node.args[1:2], *(told[one] for one in ("target", "labels") if one in told)]
        if any(map(self.key_of, given)):
            if name in batches.TARGETS or self._known.is_loss(name):
                self._note(self.exact, given)
        if name in batches.INDICES:
            at = batches.INDICES[name]
            self._note(self.exact, node.args[at : at + 1])
        if name in batches.MASKING or name in batches.INDEXING:
            self._note(self.exact, node.args[:1])
        if self._is_network(function):
            self._note(self.fed, [*node.args, *told.values()])

    def _is_network(self, function: ast.expr) -> bool:
        while True:
            if isinstance(function, ast.Name | ast.Attribute):
                if ast.unparse(function) in self._known.networks:
                    return True
            if not isinstance(function, ast.Attribute | ast.Subscript):
                return False
            function = function.value

    def _handed(self, node: ast.Call) -> None:
        """What a function of the program does with what it is given."""
        if self._depth <= 0:
            return
        keys = [self.key_of(one) for one in node.args]
        told = {one.arg: self.key_of(one.value) for one in node.keywords if one.arg}
        if not any((*keys, *told.values())):
            return
        for function in self._known.functions(node.func):
            names = positional_names(function.args)
            if isinstance(node.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
                names = names[1:]
            pairs = {**dict(zip(names, keys, strict=False)), **told}
            given = {name: key for name, key in pairs.items() if key is not None}
            turn = self.called(function, given, self._row or node.lineno)
            self.moves += turn.moves
            self.exact |= turn.exact
            self.fed |= turn.fed


def _at(node: ast.expr) -> Key | None:
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            return node.value
        return (0, node.value) if type(node.value) is int else None
    return EVERY if isinstance(node, ast.Name) else None


def _is_plain(function: ast.expr) -> bool:
    """Whether a function is no method of a tensor: `torch.squeeze`."""
    if isinstance(function, ast.Name):
        return True
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id == "torch"


def _is_device(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return backend_word(node) == "cuda"
    if isinstance(node, ast.Call):
        return _is_device(node.func)
    if isinstance(node, ast.Subscript):
        at = node.slice
        return isinstance(at, ast.Constant) and isinstance(at.value, str) and names_device(at.value)
    name = last_name(node) or ""
    return names_device(name)


def _named_device(node: ast.Call) -> Iterator[bool]:
    yield from (one.arg == "device" for one in node.keywords)


def _casts(node: ast.Call) -> bool:
    if keyword(node, "dtype") is not None:
        return True
    for one in node.args:
        name = last_name(one) or ""
        if name.startswith(_DTYPES) or name.endswith("dtype"):
            return True
        if isinstance(one, ast.IfExp):
            return not _is_device(one.body)
    return False


def is_cast(node: ast.Call) -> bool:
    """`x.float()`, `x.to(torch.float32)`"""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    return name in ("float", "half", "type", "type_as") or (name == "to" and _casts(node))


def is_move(node: ast.Call, name: str) -> bool:
    if name == "cuda":
        return True
    if name != "to" or _casts(node):
        return False
    if keyword(node, "device") is not None:
        return True
    return bool(node.args) and _is_device(node.args[0])
