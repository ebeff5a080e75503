"""What is put into an object that moves all that it was given as it is: a graph's features and
labels (`Data(x=..., y=...)`, `data.y = ...`). What nothing shows to be none of float64 ends there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from mpslint.basics.brief import brief
from mpslint.halfway.unread_arrays import NARROW, NOT_MOVED, TENSORS, Arrays
from mpslint.semantics.syntax.expressions import keyword, last_name, root_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk

_WIDE = f"may be given float64, which {NOT_MOVED}"
_MAX_TEXT = 60
# Fact: torch_geometric/data/data.py: the attributes that a graph has by its own.
_OF_GRAPHS = frozenset(
    {"x", "edge_index", "edge_attr", "edge_weight", "y", "pos", "batch", "num_nodes", "train_mask"}
    | {"val_mask", "test_mask", "num_edges", "num_features", "num_node_features"}
)
# Fact: torch's documentation: what these make is of the default dtype, or of whole numbers.
_MAKERS = frozenset(
    {"zeros", "ones", "empty", "full", "rand", "randn", "eye", "linspace", "arange", "randint"}
    | {"randperm"}
)
_JOINING = frozenset({"cat", "stack", "vstack", "hstack", "concat"})
# Fact: torch's documentation: methods that give the dtype of their tensor, or whole numbers.
_KEEPING = frozenset(
    {"unsqueeze", "squeeze", "view", "reshape", "t", "transpose", "permute", "contiguous", "clone"}
    | {"detach", "repeat", "expand", "flatten", "cpu", "size", "nonzero", "argmax", "argmin"}
    | {"sum", "max", "min", "item", "tolist", "index_select", "gather", "flip", "clamp", "abs"}
)
_SAME = frozenset({"T", "mT", "shape", "data"})
_WIDE_DTYPES = frozenset({"double", "float64", "DoubleTensor", "complex128", "cdouble"})
_NARROW_DTYPES = (NARROW - {"type"}) | {"LongTensor", "IntTensor", "FloatTensor"}


class Fields:
    """What a file puts into such objects."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._asked: set[str] = set()
        """The names that are looked at: what is made of itself is as its other values are."""

    def unread_in(self, call: ast.Call) -> Iterator[tuple[int, str]]:
        """The row of a call that is given what may be float64."""
        given = (*call.args, *(one.value for one in call.keywords))
        if not all(map(self._is_shown, given)):
            yield call.lineno, f"{brief(ast.unparse(call), _MAX_TEXT)} {_WIDE}"

    def unread_later(self) -> Iterator[tuple[int, str]]:
        """The rows in which one is given an array or a list later (`data.y = torch.from_numpy(y)`),
        itself or by a function of the file: what else comes there is a tensor as others have it."""
        for node in walk(self._tree):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                owner = root_name(target, ast.Attribute, ast.Subscript)
                if isinstance(target, ast.Attribute) and owner != "self":
                    value = node.value  # type: ignore[attr-defined]
                    if not all(map(self._is_shown, self._made_in(value))):
                        yield node.lineno, f"{brief(ast.unparse(node), _MAX_TEXT)} {_WIDE}"

    def _made_in(self, value: ast.AST) -> Iterator[ast.AST]:
        """The tensors that are made of what is none where a value is worked out."""
        for one in walk(value):
            if isinstance(one, ast.Call):
                if last_name(one.func) in (*TENSORS, "from_numpy"):
                    yield value
                for function in self._functions.get(last_name(one.func) or "", ()):
                    yield from filter(_makes_of_others, walk(function))

    @cached_property
    def _functions(self) -> dict[str, list[ast.AST]]:
        found: dict[str, list[ast.AST]] = {}
        for one in walk(self._tree):
            if isinstance(one, FUNCTIONS):
                found.setdefault(one.name, []).append(one)
        return found

    def _is_shown(self, node: ast.AST | None) -> bool:
        """Whether a file shows that an expression is no tensor of float64."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.UnaryOp):
            return self._is_shown(node.operand)
        if isinstance(node, ast.BinOp):
            return self._is_shown(node.left) and self._is_shown(node.right)
        if isinstance(node, ast.Compare):
            return True
        if isinstance(node, ast.List | ast.Tuple):
            return all(map(self._is_shown, node.elts))
        if isinstance(node, ast.Subscript | ast.Starred):
            return self._is_shown(node.value)
        if isinstance(node, ast.Name):
            return self._are_shown(node.id)
        if isinstance(node, ast.Attribute):
            return self._is_attribute_shown(node)
        return isinstance(node, ast.Call) and self._is_call_shown(node)

    def _is_attribute_shown(self, node: ast.Attribute) -> bool:
        if node.attr in _SAME:
            return self._is_shown(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._are_shown(f"self.{node.attr}")
        return node.attr in _OF_GRAPHS

    def _are_shown(self, name: str) -> bool:
        """Whether all that a name, or a member, of the file is given is no float64."""
        if name in self._asked:
            return True
        values = self._given.get(name, [])
        self._asked.add(name)
        shown = bool(values) and all(map(self._is_shown, values))
        self._asked.discard(name)
        return shown

    def _is_call_shown(self, call: ast.Call) -> bool:
        name = last_name(call.func) or ""
        dtype = keyword(call, "dtype")
        if dtype is not None:
            return last_name(dtype) in _NARROW_DTYPES
        if isinstance(call.func, ast.Name):
            return name in ("len", "int", "float") or self._gives_shown(name)
        if not isinstance(call.func, ast.Attribute):
            return False
        owner = call.func.value
        if isinstance(owner, ast.Name) and owner.id == "torch":
            return self._is_made_narrow(name, call)
        if isinstance(owner, ast.Name) and owner.id == "self":
            return self._gives_shown(name)
        said = {last_name(one) for one in call.args}
        if name in ("to", "type"):
            if not said.isdisjoint(_WIDE_DTYPES):
                return False
            return not said.isdisjoint(_NARROW_DTYPES) or (name == "to" and self._is_shown(owner))
        return name in _NARROW_DTYPES or (name in _KEEPING and self._is_shown(owner))

    def _is_made_narrow(self, name: str, call: ast.Call) -> bool:
        if name in _MAKERS or name in _NARROW_DTYPES:
            return True
        if name in TENSORS:
            return bool(call.args) and all(map(_is_number, walk(call.args[0])))
        if name == "from_numpy":
            return not self._arrays.is_unread(call)
        return name in _JOINING and bool(call.args) and self._is_shown(call.args[0])

    def _gives_shown(self, name: str) -> bool:
        """Whether all that a function of the file gives back is no float64."""
        found = self._functions.get(name, ())
        if len(found) != 1 or name in self._asked:
            return False
        back = [one.value for one in walk(found[0]) if isinstance(one, ast.Return)]
        self._asked.add(name)
        shown = bool(back) and all(map(self._is_shown, back))
        self._asked.discard(name)
        return shown

    @cached_property
    def _arrays(self) -> Arrays:
        kinds = (*FUNCTIONS, ast.Assign, ast.Module)
        return Arrays([one for one in walk(self._tree) if isinstance(one, kinds)])

    @cached_property
    def _given(self) -> dict[str, list[ast.AST | None]]:
        """What names and members of `self` are given; None: no assignment shows it."""
        plain = {
            target: node.value
            for node in walk(self._tree)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        }
        found: dict[str, list[ast.AST | None]] = {}
        for node in walk(self._tree):
            if isinstance(node, ast.arg):
                found.setdefault(node.arg, []).append(None)
            elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.setdefault(ast.unparse(node), []).append(plain.get(node))
        return found


def _makes_of_others(node: ast.AST) -> bool:
    """Whether a tensor is made of what is none."""
    return isinstance(node, ast.Call) and last_name(node.func) in (*TENSORS, "from_numpy")


def _is_number(node: ast.AST) -> bool:
    """Whether a part of a list is one of Python's numbers, or the list itself."""
    return isinstance(
        node, ast.Constant | ast.List | ast.Tuple | ast.UnaryOp | ast.unaryop | ast.expr_context
    )
