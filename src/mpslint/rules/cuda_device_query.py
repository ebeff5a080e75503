"""Questions to the CUDA driver raise where there is no CUDA.

## What it does
Flags `torch.cuda.get_device_name`, `get_device_properties`, `get_device_capability`,
`current_device`, `set_device`, `with torch.cuda.device(i)`, `utilization`, `get_rng_state`,
`initial_seed`, `ipc_collect` and their like, where nothing makes sure that CUDA is there; and
`torch.cuda.device_count()` as a divisor, as a factor of a batch size or of an optimizer's rate, or
as the number of processes to spawn: there, or where a name, an option or a parameter of another
function of the file holds it, or what it was multiplied with. Also what asks NVIDIA's driver past
torch: `subprocess.run(["nvidia-smi"])` and its like, an item of `GPUtil.getAvailable()`.

## Why is this bad?
They raise `AssertionError: Torch not compiled with CUDA enabled` (`set_device`: AttributeError).
`device_count()` answers 0: a division by it raises `ZeroDivisionError`, or makes a tensor infinite,
nothing is spawned, and a `DataLoader` refuses a batch size that is multiplied by it. Without the
driver's program `subprocess` raises `FileNotFoundError`, and GPUtil lists no GPU.
Behind a needless `assert torch.cuda.is_available()` (cuda-required), `set_device` and the count are
what is in a Mac's way next; the finding there points at each `set_device`.

## Example
```python
print("GPU:", torch.cuda.get_device_name(0))
```
Use instead:
```python
if torch.cuda.is_available():
    print("GPU:", torch.cuda.get_device_name(0))
```

## What is not flagged
Guarded calls, calls below a `try`, a count of 0 that is replaced (`device_count() or 1`), asked
about (`256 // n if n else 256`) or whose error is caught, a tensor's remainder, any other use of
`torch.cuda.device_count()`, what comes to 0 for want of GPUs only in processes that are started for
each of them, `set_device` of a number below 0, which does nothing,
`torch.cuda.device` where it is not entered, and questions about a tensor's own device
(`with torch.cuda.device(x.device):`), which stand around kernels that exist for CUDA only. The GPU
of a number behind `if gpu is not None:`, where none is the default. Code that is written for CUDA
alone: a function or class named after it, a module of Triton kernels, a loop over
`range(torch.cuda.device_count())`; CUDA's profiler under a condition, for those who ask for it.
Code for several GPUs: process groups on NCCL, FSDP, `if args.distributed:`, `set_device(rank)` in a
file that spreads its processes over `f"cuda:{rank}"`. Questions in methods of a class whose
constructor refuses to run without CUDA. Arms for a member of an enumeration (`Kind.CUDA`); another
GPU than the first (`if index > 0: torch.cuda.set_device(index)`), and each of those that a function
has to be given (`for gpu in device_ids:`).

## Confidence
Where the number of a process is shared out (`rank % torch.cuda.device_count()`) by the function
that counts, or something by another function and under a test, the finding is inferred: it speaks
of processes of which there is one for each GPU, to somebody who has asked for them. These findings
are told when they are asked for: `extend-select = ["MPS206"]` (or
`--extend-select MPS206`) turns them on. So are two kinds of which readers of repositories that
nobody here had seen called most findings wrong, since no Mac comes there:
`torch.cuda.current_device()` in a function of a module that others import (1 of 10 was right; in
programs 2 of 2), and a `device_count()` by which processes are spawned (0 of 2). The driver's
program is told by request where a function does nothing else for torch. Who is not told of
them gets the same fixes: what raises there is in the way of a port, told or not.

## Fix safety
Safe for statements such as `torch.cuda.set_device(rank)`, and for those that print or log what CUDA
answers and nothing else: they are put below a test for CUDA (of
the device at hand: `if self.device.type == "cuda":`; else of the machine), but
not where a question that has no fix follows, to which the error would only move, nor where somebody
in the project tries them and by their error takes the way without CUDA; and for a count
that is only calculated with: `max(1, torch.cuda.device_count())`. The number of the current GPU to
which alone a checkpoint is read (`lambda storage, loc: storage.cuda(device)`) goes where that is
read to the CPU, to be copied from there. Unsafe for
`torch.cuda.profiler.start()` and `stop()`, since a run that is made for its trace would end without
one, and without a word; for the number of
processes, which then is 1, but which may want NCCL, where the same function hands a count to a
trainer that takes no 0 either, and for `get_device_name` from torch 2.9, which has a name for the
Apple GPU. The other answers have no counterpart, so the code around them must be changed by hand.

## References
- `torch/cuda/__init__.py` (`_lazy_init`, `_get_device_index`), `torch/backends/mps`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.runtime import cuda_names
from mpslint.model import Applicability, Confidence, Finding, Fix, Label, Severity
from mpslint.patterns.behind_refusal import is_replaceable
from mpslint.patterns.counts import count_at_least_one, count_level
from mpslint.patterns.guard import CUDA, MPS, guard_expression, guard_statement
from mpslint.patterns.loading import location_of_number, portable_map_location
from mpslint.patterns.only_shown import only_shown
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.gpus.no_gpus import (
    COUNT,
    DIVISION,
    INFINITE,
    NOBODY_SPAWNED,
    Harm,
    harm_of_none,
    is_done_by_all,
    is_of_processes,
    known_harms,
    products_of,
)
from mpslint.semantics.gpus.numbered_gpus import is_of_given_number
from mpslint.semantics.packages.driver_tools import asked_of_driver
from mpslint.semantics.packages.runtime_calls import is_for_gpu_member
from mpslint.semantics.purpose.tried_calls import learned_of
from mpslint.semantics.uses.unused import is_program
from mpslint.semantics.worlds.choices import written
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.machines import MAC
from mpslint.semantics.worlds.refused import refusal_before
from mpslint.semantics.worlds.values import DEVICE, cases_of, places
from mpslint.sources.opening import is_notebook

_NAMES = [
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
    "current_device",
    "set_device",
    "device",
    "utilization",
    "temperature",
    "power_draw",
    "clock_rate",
    "memory_usage",
    "get_rng_state",
    "initial_seed",
    "ipc_collect",
    "init",
    "cudart",
    "can_device_access_peer",
    "set_sync_debug_mode",
    "get_sync_debug_mode",
    "profiler.start",
    "profiler.stop",
]
_DIVISIONS = (DIVISION, INFINITE)
_STAYING = "CUDA devices that no fix selects anew"
_MOST_PLACES = 8
"""So many places where a count does harm are named beside it."""
_HOLDERS = frozenset({"self", "cls", "args", "cfg", "config", "opt", "hparams", "torch"})
_UNANSWERED = ("current_device", "get_device_properties", "get_device_capability", "mem_get_info")
_RECORDING = ("profiler.start", "profiler.stop")
"""What is asked for by whoever wants to see a trace: without CUDA there would be none, silently."""
_STATEMENTS = ("set_device", "ipc_collect", "init", "set_sync_debug_mode", "start", "stop")


@rule(
    "MPS206",
    "cuda-device-query",
    severity=Severity.BREAKS,
    triggers=(b"cuda", b"nvidia-smi", b"GPUtil"),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    partly=True,
    unfixed="MPS has no answer to this, and what the answer is for was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for event in context.worlds.raising([f"torch.cuda.{name}" for name in _NAMES]):
        call, name = event.call, event.name.removeprefix("torch.cuda.")
        if call.args and (_of_a_tensor(call.args[0]) or is_of_given_number(context, call)):
            continue
        if name == "device" and not _entered(context, call):
            continue
        if not event.on_mac and _is_of_refusing_object(context, event):
            continue
        if is_for_gpu_member(context, call):
            continue
        if name.startswith("profiler.") and context.index.enclosing(call, ast.If) is not None:
            continue  # Who asks for NVIDIA's profiler has it, and nothing stands for it elsewhere.
        applicability, fix = _remedy(context, call, name)
        if fix is not None and _tells_a_caller(context, call):
            applicability, fix = None, None
        yield context.finding(
            rule,
            call.func,
            f"torch.cuda.{name}() raises {cuda_names()[name].detail} where there is no CUDA",
            labels=context.refused(event),
            by_request=name == "current_device" and _is_for_others(context, call),
            applicability=applicability,
            fix=fix,
        )
    yield from _counted(context, rule)
    for asked in asked_of_driver(context):
        yield context.finding(rule, asked.node, asked.text, by_request=asked.by_request)


def _counted(context: Context, rule: Rule) -> Iterator[Finding]:
    """Counts of CUDA's devices whose being 0 does harm."""
    known = known_harms(context)
    for event in context.worlds.raising([COUNT]):
        harms = known.pop(event.call, None) or _foreseen(context, event)
        if not harms:
            continue
        yield context.finding(
            rule,
            event.call.func,
            f"{COUNT}() is 0 where there is no CUDA: {harms[0].text}",
            severity=_severity(harms),
            confidence=_confidence(context, event.call, harms),
            labels=(*_elsewhere(context, event.call, harms), *context.refused(event)),
            by_request=harms[0].text == NOBODY_SPAWNED,
            applicability=partial(count_level, context, event.call),
            fix=partial(count_at_least_one, context, event.call),
        )
    for answer, harms in known.items():
        if not isinstance(answer, ast.Call):
            yield context.finding(
                rule,
                answer,
                f"the number of CUDA's devices is 0 where there is no CUDA: {harms[0].text}",
                severity=_severity(harms),
                confidence=_confidence(context, answer, harms),
                labels=_elsewhere(context, answer, harms),
            )


