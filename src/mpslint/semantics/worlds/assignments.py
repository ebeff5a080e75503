"""What assignments leave in names, attributes and items."""

from __future__ import annotations

import ast
from functools import partial

from mpslint.semantics.worlds.asked_choices import Asked
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.joining import join, pick, port
from mpslint.semantics.worlds.loaded import is_loaded
from mpslint.semantics.worlds.machines import ALL, MAC
from mpslint.semantics.worlds.numbers import computed
from mpslint.semantics.worlds.operators import arithmetic, divided, multiplied
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    CONST,
    DEVICE,
    INSTANCE,
    MAPPING,
    NAME,
    NAMESPACE,
    NO_TESTS,
    SEQUENCE,
    STATE,
    STEP,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Tests,
    Value,
    by_world,
    cases_of,
    left_by_marks,
    lift,
    one,
    pack,
    places,
    restrict,
    tested,
    text_of,
    where,
)

_OPERATIONS = {ast.Mult: multiplied, ast.Div: divided}


class Assignments(Expressions):
    dotted: set[str]

    def s_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self.note_flag(node.targets[0].id, node.value)
        asking = self.asking
        if node.value in self.by_name:
            self.asking = Asked.SWITCH
        value = self.eval(node.value)
        self.asking = asking
        for target in node.targets:
            self.bind(target, value)
            if isinstance(target, ast.Name) and target.id == "pytestmark":
                self.frame.mask &= left_by_marks(value)

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
        self.computed(node, old, value)
        operation = _OPERATIONS.get(type(node.op), arithmetic)
        self.bind(
            node.target, lift(lambda a, b: computed(node.op, a, b, operation(a, b)), old, value)
        )

    def _masked(self, old: Value, value: Value) -> Value:
        """`use_cuda &= torch.cuda.is_available()`"""

        def both(a: Atom, b: Atom) -> Atom:
            if b.kind == CONST and not b.maybe and not b.v:
                return b
            return tested(a, b.tests)

        return lift(both, old, value)

    def s_Global(self, node: ast.Global) -> None:
        self.frame.declared |= set(node.names)

    def bind(self, target: ast.expr, value: Value) -> None:
        frame = self.frame
        if isinstance(target, ast.Name | ast.Attribute) and self.recording:
            self._replaced(target, value)
        if isinstance(target, ast.Name):
            frame.env[target.id] = value
            if target.id in self.dotted:
                prefix = target.id + "."
                for key in [key for key in frame.env if key.startswith(prefix)]:
                    del frame.env[key]
            if target.id in frame.declared and target.id in self.setting:
                self.setting[target.id] |= frame.mask
            elif target.id in frame.declared:
                top = frame.up[-1] if frame.up else frame.env
                old = top.get(target.id)
                if old is not None:
                    value = lift(partial(_set_again, frame.tests), old, value)
                    left = ALL & ~frame.mask
                    value = pack([*cases_of(value, frame.mask), *cases_of(old, left)])
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

    def _replaced(self, target: ast.Name | ast.Attribute, value: Value) -> None:
        """MPS was chosen for a Mac, and a test for CUDA takes it away again unused."""
        key = self.key(target)
        old = self.frame.env.get(key) if key is not None else None
        if key is None or old is None:
            return
        here = self.frame.mask & MAC
        if any(where(atom) == "mps" for _, atom in cases_of(value, here)):
            earlier = self.frame.replaced.pop(key, None)
            if earlier is not None:  # It is chosen again.
                self.log[:] = [event for event in self.log if event is not earlier]
            return
        chosen = [atom for _, atom in cases_of(old, here)]
        if not chosen or any(where(atom) != "mps" or atom.kind != DEVICE for atom in chosen):
            return
        nodes = {node for atom in chosen for node in places(atom)}
        if not nodes or not self.seen.isdisjoint(nodes):
            return
        now = [atom for _, atom in cases_of(value, here)]
        tests = self.frame.tests.union(*(atom.tests for atom in now))
        if tests.isdisjoint(self.cuda_tests):
            return
        if all(atom.kind == DEVICE and atom.v == "cpu" and places(atom) for atom in now):
            mine = min(nodes, key=lambda node: (node.lineno, node.col_offset))
            self.emit(Kind.OVERWRITTEN, places(now[0])[0], tests=tests, use=mine)
            self.frame.replaced[key] = self.log[-1]

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
            self.held.add(target.attr)
        owner = one(self.eval(target.value), frame.mask)
        if owner.kind == INSTANCE:
            sites = owner.v.sites.setdefault(target.attr, {})
            here = restrict(value, frame.mask)
            sites[id(target)] = here if owner.v.home is self else foreign(here, ())
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
        held = [atom for _, atom in cases_of(value) if atom.kind == SEQUENCE]
        if held and all(len(atom.v) == count for atom in held):
            parts = [port(by_world(partial(_part, at), value)) for at in range(count)]
        if value.__class__ is Atom and value.kind == STEP and count > 1:
            rewards = Atom(ARRAY, "float64", maybe=True)
            parts = [rewards if at == 1 else UNK for at in range(count)]
        if value.__class__ is Atom and value.kind == STREAMED and value.v is not None:
            parts = [self.items_of(value)] * count
        one_tensor = value.__class__ is Atom and (value.kind == TENSOR or is_loaded(value))
        for at, item in enumerate(target.elts):
            inner = item.value if isinstance(item, ast.Starred) else item
            self.bind(inner, parts[at] if parts else (value if one_tensor else UNK))

    def _store_item(self, target: ast.Subscript, value: Value) -> None:
        owner = one(self.eval(target.value), self.frame.mask)
        key = one(self.eval(target.slice), ALL)
        self.kept(value, text_of(key) if key.kind == CONST else "")
        if owner.kind == ARRAY and one(value, self.frame.mask).kind == TENSOR:
            self.emit(Kind.HANDED, target, value=value)
        if owner.kind in (MAPPING, NAMESPACE) and isinstance(target.slice, ast.Constant):
            mask, old = self.frame.mask, owner.v.get(target.slice.value, UNK)
            owner.v[target.slice.value] = pick(mask, value, ALL & ~mask, old, self.frame.tests)
        elif owner.kind == MAPPING and key.kind != CONST and one(value, ALL).kind == TENSOR:
            # `batch[key] = batch[key].to(device)`: it may be any of them.
            mask = self.frame.mask
            for name, old in owner.v.items():
                if one(old, ALL).kind == TENSOR:
                    owner.v[name] = pick(mask, UNK, ALL & ~mask, old, NO_TESTS)
        elif owner.kind in (STREAMED, STATE) and isinstance(target.value, ast.Name):
            # `rows[i] = rows[i].astype(...)`: it holds something else than it was filled with.
            self.frame.env[target.value.id] = UNK
        elif owner.kind == SEQUENCE and isinstance(target.value, ast.Name):
            self.frame.env[target.value.id] = owner.but(v=_with_item(owner.v, key, value))


