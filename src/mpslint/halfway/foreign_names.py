"""What the names of one file are given, and where each is used: local names, members, functions.

A name may be given something by an assignment, a loop, a parameter, or by what is put into it later
(`batch["image"] = image`, `frames.append(frame)`, `args.model = model`).
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import cast

from mpslint.semantics.syntax.expressions import last_name, root_name, root_of
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, children, walk
from mpslint.semantics.syntax.parameters import (
    explicit_parameters,
    positional_parameters,
)

_SCOPES = (ast.Module, *FUNCTIONS, ast.Lambda, ast.ClassDef)
FILLING = frozenset(
    {"append", "extend", "insert", "add", "update", "setdefault", "appendleft", "put"}
)
"""Methods that put what they are given into what they are called on."""
_REGISTERING = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})
"""Methods that give a member of the name that their first argument is."""
_DYNAMIC = frozenset({"setattr", "exec", "eval"})
_OF_PATHS = frozenset(
    {("os", "join"), ("os", "listdir"), ("os", "isdir"), ("os", "isfile"), ("os", "makedirs")}
    | {("os", "exists"), ("os", "basename"), ("os", "dirname"), ("os", "splitext")}
    | {("pathlib", "Path")}
)
"""Functions, each with its module, that raise for what is no name of a file."""
_LEAVING = (ast.Break, ast.Continue, ast.Try)
"""Ways past the next statement."""
_DEEPEST = 3
"""So many times what is filled is followed to what else stands for it."""

Key = tuple[ast.AST, str]
"""A scope, and a name in it."""
Given = ast.AST | None
"""An expression, a parameter, a definition or an import; None: nobody knows what."""
Bound = dict[str, ast.expr | None]
"""By parameter what a call gives for it; None: its default."""


class Names:
    def __init__(self, tree: ast.Module, foreign: Container[str]) -> None:
        """`foreign` are the names of the packages, and of what is theirs."""
        self.top = tree
        self._foreign = foreign
        self.around: dict[ast.AST, ast.AST] = {}
        self.given: dict[Key, list[Given]] = {}
        self.members: dict[str, list[Given]] = {}
        """By the name of a member what anything of the file is given as that."""
        self.reads: dict[str, list[ast.Attribute]] = {}
        self.loads: dict[str, list[ast.Name]] = {}
        self.imports: set[Key] = set()
        """By scope the names that are foreign in it."""
        self.filled: dict[Key, list[ast.expr]] = {}
        """What is put into that which a name stands for."""
        self.members_filled: dict[str, list[ast.expr]] = {}
        self.added: dict[Key, list[ast.expr]] = {}
        """What is added to a name in place (`size += 1`)."""
        self.methods: dict[str, list[FunctionNode]] = {}
        self.is_dynamic = False
        """Whether members may be given by names that the text does not say."""
        self._filled: list[tuple[ast.expr, ast.expr]] = []
        for node in walk(tree):
            for child in children(node):
                self.around[child] = node
        for node in self.around:
            self._note(node)
        for place, value in self._filled:
            self._fill(place, value)

    # Scopes.

    def scope_of(self, name: ast.Name) -> ast.AST:
        """The scope that a name is of where it is used."""
        is_own, node = True, cast("ast.AST", name)
        around = self.around.get(node)
        while around is not None:
            node = around
            if isinstance(node, _SCOPES):
                if (is_own or not isinstance(node, ast.ClassDef)) and (node, name.id) in self.given:
                    return node
                is_own = False
            around = self.around.get(node)
        return node

    def own_scope(self, node: ast.AST) -> ast.AST:
        while not isinstance(node, _SCOPES):
            node = self.around[node]
        return node

    def uses_of(self, scope: ast.AST, name: str) -> Iterator[ast.Name]:
        return (one for one in self.loads.get(name, ()) if self.scope_of(one) is scope)

    def module_of(self, node: ast.AST) -> str:
        """The first name of the module that a name is imported from."""
        if not isinstance(node, ast.Name):
            return ""
        known = self.given.get((self.scope_of(node), node.id), [])
        one = known[0] if len(known) == 1 else None
        if isinstance(one, ast.ImportFrom):
            return "" if one.level else (one.module or "").partition(".")[0]
        for alias in one.names if isinstance(one, ast.Import) else ():
            if (alias.asname or alias.name.partition(".")[0]) == node.id:
                return alias.name.partition(".")[0]
        return ""

    def is_path(self, function: ast.AST, name: str) -> bool:
        """Whether a function takes a parameter for the name of a file, which no tensor is."""
        if len(self.given.get((function, name), ())) != 1:
            return False
        for use in self.uses_of(function, name):
            call = self.around.get(use)
            if not isinstance(call, ast.Call) or use not in call.args:
                continue
            called = call.func
            last = last_name(called) or root_name(called) or ""
            module = self.module_of(root_of(called))
            if (module, last) in _OF_PATHS or (last == "open" and called is root_of(called)):
                return True
        return False

    def until_given_anew(self, target: ast.Name) -> list[ast.Name] | None:
        """The uses of what an assignment gives a name, up to the next one beside it, which all go
        through that come from the first (`kept = read()`, `kept = np.array(kept)`)."""
        node: ast.AST = target
        while not isinstance(node, ast.stmt):
            node = self.around[node]
        body: list[ast.stmt] = getattr(self.around[node], "body", [])
        if not isinstance(node, ast.Assign) or node not in body:
            return None
        between: list[ast.stmt] = []
        for one in body[body.index(node) + 1 :]:
            between.append(one)
            if isinstance(one, ast.Assign) and _is_named(one.targets, target.id):
                break
        else:
            return None
        scope = self.own_scope(target)
        uses = list(self.uses_of(scope, target.id))
        around: ast.AST = node
        while around is not scope:
            if isinstance(around, ast.Try):
                return None
            around = self.around[around]
        leaves = any(isinstance(one, _LEAVING) for each in between for one in walk(each))
        if leaves or any(self.own_scope(one) is not scope for one in uses):
            return None
        inside = {one for each in between for one in walk(each)}
        return [one for one in uses if one in inside]

    def is_imported(self, name: ast.Name) -> bool:
        """Whether a name stands for a foreign thing where it is used, which its scope has not given
        it anew on each way that comes there (`import model`, `model = model.Net()`)."""
        scope = self.scope_of(name)
        if (scope, name.id) not in self.imports:
            return False
        node: ast.AST = name
        while node is not scope:
            above = self.around[node]
            for body in _blocks(above):
                before = body[: body.index(node)] if node in body else []
                for one in reversed(before):
                    if _is_given(one, name.id):
                        return isinstance(one, ast.Import | ast.ImportFrom)
            node = above
        return True

    # Functions.

    def class_around(self, node: ast.AST) -> ast.ClassDef | None:
        """The class of the method that a node stands in."""
        function: ast.AST | None = node
        while function is not None and not isinstance(function, (*FUNCTIONS, ast.ClassDef)):
            function = self.around.get(function)
        owner = self.around.get(function) if isinstance(function, FUNCTIONS) else None
        return owner if isinstance(owner, ast.ClassDef) else None

    def is_self(self, node: ast.AST) -> bool:
        """Whether something is the object that a method is called on."""
        if not isinstance(node, ast.Name):
            return False
        scope = self.scope_of(node)
        if not isinstance(scope, FUNCTIONS) or not isinstance(self.around[scope], ast.ClassDef):
            return False
        first = positional_parameters(scope.args)[:1]
        return [one.arg for one in first] == [node.id] and not scope.decorator_list

    def function_of(self, call: ast.Call) -> FunctionNode | None:
        """The function of the file that a call runs: a plain one, which nothing wraps."""
        function = call.func
        known: list[Given] = []
        if isinstance(function, ast.Name):
            known = self.given.get((self.scope_of(function), function.id), [])
        elif isinstance(function, ast.Attribute) and self.is_self(function.value):
            found = self.methods.get(function.attr, [])
            owner = self.class_around(call)
            known = list(found) if [self.around[one] for one in found] == [owner] else []
        one = known[0] if len(known) == 1 else None
        return one if isinstance(one, ast.FunctionDef) and is_plain_function(one) else None

    def calls_of(self, function: ast.AST) -> list[ast.Call] | None:
        """The calls in the file of a function, or, of `__init__`, of its class; None: it may be
        called where nobody sees it. Whether other files may call it is not asked here."""
        owner = self.around[function]
        uses: list[ast.AST]
        if not isinstance(function, ast.FunctionDef) or not is_plain_function(function):
            return None
        if isinstance(owner, ast.ClassDef):
            if function.name == "__init__":
                known = self.given.get((self.own_scope(self.around[owner]), owner.name), [])
                if known != [owner] or owner.decorator_list:
                    return None
                uses = list(self.uses_of(self.own_scope(self.around[owner]), owner.name))
            elif function.name.startswith("__") or self.methods[function.name] != [function]:
                return None
            else:
                uses = list(self.reads.get(function.name, ()))
        else:
            scope = self.own_scope(owner)
            if self.given.get((scope, function.name)) != [function]:
                return None
            uses = list(self.uses_of(scope, function.name))
        calls = [self.around.get(use) for use in uses]
        if not all(
            isinstance(one, ast.Call) and one.func is use
            for one, use in zip(calls, uses, strict=True)
        ):
            return None
        return cast("list[ast.Call]", calls)

    def bound(self, call: ast.Call, function: FunctionNode) -> Bound | None:
        """What a call gives each parameter of a function of the file; None: nobody knows."""
        is_method = isinstance(self.around.get(function), ast.ClassDef)
        return bound(call, function, skips=is_method)

    # What is noted.

    def _note(self, node: ast.AST) -> None:
        """What a node gives names."""
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.loads.setdefault(node.id, []).append(node)
                self.is_dynamic |= node.id in _DYNAMIC
        elif isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                self.reads.setdefault(node.attr, []).append(node)
                self.is_dynamic |= node.attr == "__dict__"
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._give(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            self._note_typed(node)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._give(node.target, node.iter)
        elif isinstance(node, ast.withitem):
            if node.optional_vars is not None:
                self._give(node.optional_vars, node.context_expr)
        elif isinstance(node, ast.Call):
            self._note_call(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                self._import(node, alias.asname or alias.name.partition(".")[0])
        elif isinstance(node, ast.Global | ast.Nonlocal):
            for name in node.names:
                if name in self._foreign:
                    self.imports.add((self.own_scope(node), name))
                for scope in (self.own_scope(node), self.top):
                    self.given.setdefault((scope, name), []).append(None)
        elif isinstance(node, (*FUNCTIONS, ast.Lambda)):
            self._note_function(node)
        elif isinstance(node, ast.ClassDef):
            self._bind(node, node.name)

    def _note_typed(self, node: ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._give(node.target, node.value)
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                key = self.own_scope(node), node.target.id
                self.added.setdefault(key, []).append(node.value)

    def _note_call(self, call: ast.Call) -> None:
        function = call.func
        if not isinstance(function, ast.Attribute):
            return
        values = [*call.args, *(one.value for one in call.keywords)]
        if function.attr in FILLING:
            self._filled += [(function.value, value) for value in values]
        elif function.attr in _REGISTERING and call.args:
            first = call.args[0]
            name = first.value if isinstance(first, ast.Constant) else ""
            self.members.setdefault(str(name), []).append(None)

    def _note_function(self, function: FunctionNode | ast.Lambda) -> None:
        if not isinstance(function, ast.Lambda):
            owner = self.around[function]
            if isinstance(owner, ast.ClassDef):
                self.methods.setdefault(function.name, []).append(function)
            self._bind(function, function.name)
        for one in _parameters(function):
            self.given.setdefault((function, one.arg), []).append(one)

    def _bind(self, node: ast.AST, name: str) -> None:
        self.given.setdefault((self.own_scope(self.around[node]), name), []).append(node)

    def _import(self, node: ast.Import | ast.ImportFrom, name: str) -> None:
        """An import gives a name to the scope around."""
        key = self.own_scope(node), name
        if name in self._foreign:
            self.imports.add(key)
            self.given.setdefault(key, [])
        else:
            self.given.setdefault(key, []).append(node)

    def _give(self, target: ast.expr, value: ast.expr) -> None:
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts, strict=True))
        for part, given in pairs:
            for name in parts(part):
                if isinstance(name, ast.Name):
                    self.given.setdefault((self.own_scope(name), name.id), []).append(given)
                elif isinstance(name, ast.Attribute):
                    self.members.setdefault(name.attr, []).append(given)
                    self._filled.append((name.value, given))
                elif isinstance(name, ast.Subscript):
                    self._filled.append((name.value, given))

    def _fill(self, target: ast.AST | None, value: ast.expr, depth: int = 0) -> None:
        """What is put into something is put into all that it is a part of, and into what else
        stands for the same."""
        while isinstance(target, ast.Attribute | ast.Subscript | ast.Call):
            if isinstance(target, ast.Attribute):
                self.members_filled.setdefault(target.attr, []).append(value)
            target = target.func if isinstance(target, ast.Call) else target.value
        if not isinstance(target, ast.Name) or self.is_self(target) or depth > _DEEPEST:
            return
        scope = self.scope_of(target)
        key = scope, target.id
        if key not in self.given:
            return
        self.filled.setdefault(key, []).append(value)
        for given in self.given[key]:
            if isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
                self._fill(given, value, depth + 1)
            elif isinstance(given, ast.arg) and isinstance(scope, FUNCTIONS):
                for call in self.calls_of(scope) or ():
                    known = self.bound(call, scope) or {}
                    self._fill(known.get(given.arg), value, depth + 1)


def _blocks(node: ast.AST) -> Iterator[list[ast.AST]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield block


def _is_given(statement: ast.AST, name: str) -> bool:
    """Whether a statement by itself gives a name something."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return any((one.asname or one.name.partition(".")[0]) == name for one in statement.names)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    found = (part for target in targets for part in parts(target))
    return any(isinstance(part, ast.Name) and part.id == name for part in found)


