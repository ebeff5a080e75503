"""Casts behind a move: `x.to(device).float()`, or `x = x.to(device)` and later `x = x.float()`.

Who casts to float32 has something else, and NumPy's own dtype is float64: what nobody knows for
another may be that, and is moved before it is cast, which raises where the device is MPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from weakref import WeakKeyDictionary

from mpslint.facts import batches
from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.wide.class_parts import imported_names, qualified
from mpslint.semantics.wide.open_kinds import OF_ARRAYS, OPEN, OpenKinds
from mpslint.semantics.wide.sample_values import ANY

_FLOATS = ("float32", "float16", "bfloat16")
_BY_METHOD = {
    **{"float": "float32", "half": "float16", "bfloat16": "bfloat16"},
    **{"long": "int64", "int": "int32"},
}
_BY_NAME = {**_BY_METHOD, **{name: name for name in (*_FLOATS, "int64", "int32")}}
CAST_TEXTS = tuple(
    word.encode()
    for word in (*(f".{one}()" for one in _BY_METHOD), *(f"{one})" for one in _BY_NAME))
)
"""What a file holds one of that has such casts."""
_ASKING = frozenset({"shape", "size", "dim", "ndim", "numel", "device", "stride", "is_contiguous"})
"""What is the same before a cast and behind it."""
_DIVIDING = frozenset({"div", "div_", "divide", "true_divide"})
_BYTES = (255, 127, 127.5, 128, 256)
"""What bytes are divided by, to be numbers of about one."""


class LateCast(NamedTuple):
    move: ast.Call
    cast: ast.Call
    dtype: str
    """What it becomes, as torch calls it."""
    kind: str
    """As in `sample_values`: one of those of what may be float64."""
    modules: dict[str, str]
    """What the names of the file's imports stand for."""
    is_apart: bool = False
    """The cast is that of a name, which is given what was moved."""

    @property
    def is_float(self) -> bool:
        return self.dtype in _FLOATS


def may_cast_late(text: bytes) -> bool:
    """Whether a text may hold such a cast."""
    moves = b".to(" in text or b".cuda(" in text or b"device=" in text
    return moves and any(word in text for word in CAST_TEXTS)


_known: WeakKeyDictionary[ast.Module, tuple[LateCast, ...]] = WeakKeyDictionary()
"""Of the trees that somebody keeps."""


def late_casts(tree: ast.Module) -> tuple[LateCast, ...]:
    """Those of a file, but for modules, and for what is known to be no float64."""
    known = _known.get(tree)
    if known is None:
        known = _known[tree] = tuple(_late_casts(tree))
    return known


def _late_casts(tree: ast.Module) -> list[LateCast]:
    found = _Casts(tree).found()
    moves = {id(one.move) for one in found}

    def moved_by(call: ast.Call) -> ast.expr | None:
        if id(call) not in moves:
            return None
        return (
            call if is_made(call) or not isinstance(call.func, ast.Attribute) else call.func.value
        )

    kinds = {id(call): kind for call, kind in OpenKinds(tree, moved_by).kinds()} if moves else {}
    told = (one._replace(kind=kinds.get(id(one.move), "")) for one in found)
    return [one for one in told if one.kind in OPEN and _may_be_late(one)]


def is_made(move: ast.Call) -> bool:
    """`torch.tensor(a, device=device)`, which makes what it moves."""
    return last_name(move.func) in OF_ARRAYS


def _may_be_late(one: LateCast) -> bool:
    """Whole numbers are mostly cast to others: only what is made of arrays is as likely to be
    float64. A batch that is copied without waiting is cast on the device on purpose."""
    if one.kind != ANY:
        return True
    waits = keyword(one.move, "non_blocking")
    return one.is_float and (waits is None or ast.unparse(waits) == "False")


