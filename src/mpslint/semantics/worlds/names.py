"""What names and attributes stand for: bindings of the file, its project, torch, objects."""

from __future__ import annotations

import ast
import builtins

from mpslint.facts import machines as facts
from mpslint.facts.complex_numbers import is_complex, made_by_torch, real_of
from mpslint.facts.priors import helper_answer, matches, names_device
from mpslint.semantics.worlds.conditions import Conditions
from mpslint.semantics.worlds.configurations import setting
from mpslint.semantics.worlds.empty_modules import has_part
from mpslint.semantics.worlds.enumerations import is_enumeration, member_of
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.foreign import foreign
from mpslint.semantics.worlds.loaded import is_loaded, kept_form
from mpslint.semantics.worlds.machines import ALL, NVIDIA
from mpslint.semantics.worlds.misfits import ends_unbound
from mpslint.semantics.worlds.numbers import field_of
from mpslint.semantics.worlds.state import Class
from mpslint.semantics.worlds.values import (
    ARRAY,
    BOT,
    BOUND,
    CLASS,
    CONST,
    DEVICE,
    DTYPE,
    FUNCTION,
    INSTANCE,
    MODULE,
    NAME,
    NAMESPACE,
    ON_HOST,
    PLATFORM,
    SEQUENCE,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    by_world,
    device,
    pack,
    tensor,
    whose_options,
)
from mpslint.semantics.worlds.wrapping import ATTRIBUTE, Wrapping, wraps_on_some

_OF_PYTHON = frozenset(dir(builtins))
_BUILTINS = frozenset(facts.LOOKERS | facts.EXITS | facts.ERRORS | {"super", "__import__"})


_SOMEBODYS = device("?", maybe=True)
"""The device of something unknown. A tensor has one, but `args.device` may be None as well."""


