"""Tensors that may be on a device and are given to a library that computes on the CPU.

`np.squeeze(net(x))` copies nothing: with tensors of the CPU it works, of MPS it raises TypeError.
What a function was given, and what comes of that by a model or an operator, may be there once
something of that function has been moved.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from mpslint.basics.brief import brief
from mpslint.facts.priors import computes_on_host
from mpslint.semantics.syntax.expressions import arguments_for, last_name, root_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.sources.screening import moves_something

_TO_HOST = frozenset(
    {"cpu", "numpy", "item", "tolist", "size", "dim", "shape", "dtype", "device", "ndim", "numel"}
    | {"element_size", "data_ptr", "is_cuda", "requires_grad", "stride", "type", "get_device"}
    | {"nelement", "keys", "state_dict", "parameters", "grad_fn", "__name__", "storage"}
)
"""Members of a tensor that are none, or one of the CPU."""
_PLAIN = frozenset(
    {"len", "int", "float", "bool", "str", "isinstance", "type", "print", "range", "repr", "id"}
    | {"hasattr", "callable", "round", "format"}
)
"""Builtins that give back no tensor."""
_HOST_WORDS = ("numpy", "cpu", "host", "item", "np", "python")
"""Parts of the name of a function that takes what it is given off the device."""
_HANDLES = frozenset(
    {"squeeze", "transpose", "reshape", "shape", "ndim", "size", "issubdtype", "asarray_chkfinite"}
)
"""NumPy's functions that ask the method of the same name first."""
_COUNTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("ones", "zeros", "empty", "full", "identity"), (0,)),
    **dict.fromkeys(("standard_normal", "random_sample", "seed"), (0,)),
    **dict.fromkeys(("normal", "uniform"), (2,)),
    **dict.fromkeys(("eye", "rand", "randn"), tuple(range(8))),
}
"""By functions of NumPy: which of their arguments are numbers of elements, or several. Each is
asked for an integer (`__index__`), which a tensor gives wherever it lies, never for an array."""
_SEES = 60


KINDS: frozenset[type[ast.AST]] = frozenset({ast.Import, ast.ImportFrom, ast.Call, *FUNCTIONS})
"""The kinds of nodes that are asked for."""


def may_be_read(text: bytes) -> bool:
    """Whether something of a text may go to a device, and anything to such a library."""
    return b"import" in text and (b"cuda" in text or moves_something(text))


