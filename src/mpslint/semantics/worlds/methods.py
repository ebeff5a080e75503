"""What methods do: moves, casts, reads of tensors and modules."""

from __future__ import annotations

import ast
from functools import partial

from mpslint.facts import machines as facts
from mpslint.facts.complex_numbers import made_by_torch
from mpslint.facts.handed_tensors import HANDING
from mpslint.semantics.syntax.expressions import arguments_for
from mpslint.semantics.terms.value_tables import TENSOR_METHODS
from mpslint.semantics.worlds.arrays import Arrays
from mpslint.semantics.worlds.comparing import is_strategy
from mpslint.semantics.worlds.configurations import asked
from mpslint.semantics.worlds.device_arms import named_arm
from mpslint.semantics.worlds.empty_modules import holds_nothing
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.filled import ADDING, Filled, never_filled
from mpslint.semantics.worlds.loaded import is_loaded, kept_form
from mpslint.semantics.worlds.machines import ALL, MACS
from mpslint.semantics.worlds.placing import ACCELERATOR
from mpslint.semantics.worlds.program_options import ProgramOptions
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.torch_calls import TorchCalls
from mpslint.semantics.worlds.values import (
    ARRAY,
    BARE,
    BOT,
    CONST,
    DEVICE,
    DTYPE,
    ENVIRONMENT,
    FUNCTION,
    HOST,
    INSTANCE,
    MAPPING,
    MODULE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    ON_HOST,
    PARSER,
    PLATFORM,
    SEQUENCE,
    STATE,
    STEP,
    STREAMED,
    TENSOR,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    cases_of,
    device,
    dtype_of,
    holds_device,
    is_bare,
    is_none,
    lift,
    one,
    tensor,
    text_of,
    where,
)
from mpslint.semantics.worlds.weights import part_of_state, weights
from mpslint.semantics.worlds.wide_modules import wide_dtype

_OF_TENSORS = TENSOR_METHODS | facts.MIXING_METHODS | facts.REDUCING | facts.OF_OTHER_DTYPE.keys()
"""Names of methods that may well be a tensor's."""
_MOVABLE = frozenset({UNKNOWN, TENSOR, MODULE, INSTANCE, NAMESPACE, HOST})
"""What may have a method `.cuda()` of torch's; of what is unknown most have, and it
is a namespace once an attribute of it is set (`model.fc = ...`)."""