class Names(Wrapping, Conditions):
    tree: ast.Module
    global_reads: set[str]
    """Names of the module that are read."""
    rebound: frozenset[str]
    """Names that some function of the file declares global: anything may set them."""

    def e_Name(self, node: ast.Name) -> Value:
        value = self.frame.env.get(node.id)
        if value is not None and self.frame.function is None:
            self.global_reads.add(node.id)
            value = self.as_edited(node.id, value)
        if value is None:
            for outer in self.frame.up:
                value = outer.get(node.id)
                if value is not None:
                    self.global_reads.add(node.id)
                    if node.id in self.rebound and value.__class__ is Atom and value.kind == CONST:
                        value = self.rebound_value(node.id, value)
                    value = self.as_edited(node.id, value)
                    break
            else:
                if node.id in _BUILTINS or node.id == "open":
                    return Atom(NAME, node.id)
                value = self.of_all_names(node.id)
                if value is None:
                    return self._bound_nowhere(node)
        if value.__class__ is Atom and not self.calling:
            if value.kind == FUNCTION:
                self._handed_on(value)
            elif value.kind == NAME:
                return self.resolved(value, node)
        return value

    def _bound_nowhere(self, node: ast.Name) -> Value:
        """A name that comes with all names of a package, or was forgotten: a helper of a well-known
        library says by its name what it asks."""
        if self.calling and helper_answer(node.id) is not None:
            return Atom(NAME, node.id)
        return self.end_in_misfit("NameError") if ends_unbound(self, node) else UNK

    def as_edited(self, name: str, value: Value) -> Value:
        """What a name of the module may be, where its user edits what it is."""
        raise NotImplementedError

    def as_edited_attribute(self, name: str, value: Value) -> Value:
        """The same of an attribute that an object sets itself."""
        raise NotImplementedError

    def _handed_on(self, function: Atom) -> None:
        """A function is named and not called: somebody else may do so, from here on."""
        function.v.escaped = True
        function.v.handed.append((self.frame.mask, self.frame.tests))

    def rebound_value(self, name: str, first: Atom) -> Value:
        """What a name of the module holds that functions set later, where these are seen."""
        raise NotImplementedError

    def named_only(self, node: ast.expr) -> Value:
        """What is called, or has an attribute that is looked at: that it is named here hands it to
        nobody."""
        calling, self.calling = self.calling, True
        value = self.eval(node)
        self.calling = calling
        return value

    def resolved(self, atom: Atom, node: ast.expr) -> Value:
        """A name that the file imports from its project, as that says; else the name."""
        if self.project is None or "." not in str(atom.v) or atom.v.startswith("torch."):
            return atom
        found = self.project.value(atom.v)
        if found is None:
            return atom
        # A device under a name that says so is told where it is written; under any other it raises
        # nothing there, and is told where it places something.
        if found.__class__ is Atom and found.kind == DEVICE and found.made and found.node is None:
            if not names_device(atom.v.rpartition(".")[2]):
                return found.but(node=node)
        return found

    def of_all_names(self, name: str) -> Atom | None:
        """A name that the file does not bind, where it imports all names of modules of its
        project: the last of those that has it."""
        if name == "torch" and self.starred:
            return Atom(NAME, name)
        if self.project is None or name in _OF_PYTHON:
            return None
        for module in reversed(self.starred):
            qualified = module + name if module.endswith(".") else f"{module}.{name}"
            if self.project.may_hold(qualified):
                return Atom(NAME, qualified)
        return None

    def e_Attribute(self, node: ast.Attribute) -> Value:
        if node.attr in self.held:
            key = self.key(node)
            if key is not None:
                value = self.lookup(key)
                if value is not None:
                    return self.as_edited_attribute(node.attr, value)
        base = self.named_only(node.value)
        self.used(base)
        value = self.attribute(base, node.attr, node)
        if not self.calling and (kept := self._answer_kept(node, value)) is not None:
            return kept
        if value is UNK and not self.calling and matches("engines", node.attr):
            return self._engine(node)
        if value is UNK:
            key = self.key(node)
            if key is not None:
                return Atom(UNKNOWN, symbol=(self.frame.function, key))
        if not self.calling and value.__class__ is Atom:
            if value.kind == NAME:
                return self.resolved(value, node)
            if value.kind in (BOUND, FUNCTION) and value.v.home is self:
                self._handed_on(value)
        return value

    def _engine(self, node: ast.Attribute) -> Value:
        """What trains on CUDA alone, and nothing where that is not."""
        self.own_tests.add(node)
        mine = frozenset((node,))
        there, absent = Atom(UNKNOWN, None, None, mine), Atom(CONST, None, None, mine)
        return pack([(NVIDIA, there), (ALL & ~NVIDIA, absent)])

    def _answer_kept(self, node: ast.Attribute, value: Value) -> Value | None:
        """What an attribute of an object holds that somebody gave (`config.use_cuda`), where all
        that the project stores under such a name is an answer of torch's."""
        if self.project is None or value.__class__ is not Atom or value.tests:
            return None
        if value.kind not in (UNKNOWN, NAME):
            return None
        if not (matches("cuda-switches", node.attr) or matches("gpu-words", node.attr)):
            return None
        said = self.project.answer_kept(node.attr)  # Asked of each name once, of all objects.
        if said is None:
            return None
        owner = str(value.v).rpartition(".")[0]
        if value.kind == NAME and not self.project.keeps_object(owner):
            return None
        if self._is_set_here(node):
            return None
        if said[2] is False:
            self.kept_answers.add(node)
        return self.answer(said, node)

    def _is_set_here(self, node: ast.Attribute) -> bool:
        """Whether the function that reads an attribute sets it as well: before it does, that is
        what the user has said."""
        scope = self.frame.function.node if self.frame.function is not None else self.tree
        spelled = ast.unparse(node)
        return any(
            isinstance(item, ast.Attribute)
            and item.attr == node.attr
            and isinstance(item.ctx, ast.Store)
            and ast.unparse(item) == spelled
            for item in ast.walk(scope)
        )

    def attribute(self, base: Value, name: str, node: ast.expr) -> Value:
        if name in ("is_cuda", "is_mps", "is_cpu") and not _has_own(base, name):
            self.device_tests.add(node)
            if name == "is_cuda":
                self.cuda_tests.add(node)
            elif name == "is_mps":
                self.mps_tests.add(node)
            return self.on(base, name[3:], node)
        if name == ATTRIBUTE and wraps_on_some(base):
            return self.inside(base, node)
        if base.__class__ is Atom:
            return self.member(base, name, node)
        return by_world(lambda worlds, atom: self.member(atom, name, node), base)

    def member(self, atom: Atom, name: str, node: ast.expr) -> Value:
        kind = atom.kind
        if kind == UNKNOWN or atom is BOT:
            form = kept_form(atom, name, []) if is_loaded(atom) else None
            return form or (_SOMEBODYS if name == "device" else UNK)
        if kind == NAME:
            if atom.v in facts.OPTIONS and not self.calling:
                return Atom(UNKNOWN, symbol=(str(atom.v), name))
            imported = self._imported_member(str(atom.v), name)
            if imported is not None:
                return imported
            known = self.named(f"{atom.v}.{name}", node)
            if known.__class__ is Atom and known.kind == NAME and not self.calling:
                return known if _is_torchs(known) else known.but(maybe=True, symbol=(atom.v, name))
            return known
        if kind == DEVICE:
            if name == "type":
                return atom.but(made=False)
            return ON_HOST if name == "index" else UNK
        if kind in (TENSOR, MODULE):
            if name == "device":
                return device(atom.v[0], None, atom.tests)
            if name == "dtype":
                return Atom(DTYPE, atom.v[1])
            if name in ("shape", "ndim", "requires_grad", "training"):
                return ON_HOST
            return tensor(atom.v[0], made_by_torch(name, atom.v[1]), atom.tests)
        if kind == INSTANCE:
            return self.of_instance(atom.v, name)
        if kind == CLASS:
            function = atom.v.methods.get(name)
            if function is not None:
                return Atom(FUNCTION, function)
            found = member_of(atom.v, name) or self.stored(atom.v, name)
            return found if found is not None else UNK
        if kind == NAMESPACE:
            found = setting(atom, name)
            return found if found is not None else Atom(UNKNOWN, symbol=(whose_options(atom), name))
        if kind == SEQUENCE:
            return field_of(atom, name)
        if kind == ARRAY:
            if name in ("real", "imag") and is_complex(atom.v):
                return atom.but(v=real_of(atom.v))
            return atom if name in ("T", "flat", "real") else ON_HOST
        return UNK

    def _imported_member(self, qualified: str, name: str) -> Atom | None:
        """The device that a member of another file's enumeration stands for: `Accelerator.CUDA`."""
        if self.project is None or "." not in qualified or qualified.startswith("torch."):
            return None
        owner = self.project.value(qualified)
        if owner.__class__ is not Atom or owner.kind != CLASS or not is_enumeration(owner.v):
            return None
        found = self.stored(owner.v, name)
        return found if found.__class__ is Atom and found.kind == DEVICE else None

    def of_instance(self, cls: Class, name: str) -> Value:
        function = cls.methods.get(name)
        if function is not None:
            return self.summary(function)[0] if function.prop else Atom(BOUND, function)
        value = self.stored(cls, name)
        if value is not None:
            return value
        if self.project is not None:
            for base in cls.bases:
                inherited = self.project.base(base)
                if inherited is not None and inherited is not cls:
                    found = self.inherited(inherited, name)
                    if found is not None:
                        return found
        if name == "device":
            return _SOMEBODYS
        return Atom(UNKNOWN, symbol=(cls, name))

    def inherited(self, cls: Class, name: str) -> Value | None:
        """What a class of another file gives its heirs."""
        function = cls.methods.get(name)
        if function is not None:
            return self.summary(function)[0] if function.prop else Atom(BOUND, function)
        return self.stored(cls, name)

    def stored(self, cls: Class, name: str) -> Value | None:
        """What is stored in an attribute of a class, of this file or of another."""
        value = cls.attribute(name)
        if value is None or cls.home is self:
            return value
        return foreign(value, self.nodes)

    def named(self, qualified: str, node: ast.expr) -> Value:
        """What a qualified name of torch or another package is."""
        row = facts.ATTRIBUTES.get(qualified)
        if row is not None:
            return self.answer(row, node)
        if qualified in facts.PLATFORM:
            return Atom(PLATFORM, qualified)
        if qualified.startswith("torch.Tensor."):
            return UNK
        if qualified in facts.EFFECTS and not self.calling and isinstance(node, ast.expr):
            if self.frame.arm:
                self.chosen.add(node)
                self.emit(Kind.CHOSEN, node, name=qualified)
        if qualified in facts.HALVES:
            self.emit(Kind.NAMED, node, name=facts.HALVES[qualified])
        return Atom(NAME, qualified, node)


