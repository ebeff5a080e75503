"""What the other files of a project give a function of this one: where all of them are seen, its
parameters are what they say, and a default that nobody leaves to itself is none."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.cuda_arms import holds_word
from mpslint.semantics.syntax.expressions import root_name
from mpslint.semantics.syntax.index import statements, walk
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.syntax.parameters import defaults_of, explicit_parameters
from mpslint.semantics.terms.device_text import TYPED
from mpslint.semantics.worlds.foreign import foreign, foreign_worlds
from mpslint.semantics.worlds.machines import ALL, CUDA, PORTED
from mpslint.semantics.worlds.relevance import matters
from mpslint.semantics.worlds.state import Class, Env, Function
from mpslint.semantics.worlds.values import (
    BOT,
    CLASS,
    CONST,
    DEVICE,
    FUNCTION,
    MAPPING,
    NAME,
    NAMESPACE,
    UNK,
    Atom,
    Tests,
    Value,
    cases_of,
    lift,
    one,
    truth,
)

Site = tuple[int, Tests, Env]
"""One call: the worlds, what keeps others away, the arguments by parameter."""
_FOREIGN = frozenset({"torch", "numpy", "os", "sys"})
_DEEP = 2
"""So deep configurations in configurations are looked into."""
OWN_WORD = "cuda"
"""What stands in the name of all that is CUDA's own."""
ANY_CALL = ast.Call(ast.Name("called"), [ast.Starred(ast.Name("given"))], [])
"""Stands for a call of which it is not seen what it gives."""


class Handed(NamedTuple):
    """One call, as the file says in which it stands."""

    node: ast.Call
    worlds: int
    args: list[Value]
    keywords: Env

    def away(self) -> Handed:
        """The same for another file: what is a flag or a device, and nothing that keeps the run of
        the first alive."""
        return Handed(
            self.node,
            foreign_worlds(self.worlds),
            [_plain(value) for value in self.args],
            {name: _plain(value) for name, value in self.keywords.items()},
        )


def is_of_another(callee: Atom, home: object) -> bool:
    """Whether what is called may be of another file of the project."""
    if callee.kind in (FUNCTION, CLASS):
        return callee.v.home is not home
    return callee.kind == NAME and str(callee.v).partition(".")[0] not in _FOREIGN


def is_one_constant(value: Value) -> bool:
    """Whether a parameter is one number, flag or name of a device in all worlds, whoever calls."""
    is_one = value.__class__ is Atom and not value.maybe and not value.tests
    return is_one and one(value, ALL).kind in (CONST, DEVICE)


def written_out(call: ast.Call) -> tuple[list[Value], Env]:
    """What a call of another file gives, of which constants and names of devices are known."""
    keywords = {item.arg: _literal(item.value) for item in call.keywords if item.arg is not None}
    return [_literal(item) for item in call.args], keywords


def _literal(value: ast.expr) -> Value:
    if not isinstance(value, ast.Constant) or isinstance(value.value, bytes):
        return UNK
    if not isinstance(value.value, str):
        return Atom(CONST, value.value)
    named = TYPED.match(value.value)
    return Atom(DEVICE, named.group(1)) if named is not None else UNK


def name_for_others(function: Function, classes: Iterable[Class]) -> str | None:
    """The name by which other files may call a function: its own, or that of the class whose
    objects it makes. None where there is none, or others are made of it."""
    cls = function.cls
    if cls is None:
        return function.node.name if len(function.up) == 1 and not function.decorated else None
    if function.node.name != "__init__" or any(cls in other.parents for other in classes):
        return None
    return cls.node.name if len(function.up) == 1 else None


def method_for_others(function: Function) -> str | None:
    """A method with its class, by which other files call it on an object."""
    cls = function.cls
    if cls is None or function.node.decorator_list or function.node.name.startswith("__"):
        return None
    return f"{cls.node.name}.{function.node.name}"


def _plain(value: Value) -> Value:
    value = foreign(value, ())
    here = [atom for _, atom in cases_of(value, PORTED)]
    there = [atom for _, atom in cases_of(value, CUDA)]
    # What asks whether a tensor is on CUDA (`x.is_cuda`) leaves it behind once that is on MPS.
    if all(truth(atom) is False for atom in here) and any(
        truth(atom) is not False for atom in there
    ):
        return UNK
    return lift(_told, value)


def _told(atom: Atom) -> Atom:
    """A number or a path that stands in a program is a setting, which others write anew. Options
    and configurations hold the flags and devices that are set in them; of the others it is not
    known what they are."""
    if atom.kind in (NAMESPACE, MAPPING):
        return _holder(atom, _DEEP)
    is_flag = atom.kind == CONST and type(atom.v) is bool
    return atom if atom is BOT or is_flag or atom.kind == DEVICE else UNK


def _holder(atom: Atom, depth: int) -> Atom:
    held: dict[object, Value] = {}
    for key, value in atom.v.items():
        if value.__class__ is Atom and value.kind in (NAMESPACE, MAPPING):
            told: Value = _holder(value, depth - 1) if depth else UNK
        else:
            told = _plain(value)
        if told is not UNK:
            held[key] = told
    return Atom(atom.kind, held)


class Deciding(NamedTuple):
    """What decides where CUDA's own is done, of what a function is given: a parameter that a test
    reads, or the attribute of the object under which a constructor keeps one."""

    kept: frozenset[str]
    """These attributes."""
    is_asked: bool
    """Whether each call must say it: who calls from outside, and is not seen, does so as well."""


def deciding(function: Function, lines: list[int]) -> Deciding | None:
    """What decides of what a function is given; None where nothing does. `lines`: those that have
    the word for CUDA's own, of which most functions have none."""
    scope: ast.AST = function.node if function.cls is None else function.cls.node
    if not matters(scope, lines):
        return None
    parameters = {item.arg for item in explicit_parameters(function.node.args)}
    if not parameters:
        return None
    kept = kept_parameters(function) if function.cls is not None else dict[str, str]()
    read = {
        name
        for item in of_kinds(scope, (ast.If, ast.IfExp))
        if isinstance(item, ast.If | ast.IfExp) and matters(item, lines)
        for name in _read(item.test, parameters, kept)
        if _names_cuda(item)
    }
    if not read:
        return None
    left_to_itself = {item.arg for item, _ in defaults_of(function.node.args)}
    is_asked = all(kept.get(name, name) not in left_to_itself for name in read)
    return Deciding(frozenset(read & kept.keys()), is_asked)


def kept_parameters(function: Function) -> dict[str, str]:
    """The attributes under which a function keeps what it is given, or a part of that; each with
    the parameter."""
    parameters = {item.arg for item in explicit_parameters(function.node.args)}
    return {
        target.attr: root
        for item in statements(function.node)
        if isinstance(item, ast.Assign)
        for root in (root_name(item.value, ast.Attribute, ast.Subscript),)
        if root in parameters and root is not None
        for target in item.targets
        if isinstance(target, ast.Attribute)
    }


def _read(test: ast.expr, parameters: set[str], kept: Container[str]) -> Iterator[str]:
    for item in walk(test):
        if isinstance(item, ast.Name) and item.id in parameters:
            yield item.id
        elif isinstance(item, ast.Attribute) and item.attr in kept:
            yield item.attr


def _names_cuda(choice: ast.If | ast.IfExp) -> bool:
    arms: list[ast.AST] = []
    if isinstance(choice, ast.If):
        arms += [*choice.body, *choice.orelse]
    else:
        arms += [choice.body, choice.orelse]
    return any(holds_word(item) for arm in arms for item in walk(arm))
