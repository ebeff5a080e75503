"""What other files of the project say of a name that this file imports; they are parsed, never
imported."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import EllipsisType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import argument, keyword
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import required_parameters
from mpslint.semantics.terms.facts_known import DEVICE_FACTS, NONE, Facts, common
from mpslint.semantics.terms.sought import PLAIN, Sought
from mpslint.semantics.terms.value import Kind, Value
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.facts.machines import Answer
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.steps.given_in_steps import Arguments
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.uses.config_keys import Key
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.values import Value as WorldValue
    from mpslint.sources.source import SourceFile

_LOCAL = frozenset({"cuda-used", "caught", "asked-cuda", "asked-mps", "nccl"})
"""What is said of one file's code, or by the names that it gives things. A file that leaves its
process group to a helper needs CUDA for that, and is no program of NCCL's itself."""
_BASES = 4
"""So many classes are looked at, one the base of the other."""
_DEVICES = (Kind.DEVICE, Kind.DEVICE_STRING)

ANYTHING = "*"
"""The name that stands for all that a module defines."""


class Definition(NamedTuple):
    """Where a name of another module gets its value, and that module's meaning."""

    context: Context
    bindings: tuple[Binding, ...]


Scalar: TypeAlias = str | bytes | bool | int | float | complex | EllipsisType | None
"""What a constant may be."""


class Outcome(NamedTuple):
    """How a test of a value comes out: of what it is as a truth, or of whether it is another."""

    holds: bool
    compared: tuple[Scalar, ...] = ()

    def refuses(self, value: Scalar) -> bool:
        found = value == self.compared[0] if self.compared else bool(value)
        return found is not self.holds


class Given(NamedTuple):
    """A parameter of a function, method or class, and how a call gives it."""

    name: str
    """What is called."""
    parameter: str
    place: int | None
    """Its place among the arguments of a call; None: it is given by name alone."""
    method: bool
    """Whether the function is one that objects have."""
    default: tuple[Scalar, ...] = ()
    """What it is where a call leaves it out; empty: not known, or it must be given."""

    def by(self, call: ast.Call) -> bool:
        """Whether a call gives it for certain."""
        if keyword(call, self.parameter) is not None:
            return True
        before = call.args[: (self.place or 0) + 1]
        plain = not any(isinstance(item, ast.Starred) for item in before)
        return self.place is not None and len(call.args) > self.place and plain

    def of(self, call: ast.Call) -> ast.expr | None:
        """What a call that is written out in full gives for it; None: nothing."""
        if self.place is None:
            return keyword(call, self.parameter)
        return argument(call, self.place, self.parameter)

    def left_out_by(self, call: ast.Call) -> bool:
        """Whether a call leaves it out for certain."""
        if any(item.arg in (self.parameter, None) for item in call.keywords):
            return False
        if any(isinstance(item, ast.Starred) for item in call.args):
            return False
        return self.place is None or len(call.args) <= self.place


class ForCuda(NamedTuple):
    """Why what a file does is CUDA's, as its project is for CUDA alone."""

    sentence: str
    is_built: bool
    """Whether it is for an extension that the project itself builds; else it is for a package,
    whose import is told where it stands."""