def cast_to(call: ast.AST, modules: dict[str, str]) -> str | None:
    """The dtype that a call casts to, where MPS has it; None: it is no cast. `type()` of a class
    (`torch.FloatTensor`) moves as well."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    given, name = [*call.args, *(one.value for one in call.keywords)], call.func.attr
    if name in _BY_METHOD:
        return _BY_METHOD[name] if not given else None
    if name not in ("to", "type") or len(given) != 1:
        return None
    if call.keywords and call.keywords[0].arg != "dtype":
        return None
    package, _, last = qualified(given[0], modules).rpartition(".")
    return _BY_NAME.get(last) if package == "torch" else None


def behind(node: ast.expr) -> ast.expr:
    """What an expression takes a part of, or gives another shape: `x` of `x[0].unsqueeze(1)`."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in batches.SHAPING:
                return node
            node = node.func.value
        else:
            return node


def moved_to(call: ast.AST, modules: dict[str, str]) -> bool:
    """Whether a call brings something to a device as it is."""
    if not isinstance(call, ast.Call):
        return False
    if any(one.arg in (None, "dtype") for one in call.keywords):
        return False
    device = keyword(call, "device")
    package, _, name = qualified(call.func, modules).rpartition(".")
    if package == "torch":
        is_given = bool(call.args) and name in OF_ARRAYS and device is not None
        return is_given and _is_device(device, modules)
    if package or not isinstance(call.func, ast.Attribute) or len(call.args) > 1:
        return False
    if call.func.attr == "cuda":
        return True
    device = device if device is not None else call.args[0] if call.args else None
    return call.func.attr == "to" and _is_device(device, modules)


def _is_device(node: ast.expr | None, modules: dict[str, str]) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and not node.value.startswith("cpu")
    if isinstance(node, ast.Call):
        return qualified(node.func, modules) == "torch.device" and "cpu" not in ast.unparse(node)
    if isinstance(node, ast.IfExp):
        return _is_device(node.body, modules) or _is_device(node.orelse, modules)
    return node is not None and names_device(last_name(node))


class _Casts:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._modules = imported_names(tree)
        self._every = {
            node: dtype
            for node in walk(tree)
            if isinstance(node, ast.Call) and (dtype := cast_to(node, self._modules)) is not None
        }

    def found(self) -> list[LateCast]:
        every = [*self._chained(), *self._apart()]
        uses = _Uses(self._tree, self._modules) if every else None
        return [one for one in every if uses is not None and uses.is_tensor(one)]

    def _chained(self) -> Iterator[LateCast]:
        for cast, dtype in self._every.items():
            assert isinstance(cast.func, ast.Attribute)
            move = behind(cast.func.value)
            if isinstance(move, ast.Call) and moved_to(move, self._modules):
                yield LateCast(move, cast, dtype, "", self._modules)

    def _apart(self) -> Iterator[LateCast]:
        """Casts of a name, later."""
        names = {
            cast.func.value.id
            for cast in self._every
            if isinstance(cast.func, ast.Attribute) and isinstance(cast.func.value, ast.Name)
        }
        moved = {
            statement: kept
            for statement in (walk(self._tree) if names else ())
            if isinstance(statement, ast.Assign)
            and (kept := [one for one in self._moved_by(statement) if one[0] in names])
        }
        for scope in walk(self._tree) if moved else ():
            if isinstance(scope, (*FUNCTIONS, ast.Module)):
                yield from self._apart_in(scope, moved)

    def _moved_by(self, statement: ast.Assign) -> Iterator[tuple[str, ast.Call]]:
        for name, value in pairs(statement):
            move = behind(value)
            if isinstance(move, ast.Call) and moved_to(move, self._modules):
                yield name, move

    def _apart_in(
        self, scope: ast.AST, every: Mapping[ast.Assign, list[tuple[str, ast.Call]]]
    ) -> Iterator[LateCast]:
        nodes = list(_inside(scope))
        moved = [
            (statement, name, move)
            for statement in nodes
            if isinstance(statement, ast.Assign)
            for name, move in every.get(statement, ())
        ]
        loads: dict[str, list[ast.Name]] = {}
        parents: dict[ast.AST, ast.AST] = {}
        for node in nodes if moved else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                loads.setdefault(node.id, []).append(node)
            parents |= dict.fromkeys(ast.iter_child_nodes(node), node)
        for statement, name, move in moved:
            later = (one for one in loads.get(name, ()) if _at(one) > _end(statement))
            first = next(
                (one for one in sorted(later, key=_at) if not is_asked(one, parents)), None
            )
            cast = called_on(first, parents) if first is not None else None
            dtype = cast_to(cast, self._modules) if cast is not None else None
            if cast is not None and dtype is not None:
                yield LateCast(move, cast, dtype, "", self._modules, is_apart=True)


