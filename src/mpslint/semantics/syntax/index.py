"""One pass over a tree: parents, and the nodes that rules ask for, by kind and by name.

`ast.NodeVisitor` and `ast.walk` cost several times what the parse-independent part of a rule
may cost, so the walk is a stack over precomputed field names, without operators and contexts.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterator
from typing import Any, TypeVar
from weakref import WeakValueDictionary

_children: dict[type, tuple[str, ...]] = {}
_in_order: dict[type, tuple[str, ...]] = {}

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
SCOPE_NODES = (
    ast.Module,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = frozenset(FUNCTIONS)
_NO_NODES = frozenset({"ctx", "op", "ops", "type_comment"})
"""Fields that hold no node that says where it stands."""
_LEAVES = frozenset({ast.Name, ast.Constant, ast.alias, ast.Pass, ast.Break, ast.Continue})
_NO_KINDS = frozenset({type(None), str, int, bool, list})
"""What fields hold that is no node, but for the values of constants."""
_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")
"""Fields that hold statements, or what holds them."""

N = TypeVar("N", bound=ast.AST)


def _child_fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Fields that can hold child nodes; everything else is a constant, name or operator."""
    leaves = {
        ast.Name: (),
        ast.Constant: (),
        ast.Attribute: ("value",),
        ast.BinOp: ("left", "right"),
        ast.UnaryOp: ("operand",),
        ast.BoolOp: ("values",),
        ast.Compare: ("left", "comparators"),
        ast.keyword: ("value",),
        ast.arg: ("annotation",),
        ast.alias: (),
        ast.Import: (),
        ast.ImportFrom: (),
    }
    known = leaves.get(kind)
    fields: tuple[str, ...] = known if known is not None else kind._fields
    return tuple(reversed([f for f in fields if f not in _NO_NODES]))


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes that stand in a node: of names, constants, imports and operators there are none."""
    kind = type(node)
    fields = _children.get(kind)
    if fields is None:
        fields = _children[kind] = _child_fields(kind)
    found: list[ast.AST] = []
    for field in fields:
        child = getattr(node, field, None)
        if child.__class__ is list:
            found += [item for item in child if isinstance(item, ast.AST)]
        elif isinstance(child, ast.AST):
            found.append(child)
    return found


def below(top: ast.AST) -> Iterator[ast.AST]:
    """A node and all that stand in it, in no particular order."""
    stack = [top]
    while stack:
        node = stack.pop()
        yield node
        stack += children(node)


def walk(top: ast.AST) -> Iterator[ast.AST]:
    """A node and all that stand in it, the outer ones first: what `ast.walk` gives, without
    operators and contexts."""
    level: list[Any] = [top]
    while level:
        yield from level
        inner: list[Any] = []
        push = inner.append
        for node in level:
            kind = node.__class__
            if kind in _LEAVES:
                continue
            # The kinds that make up most of what is no leaf are spelled out.
            if kind is ast.Attribute or kind is ast.Expr or kind is ast.keyword:
                push(node.value)
                continue
            if kind is ast.Call:
                push(node.func)
                inner += node.args
                inner += node.keywords
                continue
            if kind is ast.Assign:
                inner += node.targets
                push(node.value)
                continue
            fields = _in_order.get(kind)
            if fields is None:
                fields = _in_order[kind] = tuple(f for f in kind._fields if f not in _NO_NODES)
            for field in fields:
                child = getattr(node, field, None)
                if child.__class__ is list:
                    # Of a missing node, and of names that are texts, there is none.
                    inner += [item for item in child if item.__class__ not in _NO_KINDS]
                elif child.__class__ not in _NO_KINDS:
                    push(child)
        level = inner


def statements(top: ast.AST) -> Iterator[ast.AST]:
    """The statements in a node, itself and what holds them among them, the outer ones first."""
    level = [top]
    while level:
        yield from level
        level = [
            item for node in level for field in _BLOCKS for item in getattr(node, field, ()) or ()
        ]


def _part(statement: ast.stmt, known: Known, changed: Container[ast.stmt]) -> Index:
    """What is known of a statement alone; of a class, of its methods as well."""
    part = known.get(statement)
    if part is not None and statement not in changed:
        return part
    tree = ast.Module([statement], [])
    if not isinstance(statement, ast.ClassDef):
        return Index(tree)
    methods: Known = {} if part is None else part.inner
    found = Index(ast.Module([], []))
    found.tree = tree
    found.inner = {
        one: _part(one, methods, changed) for one in statement.body if isinstance(one, FUNCTIONS)
    }
    found._walk(tree)
    return found


class Index:
    """Parents of all nodes and buckets of those that matter, in source order."""

    __slots__ = (
        "__weakref__",
        "_endings",
        "_first_rows",
        "_places",
        "_returns",
        "_spelled",
        "attributes",
        "by_type",
        "calls",
        "inner",
        "names",
        "parents",
        "strings",
        "tree",
    )

    def __init__(
        self,
        tree: ast.Module,
        known: Known | None = None,
        changed: Container[ast.stmt] = (),
    ) -> None:
        """`known`: the parts of statements that were looked at before, where somebody keeps them
        from text to text; brought up to date. `changed`: those of them that are others by now."""
        self.tree = tree
        self.inner: Known = {}
        """The parts of the methods of a class, where this is a part that one is."""
        self.parents: dict[ast.AST, ast.AST] = {}
        self.by_type: dict[type, list[ast.AST]] = defaultdict(list)
        self.calls: dict[str, list[ast.Call]] = defaultdict(list)
        """Calls by the last name of what is called (`cuda` for `x.y.cuda()`)."""
        self.attributes: dict[str, list[ast.Attribute]] = defaultdict(list)
        self.names: dict[str, list[ast.Name]] = defaultdict(list)
        self.strings: list[ast.Constant] = []
        """String constants, without docstrings and other bare strings."""
        self._spelled: dict[str, list[ast.Constant]] | None = None
        self._endings: dict[str, list[ast.Constant]] | None = None
        self._places: dict[ast.AST, tuple[list[ast.stmt], int]] = {}
        self._first_rows: dict[ast.AST, list[int]] = {}
        self._returns: dict[ast.AST | None, list[ast.Return]] | None = None
        if known is None:
            self._walk(tree)
        else:
            self._join(tree, known, changed)

    def _join(self, tree: ast.Module, known: Known, changed: Container[ast.stmt]) -> None:
        """Put together the parts of the statements, in their order: what one walk would give."""
        parts = {one: _part(one, known, changed) for one in tree.body}
        known.clear()
        known |= parts
        self.by_type[ast.Module].append(tree)
        for part in parts.values():
            self._take(part)
        self.parents |= dict.fromkeys(tree.body, tree)

    def _take(self, part: Index) -> None:
        """Put what is known of a part behind what is known here."""
        self.parents |= part.parents
        self.strings += part.strings
        for kind, nodes in part.by_type.items():
            if kind is not ast.Module:
                self.by_type[kind] += nodes
        for name, calls in part.calls.items():
            self.calls[name] += calls
        for name, attributes in part.attributes.items():
            self.attributes[name] += attributes
        for name, names in part.names.items():
            self.names[name] += names

    def _walk(self, tree: ast.Module) -> None:
        parents, by_type, fields_of = self.parents, self.by_type, _children
        calls, attributes, names, strings = self.calls, self.attributes, self.names, self.strings
        stack: list[Any] = [tree]
        pop, push = stack.pop, stack.append
        inner = self.inner
        while stack:
            node = pop()
            kind = type(node)
            if kind is ast.Name:
                names[node.id].append(node)
                continue
            if kind in _FUNCTIONS and node in inner:
                owner = parents[node]
                self._take(inner[node])
                parents[node] = owner
                continue
            if kind is ast.Constant:
                if type(node.value) is str and type(parents[node]) is not ast.Expr:
                    strings.append(node)
                continue
            # The two kinds that make up most of what is no leaf are spelled out.
            if kind is ast.Attribute:
                attributes[node.attr].append(node)
                child = node.value
                parents[child] = node
                push(child)
                continue
            by_type[kind].append(node)
            if kind is ast.Call:
                func = node.func
                if type(func) is ast.Attribute:
                    calls[func.attr].append(node)
                elif type(func) is ast.Name:
                    calls[func.id].append(node)
                for item in reversed(node.keywords):
                    parents[item] = node
                    push(item)
                for item in reversed(node.args):
                    parents[item] = node
                    push(item)
                parents[func] = node
                push(func)
                continue
            fields = fields_of.get(kind)
            if fields is None:
                fields = fields_of[kind] = _child_fields(kind)
            for field in fields:
                child = getattr(node, field, None)
                if child is None:
                    continue
                if type(child) is list:
                    for item in reversed(child):
                        if isinstance(item, ast.AST):
                            parents[item] = node
                            push(item)
                elif isinstance(child, ast.AST):
                    parents[child] = node
                    push(child)

    def of(self, *kinds: type[N]) -> Iterator[N]:
        """All nodes of exactly these types."""
        for kind in kinds:
            yield from self.by_type.get(kind, ())  # type: ignore[misc]

    def functions(self) -> Iterator[FunctionNode]:
        yield from self.of(ast.FunctionDef)
        yield from self.of(ast.AsyncFunctionDef)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Parents from the nearest to the module."""
        parents = self.parents
        parent = parents.get(node)
        while parent is not None:
            yield parent
            parent = parents.get(parent)

    def enclosing(self, node: ast.AST, *kinds: type[N]) -> N | None:
        """The nearest ancestor of one of these types."""
        parents = self.parents
        parent = parents.get(node)
        while parent is not None:
            if isinstance(parent, kinds):
                return parent
            parent = parents.get(parent)
        return None

    def function(self, node: ast.AST) -> FunctionNode | None:
        parents = self.parents
        parent = parents.get(node)
        while parent is not None:
            if parent.__class__ in _FUNCTIONS:
                return parent  # type: ignore[return-value]
            parent = parents.get(parent)
        return None

    def returns(self, function: ast.AST) -> list[ast.Return]:
        """The `return`s of a function itself, and of none that stands in it."""
        if self._returns is None:
            self._returns = {}
            for item in self.of(ast.Return):
                self._returns.setdefault(self.function(item), []).append(item)
        return self._returns.get(function, [])

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement that holds `node` (itself, if it is one)."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def spelled(self, text: str) -> list[ast.Constant]:
        """The strings that read so."""
        if self._spelled is None:
            self._spelled = {}
            for constant in self.strings:
                self._spelled.setdefault(str(constant.value), []).append(constant)
        return self._spelled.get(text, [])

    def ending(self, name: str) -> list[ast.Constant]:
        """The strings that are a name, or may end in one behind a dot or a colon."""
        if "." in name or ":" in name:
            return self.strings
        if self._endings is None:
            self._endings = {}
            for constant in self.strings:
                text = str(constant.value)
                last = text[max(text.rfind("."), text.rfind(":")) + 1 :]
                self._endings.setdefault(last, []).append(constant)
        return self._endings.get(name, [])

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that `statement` stands in."""
        found = self.place(statement)
        if found is None:
            raise LookupError(f"{statement!r} is in no block")
        return found[0]

    def standing_at(self, row: int, owner: ast.Module | ast.ClassDef) -> ast.stmt | None:
        """The first statement of a module or class that a row belongs to, without decorators."""
        body = owner.body
        rows = self._first_rows.get(owner)
        if rows is None:
            rows = self._first_rows[owner] = [statement.lineno for statement in body]
        found = None
        for at in range(bisect_right(rows, row) - 1, -1, -1):
            if (body[at].end_lineno or 0) < row:
                break
            found = body[at]
        return found

    def place(self, statement: ast.AST) -> tuple[list[ast.stmt], int] | None:
        """The list of statements that `statement` stands in, and where; None where in none. Each
        list is gone through once, however many of its statements are asked about."""
        known = self._places.get(statement)
        if known is None and (parent := self.parents.get(statement)) is not None:
            for field in ("body", "orelse", "finalbody"):
                block = getattr(parent, field, None)
                if isinstance(block, list):
                    self._places |= {item: (block, at) for at, item in enumerate(block)}
            known = self._places.get(statement)
        return known

    def within(self, node: ast.AST, ancestor: ast.AST) -> bool:
        """Whether `node` is `ancestor` or lies below it."""
        return node is ancestor or any(parent is ancestor for parent in self.ancestors(node))


Known = dict[ast.stmt, Index]
"""Statements of a module, each with the index of it alone."""

_kept: WeakValueDictionary[int, Index] = WeakValueDictionary()
"""By the identity of its tree, which an index keeps."""


def index_of(tree: ast.Module) -> Index:
    """The index of a tree, the same for all who have the tree at one time: a file that is checked,
    and one that others ask about it meanwhile."""
    known = _kept.get(id(tree))
    if known is None:
        known = _kept[id(tree)] = Index(tree)
    return known
