"""What raises on a Mac, today or once the choices before it ask for MPS."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.basics.brief import brief
from mpslint.records import NamedTuple
from mpslint.semantics.worlds.events import HANDED_ON, RAISING, Kind
from mpslint.semantics.worlds.load_places import places_a_checkpoint
from mpslint.semantics.worlds.machines import CPU, CUDA, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.state import Function
from mpslint.semantics.worlds.twins import effect_of
from mpslint.semantics.worlds.values import DEVICE, Tests, cases_of, where

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index
    from mpslint.semantics.worlds.file import Worlds
    from mpslint.sources.source import SourceFile


_MAX_TEXT = 60
_HAVING = {"cuda": NVIDIA, "mps": MACS}
"""The machines that have a device of this type; all have a CPU."""
_ON = ((MAC, "on a Mac"), (CPU, "on a CPU"), (CUDA, "on CUDA"))
"""The machines on which a program may run today."""
_WORDS = {
    Kind.WIDE: "would be {}, which MPS lacks",
    Kind.MIXED: "would be given tensors of the CPU and of MPS",
    Kind.FOREIGN: "has no kernel for MPS",
}


class Harm(NamedTuple):
    """Something that raises on a Mac whose tensors are on its GPU."""

    node: ast.AST
    worlds: int
    tests: Tests
    """What decided that something is on the GPU there."""
    kind: Kind
    is_default: bool = False
    """It is float64 since all floats are."""
    is_module: bool = False
    """A module that holds float64 is moved."""
    is_one: bool = False
    """A tensor is moved that is float64, at a place where others are moved as well."""
    dtype: str = "float64"
    """The dtype that MPS lacks, where it is one."""

    @property
    def on_mac(self) -> bool:
        return bool(self.worlds & MAC)

    @property
    def only_once_ported(self) -> bool:
        return bool(self.worlds & PORTED) and not self.on_mac

    def sentence(self, source: SourceFile, place: str) -> str:
        """What would happen, and where."""
        text = brief(source.segment(self.node), _MAX_TEXT)
        return f"{place}: {text} {_WORDS[self.kind].format(self.dtype)}"


def harms(worlds: Worlds, kinds: Iterable[Kind] = RAISING) -> Iterator[Harm]:
    """Each place once; what is caught ends no program."""
    found: dict[tuple[ast.AST, Kind], Harm] = {}
    for event in worlds.events(*kinds):
        if event.caught or not event.worlds & (MAC | PORTED):
            continue
        key = event.node, event.kind
        known = found.get(key)
        reached = event.worlds | (known.worlds if known is not None else 0)
        tests = event.tests | (known.tests if known is not None else event.tests)
        by_default = event.kind is Kind.WIDE and event.name == "default"
        is_module = event.kind is Kind.WIDE and event.name == "module"
        is_one = event.kind is Kind.WIDE and event.name == "one"
        dtype = str(event.value.v) if event.kind is Kind.WIDE else "float64"  # type: ignore[union-attr]
        found[key] = Harm(
            *(event.node, reached, tests, event.kind, by_default, is_module, is_one, dtype)
        )
    yield from found.values()


class Misplaced(NamedTuple):
    """Something that is asked for on a device that the machine lacks."""

    node: ast.AST
    worlds: int
    tests: Tests
    device: str

    def sentence(self, source: SourceFile, place: str, worlds: int) -> str:
        """What would happen, and where; of the worlds in which it does."""
        text = brief(source.segment(self.node), _MAX_TEXT)
        where = " and ".join(name for machine, name in _ON if worlds & machine)
        return f"{place}: {text} would ask for {self.device} {where}"


def misplaced(worlds: Worlds) -> Iterator[Misplaced]:
    """What raises since there is no such device; what is caught ends no program."""
    for event in worlds.events(Kind.PLACED, Kind.MOVED, Kind.TYPED):
        if event.caught or event.moves_nothing:
            continue
        if event.kind is not Kind.PLACED:
            wrong = event.worlds & (MAC | CPU)
            if wrong:
                yield Misplaced(event.node, wrong, event.tests, "cuda")
            continue
        for mask, atom in cases_of(event.value, event.worlds & (CUDA | MAC | CPU)):
            if atom.kind == DEVICE and atom.v in _HAVING:
                wrong = mask & ~_HAVING[atom.v]
                if wrong:
                    yield Misplaced(event.node, wrong, event.tests | atom.tests, atom.v)


_PLAIN = frozenset({"wait", "release"})
"""What a function does for whoever calls it, whatever it is given."""
Told = dict[str, dict[str, bool]]
"""By function: what it does to the CUDA device, and whether that is certain."""


def told_cuda(worlds: Worlds, index: Index, is_there: Callable[[ast.Call], bool]) -> Told:
    """What a machine with one NVIDIA GPU is told: what is moved there, waited for, seeded; a move
    of what `is_there` tells it nothing. Only of functions that were run: what has nothing to say
    was not."""
    found: Told = {
        _owner(function): {} for function in worlds.run.functions.values() if function.relevant
    }
    found[""] = {}
    for event in worlds.run.log:
        effect = effect_of(event)
        if effect is None or not event.worlds & CUDA:
            continue
        if event.kind is Kind.MOVED and places_a_checkpoint(index, event.node):
            continue
        if event.kind is Kind.MOVED and isinstance(event.node, ast.Call) and is_there(event.node):
            continue
        if event.name == HANDED_ON:
            effect = HANDED_ON
        certain: bool | None = None
        if event.kind in (Kind.PLACED, Kind.AUTOCAST, Kind.SCALED):
            for _, atom in cases_of(event.value, event.worlds & CUDA):
                on = where(atom) if atom.kind == DEVICE else "?"
                if on == "cuda":
                    certain = True
                elif on == "?" and certain is None:
                    certain = False
        elif event.kind is not Kind.EFFECT or not event.name.startswith("torch.mps."):
            certain = True
        if certain is not None:
            told = found.setdefault(_owner(event.function), {})
            told[effect] = told.get(effect, False) or certain
    _add_what_is_called(worlds, index, found)
    return found


def _add_what_is_called(worlds: Worlds, index: Index, told: Told) -> None:
    """Who calls a function of the module that waits or releases memory does no less than one that
    does so itself."""
    functions = {one.node: one for one in worlds.run.functions.values()}
    helpers = {
        one.node.name: one.node
        for one in functions.values()
        if one.cls is None and _PLAIN & told.get(_owner(one), {}).keys()
    }
    todo = list(helpers)
    while todo:
        name = todo.pop()
        for call in index.calls.get(name, ()):
            inside = index.function(call)
            around = functions.get(inside) if inside is not None else None
            caller = _owner(around)
            if not isinstance(call.func, ast.Name) or caller not in told or caller == name:
                continue
            new = {
                effect: certain
                for effect, certain in told[name].items()
                if effect in _PLAIN and not (told[caller].get(effect, False) or not certain)
            }
            if new:
                told[caller].update(new)
                if around is not None and around.cls is None:
                    todo.append(caller)


def _owner(function: object) -> str:
    if not isinstance(function, Function):
        return ""
    cls = function.cls
    return f"{cls.node.name}.{function.node.name}" if cls is not None else function.node.name