class Methods(ProgramOptions, Arrays, TorchCalls, Filled):
    def method(
        self, node: ast.Call, base: Value, name: str, args: list[Value], keywords: Env
    ) -> Value:
        function = node.func
        assert isinstance(function, ast.Attribute)
        atom = one(base, self.frame.mask)
        kind = atom.kind
        if name == "cuda" and len(args) + len(keywords) <= 2:
            if kind in _MOVABLE or atom is BOT:
                return self._to_cuda(node, base, atom)
            return UNK
        if name == "to":
            return self._to(node, base, args, keywords)
        if name == "is_cuda" and not args:  # a method of somebody's, named after the attribute
            return self.attribute(base, name, function)
        if name == "type_as" and args:  # in the dtype of another, where that is
            return lift(lambda item: item if item.kind == TENSOR else UNK, args[0])
        if kind == ENVIRONMENT and name == "step":
            return Atom(STEP)
        if kind == PARSER:
            return self.option(node, atom, name, args, keywords)
        if name == "cpu" and not args:
            return lift(_on_cpu, base)
        if name == "mps" and not args:
            return self.on_device(base, ACCELERATOR)
        if name == "numpy":
            if kind in (TENSOR, UNKNOWN):
                self.emit(Kind.READ, node, name="numpy", value=base)
            return Atom(ARRAY, atom.v[1] if kind == TENSOR else None)
        if name == "astype" and kind == TENSOR:
            return self.of_array(Atom(ARRAY), name, args, keywords)  # No tensor of torch has it.
        if name in facts.FLOAT_CASTS and not args:
            return self._cast(node, base, facts.FLOAT_CASTS[name])
        if name == "type" and args:
            return self._type(node, base, args[0])
        if name == "pin_memory" and not args:
            self.emit(Kind.PINNED, node, value=base)
            return base
        if kind == PLATFORM:
            if name in ("startswith", "lower", "upper"):
                return self.compared(ast.Eq(), base, args[0], NO_TESTS) if args else base
            return ON_HOST
        if kind == STATE and (part := part_of_state(base, name)) is not None:
            return part
        form = kept_form(base, name, args)
        if form is not None:
            return form
        held = named_arm(atom, node.args[0]) if name == "get" and node.args else None
        held = held if held is not None else asked(atom, name, args, keywords)
        if held is not None:
            return held
        if name in ("get", "pop", "setdefault") and len(args) == 2:
            if name == "setdefault" and kind == UNKNOWN:
                self._set_by_default(function.value, args)
            if kind in (UNKNOWN, MAPPING) and (switch := self._switch(function, args)) is not None:
                return switch
            return lift(lambda item: item.but(maybe=True) if item.kind == DEVICE else UNK, args[1])
        if kind == UNKNOWN and name in ("startswith", "__eq__") and args:
            return self._text_test(node, base, args[0])
        if kind == DEVICE:
            return self._of_device(node, base, name, args)
        if name in HANDING and (kind == MODULE or (kind == INSTANCE and atom.v.module)):
            return weights(base, name)
        if kind in (TENSOR, MODULE):
            return self._of_tensor(node, base, atom, name, args, keywords)
        if kind == ARRAY:
            return self.of_array(atom, name, args, keywords)
        if name in facts.NEW and "device" in keywords:
            return self.on_device(base, self.place(keywords["device"], node))
        if name == "register_buffer" and len(args) == len(node.args) > 1:
            self.kept_by_module(node.args[1], args[1])
        if args and name in ADDING and (kind in (SEQUENCE, STREAMED) or never_filled(atom)):
            self.added_to(function.value, atom, name, args[-1])
        if name == "clear" and kind == STREAMED and isinstance(function.value, ast.Name):
            self.frame.env[function.value.id] = Atom(SEQUENCE, ())
        self.given(node, args, keywords, looks=name in facts.LOOKING_METHODS)
        if name in facts.SKIPPING_METHODS and kind in (INSTANCE, UNKNOWN):
            if isinstance(function.value, ast.Name) and function.value.id == "self":
                self.refuse(self.frame.mask, "SystemExit")
        return UNK

    def _switch(self, function: ast.Attribute, args: list[Value]) -> Atom | None:
        """`config.get("use_cuda", True)`: on or off, as somebody has said; `config.use_cuda`."""
        said, default = one(args[0], ALL), args[1]
        if not isinstance(function.value, ast.Name) or not text_of(said):
            return None
        if default.__class__ is not Atom or type(default.v) is not bool or default.tests:
            return None
        return Atom(UNKNOWN, symbol=(self.frame.function, f"{function.value.id}.{said.v}"))

    def _set_by_default(self, holder: ast.expr, args: list[Value]) -> None:
        """`kwargs.setdefault("device", "cuda")`, of a mapping that somebody gives."""
        key = one(args[0], ALL)
        if isinstance(holder, ast.Name) and holds_device(args[1]):
            if key.kind == CONST and isinstance(key.v, str):
                default = lift(
                    lambda item: item.but(maybe=True) if item.kind == DEVICE else UNK, args[1]
                )
                self.frame.env[holder.id] = Atom(MAPPING, {key.v: default})

    # moves

    def _to_cuda(self, node: ast.Call, base: Value, atom: Atom) -> Value:
        empty = self._is_empty(node, atom)
        self.emit(Kind.MOVED, node, value=Atom(MODULE, ("cpu", BARE)) if empty else base)
        if atom.kind == INSTANCE and not atom.v.module:
            return base
        result = self.on_device(base, ACCELERATOR)
        self._carries(node, base, result)
        return result

    def _is_empty(self, node: ast.Call, atom: Atom) -> bool:
        """Whether what is moved is a module that holds nothing to move."""
        if atom.kind == MODULE:
            return is_bare(atom)
        if atom.kind == INSTANCE:
            return bool(atom.v.module) and holds_nothing(atom.v)
        made = node.func.value if isinstance(node.func, ast.Attribute) else None
        if atom.kind != UNKNOWN or not isinstance(made, ast.Call) or self.project is None:
            return False
        named = one(self.named_only(made.func), self.frame.mask)
        cls = self.project.base(str(named.v), empty=True) if named.kind == NAME else None
        return cls is not None and cls.module and holds_nothing(cls)

    def _to(self, node: ast.Call, base: Value, args: list[Value], keywords: Env) -> Value:
        place = keywords.get("device")
        dtype = self.dtype_of(keywords.get("dtype"))
        args = self._spread(node, args)
        for at, value in enumerate(args[:2]):
            first = one(value, self.frame.mask)
            if first.kind == DTYPE or (first.kind == NAME and first.v in facts.DTYPES):
                dtype = self.dtype_of(value)
            elif place is None and at == 0:
                place = value
        atom = one(base, self.frame.mask)
        if place is None or is_none(place):
            return self._cast(node, base, dtype) if dtype else base
        first = one(place, self.frame.mask)
        if first.kind == CONST and type(first.v) is int:
            place = Atom(DEVICE, "cuda", node.args[0] if node.args else node)
            first = place
        if not holds_device(place, self.frame.mask):
            self.place(place, node)
            if atom.kind == INSTANCE and not atom.v.module:
                return base
            place = lift(lambda item: device(where(item) or "?"), place)
            return self._arrived(node, base, place, dtype)
        place = self.place(place, node)
        if self.recording and _is_written_out(node) and self._is_empty(node, atom):
            self.empty_moves.add(node)
        if atom.kind in (MAPPING, SEQUENCE) or (atom.kind == INSTANCE and not atom.v.module):
            return base
        result = self._arrived(node, base, place, dtype)
        if where(one(base, MACS)) != "mps":
            self._carries(node, base, result)
        return result

    def _spread(self, node: ast.Call, args: list[Value]) -> list[Value]:
        """What `*placement` stands for, where that is written out: `("cuda", torch.float16)`."""
        if len(node.args) != 1 or not isinstance(node.args[0], ast.Starred):
            return args
        given = self.eval(node.args[0].value)
        return list(given.v) if given.__class__ is Atom and given.kind == SEQUENCE else args

    def _carries(self, node: ast.Call, base: Value, moved: Value) -> None:
        """A dtype that MPS lacks is carried there, by an array, a tensor or a module."""
        was, (dtype, mixed) = one(base, MACS), _dtype(moved)
        if dtype is None and was.kind == INSTANCE:
            dtype = wide_dtype(was.v)
        is_module = was.kind in (INSTANCE, MODULE)
        self.wide(moved, node, dtype, array=was.kind == ARRAY, module=is_module, mixed=mixed)

    def _arrived(self, node: ast.Call, base: Value, place: Value, dtype: str | None) -> Value:
        result = self.on_device(base, place, dtype)
        if where(one(place, MACS)) == "?":
            self._sent(node, one(result, MACS))
        return result

    def _sent(self, node: ast.Call, atom: Atom) -> None:
        if self.frame.mask & MACS and dtype_of(atom) == "float64" and not atom.maybe:
            self.emit(Kind.SENT, node)

    def _cast(self, node: ast.Call, base: Value, dtype: str) -> Value:
        self.wide(base, node, dtype)
        self.emit(Kind.OPERATOR, node, name="cast", value=base)
        cls = self.frame.function.cls if self.frame.function is not None else None
        # What a plain function is given, a metric say, was often brought to the CPU before.
        if one(base, MACS).kind == UNKNOWN and cls is not None and cls.module:
            self._sent(node, Atom(TENSOR, ("?", dtype)))
        return lift(
            lambda atom: (
                atom.but(v=(atom.v[0], dtype), node=None, maybe=False)
                if atom.kind in (TENSOR, MODULE)
                else atom.but(placed=(where(atom) or "?", dtype))
                if atom.kind == INSTANCE
                else atom
                if is_loaded(atom)
                else UNK
            ),
            base,
        )

    def _type(self, node: ast.Call, base: Value, to: Value) -> Value:
        legacy = 0
        name = ""
        for worlds, atom in cases_of(to, self.frame.mask):
            if atom.kind in (NAME, CONST) and text_of(atom).startswith("torch.cuda."):
                legacy |= worlds
                name = str(atom.v)
        if legacy:
            self.emit(Kind.TYPED, node, worlds=legacy, name=name, value=to)
            return self.on_device(base, ACCELERATOR, facts.TYPES.get(name[11:]))
        dtype = self.dtype_of(to)
        return self._cast(node, base, dtype) if dtype else base

    # devices

    def _of_device(self, node: ast.Call, base: Value, name: str, args: list[Value]) -> Value:
        if name in ("startswith", "__eq__") and args:
            return self._text_test(node, base, args[0])
        if name == "format" and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Constant) and base.__class__ is Atom:
                return base.but(node=node)  # "cuda:{}".format(index)
        if name in ("split", "format", "lower", "strip", "replace", "rstrip", "partition"):
            return base
        return ON_HOST

    def _text_test(self, node: ast.Call, base: Value, word: Value) -> Value:
        """`device.startswith("cuda")`"""
        if is_strategy(one(word, ALL)):  # `strategy.startswith("deepspeed")`
            self.own_tests.add(node)
            return self.compared(ast.Eq(), base, word, frozenset((node,)))
        if not holds_device(word):
            return UNK
        self.looked_at(base)
        self.device_tests.add(node)
        return self.compared(ast.Eq(), base, word, frozenset((node,)))

    # tensors and modules

    def _of_tensor(
        self, node: ast.Call, base: Value, atom: Atom, name: str, args: list[Value], keywords: Env
    ) -> Value:
        if atom.kind == TENSOR and name in facts.HOST_METHODS:
            return ON_HOST
        if name == "register_forward_hook" and args:
            self._hook(node, base, args[0])
        if name in facts.MODULE_READS:
            return UNK if atom.kind == MODULE else base
        if atom.kind == TENSOR:
            self.emit(Kind.OPERATOR, node, name=name, value=base)
            if name not in facts.MIXING_METHODS:
                self.meet(node, (base, *args, *keywords.values()))
            base = lift(partial(_made_by_method, name), base)
            dtype = facts.OF_OTHER_DTYPE.get(name)
            if name == "type_as" and args:
                dtype = dtype_of(one(args[0], self.frame.mask)) or "?"
            if dtype is not None or name in facts.REDUCING:
                return lift(partial(_computed, dtype, name in facts.REDUCING), base)
        if "device" in keywords and not is_none(keywords["device"]):
            return self.on_device(base, self.place(keywords["device"], node))
        if atom.kind == MODULE and name not in facts.MODULE_METHODS:
            self.given(node, args, keywords, looks=True)
            return tensor(atom.v[0]) if name == "forward" else UNK
        if name in facts.NEW:
            dtype = self.dtype_of(keywords.get("dtype"))
            self.wide(base, node, dtype)
            return lift(lambda item: _with_dtype(item, dtype), base)
        if name not in _OF_TENSORS and any(map(_is_on_cpu, (*args, *keywords.values()))):
            return UNK  # A tensor meets none of the CPU's: what was moved is somebody's module.
        return base

    def _hook(self, node: ast.Call, base: Value, hook: Value) -> None:
        """A function that is called with a module, what it is given and what it gives."""
        there = lift(lambda item: tensor(where(item) or "?"), base)
        given: list[Value] = [base, Atom(SEQUENCE, (there,)), there]
        made = one(hook, self.frame.mask)
        if isinstance(node.args[0], ast.Lambda):
            self.applied(node.args[0], given)
        elif made.kind == FUNCTION and made.v.home is self:
            if made.v.handed:  # to the module alone
                made.v.handed.pop()
                made.v.escaped = bool(made.v.handed)
            self.call_function(made.v, node, given, {}, bound=False)


