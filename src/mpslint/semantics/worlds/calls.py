"""What a call does: functions of the project by what they give back, torch's by its tables, the
rest takes what it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.facts import machines as facts
from mpslint.facts.arrays import reads_arrays
from mpslint.facts.mocks import MOCKS
from mpslint.facts.priors import (
    call_worlds,
    falls_back,
    helper_answer,
    is_environment,
    kernels_of,
    makes_config,
    matches,
    wide_of,
)
from mpslint.semantics.worlds.asked_by_text import asked_by_text
from mpslint.semantics.worlds.configurations import configuration, merged, overridden
from mpslint.semantics.worlds.core import MAX_DEPTH
from mpslint.semantics.worlds.deferred_calls import DeferredCalls
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.fallbacks import placed_inside, replaced_inside
from mpslint.semantics.worlds.handed import is_of_another
from mpslint.semantics.worlds.handed_on import spread
from mpslint.semantics.worlds.import_statements import FINDER, IMPORTERS
from mpslint.semantics.worlds.joining_calls import joins_elsewhere, may_join_nccl
from mpslint.semantics.worlds.kernels import is_extension_operator
from mpslint.semantics.worlds.machines import ALL, MACS, NVIDIA, sent_away
from mpslint.semantics.worlds.misfits import ends_elsewhere, ends_here
from mpslint.semantics.worlds.names import moved_along
from mpslint.semantics.worlds.only_asked import asked_alone
from mpslint.semantics.worlds.operators_for_cuda import takes_cuda_alone
from mpslint.semantics.worlds.patched import stands_in, stands_in_for_method
from mpslint.semantics.worlds.placing import on_any_gpu
from mpslint.semantics.worlds.probes import asks_driver
from mpslint.semantics.worlds.refusing_calls import comes_back, refused_in
from mpslint.semantics.worlds.registering import (
    kernel_for,
    mark_given,
    names_operator,
    registered_by,
    registers,
)
from mpslint.semantics.worlds.skip_marks import SKIPS, SKIPS_IF, left_by_skip
from mpslint.semantics.worlds.state import Class, Env, Function
from mpslint.semantics.worlds.values import (
    ANSWER,
    ARRAY,
    BOUND,
    CLASS,
    DEVICE,
    DTYPE,
    ENVIRONMENT,
    FUNCTION,
    INSTANCE,
    LAMBDA,
    MEMORY,
    MODULE,
    NAME,
    NAMESPACE,
    NO_TESTS,
    PARSER,
    PARTIAL,
    PLATFORM,
    SEQUENCE,
    SKIP,
    TENSOR,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Value,
    cases_of,
    lift,
    one,
    pack,
    tensor,
    text_of,
    where,
)

_FOLLOWED = frozenset({NAME, INSTANCE, CLASS, NAMESPACE, FUNCTION, BOUND, PARSER, SKIP, LAMBDA})
"""Kinds whose attributes are looked up to find what is called."""

_BUILDING = "torch.utils.cpp_extension.load"
_PROCESS = "torch.multiprocessing.Process"
_ASKING_TYPES = frozenset({"isinstance", "issubclass", "super"})
_MOCK = "unittest.mock.made"


class Calls(DeferredCalls):
    def call_torch(
        self, name: str, node: ast.Call, args: list[Value], keywords: Env, ref: Atom
    ) -> Value:
        raise NotImplementedError

    def method(
        self, node: ast.Call, base: Value, name: str, args: list[Value], keywords: Env
    ) -> Value:
        raise NotImplementedError

    def read_as_arrays(self, node: ast.Call, args: list[Value], keywords: Env) -> None:
        raise NotImplementedError

    def record(self, cls: Class, node: ast.Call, args: list[Value], keywords: Env) -> Atom:
        raise NotImplementedError

    def made_of_numbers(
        self, name: str, node: ast.Call, args: list[Value], keywords: Env
    ) -> Value | None:
        raise NotImplementedError

    def e_Call(self, node: ast.Call) -> Value:
        function = node.func
        calling, self.calling = self.calling, True
        base: Value | None = None
        callee: Value | None
        if isinstance(function, ast.Attribute):
            key = self.key(function) if function.attr in self.held else None
            callee = self.lookup(key) if key is not None else None
            if callee is None:
                base = self.eval(function.value)
                self.used(base)
                owner = one(base, self.frame.mask)
                if function.attr == "cuda" and self.is_kept_elsewhere(owner):
                    base = UNK  # `config.network.cuda()`
                elif owner.kind in _FOLLOWED:
                    callee = self.attribute(base, function.attr, function)
                    name = function.attr
                    callee = lift(lambda owner, part: moved_along(owner, name, part), base, callee)
                    if one(callee, self.frame.mask).kind in (UNKNOWN, DEVICE):
                        callee = None
        else:
            callee = self.eval(function)
            self.used(callee)
        self.calling = False
        args = [self.eval(item) for item in node.args]
        keywords: Env = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
            else:
                keywords.update(spread(self.frame.env, keyword.value, value))
        self.calling = calling
        self._note_classes_given(callee, (*args, *keywords.values()))
        if callee is None:
            assert isinstance(function, ast.Attribute)
            patched = self.frame.patched
            if patched and stands_in_for_method(patched, function.attr, owner.kind):
                return UNK
            return self.method(
                node, base if base is not None else UNK, function.attr, args, keywords
            )
        if callee.__class__ is Atom:
            if self.recording and is_of_another(callee, self):
                self.handed[node] = self.frame.mask, args, keywords
            return self.call(node, callee, args, keywords)
        return self._call_by_world(node, callee, args, keywords)

    def _note_classes_given(self, callee: Value | None, given: Iterable[Value]) -> None:
        """Notes the classes of the file that are given to who keeps them (`Config(agent=A)`)."""
        for value in given:
            if value.__class__ is not Atom or value.kind != CLASS or value.v.home is not self:
                continue
            taking = one(callee, ALL) if callee is not None else UNK
            asks = taking.kind == NAME and taking.v in _ASKING_TYPES
            if taking.kind not in (FUNCTION, BOUND) and not asks:
                value.v.given_away = True

    def _call_by_world(
        self, node: ast.Call, callee: Value, args: list[Value], keywords: Env
    ) -> Value:
        """Another function in each world."""
        frame = self.frame
        mask, tests = frame.mask, frame.tests
        cases: list[tuple[int, Atom]] = []
        left = 0
        for worlds, atom in cases_of(callee, mask):
            frame.mask = worlds
            frame.tests = tests | atom.tests if sent_away(mask, worlds) else tests
            cases += cases_of(self.call(node, atom, args, keywords), worlds)
            left |= frame.mask
        frame.mask, frame.tests = left, tests
        return pack(cases)

    def call(self, node: ast.Call, callee: Atom, args: list[Value], keywords: Env) -> Value:
        kind = callee.kind
        if kind in (FUNCTION, CLASS) and ends_here(self, node, callee):
            return self.end_in_misfit()
        if kind == NAME:
            if self.frame.patched and stands_in(self.frame.patched, str(callee.v)):
                return UNK
            return self.call_named(str(callee.v), node, args, keywords, callee)
        if kind == FUNCTION:
            return self.call_function(callee.v, node, args, keywords, bound=False)
        if kind == BOUND:
            return self.call_function(callee.v, node, args, keywords, bound=True)
        if kind == CLASS:
            # A trial below the test of `__name__` is not all that is made of a class.
            trial = self.frame.function is None and self.is_below_main(node)
            callee.v.made[id(node)] = (ALL, NO_TESTS) if trial else self.here()
            made = callee.v.methods.get("__init__")
            if made is not None:
                self.call_function(made, node, args, keywords, bound=True)
                return Atom(INSTANCE, callee.v)
            self.given(node, args, keywords, looks=False)
            return self.record(callee.v, node, args, keywords)
        if kind == PLATFORM:
            return callee
        if kind == PARTIAL:
            function, first, named = callee.v
            return self.call(node, function, [*first, *args], {**named, **keywords})
        if kind == LAMBDA:
            value: Value = callee.v
            here = args and isinstance(node.func, ast.Lambda)
            return self.applied(node.func, args) if here else value  # type: ignore[arg-type]
        if kind in (TENSOR, MODULE):
            return self._run_module(callee, node, args, keywords)
        if kind == INSTANCE:
            forward = callee.v.methods.get("forward") or callee.v.methods.get("__call__")
            if forward is not None:
                if not callee.v.moves_input(forward):
                    self.meet(node, (callee, *args, *keywords.values()))
                value = self.call_function(forward, node, args, keywords, bound=True)
                if value is UNK and callee.placed is not None:
                    return tensor(*callee.placed).but(unread=ANSWER)
                return value
        if kind == SKIP:
            mark_given(callee, args)
            return callee  # `skipUnless(...)(test)`: marked so
        self.given(node, args, keywords, looks=False)
        return UNK

    def _run_module(self, callee: Atom, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        """What a module of torch's makes of tensors: where it is, or they are where it is bare."""
        self.meet(node, (callee, *args, *keywords.values()))
        given = [value for value in args if one(value, self.frame.mask).kind == TENSOR]
        if callee.kind == MODULE and callee.v[0] == "cpu" and given:
            return lift(
                lambda atom: (
                    tensor(atom.v[0], scalar=callee.scalar) if atom.kind == TENSOR else UNK
                ),
                given[0],
            )
        unread = "" if callee.kind == MODULE else ANSWER
        return tensor(callee.v[0], scalar=callee.scalar).but(unread=unread)

    def _raises_inside(self, function: Function, node: ast.Call, given: Env) -> None:
        """What raises on a Mac in a function of another file is told where it is called."""
        tests = self.frame.tests
        for value in given.values():
            for _, atom in cases_of(value, self.frame.mask & MACS):
                tests |= atom.tests if where(atom) == "mps" else tests
        for kind, worlds in self.raising_in(function, given).items():
            if kind is not Kind.MOVED and worlds & self.frame.mask & MACS:
                dtype = Atom("dtype", "float64")
                worlds &= self.frame.mask & MACS
                self.emit(kind, node, worlds=worlds, tests=tests, name="inside", value=dtype)

    def _moved_by_method(self, function: Function, node: ast.Call, given: Env) -> None:
        """A call of a class's own `cuda`: who calls it asks for CUDA, and is told of it."""
        worlds = self.raising_in(function, given).get(Kind.MOVED, 0) & self.frame.mask
        worlds = self.frame.mask if function.names_cuda else worlds
        if worlds:
            if self.recording:
                self.own_moves[node] = function
            value = Atom(INSTANCE, function.cls)
            self.emit(Kind.MOVED, node, worlds=worlds, value=value)

    def call_function(
        self, function: Function, node: ast.Call, args: list[Value], keywords: Env, *, bound: bool
    ) -> Value:
        frame = self.frame
        given = self.bound_arguments(function, node, args, keywords, bound=bound)
        if function.home is self:
            self.called_from(function, node, given)
        self.note_functions_given(function, node, given)
        asked = asked_alone(function, given)
        if not function.relevant:
            for value in (item for item in (*args, *keywords.values()) if id(item) not in asked):
                self.kept(value, "")
        if function.home is not self:
            # What is chosen here is told here: that file knows its parameter only.
            own = asked | replaced_inside(function, given, MAX_DEPTH)
            own |= {id(given[name]) for name in registered_by(function) if name in given}
            told = {name: value for name, value in keywords.items() if id(value) not in own}
            self.given_away(node, [value for value in args if id(value) not in own], told)
            for device in placed_inside(function, given, MAX_DEPTH) if self.recording else ():
                self.place(device, node)
        value, ends = self.summary(function, given)
        frame.joined = frame.joined or may_join_nccl(function)
        if comes_back(function, ends, bound=bound):
            value, ends = UNK, ALL
        if function.home is not self or not self.recording:
            self._raises_inside(function, node, given)
        if function.moves_to_cuda and isinstance(node.func, ast.Attribute):
            self._moved_by_method(function, node, given)
        if frame.mask & ~ends and not frame.caught:
            if (function.own and not ends & MACS) or takes_cuda_alone(function, ends, self):
                self.owned(ends)
            else:
                if frame.mask & MACS & ~ends:
                    frame.gate = None
                    if function.home is self:
                        frame.tests |= function.end_tests
                    elif (place := refused_in(function, frame.mask, ends)) is not None:
                        self.refusing[node] = place
                        frame.tests |= {node}
                self.refuse(frame.mask & ~ends)
                if function.misfits and frame.function is not None:
                    frame.function.misfits = True
        if value.__class__ is Atom and value.kind == UNKNOWN:  # What it looks at is not seen.
            answer = asked_by_text(function.node.name, node, args)
            return self.answer(answer, node) if answer is not None else value
        return value

    def entered_with(self, context: ast.expr, value: Value) -> Value:
        """What a `with` binds, which runs `__enter__` of an object of the project."""
        owner = one(value, self.frame.mask)
        methods = owner.v.methods if owner.kind == INSTANCE else {}
        entry = methods.get("__enter__") or methods.get("__aenter__")
        if entry is None or not entry.relevant or not isinstance(context, ast.Call):
            return value
        given = self.call_function(entry, context, [], {}, bound=True)
        return value if given is UNK else given

    # names

    def call_named(
        self, name: str, node: ast.Call, args: list[Value], keywords: Env, ref: Atom
    ) -> Value:
        row = facts.ANSWERS.get(name)
        if row is not None:
            self.emit(Kind.CALLED, node, name=name)
            return self.answer(row, node)
        if name == "shutil.which" and args and text_of(one(args[0], ALL)) in facts.DRIVER_TOOLS:
            return self.answer(facts.ON_THE_PATH, node)
        if name in facts.STARTING and self.frame.caught and asks_driver(args):
            # It is a trial; else the error is told, and what comes next is looked at.
            if "shell" not in keywords or name in facts.CHECKING:
                self.refuse(ALL & ~NVIDIA)
            return UNK
        if name in facts.DRIVER_LISTS:
            return self.answer(facts.ON_THE_PATH, node)
        if name in SKIPS_IF:
            return left_by_skip(self, node, SKIPS_IF[name])
        if name in SKIPS and self.frame.function is not None:
            return Atom(SKIP, 0)  # by a decorator, on some machines
        if name in MOCKS:
            return Atom(NAME, _MOCK)
        if name in facts.LOOKERS:
            if name == "dict":
                copy = merged(args, keywords)
                return copy if copy is not None else self.call_builtin(name, node, args)
            return self.call_builtin(name, node, args)
        if name in facts.EXITS:
            self.refuse(self.frame.mask, "SystemExit")
            return UNK
        if name in facts.PLATFORM:
            return Atom(PLATFORM, name)
        top = name.partition(".")[0]
        built = kernels_of(name)
        if built is not None:
            self.given_to_kernel(node, [] if built == "cuda" else [*args, *keywords.values()])
            if name.startswith(_BUILDING):
                self.call_torch(name, node, args, keywords, ref)
                return Atom(NAME, f"{_BUILDING}.built")  # an extension, made here
        if is_extension_operator(name):
            if self.project is not None and not self.frame.caught:
                self.owned(self.project.imports_on(name))
            self.given_to_kernel(node, [*args, *keywords.values()])
        if top == "torch":
            if name == _PROCESS and self.started(name, node, keywords):
                return UNK
            return self.call_torch(name, node, args, keywords, ref)
        if reads_arrays(name):
            self.read_as_arrays(node, args, keywords)
        if (made := self.made_of_numbers(name, node, args, keywords)) is not None:
            return made
        if name in facts.EFFECTS:
            self.effect_of(name, node, ref)
            return UNK
        if "." in name and matches("seeding-functions", name):
            # As `lightning.seed_everything`, whose text is not at hand either.
            self.emit(Kind.EFFECT, node, name="torch.manual_seed")
        if name in facts.ERRORS:
            return TRUE
        if name.startswith(facts.LOOKING_MODULES):
            return UNK
        if name in IMPORTERS and args and node.args:
            imported = self.imported_by_text(args[0], node.args[0])
            if imported is not None:
                return imported
        if name == FINDER and args:
            return self.found_by_text(args[0])
        if name == "pytest.param" and "marks" in keywords:
            return UNK  # The marks say where the value is used.
        if name in ("io.BytesIO", "io.StringIO"):  # written by this program, a moment ago
            return Atom(MEMORY)
        if name == "functools.partial" and args and node.args:
            return self.partial_call(node, args, keywords)
        if self.started(name, node, keywords):
            return UNK
        if name.endswith(".DDPStrategy") and "process_group_backend" in keywords:
            if name.startswith(facts.LIGHTNING):
                self.emit(Kind.BACKEND, node, value=keywords["process_group_backend"])
        if makes_config(name):
            made = configuration(args, keywords) or overridden(args)
            if made is not None:
                return made
        if name.rpartition(".")[2] in facts.DECLARING and "default" in keywords:
            return lift(
                lambda atom: atom.but(maybe=True) if atom.kind == DEVICE else UNK,
                keywords["default"],
            )
        if name.rpartition(".")[2] in facts.DECLARING and "default_factory" in keywords:
            made = one(keywords["default_factory"], ALL)
            held: Value = made.v if made.kind == LAMBDA else UNK
            return lift(lambda atom: atom.but(maybe=True) if atom.kind == DEVICE else UNK, held)
        pair = facts.sklearn_arrays(name, as_pair="return_X_y" in keywords)
        if pair is not None:
            return Atom(SEQUENCE, tuple(Atom(ARRAY, dtype) for dtype in pair))
        if name == "sklearn.model_selection.train_test_split":
            return Atom(SEQUENCE, tuple(part for value in args for part in (value, value)))
        for_gpu = facts.gpu_argument(name)
        if for_gpu in keywords:
            self.place(on_any_gpu(keywords[for_gpu]), node)
            return UNK
        if is_environment(name):
            return Atom(ENVIRONMENT)
        wide = wide_of(name)
        if wide == "dtype":
            return Atom(DTYPE, "float64")
        if wide is not None and self.frame.mask & MACS:
            self.emit(Kind.SENT, node)
        if name in facts.REARRANGING and args:
            return lift(lambda item: item if item.kind == TENSOR else UNK, args[0])
        if name in facts.PASSING_ON:
            return args[0] if args else UNK
        if name == "itertools.product" and args and not keywords:
            # What each of its turns gives: one of the items of each.
            return Atom(SEQUENCE, (Atom(SEQUENCE, tuple(map(self.items_of, args))),))
        if name == "copy.deepcopy" or name == "copy.copy":
            return args[0] if args else UNK
        if name == "argparse.ArgumentParser" or name.endswith(".ArgumentParser"):
            return Atom(PARSER, {}, node)
        if falls_back(name):
            # A device that is written out is not insisted on; a choice is one here as well.
            chosen: Env = {}
            chosen.update(
                (key, given) for key, given in keywords.items() if given.__class__ is Cases
            )
            self.given(node, [], chosen, looks=False, name=name)
            return UNK
        if self.project is not None:
            if ends_elsewhere(self, name, node):
                return self.end_in_misfit()
            found = self.taking(name, (*args, *keywords.values()))
            owner = name.rpartition(".")[0] if found is None else ""
            if owner.strip(".") and self.project.may_end(owner):
                self.used(self.project.value(owner) or UNK)  # `_C.march(x)`, where `_C` may be None
            named = one(found, ALL) if found is not None else UNK
            if registers(named):
                return kernel_for(args, keywords)  # `register = torch.library.register_kernel`
            followed: Value | None = None
            if found is not None and named.kind != NAME:
                is_one = found.__class__ is Atom
                call = self.call if is_one else self._call_by_world
                followed = call(node, found, args, keywords)  # type: ignore[arg-type]
            if joins_elsewhere(self, name, node, args, keywords):
                self.owned(NVIDIA)
                return followed or UNK
            if followed is not None:
                return followed
        last = name.rpartition(".")[2]
        answer = helper_answer(last) or asked_by_text(last, node, args)
        if answer is not None:
            return self.answer(answer, node)
        if call_worlds(name) == "cuda":
            self.owned(NVIDIA)
            return args[0] if args else UNK
        self.given(node, args, keywords, looks=False, name=name)
        return kernel_for(args, keywords) if names_operator(args) else UNK

    def effect_of(self, name: str, node: ast.Call, ref: Atom) -> None:
        if name in facts.EFFECTS:
            chosen = ref.node if ref.node in self.chosen else None
            self.emit(Kind.EFFECT, node, name=name, use=chosen)