class Elsewhere(Protocol):
    """The rest of the project. A name is given as the file at `path` imports it: qualified, with
    leading dots where the import is relative."""

    def tree(self, source: SourceFile) -> ast.Module:
        """The tree of a file, which others may have asked for before. Raises `BadSource`."""

    def definition(
        self, path: str, qualified: str, words: tuple[bytes, ...] = ()
    ) -> Definition | None:
        """What defines `qualified`, with `words` only where its text may have one of them; None:
        not known."""

    def place(self, path: str) -> str:
        """The path of a file below the head of its project; empty: it belongs to none."""

    def offers(self, path: str, qualified: str) -> bool:
        """Whether a module of the project has a name of its own for others, or hands one on: what
        `from module import *` gives."""

    def brings(self, path: str, module: str, package: str) -> bool:
        """Whether a module of the project imports a package by its name wherever it is imported
        itself, or takes all names of one that does."""

    def signature(self, path: str, qualified: str, *, certain: bool) -> Signature | None:
        """What a function or class of the project can be given, as it seems; or, also of the file's
        own, where it is `certain` that the name stands for nothing else (`UNBOUND`: at all)."""

    def imports_on(self, path: str, module: str) -> int:
        """The worlds in which a module of the project can be imported, or in which there is an
        operator (`torch.ops.<library>.<operator>`) that the project registers."""

    def held(self, path: str, qualified: str, sought: Sought = PLAIN) -> WorldValue | None:
        """What the name holds in each world, where its text speaks of machines at all, or says what
        else is sought."""

    def may_hold(self, path: str, qualified: str) -> bool:
        """Whether the name may hold anything that `held` tells of, or is that of a module of the
        project, which may."""

    def may_end(self, path: str, qualified: str) -> bool:
        """Whether the name, or a module of that name, may start processes of NCCL or need
        operators that only CUDA has, by the texts."""

    def joins_group(self, path: str, qualified: str, said: Said) -> bool:
        """Whether a call of the function joins NCCL on each way, with these flags."""

    def device(self, path: str, qualified: str, *, called: bool) -> Value | None:
        """The device that the name holds, or returns when it is `called` without arguments."""

    def settled(self, path: str, qualified: str) -> Facts:
        """What holds once a call of the function has come back, or an object of the class was
        made."""

    def implied(self, path: str, qualified: str, outcome: bool, *, called: bool) -> Facts:
        """What follows when the flag, or what the function returns, is true (or false)."""

    def inherited(self, path: str, qualified: str, attribute: str, outcome: bool) -> Facts:
        """What follows when `self.attribute`, set by the class or one of its bases, is true (or
        false)."""

    def inherited_device(self, path: str, qualified: str, attribute: str) -> Value | None:
        """The device that the class, or one of its bases, puts into `self.attribute`."""

    def entered(self, path: str, name: str) -> Facts:
        """What holds wherever the files beside the one at `path` that import the function or
        class `name` from it mention that; `NOBODY` where none of them does."""

    def makes_none(self, path: str, qualified: str) -> bool:
        """Whether no Mac has an object of a class of the project, as the file at `path` calls it:
        its constructor joins NCCL, or must be given an object of such a class."""

    def gives_text(self, path: str, given: Given) -> bool | None:
        """Whether somebody in the project calls what is asked about with a text for the parameter
        (`"cuda:0"`); None: not all calls are seen, or it is not known what some give."""

    def given(
        self, path: str, name: str, kept: frozenset[str], is_asked: bool
    ) -> list[Handed] | None:
        """How the rest of the project calls the function or class `name` of the file; None where
        somebody may do so who is not seen, or sets one of the attributes `kept`, which hold what is
        given. What each call `is_asked` for is said by who is not seen as well."""

    def calls(self, path: str, name: str) -> tuple[ast.Call | None, ...]:
        """The calls of the function, class or method (`Net.run`) `name` of the file at `path` by
        other files of the project, as they are written; None for a use that may lead to any."""

    def is_overridden(self, path: str, name: str, method: str, *, is_made: bool) -> bool:
        """Whether the file's class `name` is the base of others, all of which have their own
        `method` in place of its; and, where objects of it can be made (`is_made`), whether nobody
        does anything else with it."""

    def uses(self, path: str, name: str, *, method: bool, alive: bool = False) -> bool:
        """Whether anything in the project, but for the file at `path`, may use the function `name`
        that this defines, or the `method` of a class; of `ANYTHING`, whether somebody not seen may.
        `alive`: who ends at an import on every machine, or is a program's test, is no user."""

    def why_unreached(self, path: str) -> str:
        """Why nothing of the project leads to the module at `path`, which starts nothing, or none
        can import it; empty: something does."""

    def for_cuda_alone(self, path: str) -> ForCuda | None:
        """Why what the module at `path` does is CUDA's: its project is for CUDA alone, and nothing
        leads to it that a Mac can start; None: it is not."""

    def is_driven(self, path: str) -> bool:
        """Whether a framework that never chooses MPS runs the module, or what such alone use."""

    def runs_in_forward(self, path: str, name: str) -> bool:
        """Whether a forward pass of another file calls the function `name` of that at `path`."""

    def names_devices(self, path: str) -> bool:
        """Whether another file of the project than that at `path` speaks of a GPU."""

    def learns(self, path: str, names: frozenset[str], *, by_import: bool) -> bool:
        """Whether another file learns by an error of these functions, or of the import of this."""

    def given_in_steps(self, path: str, name: str) -> Arguments:
        """The arguments for which a step of training in another file of the project gives the
        function `name` of the file at `path` a tensor of a device; empty: none calls it."""

    def compiled_from(self, path: str, module: str) -> str:
        """What a module of the project is compiled from that takes no tensors of MPS; empty: it is
        none, or nothing is known of it."""

    def takes(self, path: str, name: str) -> bool:
        """Whether anything in the project, but for the file itself, may have a variable of it."""

    def refuses(self, path: str, given: Given, outcome: Outcome, kept: str) -> bool:
        """Whether somebody in the project calls what is asked about, and the parameter comes out
        otherwise for all who do; `kept`: the attribute that holds it, which nobody else sets."""

    def reads_key(self, path: str, key: Key) -> bool:
        """Whether another file of the project may place something with what a configuration of
        the file at `path` holds under a key."""

    def gives_from_host(self, path: str, given: Given) -> bool:
        """Whether others call what is asked about, all with an array or a tensor of the CPU."""

    def answer_kept(self, path: str, attribute: str) -> Answer | None:
        """What torch says of CUDA, where that is all that the project stores under an attribute of
        this name; None: it is not."""

    def gives_numbers(self, path: str, asked: str | Given) -> bool:
        """Whether all that the project puts under an attribute of this name, or gives for this
        parameter of the file at `path`, is whole numbers, or None."""

    def changes_objects(self, path: str, name: str, attributes: frozenset[str]) -> bool:
        """Whether the project gives objects of the class `name` of the file at `path`, or of one
        that is derived from it, one of the attributes anew; where no class is named, any object.
        True where that is not known."""

    def shared_by_tests(self, path: str) -> list[Interpreter]:
        """What pytest reads before the file at `path` and may keep tests from a machine: the
        `conftest.py` of its folder and those above, as they are run; the nearest first."""

    def gives(self, path: str, given: Given) -> bool:
        """Whether the project calls what the file at `path` defines, and gives the parameter in
        each call."""

    def serves_cuda_alone(self, path: str, modules: Iterable[str]) -> bool:
        """Whether these modules of the project name CUDA, and none of them MPS."""

    def saves_from_cpu(self, path: str, file_name: str) -> bool:
        """Whether files beside the one at `path` save under this name, each from the CPU; or, where
        none does, others of the project, and each of them numbers and settings alone."""

    def saves_models(self, context: Context) -> bool:
        """Whether files beside this one, or in the folder above, that use a device save models as
        they lie there; or this one does, by a function of theirs."""

    def saves_under(self, context: Context, keys: frozenset[str]) -> bool:
        """Whether another file of the project that uses a device keeps the states of models in a
        table with these keys."""

    def has_checkpoints_kept(self, context: Context) -> bool:
        """Whether files beside this one, or in the folder above, have Lightning keep some."""

    def casts_around(self, path: str) -> bool:
        """Whether a program that leads to the file at `path` switches mixed precision on."""

    def develops(self, path: str, package: str) -> bool:
        """Whether the file at `path` belongs to the project that makes this package: its tests,
        its examples."""

    def is_optional(self, path: str) -> bool:
        """Whether the project of the file at `path` goes on where that cannot be imported."""

    def is_imported(self, path: str, *, is_module: bool = False) -> bool:
        """Whether other files of the project seem to import the one at `path`."""

    def asks_cuda_first(self, path: str) -> bool:
        """Whether the selections in the project of the file at `path` ask for CUDA first; False
        where nobody has looked."""

    def sees_gpus_late(self, path: str) -> str:
        """Where a program that imports the file at `path` says which GPUs it sees, and does so when
        it has been imported; empty: nowhere, or nobody has looked."""

    def holds_back(self, path: str) -> str:
        """Why the file's project holds MPS back: `reservations`; empty: nobody knows why."""

    def left_behind(self, context: Context, *, alone: bool) -> str | None:
        """A place in the modules which the file imports, and they in turn, that its tensors may
        come to and that cannot have them on MPS; with the reason. What a safe fix of that module
        would mend counts only where the file is fixed `alone`."""

    def helper_import(self, context: Context) -> str | None:
        """The dotted module of the project's device helper as the file can import it; None
        where there is none, or the file cannot."""