def _set_again(tests: Tests, old: Atom, new: Atom) -> Atom:
    """What a name of the module is once it is set again: more than the constant that it started as.
    A choice that asks for MPS already still does when its own arm is run once more."""
    new = tested(new, tests)
    if old.kind == CONST:
        return new
    ported = old.kind == DEVICE == new.kind and old.v == "mps" and new.v == "cuda"
    return old if ported else join(old, new)


def _with_item(items: tuple[Value, ...], index: Atom, value: Value) -> tuple[Value, ...]:
    """A list once one of its items is replaced; of an index that is not known, any may be."""
    if index.kind == CONST and type(index.v) is int:
        at = index.v + len(items) if index.v < 0 else index.v
        return tuple([value if at == place else item for place, item in enumerate(items)])
    return tuple([lift(join, item, value) for item in items])


def _part(at: int, _: int, atom: Atom) -> Value:
    """What stands at a place of a sequence, where it is one."""
    if atom.kind == SEQUENCE:
        part: Value = atom.v[at]
        return part
    return atom if atom is BOT else UNK


def is_overwritten(statement: ast.stmt, following: ast.stmt) -> bool:
    """`self.use_cuda = asked()`, and in the next row `self.use_cuda = False`: nobody has read what
    it was, and what all methods of the object read is the other."""
    if not isinstance(statement, ast.Assign) or not isinstance(following, ast.Assign):
        return False
    if not isinstance(following.value, ast.Constant) or len(following.targets) != 1:
        return False
    one, other = statement.targets[-1], following.targets[0]
    return (
        len(statement.targets) == 1
        and isinstance(one, ast.Attribute)
        and isinstance(other, ast.Attribute)
        and one.attr == other.attr
        and isinstance(one.value, ast.Name)
        and isinstance(other.value, ast.Name)
        and one.value.id == other.value.id
    )
