"""What torch's functions do: what they ask, wait for, load, start, and what they compute."""

from __future__ import annotations

import ast
from functools import partial

from mpslint.facts import machines as facts
from mpslint.facts.complex_numbers import made_by_torch
from mpslint.facts.priors import call_worlds
from mpslint.facts.runtime import cuda_names
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.calls import Calls
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.kernels import EXTENSION_LOADERS, needs_nvcc
from mpslint.semantics.worlds.loaded import loaded, read_back
from mpslint.semantics.worlds.machines import ALL, CPU, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.makers import Makers
from mpslint.semantics.worlds.numbers import collated, tells
from mpslint.semantics.worlds.placing import ACCELERATOR
from mpslint.semantics.worlds.process_numbers import (
    is_first_by_default,
    process_names,
    process_number,
)
from mpslint.semantics.worlds.registering import kernel_for
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    BOT,
    CONST,
    DEVICE,
    FILE,
    FUNCTION,
    INSTANCE,
    LAMBDA,
    MEMORY,
    NAME,
    NONE,
    ON_HOST,
    SEQUENCE,
    STREAM,
    STREAMED,
    TENSOR,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    cases_of,
    device,
    holds_device,
    is_none,
    lift,
    one,
    pack,
    tensor,
    text_of,
    truth,
    where,
)
from mpslint.semantics.worlds.wrapping import WRAPPERS

LOADERS = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}
"""Functions that load tensors, with the place of `map_location` among their arguments."""

_COLLATE = 6
_PARTS_OF_DATASETS = frozenset({"torch.utils.data.Subset", "torch.utils.data.random_split"})
"""What gives the samples of another dataset, or several such."""
_TAKING_A_DEVICE = frozenset(
    {"torch.Generator", "torch.Event", "torch.Stream", "torch.jit.trace", "torch.export.export"}
)
_TAKING_ANY = ("autograd.", "utils.", "save", "nn.utils.", "equal", "distributed.", "is_tensor")
"""Below `torch.`: what takes tensors of several devices."""

_PROFILER = "torch.profiler.profile"
_OF_A_GPU = ("cuda.set_device", "cuda.device")
_NOT_MODULES = ("nn.functional.", "nn.utils.", "nn.init.", "nn.parameter.")


