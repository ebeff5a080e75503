"""What a statement does to the worlds that are here and to what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from mpslint.facts import machines as facts
from mpslint.facts.priors import decorator_worlds, definition_worlds, package_worlds
from mpslint.semantics.worlds.conditions import equal
from mpslint.semantics.worlds.core import MAX_STEPS
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.expressions import Expressions, arithmetic
from mpslint.semantics.worlds.machines import ALL, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.state import Class, Env, Function, FunctionNode
from mpslint.semantics.worlds.values import (
    BOT,
    CLASS,
    CONST,
    DEVICE,
    FUNCTION,
    INSTANCE,
    MAPPING,
    MODULE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    NONE,
    SEQUENCE,
    SKIP,
    STREAM,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Tests,
    Value,
    by_world,
    cases_of,
    join,
    lift,
    one,
    pick,
    port,
    restrict,
    tested,
    where,
)

_PLAIN_DECORATORS = frozenset({"torch", "functools", "contextlib", "typing", "abc"})
_MOVING = frozenset({"to", "cuda", "cpu", "mps", "double", "half", "float", "to_empty"})
"""Methods by which a module moves, or changes its dtype, in place."""
_EFFECTS = (Kind.EFFECT, Kind.AUTOCAST, Kind.SCALED, Kind.MOVED, Kind.TYPED, Kind.PLACED)
_EXPECTING = frozenset(
    {"contextlib.suppress", "pytest.raises", "unittest.mock.patch", "unittest.mock.patch.object"}
)
"""Contexts in which an error is expected, or nothing real is called."""


class Statements(Expressions):
    statements: dict[type[ast.AST], Callable[[Any], None]]
    functions: dict[FunctionNode, Function]
    classes: dict[ast.ClassDef, Class]
    fixtures: dict[str, Function]
    outer_of_class: list[Env]
    dotted: set[str]

    def block(self, body: list[ast.stmt]) -> None:
        frame = self.frame
        last = body[-1] if body else None
        for statement in body:
            if not frame.mask:
                return
            frame.more = statement is not last
            self.steps += 1
            if self.steps > MAX_STEPS:
                return
            if self.recording:
                self.reach[statement] = self.reach.get(statement, 0) | frame.mask
                if frame.caught:
                    self.caught.add(statement)
            function = self.statements.get(statement.__class__)
            if function is not None:
                function(statement)

    # simple statements

    def s_Expr(self, node: ast.Expr) -> None:
        value = node.value
        result = self.eval(value)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            if value.func.attr in _MOVING:  # a module moves in place
                key = self.key(value.func.value)
                if key is not None:
                    old = one(self.lookup(key) or UNK, self.frame.mask)
                    if old.kind in (MODULE, UNKNOWN) or (old.kind == INSTANCE and old.v.module):
                        self.frame.env[key] = result

    def s_Assign(self, node: ast.Assign) -> None:
        value = self.eval(node.value)
        for target in node.targets:
            self.bind(target, value)
            if isinstance(target, ast.Name) and target.id == "pytestmark":
                self.frame.mask &= _left_by_marks(value)

    def s_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.bind(node.target, self.eval(node.value))

    def s_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Subscript):
            self.eval(node.value)
            return
        old, value = self.eval(node.target), self.eval(node.value)
        if isinstance(node.op, ast.BitAnd) and one(value, ALL).kind in (CONST, UNKNOWN):
            self.bind(node.target, self._masked(old, value))
            return
        self.bind(node.target, lift(arithmetic, old, value))

    def _masked(self, old: Value, value: Value) -> Value:
        """`use_cuda &= torch.cuda.is_available()`"""

        def both(a: Atom, b: Atom) -> Atom:
            if b.kind == CONST and not b.maybe and not b.v:
                return b
            return tested(a, b.tests)

        return lift(both, old, value)

    def bind(self, target: ast.expr, value: Value) -> None:
        frame = self.frame
        if isinstance(target, ast.Name):
            frame.env[target.id] = value
            if target.id in self.dotted:
                prefix = target.id + "."
                for key in [key for key in frame.env if key.startswith(prefix)]:
                    del frame.env[key]
            if target.id in frame.declared:
                top = frame.up[-1] if frame.up else frame.env
                old = top.get(target.id)
                if old is not None and one(old, ALL).kind != CONST:
                    value = lift(join, old, value)
                top[target.id] = value
                self.kept(value, target.id, target)
        elif isinstance(target, ast.Attribute):
            self._store(target, value)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, UNK)

    def _store(self, target: ast.Attribute, value: Value) -> None:
        frame = self.frame
        key = self.key(target)
        if one(value, frame.mask).kind == NAME:
            self.kept(value)
        elif value is not UNK and self.recording:
            frame.stored.append((key, value, frame.mask, frame.tests, frame.arm, target.attr))
        if key is not None:
            frame.env[key] = value
            self.dotted.add(key.partition(".")[0])
        owner = one(self.eval(target.value), frame.mask)
        if owner.kind == INSTANCE:
            sites = owner.v.sites.setdefault(target.attr, {})
            sites[id(target)] = restrict(value, frame.mask)
            owner.v.cache.pop(target.attr, None)
        elif owner.kind == NAMESPACE:
            old = owner.v.get(target.attr, UNK)
            owner.v[target.attr] = pick(frame.mask, value, ALL & ~frame.mask, old, frame.tests)
        elif owner.kind == UNKNOWN and isinstance(target.value, ast.Name):
            if target.value.id in frame.env:
                frame.env[target.value.id] = Atom(NAMESPACE, {target.attr: value})

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        parts: list[Value] | None = None
        count = len(target.elts)
        if all(
            atom is BOT or (atom.kind == SEQUENCE and len(atom.v) == count)
            for _, atom in cases_of(value)
        ):
            parts = [
                port(by_world(lambda _, atom, at=at: BOT if atom is BOT else atom.v[at], value))  # type: ignore[misc]
                for at in range(count)
            ]
        one_tensor = value.__class__ is Atom and value.kind == TENSOR
        for at, item in enumerate(target.elts):
            inner = item.value if isinstance(item, ast.Starred) else item
            self.bind(inner, parts[at] if parts else (value if one_tensor else UNK))

    def _store_item(self, target: ast.Subscript, value: Value) -> None:
        owner = one(self.eval(target.value), self.frame.mask)
        index = self.eval(target.slice)
        key = one(index, ALL)
        self.kept(value, str(key.v) if key.kind == CONST else "")
        if owner.kind == MAPPING and isinstance(target.slice, ast.Constant):
            owner.v[target.slice.value] = value
        elif owner.kind == TENSOR:
            self.stored_into(target, owner, index, value)

    def stored_into(self, target: ast.Subscript, owner: Atom, index: Value, value: Value) -> None:
        """An element of a tensor is written; told by the part that knows tensors."""

    # branches

    def s_If(self, node: ast.If) -> None:
        yes, no, tests = self.cond(node.test)
        refined = self.refined(node.test, no) if tests else []
        self.fork(node, yes, no, tests, node.body, node.orelse, refined)

    def fork(
        self,
        node: ast.stmt,
        yes: int,
        no: int,
        tests: Tests,
        body: list[ast.stmt],
        orelse: list[ast.stmt],
        refined: list[tuple[str, Value]],
    ) -> None:
        """`refined`: what names stand for where the test fails."""
        frame = self.frame
        mask, why, env, arm, more = frame.mask, frame.tests, frame.env, frame.arm, frame.more
        parts = yes != mask or no != mask
        if parts and not arm:
            frame.arm = id(node)
        returned, fork = len(frame.returns), len(self.log)
        ends: list[tuple[int, Env]] = []
        for worlds, branch in ((yes, body), (no, orelse)):
            frame.mask = worlds
            frame.env = dict(env) if worlds and branch else env
            if refined and branch is orelse:
                frame.env = {**env, **dict(refined)}
            frame.tests = why | tests if (worlds & MACS) != (mask & MACS) else why
            if worlds:
                mark = len(self.log)
                frame.starts.append(mark)
                frame.forks.append(fork)
                own, frame.own = frame.own, False
                self.block(branch)
                frame.starts.pop()
                frame.forks.pop()
                if branch and isinstance(branch[-1], ast.Raise) and not frame.mask:
                    # It ends in an error everywhere: nothing is gained by a port of it.
                    self.log[mark:] = [event for event in self.log[mark:] if event.passed]
                lost = worlds & MACS and not frame.mask & MACS and frame.mask & NVIDIA
                if worlds & PORTED and not worlds & MAC and lost:
                    self.forget(mark, _EFFECTS)  # PORTED cannot come through: CUDA's own
                frame.own = own
            ends.append((frame.mask, frame.env))
        (m1, e1), (m2, e2) = ends
        frame.mask = m1 | m2
        refused = parts and frame.mask & MACS != mask & MACS
        frame.tests = why | tests if frame.mask & MACS != mask & MACS else why
        if refused and mask & MAC and not frame.mask & MAC and frame.mask & PORTED:
            if len(frame.returns) == returned:
                alone = not more and not (body and orelse)
                self.emit(Kind.REFUSED, node, worlds=mask, tests=tests, likely=alone)
        frame.arm = arm
        frame.env = self.merge(env, m1, e1, m2, e2, tests if parts else NO_TESTS)

    def merge(self, env: Env, m1: int, e1: Env, m2: int, e2: Env, tests: Tests) -> Env:
        if not m1:
            return e2 if m2 else env
        if not m2 or e1 is e2:
            return e1
        if e1 is env and e2 is env:
            return env
        out = dict(e1)
        for key, v2 in e2.items():
            v1 = e1.get(key)
            if v1 is not v2:
                other = v1 if v1 is not None else self._unset(key)
                if other is None:
                    out.pop(key, None)
                else:
                    out[key] = pick(m1, other, m2, v2, tests)
        for key in e1.keys() - e2.keys():
            other = self._unset(key)
            if other is None:
                del out[key]
            else:
                out[key] = pick(m1, e1[key], m2, other, tests)
        return out

    def _unset(self, key: str) -> Atom | None:
        """What a name holds where nothing was bound to it, and an attribute where nothing was
        stored in this function; None: the object itself says."""
        holder = key.rpartition(".")[0]
        if not holder:
            return BOT
        owner = self.lookup(holder)
        if owner.__class__ is Atom and owner.kind == NAMESPACE:
            return None
        return Atom(UNKNOWN, symbol=(self.frame.function, key))

    def s_Match(self, node: ast.Match) -> None:
        subject = self.eval(node.subject)
        frame = self.frame
        env, why = frame.env, frame.tests
        rest = frame.mask
        done, end = 0, env
        for case in node.cases:
            frame.mask, frame.env, frame.tests = rest, dict(env), why
            taken, left, tests = self._pattern(case.pattern, subject, rest)
            frame.mask = taken
            if case.guard is not None and taken:
                yes, no, more = self.cond(case.guard)
                taken, left, tests = yes, left | no, tests | more
                frame.mask = taken
            if taken & MACS != (rest & MACS):
                frame.tests = why | tests
            if taken:
                self.block(case.body)
                end = self.merge(env, done, end, frame.mask, frame.env, tests)
                done |= frame.mask
            rest = left
        frame.tests = why
        frame.env = self.merge(env, done, end, rest, env, NO_TESTS)
        frame.mask = done | rest

    def _pattern(self, pattern: ast.pattern, subject: Value, rest: int) -> tuple[int, int, Tests]:
        """The worlds in which a pattern may match, those in which it may not."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
            if pattern.name is not None:
                self.frame.env[pattern.name] = subject
            return rest, 0, NO_TESTS
        if isinstance(pattern, ast.MatchOr):
            yes, left, tests = 0, rest, NO_TESTS
            for item in pattern.patterns:
                here, left, found = self._pattern(item, subject, left)
                yes |= here
                tests |= found
            return yes, left, tests
        if isinstance(pattern, ast.MatchValue):
            value = self.eval(pattern.value)
            yes = no = 0
            for worlds, a in cases_of(subject, rest):
                for both, b in cases_of(value, worlds):
                    for part, said in equal(a, b, both):
                        yes |= part if said is not False else 0
                        no |= part if said is not True else 0
            if one(value, ALL).kind == DEVICE:
                self.device_tests.add(pattern.value)
            return yes, no, frozenset((pattern.value,))
        if isinstance(pattern, ast.MatchSingleton):
            yes = no = 0
            tests = NO_TESTS
            for worlds, a in cases_of(subject, rest):
                for part, said in equal(a, Atom(CONST, pattern.value), worlds):
                    yes |= part if said is not False else 0
                    no |= part if said is not True else 0
                tests |= a.tests
            return yes, no, tests
        return rest, rest, NO_TESTS

    # loops

    def loop(
        self, node: ast.For | ast.AsyncFor | ast.While, target: ast.expr | None, value: Value
    ) -> None:
        frame = self.frame
        mask, env = frame.mask, frame.env
        # The second turn knows less of plain constants: something may have set them.
        frame.env = {
            key: UNK
            if v.__class__ is Atom and v.kind == CONST and not v.tests and v.v is not None
            else v
            for key, v in env.items()
        }
        if target is not None:
            self.bind(target, value)
        frame.loops += 1
        self.block(node.body)
        frame.loops -= 1
        after = frame.mask or mask
        frame.mask = mask
        frame.env = self.merge(env, mask, env, after, frame.env, NO_TESTS)
        if node.orelse:
            self.block(node.orelse)

    def s_For(self, node: ast.For | ast.AsyncFor) -> None:
        iterated = self.eval(node.iter)
        turns = self.turns(node.iter)
        mask = self.frame.mask
        if turns is not None:
            self.frame.mask = turns
        if self.frame.mask:
            self.loop(node, node.target, self.items_of(iterated))
        self.frame.mask = mask

    s_AsyncFor = s_For

    def s_While(self, node: ast.While) -> None:
        frame = self.frame
        mask = frame.mask
        yes, _, _ = self.cond(node.test)
        if yes:
            frame.mask = yes
            self.loop(node, None, UNK)
        frame.mask = mask

    def s_With(self, node: ast.With | ast.AsyncWith) -> None:
        frame = self.frame
        caught = frame.caught
        for item in node.items:
            expression = item.context_expr
            value = self.eval(expression)
            if isinstance(expression, ast.Call):
                function = expression.func
                if isinstance(function, ast.Name) and function.id == "open" and expression.args:
                    value = Atom(STREAM, ast.dump(expression.args[0]))
                elif self.expects_error(function):
                    frame.caught = True
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value)
        self.block(node.body)
        frame.caught = caught

    s_AsyncWith = s_With

    def expects_error(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute) and function.attr.startswith("assertRaises"):
            return True
        calling, self.calling = self.calling, True
        name = one(self.eval(function), ALL)
        self.calling = calling
        return name.kind == NAME and name.v in _EXPECTING

    def s_Try(self, node: ast.Try) -> None:
        frame = self.frame
        mask, why, env, caught = frame.mask, frame.tests, frame.env, frame.caught
        frame.caught = caught or any(_deals_with(handler) for handler in node.handlers)
        frame.env = dict(env)
        self.block(node.body)
        if frame.mask:
            self.block(node.orelse)
        frame.caught = caught
        worlds, end = frame.mask, frame.env
        # What may have raised has done a part of its work: a handler sees both.
        for handler in node.handlers:
            frame.mask, frame.tests, frame.env = mask, why, dict(env)
            self.block(handler.body)
            end = self.merge(env, worlds, end, frame.mask, frame.env, NO_TESTS)
            worlds |= frame.mask
        frame.mask, frame.env, frame.tests = worlds, end, why
        if node.finalbody:
            frame.mask = frame.mask or mask
            self.block(node.finalbody)
            frame.mask &= worlds

    s_TryStar = s_Try

    # leaving

    def s_Return(self, node: ast.Return) -> None:
        frame = self.frame
        value = self.eval(node.value) if node.value is not None else NONE
        if one(value, frame.mask).kind == NAME:
            self.kept(value)
        if frame.tests:
            value = lift(lambda atom: tested(atom, frame.tests), value)
        frame.returns.append((frame.mask, value))
        self.leave()
        frame.mask = 0

    def s_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.eval(node.exc)
        self.frame.mask = 0

    def s_Break(self, node: ast.Break) -> None:
        self.frame.mask = 0

    s_Continue = s_Break

    def s_Assert(self, node: ast.Assert) -> None:
        frame = self.frame
        yes, _, tests = self.cond(node.test)
        before = frame.mask
        frame.mask = yes
        if before & MAC and not yes & MAC and yes & PORTED:
            frame.tests |= tests
            self.emit(Kind.REFUSED, node, worlds=before, tests=tests, likely=not frame.more)
        elif yes & MACS != before & MACS:
            frame.tests |= tests

    def s_Global(self, node: ast.Global) -> None:
        self.frame.declared |= set(node.names)

    # imports

    def s_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.needs(alias.name)
            if alias.asname:
                self.frame.env[alias.asname] = Atom(NAME, alias.name, None)
            else:
                top = alias.name.partition(".")[0]
                self.frame.env[top] = Atom(NAME, top)

    def s_ImportFrom(self, node: ast.ImportFrom) -> None:
        env = self.frame.env
        module = "." * node.level + (node.module or "")
        self.needs(module)
        for alias in node.names:
            local = alias.asname or alias.name
            if node.level:
                dot = "" if module.endswith(".") else "."
                env[local] = Atom(NAME, f"{module}{dot}{alias.name}")
                self.needs(f"{module}{dot}{alias.name}", ours=False)
                continue
            self.needs(f"{module}.{alias.name}", ours=False)
            if module == "torch" and alias.name == "nn":
                env[local] = Atom(NAME, "torch.nn")
            elif module.partition(".")[0] in ("torch", "sys", "os", "platform"):
                env[local] = self.named(f"{module}.{alias.name}", alias)  # type: ignore[arg-type]
            else:
                env[local] = Atom(NAME, f"{module}.{alias.name}")

    def needs(self, module: str, *, ours: bool = True) -> None:
        """A package that only some machines can have: the worlds without it end here. So it is
        with a module of the project's own (`ours`) that cannot do without one."""
        if package_worlds(module) is not None:
            self.owned(NVIDIA)
        elif ours and self.project is not None and self.frame.function is None:
            worlds = self.project.imports_on(module)
            if worlds != ALL:
                self.owned(worlds)

    # definitions

    def s_FunctionDef(self, node: FunctionNode) -> None:
        frame = self.frame
        mask, tests = self.decorated(node)
        in_class = frame.in_class
        up = self.outer_of_class if in_class else [frame.env, *frame.up]
        function = self.functions.get(node)
        for default in (*node.args.defaults, *node.args.kw_defaults) if self.recording else ():
            if isinstance(default, ast.IfExp | ast.Call):
                self.kept(self.eval(default), node.name)
        if function is None:
            function = Function(node, frame.cls if in_class else None, up, mask, tests, self)
            function.relevant = self.is_relevant(node)
            self.functions[node] = function
        elif self.recording:
            function.up, function.mask, function.tests = up, mask, tests
        for decorator in node.decorator_list:
            last = (
                decorator.attr
                if isinstance(decorator, ast.Attribute)
                else getattr(decorator, "id", "")
            )
            if last in ("property", "cached_property"):
                function.prop = True
            elif last == "staticmethod":
                function.static = True
        if in_class:
            assert frame.cls is not None
            frame.cls.methods[node.name] = function
            return
        if node.decorator_list:
            function.decorated = True
            function.escaped = function.escaped or any(map(self._hands_on, node.decorator_list))
            for decorator in node.decorator_list:
                call = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(call, ast.Attribute) and call.attr == "fixture":
                    self.fixtures[node.name] = function
        frame.env[node.name] = Atom(FUNCTION, function)

    s_AsyncFunctionDef = s_FunctionDef

    def _hands_on(self, decorator: ast.expr) -> bool:
        """Whether a decorator may give the function to somebody who calls it: a command, a route.
        Those of torch and of the standard library (`@torch.no_grad()`) do not."""
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        calling, self.calling = self.calling, True
        name = one(self.eval(function), ALL)
        self.calling = calling
        return name.kind != NAME or str(name.v).partition(".")[0] not in _PLAIN_DECORATORS

    def decorated(self, node: FunctionNode | ast.ClassDef) -> tuple[int, Tests]:
        """The worlds that a function or class runs in, as its decorators say."""
        mask = self.frame.mask
        for decorator in node.decorator_list:
            value = self.eval(decorator)
            for worlds, atom in cases_of(value):
                if atom.kind == SKIP:
                    mask &= atom.v | ~worlds
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = (
                function.attr
                if isinstance(function, ast.Attribute)
                else getattr(function, "id", "")
            )
            keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
            said = decorator_worlds(name, tuple(item.arg or "" for item in keywords))
            if said == "cuda":
                mask &= NVIDIA
            elif said == "mps":
                mask &= MACS
        if definition_worlds(node.name) == "cuda":
            mask &= NVIDIA
        return mask, self.frame.tests

    def s_ClassDef(self, node: ast.ClassDef) -> None:
        frame = self.frame
        mask, _ = self.decorated(node)
        cls = self.classes.get(node)
        if cls is None:
            cls = self.classes[node] = Class(node)
        for base in node.bases:
            atom = one(self.eval(base), ALL)
            if atom.kind == CLASS:
                for name, function in atom.v.methods.items():
                    cls.methods.setdefault(name, function)
                if atom.v is not cls and atom.v not in cls.parents:
                    cls.parents.append(atom.v)
                cls.bases += [item for item in atom.v.bases if item not in cls.bases]
                cls.module = cls.module or atom.v.module
            elif atom.kind == NAME:
                cls.bases.append(str(atom.v))
                cls.module = cls.module or str(atom.v).endswith("Module")
        saved = (frame.cls, frame.in_class, frame.env, self.outer_of_class, frame.mask, frame.up)
        self.outer_of_class = [frame.env, *frame.up]
        frame.cls, frame.in_class, frame.env, frame.up = cls, True, {}, self.outer_of_class
        frame.mask = mask
        self.block(node.body)
        for name, value in frame.env.items():
            cls.sites.setdefault(name, {})[0] = value
            if any(where(atom) in ("cuda", "mps") for _, atom in cases_of(value, mask)):
                if not any("Enum" in base for base in map(ast.dump, node.bases)):
                    self.kept(value, name)
        frame.cls, frame.in_class, frame.env, self.outer_of_class, frame.mask, frame.up = saved
        frame.env[node.name] = Atom(CLASS, cls)


def _left_by_marks(value: Value) -> int:
    """The worlds that `pytestmark = pytest.mark.skipif(...)`, or a list of marks, leaves."""
    left = ALL
    for worlds, atom in cases_of(value):
        if atom.kind == SKIP:
            left &= atom.v | ~worlds
        elif atom.kind == SEQUENCE:
            for item in atom.v:
                left &= _left_by_marks(item)
    return left


def _deals_with(handler: ast.ExceptHandler) -> bool:
    """A handler for what torch raises without CUDA, that does not raise in its turn."""
    if any(
        isinstance(item, ast.Raise) for statement in handler.body for item in ast.walk(statement)
    ):
        return False
    last = handler.body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        if ast.unparse(last.value.func) in facts.EXITS:
            return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {
        kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "") for kind in kinds
    }
    return not facts.CUDA_ERRORS.isdisjoint(names)
