"""Whether what a file gives a foreign thing lies on the host, and what that gives stays there.

It is followed by its names, members and functions, into the modules of the project that it is given
to or comes from. What cannot be followed may be a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Hashable
from typing import Any

from mpslint.facts.priors import names_device
from mpslint.halfway.around_files import Around
from mpslint.halfway.foreign_names import (
    FILLING,
    Given,
    Names,
    is_plain_function,
    parts,
)
from mpslint.halfway.plain_types import (
    OF_MODULES,
    PASSING_BUILTINS,
    PLAIN_BUILTINS,
    PLAIN_MODULES,
    TAKING,
    TO_HOST,
    is_made_here,
    is_plain,
    is_plain_item,
    is_plain_type,
    names_place,
)
from mpslint.semantics.syntax.expressions import last_name, root_name, root_of
from mpslint.semantics.syntax.index import FunctionNode, walk
from mpslint.semantics.syntax.parameters import default_of, explicit_parameters

_KEEPING = frozenset({"object", "ABC", "Dataset", "IterableDataset", "Sampler"})
"""Bases of classes that keep what they are given as it is; a module would move what has tensors."""
_DEEPEST = 40


class Flow:
    def __init__(
        self,
        tree: ast.Module,
        foreign: Container[str],
        hosts: Container[str],
        others: Around,
    ) -> None:
        """`foreign` are the names of the packages, and of what is theirs; `hosts` those of what
        computes on the host."""
        self._names = Names(tree, foreign)
        self._around = self._names.around
        self._others = others
        self._hosts = hosts
        self._holding: dict[Hashable, None] = {}
        """What was asked and holds, if all does that it was asked for."""
        self._failing: set[Hashable] = set()
        self._depth = 0

    def is_foreign(self, name: ast.Name) -> bool:
        """Whether a name stands for a foreign thing where it is used: no parameter, nor what a
        function has of this name by itself."""
        return self._names.is_imported(name)

    # What other files ask.

    def gives(self, name: str) -> bool:
        """Whether a function of the module gives what lies on the host."""
        function = self._defined(name)
        return function is not None and self._returns_host(function)

    def is_of_host(self, name: str) -> bool:
        """Whether a name of the module stands for what lies on the host."""
        return self._is_host_key((self._names.top, name))

    def takes(self, name: str, call: ast.Call, value: ast.AST) -> bool:
        """Whether a function of the module uses what a call gives it as what lies on the host."""
        function = self._defined(name)
        return function is not None and self._function_takes(function, call, value)

    def holds_settings(self, name: str) -> bool:
        """Whether a class of the module holds nothing but what is plain."""
        return self._is_of_settings(ast.Name(name, ast.Load()))

    def _defined(self, name: str) -> FunctionNode | None:
        known = self._names.given.get((self._names.top, name), [])
        one = known[0] if len(known) == 1 else None
        return one if isinstance(one, ast.FunctionDef) and is_plain_function(one) else None

    def _imported(self, name: ast.AST) -> tuple[Flow, str] | None:
        """The module of the project that a name is imported from, and what it is called there."""
        if not isinstance(name, ast.Name):
            return None
        known = self._names.given.get((self._names.scope_of(name), name.id), [])
        one = known[0] if len(known) == 1 else None
        return self._origin(one, name.id) if isinstance(one, ast.ImportFrom) else None

    def _origin(self, one: ast.ImportFrom, name: str) -> tuple[Flow, str] | None:
        for alias in one.names:
            if (alias.asname or alias.name) == name:
                own = self._others.own("." * one.level + (one.module or ""))
                return (own, alias.name) if own is not None else None
        return None

    def _is_of_settings(self, annotation: ast.expr) -> bool:
        """Whether a class of the project derives from none, and says of all that it holds that it
        is plain."""
        if not isinstance(annotation, ast.Name):
            return False
        known = self._names.given.get((self._names.top, annotation.id), [])
        one = known[0] if len(known) == 1 else None
        if isinstance(one, ast.ImportFrom):
            origin = self._origin(one, annotation.id)
            return origin is not None and origin[0].holds_settings(origin[1])
        if not isinstance(one, ast.ClassDef) or one.bases:
            return False
        fields = [each for each in one.body if isinstance(each, ast.AnnAssign)]
        return bool(fields) and all(is_plain_item(each.annotation) for each in fields)

    def _is_given_host(self, call: ast.Call) -> bool:
        if any(names_device(one.arg) for one in call.keywords):
            return False
        return all(map(self._is_host, (*call.args, *(one.value for one in call.keywords))))

    # What becomes of what a foreign thing gives.

    def _stays_host(self, node: ast.AST) -> bool:
        """Whether what an expression gives is used as what lies on the host, as far as it goes."""
        return self._deeper(self._is_used_on_host, node)

    def _goes_on_as_host(self, call: ast.AST) -> bool:
        return isinstance(self._around.get(call), ast.Expr) or self._stays_host(call)

    def _is_used_on_host(self, node: ast.AST) -> bool:
        around = self._around.get(node)
        if isinstance(around, ast.Attribute):
            if isinstance(around.ctx, ast.Store):
                return self._is_set_to_host(around)
            return around.attr in TO_HOST or (
                around.attr not in OF_MODULES and self._stays_host(around)
            )
        if isinstance(around, ast.Call):
            if around.func is node:
                return self._is_given_host(around) and self._goes_on_as_host(around)
            return self._takes_host(around, node)
        if isinstance(around, ast.keyword):
            call = self._around[around]
            return isinstance(call, ast.Call) and self._takes_host(call, node)
        if isinstance(around, ast.Subscript):
            if around.slice is node or isinstance(around.ctx, ast.Del):
                return True
            is_set = isinstance(around.ctx, ast.Store)
            return self._is_set_to_host(around) if is_set else self._stays_host(around)
        if isinstance(around, ast.AnnAssign):
            is_field = isinstance(self._around.get(around), ast.ClassDef)
            return is_field and is_plain_item(around.annotation)
        if isinstance(around, ast.Assign):
            return all(self._is_kept_on_host(part) for one in around.targets for part in parts(one))
        if isinstance(around, ast.withitem):
            return around.optional_vars is not None and self._is_kept_on_host(around.optional_vars)
        if isinstance(around, ast.For | ast.comprehension) and around.iter is node:
            return all(map(self._is_kept_on_host, parts(around.target)))
        if isinstance(around, ast.Return):
            return self._is_returned_on_host(around)
        if isinstance(around, ast.IfExp) and around.test is node:
            return True
        if isinstance(around, ast.UnaryOp):
            return isinstance(around.op, ast.Not) or self._stays_host(around)
        if isinstance(
            around,
            ast.BinOp
            | ast.IfExp
            | ast.BoolOp
            | ast.Tuple
            | ast.List
            | ast.Set
            | ast.Dict
            | ast.Starred
            | ast.ListComp
            | ast.SetComp
            | ast.DictComp
            | ast.GeneratorExp,
        ):
            return self._stays_host(around)
        return isinstance(
            around,
            ast.Expr
            | ast.Compare
            | ast.FormattedValue
            | ast.If
            | ast.While
            | ast.Assert
            | ast.Slice
            | ast.comprehension,
        )

    def _is_set_to_host(self, target: ast.AST) -> bool:
        """Whether what lies on the host is put into a foreign thing: `view.title = 'a'`."""
        around = self._around.get(target)
        value = around.value if isinstance(around, ast.Assign | ast.AugAssign) else None
        return value is not None and self._is_host(value)

    def _takes_host(self, call: ast.Call, value: ast.AST) -> bool:
        """Whether a call takes what it is given as what lies on the host."""
        function = call.func
        if isinstance(function, ast.Name):
            if function.id in PASSING_BUILTINS:
                return self._stays_host(call)
            if function.id in PLAIN_BUILTINS or function.id in self._hosts:
                return True
        own = self._names.function_of(call)
        if own is not None:
            return self._function_takes(own, call, value) and self._goes_on_as_host(call)
        origin = self._imported(function)
        if origin is not None:
            return origin[0].takes(origin[1], call, value) and self._goes_on_as_host(call)
        begun = root_name(function)
        if begun == "torch":
            return isinstance(function, ast.Attribute) and function.attr in TAKING
        if begun in self._hosts or self._names.module_of(root_of(function)) in PLAIN_MODULES:
            return True
        if self._is_abroad(function):
            return True  # What becomes of it is asked where that foreign thing is named.
        return isinstance(function, ast.Attribute) and self._is_taken_in(function, call)

    def _is_taken_in(self, method: ast.Attribute, call: ast.Call) -> bool:
        """Whether a method of what lies on the host takes something as that: `names.append(x)`."""
        if method.attr in FILLING:
            return self._is_host(method.value) and self._is_put_on_host(method.value)
        is_own = method.attr in self._names.methods
        return not is_own and self._is_host(method.value) and self._goes_on_as_host(call)

    def _function_takes(self, function: FunctionNode, call: ast.Call, value: ast.AST) -> bool:
        given = self._names.bound(call, function)
        names = [name for name, one in (given or {}).items() if one is value]
        return len(names) == 1 and self._are_uses_on_host(function, names[0])

    def _is_returned_on_host(self, back: ast.Return) -> bool:
        """Whether all that a function of the file gives back is used on the host."""
        function = self._names.own_scope(back)
        calls = self._calls_of(function)
        return calls is not None and self._once(
            ("returned", function), lambda: all(map(self._goes_on_as_host, calls))
        )

    def _calls_of(self, function: ast.AST) -> list[ast.Call] | None:
        """The calls of a function of the file; None: others may call it as well."""
        calls = self._names.calls_of(function)
        if calls is None or not isinstance(function, ast.FunctionDef):
            return None
        owner = self._around[function]
        if isinstance(owner, ast.ClassDef):
            is_made = function.name == "__init__"
            name = owner.name if is_made else function.name
            by_class = any(root_name(one.func) == owner.name for one in calls) and not is_made
            return None if by_class or self._others.is_read(name) else calls
        is_module = self._names.own_scope(owner) is self._names.top
        return None if is_module and self._others.is_taken(function.name) else calls

    def _is_kept_on_host(self, target: ast.AST) -> bool:
        if isinstance(target, ast.Attribute) and self._names.is_self(target.value):
            return self._is_member_used_on_host(target)
        if isinstance(target, ast.Subscript):
            return self._is_host(target.value) and self._is_put_on_host(target.value)
        if not isinstance(target, ast.Name):
            return False
        scope = self._names.own_scope(target)
        if isinstance(scope, ast.ClassDef):
            return False
        known = self._names.until_given_anew(target)
        if known is None:
            return self._are_uses_on_host(scope, target.id)
        return self._once(("used", target), lambda: all(map(self._stays_host, known)))

    def _is_put_on_host(self, holder: ast.expr) -> bool:
        """Whether what is put into something that the file has made itself is used on the host."""
        if isinstance(holder, ast.Attribute) and self._names.is_self(holder.value):
            made = self._names.members.get(holder.attr, [])
            return all(
                is_made_here(one, self._hosts) for one in made
            ) and self._is_member_used_on_host(holder)
        if not isinstance(holder, ast.Name):
            return False
        scope = self._names.scope_of(holder)
        made = self._names.given.get((scope, holder.id), [])
        is_made = bool(made) and all(is_made_here(one, self._hosts) for one in made)
        return is_made and self._are_uses_on_host(scope, holder.id)

    def _are_uses_on_host(self, scope: ast.AST, name: str) -> bool:
        if scope is self._names.top and self._others.is_taken(name):
            return False

        def are() -> bool:
            added = self._names.added.get((scope, name), ())
            uses = self._names.uses_of(scope, name)
            return all(map(self._is_host, added)) and all(map(self._stays_host, uses))

        return self._once(("used", scope, name), are)

    def _is_member_used_on_host(self, target: ast.Attribute) -> bool:
        """Whether what an object of the file keeps is used on the host, and nowhere else."""
        owner = self._names.class_around(target)
        if owner is None or self._names.is_dynamic or not self._keeps(owner):
            return False
        if target.attr in self._names.methods or self._others.is_read(target.attr):
            return False
        reads = self._names.reads.get(target.attr, ())
        return self._once(("kept", target.attr), lambda: all(map(self._stays_host, reads)))

    def _keeps(self, owner: ast.ClassDef) -> bool:
        """Whether a class only keeps what it is given."""
        names = [last_name(one) or root_name(one) for one in owner.bases]
        return not owner.keywords and _KEEPING.issuperset(names)

    # What a foreign thing is given.

    def _is_host(self, node: ast.expr) -> bool:
        return self._deeper(self._lies_on_host, node)

    def _deeper(self, asks: Callable[[Any], bool], node: ast.AST) -> bool:
        self._depth += 1
        try:
            return self._depth < _DEEPEST and asks(node)
        finally:
            self._depth -= 1

    def _once(self, key: Hashable, asks: Callable[[], bool]) -> bool:
        """Whether something holds, which is asked once. What is asked for again on the way is taken
        to hold; where the first question fails, what was built on that is forgotten."""
        if key in self._holding or key in self._failing:
            return key in self._holding
        before = len(self._holding)
        self._holding[key] = None
        if asks():
            return True
        while len(self._holding) > before:
            self._holding.popitem()
        self._failing.add(key)
        return False

    def _lies_on_host(self, node: ast.expr) -> bool:
        if names_place(node):
            return False
        if isinstance(node, ast.Constant | ast.JoinedStr):
            return True
        if isinstance(node, ast.Compare):
            return all(map(self._is_host, (node.left, *node.comparators)))
        if isinstance(node, ast.Name):
            return self.is_foreign(node) or self._is_host_name(node)
        if isinstance(node, ast.Attribute):
            if self._names.is_self(node.value) and node.attr not in TO_HOST:
                return self._is_host_member(node)
            return node.attr in TO_HOST or self._is_host(node.value)
        if isinstance(node, ast.Subscript | ast.Starred | ast.NamedExpr):
            return self._is_host(node.value)
        if isinstance(node, ast.Call):
            return self._gives_host(node)
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return all(map(self._is_host, node.elts))
        if isinstance(node, ast.Dict):
            return all(map(self._is_host, node.values))
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return self._is_host(node.elt)
        if isinstance(node, ast.DictComp):
            return self._is_host(node.key) and self._is_host(node.value)
        if isinstance(node, ast.Lambda):
            return self._is_host(node.body)
        if isinstance(node, ast.BinOp):
            return self._is_host(node.left) and self._is_host(node.right)
        if isinstance(node, ast.BoolOp):
            return all(map(self._is_host, node.values))
        if isinstance(node, ast.UnaryOp):
            return self._is_host(node.operand)
        if isinstance(node, ast.IfExp):
            return self._is_host(node.body) and self._is_host(node.orelse)
        return False

    def _gives_host(self, call: ast.Call) -> bool:
        function = call.func
        if isinstance(function, ast.Attribute) and function.attr in TO_HOST:
            return True
        if isinstance(function, ast.Name) and function.id in PLAIN_BUILTINS:
            return True
        if isinstance(function, ast.Name) and function.id in PASSING_BUILTINS:
            return self._is_given_host(call)
        own = self._names.function_of(call)
        if own is not None:
            return self._returns_host(own)
        begun = root_of(function)
        name = begun.id if isinstance(begun, ast.Name) else ""
        is_foreign = isinstance(begun, ast.Name) and self.is_foreign(begun)
        if is_foreign or name in self._hosts or self._names.module_of(begun) in PLAIN_MODULES:
            return True  # Whether a foreign thing is given a tensor is asked where that is named.
        if name == "Path":
            return True
        origin = self._imported(function)
        if origin is not None:
            return origin[0].gives(origin[1])
        return isinstance(function, ast.Attribute) and self._is_host(function.value)

    def _returns_host(self, function: FunctionNode) -> bool:
        """Whether all that a function of the file returns lies on the host."""
        inside = (one for one in walk(function) if isinstance(one, ast.Return) and one.value)
        own = (one.value for one in inside if self._names.own_scope(one) is function)
        return self._once(("returns", function), lambda: all(map(self._is_host, own)))  # type: ignore[arg-type]

    def _is_host_name(self, name: ast.Name) -> bool:
        return self._is_host_key((self._names.scope_of(name), name.id))

    def _is_host_key(self, key: tuple[ast.AST, str]) -> bool:
        given = self._names.given.get(key)
        if not given:
            return False
        every = (*given, *self._names.filled.get(key, ()))
        return self._once(key, lambda: all(self._is_host_given(key, one) for one in every))

    def _is_host_given(self, key: tuple[ast.AST, str], given: Given) -> bool:
        if isinstance(given, ast.arg):
            return self._is_host_parameter(key[0], given)
        if isinstance(given, ast.ImportFrom):
            origin = self._origin(given, key[1])
            return origin is not None and origin[0].is_of_host(origin[1])
        if isinstance(given, ast.FunctionDef):
            return is_plain_function(given) and self._calls_back_host(given)
        return isinstance(given, ast.expr) and self._is_host(given)

    def _calls_back_host(self, function: FunctionNode) -> bool:
        """Whether what calls a function of the file gives it, and gets, what lies on the host."""
        given = function.args
        every = explicit_parameters(given)
        if given.vararg or given.kwarg:
            return False
        return self._returns_host(function) and all(
            self._are_uses_on_host(function, one.arg) for one in every
        )

    def _is_host_parameter(self, function: ast.AST, one: ast.arg) -> bool:
        if one.annotation is not None and (
            is_plain_type(one.annotation) or self._is_of_settings(one.annotation)
        ):
            return True
        if one.annotation is None and is_plain(default_of(function.args, one)):  # type: ignore[attr-defined]
            return True
        if self._names.is_path(function, one.arg):
            return True
        calls = self._calls_of(function)
        if not calls or not isinstance(function, ast.FunctionDef):
            return False
        bounds = [self._names.bound(call, function) for call in calls]
        default = default_of(function.args, one)
        for known in bounds:
            value = known.get(one.arg, default) if known is not None else None
            value = default if value is None else value
            if known is None or one.arg not in known or value is None or not self._is_host(value):
                return False
        return True

    def _is_host_member(self, node: ast.Attribute) -> bool:
        """Whether all that is given to a member, by this file alone, lies on the host."""
        owner, name = self._names.class_around(node), node.attr
        if owner is None or self._names.is_dynamic or name in self._names.methods:
            return False
        fields = (one for one in owner.body if isinstance(one, ast.AnnAssign))
        for one in fields:
            if isinstance(one.target, ast.Name) and one.target.id == name:
                if not is_plain_item(one.annotation):
                    return False
        given = [*self._names.members.get(name, ()), *self._names.given.get((owner, name), ())]
        if not given or self._others.is_given(name):
            return False
        key = owner, f".{name}"
        given += self._names.members_filled.get(name, ())
        return self._once(key, lambda: all(self._is_host_given(key, one) for one in given))

    def _is_abroad(self, node: ast.AST) -> bool:
        """Whether something is foreign, or was made by a foreign thing."""
        if isinstance(node, ast.Name):
            if self.is_foreign(node):
                return True
            given = self._names.given.get((self._names.scope_of(node), node.id))
            key: Hashable = ("abroad", self._names.scope_of(node), node.id)
        elif isinstance(node, ast.Attribute) and self._names.is_self(node.value):
            given = self._names.members.get(node.attr)
            key = ("abroad", node.attr)
            if self._names.is_dynamic or self._others.is_given(node.attr):
                return False
        elif isinstance(node, ast.Attribute | ast.Subscript):
            return self._deeper(self._is_abroad, node.value)
        else:
            return isinstance(node, ast.Call) and self._deeper(self._is_abroad, node.func)
        known = list(given or ())
        return bool(known) and self._once(
            key, lambda: all(isinstance(one, ast.expr) and self._is_abroad(one) for one in known)
        )