def read_on_host(tree: ast.Module, nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """The rows of such calls, and of what is put into an array without a copy; `nodes`: those of
    its `KINDS`."""
    hosts = host_names(nodes)
    # Where nothing is moved, nothing is on the device.
    moves = sorted(filter(None, map(_move_row, nodes))) if hosts else []
    if not moves:
        return
    defined = {one.name for one in nodes if isinstance(one, FUNCTIONS)}
    for scope in _scopes(tree, nodes):
        if any(_stands_in(one, moves) for one in scope):
            yield from _Scope(hosts, defined).read(scope)


def _move_row(node: ast.AST) -> int:
    """The row of a move to a device; 0: it is none."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return 0
    return node.lineno if node.func.attr in ("cuda", "to") else 0


def _stands_in(statement: ast.stmt, rows: Sequence[int]) -> bool:
    at = bisect_left(rows, statement.lineno)
    return at < len(rows) and rows[at] <= (statement.end_lineno or statement.lineno)


def host_names(nodes: Sequence[ast.AST]) -> set[str]:
    """The names by which a file knows such libraries, or functions of theirs."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.partition(".")[0]
                if computes_on_host(first):
                    found.add(alias.asname or first)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if computes_on_host(node.module.partition(".")[0]):
                found |= {alias.asname or alias.name for alias in node.names}
    return found


def _scopes(tree: ast.Module, nodes: Sequence[ast.AST]) -> Iterator[list[ast.stmt]]:
    """What runs in one go: each function, and the module."""
    yield [one for one in tree.body if not isinstance(one, (*FUNCTIONS, ast.ClassDef))]
    for node in nodes:
        if isinstance(node, FUNCTIONS):
            yield node.body


class _Scope:
    def __init__(self, hosts: set[str], defined: set[str]) -> None:
        self._hosts = hosts
        self._defined = defined
        self._moved: set[str] = set()
        """Names of what may be on the device."""
        self._arrays: set[str] = set()
        """Names of arrays."""

    def read(self, body: list[ast.stmt]) -> Iterator[tuple[int, str]]:
        seen: set[int] = set()
        every = [(one, self._host_calls(one)) for one in _statements(body)]
        for _ in range(2):  # A loop's second turn knows what its first one has moved.
            for statement, calls in every:
                for row, text in self._statement(statement, calls):
                    if row not in seen:
                        seen.add(row)
                        said = brief(text, _SEES)
                        yield row, f"{said} may be given a tensor on MPS, which raises TypeError"

    def _host_calls(self, statement: ast.stmt) -> list[ast.Call]:
        return [
            node
            for part in _own(statement)
            for node in walk(part)
            if isinstance(node, ast.Call) and self._is_host(node.func)
        ]

    def _statement(
        self, statement: ast.stmt, calls: Sequence[ast.Call]
    ) -> Iterator[tuple[int, str]]:
        for node in calls:
            if self._given(node):
                yield node.lineno, ast.unparse(node)
        if isinstance(statement, ast.Assign):
            self._assign(statement.targets, statement.value)
            for target in statement.targets:
                if (
                    isinstance(target, ast.Subscript)
                    and root_name(target, ast.Attribute, ast.Subscript) in self._arrays
                ):
                    if self._is_moved(statement.value):
                        yield statement.lineno, ast.unparse(statement)
        elif isinstance(statement, ast.AugAssign | ast.AnnAssign) and statement.value is not None:
            if self._is_moved(statement.value) and isinstance(statement.target, ast.Name):
                self._moved.add(statement.target.id)
        elif isinstance(statement, ast.For):
            moved = self._is_moved(statement.iter)
            self._moved -= _names(statement.target)
            if moved:
                self._moved |= _names(statement.target)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend"):
                if any(map(self._is_moved, call.args)) and isinstance(call.func.value, ast.Name):
                    self._moved.add(call.func.value.id)

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        moved, array = self._is_moved(value), self._is_array(value)
        for target in targets:
            if isinstance(target, ast.Name | ast.Tuple | ast.List):
                self._moved -= _names(target)
                self._arrays -= _names(target)
                if moved:
                    self._moved |= _names(target)
                if array:
                    self._arrays |= _names(target)

    def _is_host(self, function: ast.expr) -> bool:
        return root_name(function, ast.Attribute, ast.Subscript) in self._hosts

    def _is_array(self, value: ast.expr) -> bool:
        return isinstance(value, ast.Call) and self._is_host(value.func)

    def _given(self, call: ast.Call) -> bool:
        """Whether one of the arguments is a tensor that may be on the device, or a list of them."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in _HANDLES:
            return False
        counts = _COUNTS.get(name, ())
        return any(
            self._is_moved(argument)
            for at, argument in enumerate(call.args)
            if at not in counts or isinstance(argument, ast.Starred)
        )

    def _is_moved(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id in self._moved
        if isinstance(node, ast.Attribute):
            return node.attr not in _TO_HOST and self._is_moved(node.value)
        if isinstance(node, ast.Subscript):
            return self._is_moved(node.value)
        if isinstance(node, ast.BinOp):
            return self._is_moved(node.left) or self._is_moved(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._is_moved(node.operand)
        if isinstance(node, ast.Compare):
            return self._is_moved(node.left) and not isinstance(node.ops[0], ast.In | ast.Is)
        if isinstance(node, ast.List | ast.Tuple):
            return any(map(self._is_moved, node.elts))
        if isinstance(node, ast.Starred):
            return self._is_moved(node.value)
        if isinstance(node, ast.IfExp):
            return self._is_moved(node.body) or self._is_moved(node.orelse)
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return self._is_moved(node.elt)
        return isinstance(node, ast.Call) and self._comes_moved(node)

    def _comes_moved(self, call: ast.Call) -> bool:
        function = call.func
        given = any(map(self._is_moved, call.args))
        if isinstance(function, ast.Name):
            if function.id in _PLAIN or function.id in self._defined or function.id in self._hosts:
                return False
            return given and not _takes_off(function.id)
        if not isinstance(function, ast.Attribute):
            return given
        if function.attr in _TO_HOST or _takes_off(function.attr):
            return False
        if function.attr == "cuda":
            return True
        if function.attr == "to":
            return _is_device(call) or self._is_moved(function.value)
        if self._is_host(function):
            name = function.attr
            return given and name in _HANDLES
        if self._is_moved(function.value):
            return True
        return given and function.attr not in self._defined


def _takes_off(name: str) -> bool:
    words = name.lower().split("_")
    return any(word in words for word in _HOST_WORDS)


def _is_device(call: ast.Call) -> bool:
    """Whether `.to(...)` names a device: by a name with that word, or by a text."""
    every = arguments_for(call, 0, "device")
    for node in every:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return not node.value.startswith("cpu")
        if isinstance(node, ast.Call):
            return "cpu" not in ast.unparse(node)
        text = last_name(node) or ""
        if "dev" in text.lower():
            return True
    return False


def _names(target: ast.expr) -> set[str]:
    if isinstance(target, ast.Name):
        return {target.id}
    if isinstance(target, ast.Tuple | ast.List):
        return set().union(*map(_names, target.elts))
    return set()


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            continue
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from _statements(handler.body)


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr | ast.withitem | ast.keyword):
            yield child