def _is_named(targets: list[ast.expr], name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in targets)


def is_plain_function(function: FunctionNode) -> bool:
    """Whether a call of a function runs it and gives what it returns."""
    return (
        isinstance(function, ast.FunctionDef)
        and not function.decorator_list
        and not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in walk(function))
    )


def bound(call: ast.Call, function: FunctionNode, *, skips: bool) -> Bound | None:
    """`skips`: whether the first parameter is the object that a method is called on."""
    given = function.args
    plain = positional_parameters(given)[skips:]
    names = [one.arg for one in plain]
    if any(isinstance(one, ast.Starred) for one in call.args) or len(call.args) > len(plain):
        return None
    found: Bound = dict.fromkeys([*names, *(one.arg for one in given.kwonlyargs)])
    found.update(zip(names, call.args, strict=False))
    for one in call.keywords:
        if one.arg not in found:
            return None
        found[one.arg] = one.value
    return found


def parts(target: ast.AST) -> Iterator[ast.AST]:
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from parts(one)
    elif isinstance(target, ast.Starred):
        yield from parts(target.value)
    else:
        yield target


def _parameters(function: FunctionNode | ast.Lambda) -> list[ast.arg]:
    given = function.args
    others = (given.vararg, given.kwarg)
    return [*explicit_parameters(given), *(one for one in others if one is not None)]
