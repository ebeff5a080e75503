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
        self._asked: set[tuple[ast.AST, str]] = set()
        """What is looked at: what is made of itself is as its other values are."""

    def unread_in(self, call: ast.Call) -> Iterator[tuple[int, str]]:
        """The row of a call that is given what may be float64."""
        given = (*call.args, *(one.value for one in call.keywords))
        if not all(map(self._is_shown, given)):
            yield call.lineno, f"{brief(ast.unparse(call), _MAX_TEXT)} {_WIDE}"

    def unread_later(self) -> Iterator[tuple[int, str]]:
        """The rows in which one is given an array or a list later (`data.y = torch.from_numpy(y)`),
        itself or by a function of the file: what else comes there is a tensor as others have it."""
        for node in walk(self._tree):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                owner = root_name(target, ast.Attribute, ast.Subscript)
                if isinstance(target, ast.Attribute) and owner != "self":
                    if not all(map(self._is_shown, self._made_in(node.value))):
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
            return self._are_shown(node.id, self._scopes[node])
        if isinstance(node, ast.Attribute):
            return self._is_attribute_shown(node)
        return isinstance(node, ast.Call) and self._is_call_shown(node)

    def _is_attribute_shown(self, node: ast.Attribute) -> bool:
        if node.attr in _SAME:
            return self._is_shown(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return self._are_shown(f"self.{node.attr}", (self._tree,))
        return node.attr in _OF_GRAPHS

    def _are_shown(self, name: str, scopes: tuple[ast.AST, ...]) -> bool:
        """Whether all that a name, or a member, is given is no float64; `scopes`: what may give
        it something, the nearest first."""
        key = next(((one, name) for one in scopes if (one, name) in self._given), None)
        if key is None or key in self._asked:
            return key is not None
        self._asked.add(key)
        shown = all(map(self._is_shown, self._given[key]))
        self._asked.discard(key)
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
        if len(found) != 1 or (found[0], "") in self._asked:
            return False
        back = [one.value for one in walk(found[0]) if isinstance(one, ast.Return)]
        self._asked.add((found[0], ""))
        shown = bool(back) and all(map(self._is_shown, back))
        self._asked.discard((found[0], ""))
        return shown

    @cached_property
    def _arrays(self) -> Arrays:
        kinds = (*FUNCTIONS, ast.Assign, ast.Module)
        return Arrays([one for one in walk(self._tree) if isinstance(one, kinds)])

    @cached_property
    def _scopes(self) -> dict[ast.AST, tuple[ast.AST, ...]]:
        """The functions around each name, the innermost first, and the module."""
        found: dict[ast.AST, tuple[ast.AST, ...]] = {}
        waiting: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(self._tree, (self._tree,))]
        while waiting:
            node, around = waiting.pop()
            inside = (node, *around) if isinstance(node, FUNCTIONS) else around
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.Name | ast.arg):
                    found[child] = inside
                waiting.append((child, inside))
        return found

    @cached_property
    def _given(self) -> dict[tuple[ast.AST, str], list[ast.AST | None]]:
        """What names are given in a function, or the module, and members of `self` anywhere; None:
        no assignment shows it."""
        plain = {
            target: node.value
            for node in walk(self._tree)
            if isinstance(node, ast.Assign | ast.AnnAssign)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        }
        found: dict[tuple[ast.AST, str], list[ast.AST | None]] = {}
        for node in walk(self._tree):
            if isinstance(node, ast.arg):
                found.setdefault((self._scopes[node][0], node.arg), []).append(None)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                key = self._scopes[node][0], node.id
                found.setdefault(key, []).append(plain.get(node))
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                found.setdefault((self._tree, ast.unparse(node)), []).append(plain.get(node))
        return found


def _makes_of_others(node: ast.AST) -> bool:
    """Whether a tensor is made of what is none."""
    return isinstance(node, ast.Call) and last_name(node.func) in (*TENSORS, "from_numpy")


def _is_number(node: ast.AST) -> bool:
    """Whether a part of a list is one of Python's numbers, or the list itself."""
    return isinstance(
        node, ast.Constant | ast.List | ast.Tuple | ast.UnaryOp | ast.unaryop | ast.expr_context
    )
