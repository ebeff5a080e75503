"""What a test leaves of the names in it, where it holds and where it fails.

Where it fails, on a Mac what is not the CPU is MPS:
`if device.type == "cpu": ... elif device.type == "mps": ... else:` has a last arm for CUDA alone,
and so has `if device.type == "cpu" or device.type == "mps": ... else:`. And a number of GPUs that
is not above that of the machine's is 0 there at most: `if wanted > count: wanted = count`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator

from mpslint.semantics.worlds.asked_choices import compared_device
from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.machines import MAC
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    CONST,
    DEVICE,
    UNKNOWN,
    Atom,
    Value,
    by_world,
    cases_of,
    device,
    pack,
)

NOT_ABOVE_ZERO = (0, -1)
"""What a number of GPUs is that is not above 0: none, or -1, which stands for the CPU."""

_OTHER = {"cpu": "mps", "mps": "cpu"}
"""A Mac has two kinds of devices."""


class Refining(Core):
    def where_it_holds(self, test: ast.expr, holds: int) -> list[tuple[str, Value]]:
        """What names stand for where a test holds, in these worlds."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.left_of_numbers(test.operand, holds)
        return self.held_on_the_host(test)

    def where_it_fails(self, test: ast.expr, fails: int) -> list[tuple[str, Value]]:
        """What names stand for where a test fails, in these worlds."""
        numbers = self.left_of_numbers(test, fails)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return numbers + self._other_devices(test, fails)
        return numbers or self.left_of_devices(test, fails)

    def _other_devices(self, test: ast.BoolOp, fails: int) -> list[tuple[str, Value]]:
        """The devices where `device == "cuda" and not torch.cuda.is_available()` fails: where the
        machine is as asked for, it is another one."""
        recording, self.recording = self.recording, False
        found: list[tuple[str, Value]] = []
        asked = [self.cond(part) for part in test.values]
        for at, part in enumerate(test.values):
            named = compared_device(part)
            key = self.key(named) if named is not None else None
            others = [item for other, item in enumerate(asked) if other != at]
            if (
                named is None
                or key is None
                or not any(not self.cuda_tests.isdisjoint(o[2]) for o in others)
            ):
                continue
            surely = fails
            for yes, no, _ in others:
                surely &= yes & ~no
            if surely:
                found.append((key, by_world(_another(surely), self.eval(named))))
        self.recording = recording
        return found

    def left_of_devices(self, test: ast.expr, fails: int) -> list[tuple[str, Value]]:
        """The types of devices that a test has asked for by name, where it `fails`."""
        here = fails & MAC
        found: dict[str, Value] = {}
        for asked, name in _asked_for(test) if here else ():
            key = self.key(asked)
            if key is None:
                continue
            before = found.get(key)
            if before is None:
                recording, self.recording = self.recording, False
                before = self.eval(asked)
                self.recording = recording
            found[key] = by_world(
                lambda worlds, atom, name=name: pack(  # type: ignore[misc]
                    [
                        (worlds & here, _without(atom, name)),
                        (worlds & ~here, atom),
                    ]
                ),
                before,
            )
        return list(found.items())

    def left_of_numbers(self, test: ast.expr, fails: int) -> list[tuple[str, Value]]:
        """The numbers that are not above 0 in a world, for want of GPUs, where a test `fails`: of
        `wanted > torch.cuda.device_count()`, and of `wanted > 0 and count == 0` as well, be it
        named before."""
        test = self._asked(test)
        is_several = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
        parts = test.values if is_several else [test]  # type: ignore[attr-defined]
        recording, self.recording = self.recording, False
        found: list[tuple[str, Value]] = []
        for part in parts:
            larger, bound = _larger(part)
            key = self.key(larger) if larger is not None else None
            if larger is None or bound is None or not key:
                continue
            surely = fails & self._where_zero(bound)
            for other in parts:
                if other is not part:
                    yes, no, _ = self.cond(other)
                    surely &= yes & ~no
            if surely:
                found.append((key, by_world(_at_most_zero(surely), self.eval(larger))))
        self.recording = recording
        return found

    def _asked(self, test: ast.expr) -> ast.expr:
        """What a test by a name asks, where the function binds that once: `if too_many:`."""
        function = self.frame.function
        if not isinstance(test, ast.Name) or function is None:
            return test
        known = self.bound_once.get(function.node)
        if known is None:
            known = self.bound_once[function.node] = _bound_once(function.node)
        return known.get(test.id, test)

    def _where_zero(self, bound: ast.expr) -> int:
        worlds = 0
        for mask, atom in cases_of(self.eval(bound), self.frame.mask):
            if atom.kind == CONST and not atom.maybe and type(atom.v) is int and atom.v == 0:
                worlds |= mask
        return worlds

    def held_on_the_host(self, test: ast.expr) -> list[tuple[str, Value]]:
        """The names that are the CPU where a test holds which asks for it by name, and otherwise
        for the machine: of `torch.cuda.is_available() or device == "cpu"` where there is none."""
        if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.Or):
            return []
        found: list[tuple[str, Value]] = []
        for part in test.values:
            asked = _named_cpu(part)
            key = self.key(asked) if asked is not None else None
            if asked is None or key is None:
                continue
            recording, self.recording = self.recording, False
            surely = self.frame.mask
            for other in test.values:
                if other is not part:
                    yes, no, _ = self.cond(other)
                    surely &= no & ~yes
            before = self.eval(asked)
            self.recording = recording
            if surely:
                found.append((key, by_world(_on_host(surely), before)))
        return found

    def refine(self, found: list[tuple[str, Value]]) -> None:
        """From here on these names stand for that."""
        frame = self.frame
        frame.env = {**frame.env, **dict(found)}
        for key, _ in found:
            self.held.add(key.rpartition(".")[2])
            self.dotted.add(key.partition(".")[0])

    def take_back(self, names: Container[str], env: Env) -> None:
        """Behind what they were refined for, names stand for what they do in `env`; what a walrus
        has bound stays."""
        env.update((key, value) for key, value in self.frame.env.items() if key not in names)
        self.frame.env = env