def _foreseen(context: Context, event: Event) -> list[Harm]:
    """The harm that stands in the text, where no run of the file is known to come to it."""
    harm = harm_of_none(context, event.call)
    if harm is None:
        return []
    if event.on_mac and not context.worlds.comes_to(harm.at) & MAC:
        return []  # `256 // n if n else 256`
    if harm.text == NOBODY_SPAWNED and not event.on_mac:
        return []  # Who refuses as well as starts a process for each GPU is about GPUs.
    return [harm]


def _severity(harms: list[Harm]) -> Severity:
    """A number that is infinite ends nothing."""
    infinite = all(harm.text == INFINITE for harm in harms)
    return Severity.IGNORES if infinite else Severity.BREAKS


def _confidence(context: Context, count: ast.expr, harms: list[Harm]) -> Confidence:
    """Certain, but for what only shares something out among processes: their numbers, in the
    function that counts, or what it has handed on, where that is done under a test."""
    own = context.index.function(count)

    def is_of_several(harm: Harm) -> bool:
        if context.index.function(harm.at) is own:
            return is_of_processes(harm, context.index.parents)
        return harm.text in _DIVISIONS and not is_done_by_all(context, harm.at)

    return Confidence.INFERRED if all(map(is_of_several, harms)) else Confidence.CERTAIN