def settled_by_import(definition: Definition) -> Facts:
    """What a function, or the constructor of a class, has made sure of when it comes back."""
    context, bindings = definition
    node = bindings[0].node
    if len(bindings) != 1:
        return NONE
    if isinstance(node, ast.ClassDef):
        node = method_of(node, "__init__") or node
    if not isinstance(node, FUNCTIONS):
        return NONE
    return context.guards.after(node) - _LOCAL


def implied_by_import(definition: Definition, outcome: bool, *, called: bool) -> Facts:
    """What a flag of another module, or what its function returns, says of the machine."""
    context, bindings = definition
    if called:
        node = bindings[0].node
        if len(bindings) != 1 or not isinstance(node, ast.FunctionDef):
            return NONE
        return context.guards.implied_by_return(node, outcome) - _LOCAL
    facts = [
        (context.guards.at(binding.node) & DEVICE_FACTS)
        | context.guards.implied(binding.value, outcome)
        if binding.kind in ("assign", "annotate") and binding.value is not None
        else NONE
        for binding in bindings
    ]
    return common(facts) - _LOCAL


def entered_from(
    context: Context,
    imported: Callable[[str], bool],
    name: str,
    around: Callable[[ast.expr], Facts] = lambda _: NONE,
    *,
    switched: bool = False,
) -> list[Facts]:
    """What holds at each mention of what another file defines as `name`; `imported` says of a
    qualified name whether it is that which is meant, and `around` what holds wherever the function
    around a mention is called by others. What is `switched` does nothing where a call says so
    (`autocast(enabled=use_amp)`).

    What is imported and not used is there for others, but where the file uses something else of
    the same import: then it is a leftover, which runs no more than that.
    """
    found: list[Facts] = []

    def holding(use: ast.expr) -> Facts:
        enabled = _enabled(context, use) if switched else NONE
        return enabled | _holding(context, use, around)

    for local, binding in context.names.every_binding():
        if binding.kind != "import" or not binding.qualified:
            continue
        qualified = binding.qualified
        uses = _loads(context, local)
        if imported(qualified):
            listed = bool(context.names.module.bindings.get("__all__"))
            if not uses and isinstance(binding.node, ast.ImportFrom) and not listed:
                beside = [alias.asname or alias.name for alias in binding.node.names]
                uses = [use for other in beside for use in _loads(context, other)]
            found += [holding(use) for use in uses] or [NONE]
            continue
        for use in uses:
            parent = context.index.parents[use]
            if isinstance(parent, ast.Attribute) and imported(f"{qualified}.{parent.attr}"):
                found.append(holding(parent))
    for use in _loads(context, name):
        if context.names.owner(name, use) is None and imported(context.resolve(use) or ""):
            found.append(holding(use))
    return found