def _bound_once(function: ast.AST) -> dict[str, ast.expr]:
    given: dict[str, list[ast.expr]] = {}
    for item in ast.walk(function):
        if isinstance(item, ast.Assign):
            for name in {one.id for one in item.targets if isinstance(one, ast.Name)}:
                given.setdefault(name, []).append(item.value)
    return {name: values[0] for name, values in given.items() if len(values) == 1}


def is_compared_type(inside: ast.AST, holder: ast.expr) -> bool:
    """Whether somewhere inside the type of what is named here is compared with one of a device."""
    name = ast.unparse(holder)
    return any(
        isinstance(item, ast.Compare)
        and isinstance(item.left, ast.Attribute)
        and item.left.attr == "type"
        and ast.unparse(item.left.value) == name
        and any(
            isinstance(other, ast.Constant) and other.value in ("cpu", "cuda", "mps")
            for other in item.comparators
        )
        for item in ast.walk(inside)
    )


def _asked_for(test: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The expressions that are of the type "cpu" or "mps" if a test holds, each with that."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        for part in test.values:
            yield from _asked_for(part)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        (operator,), (right,) = test.ops, test.comparators
        if not isinstance(test.left, ast.Attribute) or test.left.attr != "type":
            return
        if isinstance(operator, ast.Eq) and isinstance(right, ast.Constant):
            if right.value in _OTHER:
                yield test.left, right.value


def _larger(test: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """What a test says to be above something, and that."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None, None
    (operator,), (right,) = test.ops, test.comparators
    if isinstance(operator, ast.Gt):
        return test.left, right
    return (right, test.left) if isinstance(operator, ast.Lt) else (None, None)


def _at_most_zero(surely: int) -> Callable[[int, Atom], Value]:
    def change(worlds: int, atom: Atom) -> Value:
        if atom.kind != UNKNOWN or atom.v is not None:
            return atom
        least = Atom(UNKNOWN, NOT_ABOVE_ZERO, None, atom.tests)
        return pack([(worlds & surely, least), (worlds & ~surely, atom)])

    return change


def _on_host(surely: int) -> Callable[[int, Atom], Value]:
    def change(worlds: int, atom: Atom) -> Value:
        host = device("cpu", None, atom.tests)
        return pack([(worlds & surely, host), (worlds & ~surely, atom)])

    return change


def _named_cpu(test: ast.expr) -> ast.expr | None:
    """What a test compares with "cpu", be it the device or its type."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    (operator,), (right,) = test.ops, test.comparators
    if isinstance(operator, ast.Eq) and isinstance(right, ast.Constant) and right.value == "cpu":
        return test.left
    return None


def _another(worlds: int) -> Callable[[int, Atom], Value]:
    """In `worlds`, a device that is not a CUDA one."""

    def change(mask: int, atom: Atom) -> Value:
        if atom.kind != DEVICE or atom.v != "cuda":
            return atom
        other = Atom(DEVICE, "?", None, atom.tests, True, atom.made)
        return pack([(mask & worlds, other), (mask & ~worlds, atom)])

    return change


def _without(atom: Atom, name: str) -> Atom:
    """The type of a device that is not of this one."""
    if atom.kind == UNKNOWN or (atom.kind == DEVICE and (atom.maybe or atom.v == "?")):
        return device(_OTHER[name], None, atom.tests)
    return atom