def moved_along(owner: Atom, name: str, part: Atom) -> Atom:
    """What a module that was moved holds, where that is called: its own modules went with it."""
    placed = owner.placed if owner.kind == INSTANCE else None
    if owner.kind != INSTANCE or not owner.v.module:
        return part
    if placed is None:
        # Whoever makes the object may send it anywhere: its parts do not stay where they were made.
        is_host = part.kind == MODULE and part.v[0] == "cpu"
        return part.but(v=("?", part.v[1])) if is_host else part
    if part.kind == UNKNOWN and has_part(owner.v, name):
        return Atom(MODULE, placed, None, owner.tests)
    if part.kind == MODULE:
        return part.but(v=(placed[0], part.v[1]), tests=part.tests | owner.tests)
    if part.kind == INSTANCE and part.v.module and part.placed is None:
        return part.but(placed=placed, tests=part.tests | owner.tests)
    return part


def _is_torchs(name: Atom) -> bool:
    """Whether a name is one of torch's, all of which stand for something. What a module or an
    object from elsewhere holds may be a setting (`config.debug`), which is true or not."""
    return bool(name.v.partition(".")[0] == "torch")


def _has_own(base: Value, name: str) -> bool:
    """Whether this is an object of a class that has a method of this name."""
    return base.__class__ is Atom and base.kind == INSTANCE and name in base.v.methods