def _is_on_cpu(value: Value) -> bool:
    atom = one(value, MACS)
    return atom.kind == TENSOR and where(atom) == "cpu"


def _on_cpu(atom: Atom) -> Atom:
    if atom.kind in (TENSOR, MODULE):
        return Atom(atom.kind, ("cpu", atom.v[1]), scalar=atom.scalar)
    if atom.kind == UNKNOWN or atom is BOT:
        return tensor("cpu", scalar=True)
    if atom.kind == INSTANCE and atom.v.module:
        return atom.but(placed=("cpu", dtype_of(atom)))
    return atom


def _dtype(value: Value) -> tuple[str | None, bool]:
    """The dtype of a tensor, as a ported Mac would have it, one that MPS lacks before others; and
    whether it has another one on some way."""
    found = [
        dtype_of(atom)
        for _, atom in cases_of(value, MACS)
        if atom.kind in (TENSOR, MODULE, INSTANCE)
    ]
    wide = next((dtype for dtype in found if dtype in facts.NOT_ON_MPS), None)
    return wide or (found[0] if found else None), wide is not None and len(set(found)) > 1


def _computed(dtype: str | None, scalar: bool, atom: Atom) -> Atom:
    """What an operator makes of a tensor: of another dtype, perhaps of one element."""
    if atom.kind != TENSOR:
        return atom
    known = atom if dtype is None else atom.but(v=(atom.v[0], None if dtype == "?" else dtype))
    return known.but(scalar=True) if scalar else known


def _made_by_method(name: str, atom: Atom) -> Atom:
    """A tensor, complex or not as a method leaves it."""
    dtype = made_by_torch(name, dtype_of(atom)) if atom.kind == TENSOR else None
    return atom if atom.kind != TENSOR or dtype == atom.v[1] else atom.but(v=(atom.v[0], dtype))


def _with_dtype(atom: Atom, dtype: str | None) -> Atom:
    if atom.kind in (TENSOR, MODULE):
        return Atom(atom.kind, (atom.v[0], dtype), None, atom.tests)
    return UNK


def _is_written_out(move: ast.Call) -> bool:
    """Whether a move names its device itself: `to("cuda")`."""
    given = arguments_for(move, 0, "device")
    return any(isinstance(item, ast.Constant | ast.Call) for item in given)