class _Uses:
    """What a file does with what it moves, by which a module or bytes are known."""

    def __init__(self, tree: ast.Module, modules: dict[str, str]) -> None:
        self._modules = modules
        self._own = {one.name for one in walk(tree) if isinstance(one, ast.ClassDef)}
        self._given: dict[int, list[ast.expr]] = {}
        """By what is assigned the targets."""
        self._dropped: set[int] = set()
        """What is computed for its effect alone."""
        self._no_tensors: set[str] = set()
        """What is called, or asked for what modules alone have."""
        self._bytes: set[str] = set()
        """What is divided by as much as a byte may be."""
        for node in walk(tree):
            self._note(node)

    def is_tensor(self, one: LateCast) -> bool:
        """Whether what is moved is no module, for all that the file shows, and no bytes."""
        move, cast = one.move, one.cast
        if id(cast) in self._dropped:
            return False
        parts = [cast, move, *self._given.get(id(cast), ()), *self._given.get(id(move), ())]
        if not is_made(move) and isinstance(move.func, ast.Attribute):
            base = behind(move.func.value)
            if isinstance(base, ast.Call) and last_name(base.func) in self._own:
                return False
            parts.append(base)
        spelled = {ast.unparse(one) for one in parts}
        return spelled.isdisjoint(self._no_tensors) and spelled.isdisjoint(self._bytes)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign):
            self._given.setdefault(id(node.value), []).extend(node.targets)
        elif isinstance(node, ast.Expr):
            self._dropped.add(id(node.value))
        elif isinstance(node, ast.Attribute) and node.attr in batches.MODULES_ALONE:
            self._no_tensors.add(ast.unparse(node.value))
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name | ast.Attribute):
                self._no_tensors.add(ast.unparse(node.func))
            if last_name(node.func) in _DIVIDING and isinstance(node.func, ast.Attribute):
                if node.args and _is_byte(node.args[0]):
                    self._divided(node.func.value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            if _is_byte(node.right):
                self._divided(node.left)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
            if _is_byte(node.value):
                self._divided(node.target)

    def _divided(self, node: ast.expr) -> None:
        node = behind(node)
        self._bytes.add(ast.unparse(node))
        if cast_to(node, self._modules):
            assert isinstance(node, ast.Call)
            assert isinstance(node.func, ast.Attribute)
            self._bytes.add(ast.unparse(behind(node.func.value)))


def pairs(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment gives something, each with what it is given."""
    target, value = statement.targets[0], statement.value
    if len(statement.targets) > 1:
        return
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        if len(target.elts) == len(value.elts):
            for one, given in zip(target.elts, value.elts, strict=True):
                if isinstance(one, ast.Name):
                    yield one.id, given


def is_asked(name: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a name is only asked for what no cast changes: `x.shape`."""
    above = parents.get(name)
    if isinstance(above, ast.Call):
        return isinstance(above.func, ast.Name) and above.func.id == "len"
    return isinstance(above, ast.Attribute) and above.attr in _ASKING


def called_on(name: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> ast.Call | None:
    """The call of a method of a name: `x.float()`."""
    attribute = parents.get(name)
    call = parents.get(attribute) if isinstance(attribute, ast.Attribute) else None
    return call if isinstance(call, ast.Call) and call.func is attribute else None


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """What runs with a function, or with a module: no function in it."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node
            todo += ast.iter_child_nodes(node)


def _is_byte(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value in _BYTES


def _at(node: ast.Name) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.stmt) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or 0