def _is_for_others(context: Context, call: ast.Call) -> bool:
    """Whether a question stands in a function of a module that others import: those who have CUDA
    may be the only ones to call it."""
    in_function = context.index.function(call) is not None
    return in_function and not is_program(context) and not is_notebook(context.source.path)


def _elsewhere(context: Context, count: ast.expr, harms: list[Harm]) -> tuple[Label, ...]:
    """Where the 0 does harm, if that is on another line: each of these is in a Mac's way."""
    places = [harm.at for harm in harms]
    if any(harm.text not in _DIVISIONS for harm in harms):
        places += products_of(context, count)
    labels = {
        label.row: label
        for place in places
        if (label := context.label(place, "here it is 0 as well"))
    }
    labels.pop(context.source.position(context.source.span(count)[0])[0], None)
    return tuple(labels[row] for row in sorted(labels)[:_MOST_PLACES])


def _entered(context: Context, call: ast.Call) -> bool:
    """`with torch.cuda.device(i):`; -1 and None do nothing."""
    if not isinstance(context.index.parents[call], ast.withitem) or not call.args:
        return False
    argument = call.args[0]
    if isinstance(argument, ast.Constant) and argument.value is None:
        return False
    return not (isinstance(argument, ast.UnaryOp) and isinstance(argument.op, ast.USub))