class TorchCalls(Makers, Calls):
    saves: list[tuple[object, Value]]

    def call_torch(
        self, name: str, node: ast.Call, args: list[Value], keywords: Env, ref: Atom
    ) -> Value:
        short = name[6:]
        if short in facts.DEVICE_MAKERS:
            return self.make_device(args, keywords)
        worlds = self.frame.mask
        if short in _OF_A_GPU:
            worlds &= ~_of_no_gpu(args[0] if args else keywords.get("device", UNK), worlds)
        used = ref.node if isinstance(ref.node, ast.AST) else None
        self.emit(Kind.CALLED, node, name=name, use=used, worlds=worlds)
        if short.startswith("cuda."):
            return self._cuda(name, short[5:], node, args, keywords, ref)
        if short.startswith("mps."):
            self.effect_of(name, node, ref)
            return UNK
        if name in facts.EFFECTS:
            self.effect_of(name, node, ref)
            return UNK
        if name.endswith("multiprocessing.spawn"):
            self._spawn(node, args, keywords)
            return UNK
        if name in facts.AUTOCAST:
            given = keywords.get("device_type", args[0] if args else UNK)
            self._autocast(Kind.AUTOCAST, name, node, given, args, keywords)
            if name == "torch.is_autocast_enabled":
                self.frame.casting = True  # Who asks reckons with one around.
            return UNK
        if name in facts.SCALER:
            given = keywords.get("device", args[0] if args else device("cuda", node.func))
            self._autocast(Kind.SCALED, name, node, given, args, keywords)
            return UNK
        if name in LOADERS:
            return self._load(name, node, args, keywords)
        if name in EXTENSION_LOADERS:
            if needs_nvcc(node, [*args, *keywords.values()]) and not self.frame.caught:
                self.owned(NVIDIA)
            return UNK
        if short.startswith("library."):
            return kernel_for(args, keywords)  # Nothing is put anywhere.
        if name == "torch.compile" and args and one(args[0], ALL).kind == FUNCTION:
            return args[0]  # It does what the function does.
        if name == "torch.save":
            self.saved(node, args)
            return UNK
        if name in ("torch.set_default_device", "torch.accelerator.set_device"):
            if args:
                placed = self.place(args[0], node)
                if name == "torch.set_default_device":
                    self.makes_on(lift(lambda atom: device(where(atom) or "?"), placed))
            return UNK
        if name == "torch.set_default_dtype":
            self.default_dtype = self.dtype_of(args[0]) if args else None
            return UNK
        if name == "torch.set_default_tensor_type":
            self._default_type(node, args)
            return UNK
        if name == _PROFILER and self.frame.refused and _records_cuda(args, keywords):
            # Who refuses other machines is about CUDA's kernels, unless something comes of it.
            if not any(last_name(one) == "save" for one in ast.walk(self.tree)):
                self.owned(NVIDIA)
            return UNK
        if name == "torch.distributed.is_initialized" and not self.names_gloo:
            return self._has_group(node)
        if name == "torch.distributed.init_process_group":
            self._start_group(node, args, keywords)
            return UNK
        if name in facts.MESHES:
            self._make_mesh(args[facts.MESHES[name] :], keywords)
            return UNK
        if name in facts.OF_A_GROUP and self.frame.joined and not self.frame.caught:
            self.owned(NVIDIA)  # It raises where no process group was started.
            return UNK
        if name == "torch.accelerator.current_accelerator":
            return pack([(NVIDIA, device("cuda")), (MACS, device("mps")), (CPU, NONE)])
        if name == "torch.get_device_module":
            return Atom(NAME, "torch.accelerator")
        if call_worlds(name) == "cuda":
            here = self.frame.mask
            self.owned(NVIDIA)
            if "backend" in keywords:
                self.emit(Kind.BACKEND, node, worlds=here, value=keywords["backend"])
            return args[0] if args else UNK
        last = short.rpartition(".")[2]
        if last in facts.FACTORIES and "." not in short:
            return self.make_tensor(last, node, args, keywords)
        if short in facts.LEGACY_FACTORIES:
            return tensor("cpu", facts.TYPES.get(short, "float32"))
        if name in WRAPPERS:
            return lift(partial(_within, node), args[0]) if args else UNK
        if short.startswith("nn.") and last[:1].isupper() and not short.startswith(_NOT_MODULES):
            return self.make_module(last, node, args, keywords)
        if last == "Parameter":
            return self.parameter(node, args)
        return self._other(name, short, node, args, keywords)

    # torch.cuda

    def _cuda(
        self, name: str, short: str, node: ast.Call, args: list[Value], keywords: Env, ref: Atom
    ) -> Value:
        if name in facts.CUDA_AUTOCAST or name in facts.CUDA_SCALER:
            kind = Kind.SCALED if name in facts.CUDA_SCALER else Kind.AUTOCAST
            chosen = ref.node if isinstance(ref.node, ast.expr) else None
            local = isinstance(node.func, ast.Name) and chosen is not node.func
            at = chosen if chosen is not None and local else None
            self._autocast(kind, name, node, device("cuda", node.func), args, keywords, at)
            return UNK
        if short in facts.TYPES:
            self.emit(Kind.TYPED, node, name=name)
            return self.on_device(UNK, ACCELERATOR, facts.TYPES[short])
        self.effect_of(name, node, ref)
        for value in (*args, *keywords.values()):
            self.looked_at(value)  # A function of CUDA's is told which GPU: nothing goes there.
        if short.partition(".")[0] in facts.OWN or short in facts.OWN:
            if not self.frame.caught:
                self.owned(NVIDIA)
            return UNK
        if short == "set_device" and node.args and self._is_process(node.args[0]):
            self.owned(NVIDIA)
            return UNK
        if short == "current_device":
            # A number, and a device wherever one goes; it raises where there is no CUDA.
            other = Atom(DEVICE, "?", None, maybe=True)
            return pack([(NVIDIA | PORTED, device("cuda", maybe=True)), (MAC | CPU, other)])
        fact = cuda_names().get(short)
        if fact is not None and fact.outcome == "answers":
            return ON_HOST
        return UNK

    def _is_process(self, number: ast.expr) -> bool:
        """Whether this is the number of a process, or a name to which only such are bound. Who
        writes `local_rank = 0` for where no launcher says it runs as one process, too."""
        scope = self.frame.function.node if self.frame.function is not None else self.tree
        if process_number(number) or not isinstance(number, ast.Name):
            return process_number(number) and not is_first_by_default(number, scope)
        if scope not in self.process_numbers:
            self.process_numbers[scope] = process_names(scope)
        return number.id in self.process_numbers[scope]

    def _default_type(self, node: ast.Call, args: list[Value]) -> None:
        if not args:
            return
        self.default_dtype = facts.DTYPES.get(text_of(one(args[0], MACS)))
        worlds = 0
        for mask, atom in cases_of(args[0], self.frame.mask):
            if atom.kind in (NAME, CONST) and text_of(atom).startswith("torch.cuda."):
                worlds |= mask
        mended = [(worlds & NVIDIA, device("cuda")), (worlds & MACS, device("mps"))]
        self.makes_on(pack([*mended, (ALL & ~(worlds & (NVIDIA | MACS)), device("cpu"))]))
        if worlds:
            self.emit(
                Kind.TYPED, node, worlds=worlds, name="torch.set_default_tensor_type", value=args[0]
            )

    # mixed precision

    def _autocast(
        self,
        kind: Kind,
        name: str,
        node: ast.Call,
        given: Value,
        args: list[Value],
        keywords: Env,
        chosen: ast.expr | None = None,
    ) -> None:
        """`autocast` or `GradScaler` for a type of device. Where it is switched off on a Mac on
        purpose (`enabled=device.type == "cuda"`), a Mac does not come to it."""
        at = facts.ENABLED_AT.get(name, 99)
        spread = any(isinstance(item, ast.Starred) for item in node.args)
        given_at = args[at] if len(args) > at and not spread else TRUE
        enabled = keywords.get("enabled", given_at)
        off = 0
        for worlds, atom in cases_of(enabled, self.frame.mask):
            if truth(atom) is False:
                off |= worlds
        dtype = one(keywords.get("dtype", args[1] if len(args) > 1 and not spread else UNK), ALL)
        if kind is Kind.AUTOCAST and dtype.kind == NAME and facts.DTYPES.get(dtype.v) == "float32":
            off = self.frame.mask  # What is float32 stays so: nothing is cast.
        worlds = self.frame.mask & ~off
        unseen = False
        if not worlds and kind is Kind.AUTOCAST:
            kind, worlds, unseen = Kind.UNCAST, self.frame.mask, not self.frame.casting
        if worlds:
            place = chosen if chosen is not None else node
            self.emit(kind, place, worlds=worlds, name=name, value=given, use=node, likely=unseen)

    # loading and saving

    def saved(self, node: ast.Call, args: list[Value]) -> None:
        """A checkpoint is written; told by the part that knows files."""
        if self.recording and len(args) > 1 and len(node.args) > 1:
            self.saves.append((self.path_of(node.args[1], args[1]), args[0]))

    def path_of(self, node: ast.expr, value: Value) -> object:
        """What a file is known by, within one function."""
        first = one(value, ALL)
        return self.frame.function, first.v if first.kind == STREAM else ast.dump(node)

    def _load(self, name: str, node: ast.Call, args: list[Value], keywords: Env) -> Value:
        at = LOADERS[name]
        given = keywords.get("map_location", args[at] if len(args) > at else NONE)
        spread = any(item.arg is None for item in node.keywords)
        if given.__class__ is Atom and given.kind == CONST and given.v is None:
            source = one(args[0], ALL) if args else UNK
            if source.kind != MEMORY and not spread:
                path = self.path_of(node.args[0], args[0]) if node.args and args else None
                self.emit(Kind.LOADED, node, name=name, value=Atom(FILE, path))
                return read_back([value for known, value in self.saves if known == path])
            return UNK
        first = one(given, self.frame.mask)
        if first.kind == LAMBDA:
            return loaded(device("cpu")) if first.v is UNK else UNK  # `lambda storage, place: ...`
        if holds_device(given, self.frame.mask):
            self.emit(Kind.LOADED, node, name=name, value=given)
        return loaded(given)

    # processes

    def _spawn(self, node: ast.Call, args: list[Value], keywords: Env) -> None:
        """`spawn(worker, nprocs=torch.cuda.device_count())`: a process for each GPU, and none
        where there are none."""
        count = keywords.get("nprocs", args[2] if len(args) > 2 else UNK)
        started, _, _ = self.worlds_of(count)
        worker = one(args[0], ALL) if args else UNK
        if worker.kind == FUNCTION and worker.v.home is self:
            frame = self.frame
            worker.v.escaped = False
            worker.v.handed.clear()  # to torch alone
            worker.v.calls[id(node)] = (frame.mask & started, frame.tests, {})
        more = one(keywords.get("args", args[1] if len(args) > 1 else UNK), ALL)
        if worker.kind == FUNCTION and more.kind == SEQUENCE:
            # The number of the process comes first.
            given = self.bound_arguments(worker.v, node, [UNK, *more.v], {}, bound=False)
            self.note_functions_given(worker.v, node, given)
        if worker.kind == FUNCTION and not self.frame.caught:
            # What its processes end in, who started them does.
            ends = self.summary(worker.v)[1]
            if worker.v.own and not ends & MACS:
                self.owned(ends)

    def _start_group(self, node: ast.Call, args: list[Value], keywords: Env) -> None:
        backend = keywords.get("backend", args[0] if args else UNK)
        here = self.frame.mask
        # Whoever names a backend of the CPU's has processes without GPUs in mind.
        left = NVIDIA
        for worlds, atom in cases_of(backend, self.frame.mask):
            if atom.kind == CONST and atom.v in ("gloo", "mpi"):
                left |= worlds
        if not self.frame.caught:
            self.owned(left)
        self.emit(Kind.BACKEND, node, worlds=here, value=backend)

    def _make_mesh(self, args: list[Value], keywords: Env) -> None:
        """A mesh of CUDA devices is one of processes that talk through NCCL."""
        place = keywords.get("device_type", args[0] if args else UNK)
        away = 0
        for worlds, atom in cases_of(place, self.frame.mask & MAC):
            if atom.kind == DEVICE and atom.v == "cuda" and not atom.maybe:
                away |= worlds
        if away == self.frame.mask & MAC and away and not self.frame.caught:
            self.owned(NVIDIA)

    def _has_group(self, node: ast.Call) -> Value:
        """Whether a process group was started. None takes MPS tensors: where nobody speaks of Gloo,
        which is for the CPU, its processes have a GPU of CUDA's each."""
        self.own_tests.add(node)
        mine = frozenset((node,))
        there, absent = Atom(UNKNOWN, None, None, mine), Atom(CONST, False, None, mine)
        return pack([(NVIDIA, there), (ALL & ~NVIDIA, absent)])

    # data

    def _batch_of(self, data: Value, keywords: Env) -> Value | None:
        """What a loader gives of a dataset at each turn, as far as that is not what it seems."""
        atom = one(data, ALL)
        if atom.kind == SEQUENCE and len(atom.v) == 1:  # a `TensorDataset`
            sample = one(atom.v[0], ALL)
            if sample.kind == SEQUENCE and not any(map(tells, sample.v)):
                return sample
        if is_none(keywords.get("batch_size", UNK)):
            return None
        sample = one(self._sample_of(atom), ALL)
        return collated(sample) if tells(sample) else None

    def _put_together(self, node: ast.Call, data: Atom, keywords: Env) -> Value:
        """What a loader gives whose batches a function of the program's own makes."""
        samples = self._sample_of(data)
        given = samples if is_none(keywords.get("batch_size", UNK)) else Atom(STREAMED, samples)
        recording, self.recording = self.recording, False
        collate = one(keywords["collate_fn"], ALL)
        if collate.kind == LAMBDA and isinstance(collate.node, ast.Lambda):
            batch = self.applied(collate.node, [given])
        else:
            batch = self.call(node, collate, [given], {})
        self.recording = recording
        return Atom(STREAMED, batch) if tells(batch) else UNK

    def _sample_of(self, data: Atom) -> Value:
        if data.kind == SEQUENCE and data.v:
            first: Value = data.v[0]
            return first
        if data.kind == STREAMED and data.v is not None:
            return self.items_of(data)
        if data.kind != INSTANCE:
            return UNK
        methods = data.v.methods
        if "__getitem__" in methods:
            return self.summary(methods["__getitem__"])[0]
        return self.items_of(self.summary(methods["__iter__"])[0]) if "__iter__" in methods else UNK

    # operators

    def _other(
        self, name: str, short: str, node: ast.Call, args: list[Value], keywords: Env
    ) -> Value:
        place = keywords.get("device")
        self.given_number(name, node, args, keywords)
        for key, value in keywords.items():
            self.counted(value, node)
            if key not in facts.HARMLESS_KEYWORDS and key != "device":
                if holds_device(value):
                    self.place(value, node)
        if name == "torch.utils.data.TensorDataset":
            return Atom(SEQUENCE, (Atom(SEQUENCE, tuple(map(_kept_in_dataset, args))),))
        if name == "torch.utils.data.DataLoader":
            data = keywords.get("dataset", args[0] if args else UNK)
            # Source: torch.utils.data.DataLoader(dataset, batch_size, shuffle, sampler,
            # batch_sampler, num_workers, collate_fn, ...)
            if len(args) > _COLLATE or self.count_of(".collate_fn"):
                return UNK
            if len(args) > 1:
                keywords = {**keywords, "batch_size": args[1]}
            if not is_none(keywords.get("collate_fn", NONE)):
                return self._put_together(node, one(data, ALL), keywords)
            return Atom(STREAMED, self._batch_of(data, keywords))
        if name in _PARTS_OF_DATASETS and args:
            return args[0] if name.endswith(".Subset") else Atom(STREAMED, args[0])
        if place is not None and not is_none(place):
            self.place(place, node)
        elif name in _TAKING_A_DEVICE and args and one(args[0], ALL).kind == DEVICE:
            self.place(args[0], node)
        if name in _TAKING_A_DEVICE:
            return UNK
        tensors = [value for value in args if one(value, ALL).kind == TENSOR]
        listed: list[Value] = []
        last = short.rpartition(".")[2]
        for value in args:
            first = one(value, ALL)
            if first.kind == SEQUENCE:
                listed += [item for item in first.v if one(item, ALL).kind == TENSOR]
        if not short.startswith(_TAKING_ANY) and last not in facts.MIXING_LOSSES:
            self.meet(node, (*args, *keywords.values(), *listed))
        if not tensors:
            tensors = listed
        if not tensors:
            return UNK
        self.emit(Kind.OPERATOR, node, name=name, value=tensors[0])
        if one(keywords.get("out", NONE), ALL).kind == TENSOR:
            return keywords["out"]
        dtype = self.dtype_of(keywords.get("dtype")) or facts.OF_OTHER_DTYPE.get(short)
        made = partial(made_by_torch, short)
        flat = last in facts.REDUCING or short.endswith(("_loss", "entropy"))
        return lift(
            lambda atom: (
                tensor(atom.v[0], dtype or made(atom.v[1]), atom.tests, scalar=flat or atom.scalar)
                if atom.kind == TENSOR
                else UNK
            ),
            tensors[0],
        )


def _records_cuda(args: list[Value], keywords: Env) -> bool:
    """`activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`"""
    given = one(keywords.get("activities", args[0] if args else UNK), ALL)
    items = given.v if given.kind == SEQUENCE else ()
    return any(text_of(one(item, ALL)).endswith(".ProfilerActivity.CUDA") for item in items)


def _of_no_gpu(number: Value, worlds: int) -> int:
    """The worlds in which the number of a GPU is below 0: nothing is set then, nor asked."""
    return sum(
        here
        for here, atom in cases_of(number, worlds)
        if atom.kind == CONST and type(atom.v) is int and atom.v < 0
    )


def _within(wrapper: ast.Call, atom: Atom) -> Atom:
    return atom if atom is BOT else atom.but(wrapped=wrapper)


def _kept_in_dataset(value: Value) -> Value:
    """A tensor as a dataset gives a part of it: where it lies, and of what dtype."""
    atom = one(value, ALL)
    return tensor(*atom.v) if value.__class__ is Atom and atom.kind == TENSOR else UNK