def _holding(context: Context, use: ast.expr, around: Callable[[ast.expr], Facts]) -> Facts:
    """What holds where a name is used; that CUDA is there where no Mac comes to it. What follows
    the use says nothing of it: that may be so because of what is used."""
    facts = context.guards.at(use)
    if "cuda" in facts:
        return facts
    if context.worlds.comes_to(use) & MACS and not context.worlds.lacks_objects(use):
        return facts | around(use)
    return facts | {"cuda"}


def _enabled(context: Context, use: ast.expr) -> Facts:
    """What follows from the switch of a call, where this is on."""
    call = context.index.parents[use]
    if not isinstance(call, ast.Call) or call.func is not use:
        return NONE
    given = keyword(call, "enabled")
    return context.guards.implied(given, True) if given is not None else NONE


def _loads(context: Context, name: str) -> list[ast.Name]:
    return [use for use in context.index.names.get(name, ()) if isinstance(use.ctx, ast.Load)]


def implied_by_base(definition: Definition, attribute: str, outcome: bool) -> Facts:
    """What `self.attribute` of a class, where it or a base of it sets that, says of the machine."""
    found = set_by(definition, attribute)
    if found is None:
        return NONE
    context, values = found
    facts = [
        (context.guards.at(value) & DEVICE_FACTS) | context.guards.implied(value, outcome)
        for value in values
    ]
    return common(facts) - _LOCAL