def _is_of_refusing_object(context: Context, event: Event) -> bool:
    """A question that a method asks, whose object is only made where CUDA is: it is about that."""
    refusal = refusal_before(context.worlds, event)
    if refusal is None or isinstance(context.index.parents[event.call], ast.Expr):
        return False
    made = context.index.function(refusal)
    asks = context.index.function(event.call)
    return made is not None and made.name == "__init__" and asks is not made


def _of_a_tensor(argument: ast.expr) -> bool:
    """`x.device`: whoever asks this of a tensor's own device has checked that it is CUDA."""
    for node in ast.walk(argument):
        if isinstance(node, ast.Attribute) and node.attr == "device":
            return not (isinstance(node.value, ast.Name) and node.value.id in _HOLDERS)
    return False


def _remedy(
    context: Context, call: ast.Call, name: str
) -> tuple[Applicability | None, partial[Fix | None] | None]:
    if isinstance(context.index.parents[call], ast.Expr):
        if name.rsplit(".", 1)[-1] in _STATEMENTS and not _error_moves_on(context, call):
            message = "Call it only where CUDA is there"
            level = Applicability.UNSAFE if name in _RECORDING else Applicability.SAFE
            return level, partial(guard_statement, context, call, CUDA, message, level)
    elif name == "current_device":
        given = location_of_number(context, call)
        if given is not None:
            return Applicability.SAFE, partial(portable_map_location, context, given)
    elif (shown := only_shown(context, call)) is not None and not _error_moves_on(context, call):
        message = "Say it only where CUDA is there"
        return Applicability.SAFE, partial(guard_statement, context, shown, CUDA, message)
    elif name == "get_device_name" and context.settings.oldest_torch >= (2, 9):
        return Applicability.UNSAFE, partial(
            guard_expression,
            context,
            call,
            CUDA,
            "{torch}.backends.mps.get_name() if " + MPS + ' else "cpu"',
            "Name the device that is there",
            Applicability.UNSAFE,
        )
    return None, None


def _tells_a_caller(context: Context, call: ast.Call) -> bool:
    """Whether somebody in the project tries what asks, and learns by its error that there is no
    CUDA."""
    learned = learned_of(context, call)
    around = context.elsewhere
    return learned.by_error or (
        around is not None
        and around.learns(context.source.path, learned.names, by_import=learned.by_import)
    )


def _error_moves_on(context: Context, call: ast.Call) -> bool:
    """Whether a question that raises, or a device of CUDA, follows in the same function, and no fix
    answers it: a test around this one would only move the error."""
    function, start = context.index.function(call), context.source.span(call)[0]

    def follows(node: ast.AST) -> bool:
        return context.index.function(node) is function and context.source.span(node)[0] > start

    return any(
        follows(other) and context.worlds.breaks(other) and only_shown(context, other) is None
        for other in context.calls_of(*(f"torch.cuda.{name}" for name in _UNANSWERED))
    ) or any(follows(node) for node in _devices_that_stay(context))


def _devices_that_stay(context: Context) -> list[ast.expr]:
    """CUDA devices that a Mac comes to, and that no fix selects anew."""
    known = context.memo.get(_STAYING)
    if known is None:
        chosen = {chain.cuda_arm for chain in context.chains.without_mps}
        mended = {
            item.node for item in written(context.worlds) if is_replaceable(context, item.node)
        }
        known = context.memo[_STAYING] = [
            node
            for event in context.worlds.events(Kind.PLACED, Kind.KEPT)
            if event.on_mac and not event.caught
            for _, atom in cases_of(event.value, event.worlds & MAC)
            if atom.kind == DEVICE and atom.v == "cuda"
            for node in places(atom)
            if node not in mended and chosen.isdisjoint((node, *context.index.ancestors(node)))
        ]
    assert isinstance(known, list)
    return known
