"""Arrays that a file makes tensors of, and what it says of their dtype: one of float64, which is
NumPy's own, cannot be moved to MPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from mpslint.semantics.syntax.expressions import last_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS, walk

NOT_MOVED = "cannot be moved to MPS"
"""What all reasons say that are about float64."""
_SENT = "from_numpy"
TENSORS = ("tensor", "as_tensor")
NARROW = frozenset(
    {"float", "float32", "half", "long", "int", "int64", "int32", "uint8", "bool", "FloatTensor"}
    | {"single", "float16", "bfloat16", "int8", "int16", "type", "LongTensor", "IntTensor"}
    | {"randint", "permutation", "argsort", "argmax", "argmin", "searchsorted", "bincount"}
)
_WIDENING = frozenset({"double", "to", "type", "astype", "mean", "std", "var", "dot"})
"""Methods that may make float64 of what is none."""
_NARROW_DTYPES = frozenset(
    {"float32", "single", "float16", "half", "int64", "int32", "int16", "int8", "uint8", "bool"}
)
_MAKERS = frozenset(
    {"array", "asarray", "zeros", "ones", "full", "empty", "eye", "identity", "arange", "linspace"}
    | {"logspace", "geomspace", "meshgrid", "loadtxt", "genfromtxt", "load", "fromfile", "stack"}
    | {"concatenate", "hstack", "vstack", "outer", "dot", "matmul", "cumsum", "mean", "std", "exp"}
)
_KEEPING = frozenset({"expand_dims", "asarray", "ascontiguousarray", "load", "stack", "squeeze"})
"""Functions of NumPy that give back the dtype of what they are given, or read."""
_TURNING = frozenset(
    {"flip", "fliplr", "flipud", "rot90", "roll", "transpose", "swapaxes", "moveaxis", "reshape"}
    | {"squeeze", "expand_dims", "ascontiguousarray", "copy", "repeat", "tile"}
)
"""Those that give back what they are given first, in another order or shape."""
JOINING = frozenset({"concatenate", "stack", "vstack", "hstack", "column_stack", "dstack"})
"""Those that make one array of several, of their dtype."""
_NUMPY = ("np", "numpy")
_WHOLE = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv | ast.Mod
"""What makes whole numbers of whole numbers."""


class Arrays:
    """What is known of the arrays of a file."""

    def __init__(self, nodes: Sequence[ast.AST]) -> None:
        """`nodes`: the assignments and functions of the file, and its module."""
        self._nodes = nodes

    def is_unread(self, node: ast.expr) -> bool:
        """`torch.from_numpy(scores)`, of which nothing says that it is not float64."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == _SENT:
                # A part of an array is of its dtype.
                made = root_of(node.args[0], ast.Subscript) if node.args else None
                named = made.func if isinstance(made, ast.Call) else made
                is_known = isinstance(named, ast.Name) and self._is_narrow(named.id)
                is_known = is_known or (isinstance(made, ast.Call) and self._makes_known(made))
                return not (is_narrow(node) or is_known)
            if node.func.attr in TENSORS:
                made = node.args[0] if len(node.args) == 1 and not node.keywords else None
                return self._is_array_of_unknown(made)
            given = (*node.args, *(one.value for one in node.keywords))
            if node.func.attr in NARROW or (node.func.attr == "to" and any(map(is_narrow, given))):
                return False
            node = node.func.value
        return False

    def _is_array_of_unknown(self, node: ast.expr | None) -> bool:
        """`np.expand_dims(value, 0)`, which is of the dtype of what it is given."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        if not is_of_numpy(node.func):
            return False
        if node.func.attr not in _KEEPING or is_narrow(node) or not node.args:
            return False
        given = node.args[0]
        given = root_of(given, ast.Subscript)
        return not (isinstance(given, ast.Name) and self._is_narrow(given.id))

    def _is_narrow(self, name: str) -> bool:
        """Whether a name is of arrays that are not of float64, or of a function that makes such."""
        return name in self._held or (name in self._made and _makes_narrow(self._made[name]))

    @cached_property
    def _made(self) -> dict[str, ast.AST]:
        return {one.name: one for one in self._nodes if isinstance(one, FUNCTIONS)}

    @cached_property
    def _held(self) -> frozenset[str]:
        """The names that are given nothing but what NumPy makes whole numbers of, or of a dtype
        that is said: `labels = np.random.randint(0, 3, size)`; and tensors of themselves, of which
        no array is made."""
        narrow: dict[str, bool] = {}
        for node in self._nodes:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                for name in walk(target):
                    if isinstance(name, ast.Name):
                        value = node.value  # type: ignore[attr-defined]
                        if name is target and _is_tensor_of(value, name.id):
                            continue
                        is_narrow = name is target and isinstance(value, ast.Call)
                        is_narrow = is_narrow and self._makes_known(value)
                        narrow[name.id] = narrow.get(name.id, True) and is_narrow
        return frozenset(name for name, is_narrow in narrow.items() if is_narrow)

    def _makes_known(self, call: ast.Call, asked: frozenset[str] = frozenset()) -> bool:
        """Whether a call says that what it makes is no float64; `asked`: the lists looked at."""
        if any(map(_says_narrow, call.keywords)) or _was_on_device(call):
            return True
        name = last_name(call.func)
        if name == "astype" and call.args:
            given = call.args[0]
            said = given.value if isinstance(given, ast.Constant) else last_name(given)
            return said in _NARROW_DTYPES
        if ast.unparse(call.func).partition(".")[0] not in _NUMPY:
            return False
        if name in JOINING and call.args:
            return self._are_known(call.args[0], asked)
        # Fact: numpy.random.choice: of a whole number n it draws from `arange(n)`.
        is_drawn = name == "choice" and bool(call.args) and self._is_whole(call.args[0])
        return name in NARROW or is_drawn

    def _are_known(self, parts: ast.expr, asked: frozenset[str]) -> bool:
        """Whether no array of a list is of float64, which is written out or filled one by one."""
        if isinstance(parts, ast.List | ast.Tuple):
            every: Sequence[ast.expr | None] = parts.elts
        elif isinstance(parts, ast.ListComp | ast.GeneratorExp):
            every = [parts.elt]
        elif isinstance(parts, ast.Name) and parts.id not in asked:
            every, asked = self._filled.get(parts.id, ()), asked | {parts.id}
        else:
            return False
        return bool(every) and all(
            (isinstance(one, ast.Call) and self._makes_known(one, asked))
            or (isinstance(one, ast.Name) and self._is_made_known(one.id, asked))
            for one in every
        )

    def _is_made_known(self, name: str, asked: frozenset[str]) -> bool:
        given = self._given.get(name, ()) if name not in asked else ()
        return bool(given) and all(
            isinstance(one, ast.Call) and self._makes_known(one, asked | {name}) for one in given
        )

    @cached_property
    def _filled(self) -> dict[str, list[ast.expr | None]]:
        """What is appended to the lists of the file; None: more is done with one than that, so that
        it may hold anything."""
        found: dict[str, list[ast.expr | None]] = {}
        for module in self._nodes:
            for node in walk(module) if isinstance(module, ast.Module) else ():
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        if isinstance(target, ast.Name) and not _is_empty_list(node.value):
                            found.setdefault(target.id, []).append(None)
                elif isinstance(node, ast.AugAssign | ast.arg):
                    changed = node.target if isinstance(node, ast.AugAssign) else node
                    name = changed.arg if isinstance(changed, ast.arg) else last_name(changed) or ""
                    found.setdefault(name, []).append(None)
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    if node.attr in ("extend", "insert"):
                        found.setdefault(node.value.id, []).append(None)
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    if node.func.attr == "append" and isinstance(node.func.value, ast.Name):
                        found.setdefault(node.func.value.id, []).extend(node.args)
        return found

    # Whole numbers.

    def _is_whole(self, node: ast.expr, asked: frozenset[str] = frozenset()) -> bool:
        """Whether an expression is a whole number; `asked`: names that are one if this is."""
        if isinstance(node, ast.Constant):
            return type(node.value) is int
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in ("len", "int")
        if isinstance(node, ast.BinOp) and isinstance(node.op, _WHOLE):
            return self._is_whole(node.left, asked) and self._is_whole(node.right, asked)
        if not isinstance(node, ast.Name | ast.Attribute):
            return False
        name = ast.unparse(node)
        if name in asked:
            return True
        given = self._given.get(name, [])
        return bool(given) and all(
            one is not None and self._is_whole(one, asked | {name}) for one in given
        )

    @cached_property
    def _given(self) -> dict[str, list[ast.expr | None]]:
        """What names and attributes of the file are given; None: no assignment shows it."""
        plain = {
            target: node.value
            for node in self._nodes
            if isinstance(node, ast.Assign)
            for target in node.targets
        }
        found: dict[str, list[ast.expr | None]] = {}
        for module in self._nodes:
            for node in walk(module) if isinstance(module, ast.Module) else ():
                if isinstance(node, ast.arg):
                    found.setdefault(node.arg, []).append(None)
                elif isinstance(node, ast.Name | ast.Attribute):
                    if not isinstance(node.ctx, ast.Load):
                        found.setdefault(ast.unparse(node), []).append(plain.get(node))
        return found


def _is_empty_list(node: ast.expr) -> bool:
    return isinstance(node, ast.List) and not node.elts


def is_of_numpy(function: ast.expr) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in _NUMPY
    )


def _is_tensor_of(value: ast.expr, name: str) -> bool:
    """`image = torch.from_numpy(image).cuda()`"""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr == _SENT:
            given = value.args[0] if value.args else None
            return isinstance(given, ast.Name) and given.id == name
        value = value.func.value
    return False


def _was_on_device(node: ast.AST | None) -> bool:
    """`net(x).cpu().numpy()`, `np.flip(x.cpu().numpy(), 3)`: no Mac's GPU holds float64, of which
    this could be."""
    names = set()
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        function: ast.Attribute = node.func
        if is_of_numpy(function):
            if function.attr not in _TURNING or not node.args:
                return False
            node = node.args[0]
        else:
            names.add(function.attr)
            node = function.value
    return names >= {"cpu", "numpy"} and names.isdisjoint(_WIDENING)


def _makes_narrow(function: ast.AST) -> bool:
    """Whether a function says of each array that it makes, and of one at least, that it is none of
    float64: what it fills these with changes no dtype."""
    made = list(_makers(function))
    return bool(made) and all(any(map(_says_narrow, one.keywords)) for one in made)


def _makers(function: ast.AST) -> Iterator[ast.Call]:
    for one in walk(function):
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            if is_of_numpy(one.func) and one.func.attr in _MAKERS:
                yield one


def _says_narrow(given: ast.keyword) -> bool:
    value = given.value
    said = value.value if isinstance(value, ast.Constant) else last_name(value)
    return given.arg == "dtype" and said in _NARROW_DTYPES


def is_of_dtype(reason: str) -> bool:
    """Whether something is in doubt since it may be float64."""
    return NOT_MOVED in reason


def is_narrow(node: ast.AST) -> bool:
    """Whether an expression says that what it makes is none of float64."""
    for one in walk(node):
        if isinstance(one, ast.Attribute) and one.attr in NARROW:
            return True
        if isinstance(one, ast.Constant) and one.value in NARROW:
            return True
        if isinstance(one, ast.keyword) and one.arg == "dtype":
            return True
    return False