def device_of_base(definition: Definition, attribute: str) -> Value | None:
    """The device in `self.attribute` of a class, where it or a base of it sets that."""
    found = set_by(definition, attribute)
    return _one_device([found[0].values.of(x) for x in found[1]]) if found is not None else None


def set_by(definition: Definition, attribute: str) -> tuple[Context, list[ast.expr]] | None:
    """All that the methods of a class put into `self.attribute`; else those of its first base."""
    found: Definition | None = definition
    for _ in range(_BASES):
        if found is None or len(found.bindings) != 1:
            return None
        context, (binding,) = found
        owner = binding.node
        if not isinstance(owner, ast.ClassDef):
            return None
        values = [
            statement.value
            for target in context.index.attributes.get(attribute, ())
            if isinstance(target.ctx, ast.Store)
            and ast.unparse(target.value) == "self"
            and context.index.enclosing(target, ast.ClassDef) is owner
            and isinstance(statement := context.index.parents[target], ast.Assign | ast.AnnAssign)
            and statement.value is not None
        ]
        if values:
            return context, values
        if not owner.bases:
            return None
        name = context.resolve(owner.bases[0])
        here = context.names.module.bindings.get(ast.unparse(owner.bases[0]), [])
        if len(here) == 1 and isinstance(here[0].node, ast.ClassDef):
            found = Definition(context, tuple(here))
        else:
            found = context.definition_elsewhere(name) if name is not None else None
    return None


def exported_device(definition: Definition, *, called: bool) -> Value | None:
    """The device that a module's name holds, or returns when `called` without arguments."""
    context, bindings = definition
    if called:
        function = bindings[0].node
        if (
            len(bindings) != 1
            or not isinstance(function, FUNCTIONS)
            or required_parameters(function.args)
        ):
            return None
        value = context.values.returned(function)
        return value if value.kind in _DEVICES else None
    if any(binding.kind not in ("assign", "annotate") for binding in bindings):
        return None
    return _one_device([context.values.of(binding.value) for binding in bindings])


def _one_device(values: list[Value]) -> Value | None:
    kinds = {value.kind for value in values}
    if len(kinds) != 1 or not kinds.issubset(_DEVICES):
        return None
    if any(value.devices is None for value in values):
        return Value(values[0].kind)
    return Value(values[0].kind, frozenset[str]().union(*(v.devices or () for v in values)))
