"""`torch.load` puts tensors back where they were saved.

## What it does
Flags `torch.load`, `torch.jit.load` and `load_state_dict_from_url` without `map_location`, or with
a CUDA device as one.

## Why is this bad?
A checkpoint that was saved on CUDA raises `RuntimeError: Attempting to deserialize object on a
CUDA device` on a Mac.

## Example
```python
model.load_state_dict(torch.load(path))
```
Use instead:
```python
model.load_state_dict(torch.load(path, map_location="cpu"))
```

## What is not flagged
`map_location` with anything but CUDA, or with CUDA by a switch that is off unless somebody sets it
(`"cuda" if args.cuda else "cpu"`); code behind a test for CUDA, about CUDA or in a `try`. Data:
only what ends in `load_state_dict`, or is called a model or a checkpoint at the call, or is handed
on by a helper, may hold CUDA tensors; features, labels, statistics and vocabularies rarely do. What
this machine wrote itself: in tests, in buffers, by `torch.save` (or as the copy of a file) to the
same place earlier in the same function, however the place is spelled (`path.as_posix()`), by
somebody's `save` that is told the place, or by a helper of the project that this has called
(`torch.jit.save` as well, and Lightning's `best_model_path` once `fit` has run), at an earlier turn
of a loop where an error is repaired, by a function that is called before each call of the one that
reads (`train()`, then `test()`), or that saves each turn's own file by the same function
(`path_of(epoch)`), or in a cell of a notebook. What this file, or one beside it, saves after
`.cpu()`, or in functions that all callers tell to work on the CPU, or makes of numbers and NumPy
arrays alone, as what any program of the project saves of its options under the same file name; what
is seen to go to random generators (`set_rng_state`), to a learning rate's schedule or a gradient
scaler, or to `torch.from_numpy`; what all goes to NumPy as it lies (`.numpy()` without `.cpu()`),
which raises for CUDA; checkpoints of FSDP or of one rank; what download.pytorch.org offers, or is
named as it is there (`vgg16_bn-6c64b313.pth`); functions of a script that nothing in it calls. What
stands in an arm for CUDA (of a test by which `.cuda()` is called) where the other arm loads the
same file to the CPU.

## Confidence
Where no code of the same file, nor of a program beside it, in the folder above, in a folder below
that it imports from, or (for modules, not for notebooks) anywhere else in its project, saves a
model as it lies on its device (itself, by a helper that saves what it is given, or the state of it,
or the model itself as an object, or by Lightning's `ModelCheckpoint` what is read by its key
`state_dict`), and no program of the project keeps states
under the keys by which this is read (`checkpoint["network"]`, or two keys of which each is
common), the finding is inferred:
the file may come from a machine without CUDA, as most published weights do, and so may whatever is
fetched from an address; not in a function that takes a `map_location` and does not hand it on.
These findings are opt-in, since more than one in ten of them was wrong on code that nobody had
looked at: `extend-select = ["MPS413"]` (or `--extend-select MPS413`) turns them on. The certain
ones are on.

## Fix safety
Safe: `"cpu"` where the result only goes to the `load_state_dict` of a module or an optimizer, which
copies it to the device of its own (by other keys, other names and functions of other files as well;
with `assign=True` where the module is moved behind that), and what else is taken out of it is a
number or a setting by its key (`checkpoint["epoch"]`), by what else its attribute is given or by
what it is compared with, the state of a random generator, or printed; so it is in place of one of
several GPUs, or of one whose number is worked out; and where nothing of the program knows of a
device. What an object keeps (`self.counts = checkpoint["counts"]`) goes where its class makes it
(`self.cfg.device`), a whole module to the device of its inputs, and what is used beside such a
`load_state_dict`, or beside a module of the file that is moved there, to the
device at hand. Else, and where it meets something else that is loaded without `map_location` and
stays where that was saved, `None` on CUDA (as before) and
elsewhere `"cpu"`; unsafe where an object keeps it that is told its device, or where MPS is known:
what a Mac has saved on MPS would then be on the CPU.

## References
- `torch/serialization.py` (`load`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.loading import add_map_location, location_level, portable_map_location
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.saved.checkpoint_keys import keys_read, say_whose
from mpslint.semantics.saved.checkpoint_writers import (
    saved_by_this_run,
    saved_from_cpu,
    saved_here,
    saves_models_as_they_are,
    source_of,
)
from mpslint.semantics.saved.checkpoints import (
    has_arm_for_the_cpu,
    is_of_torchvision,
    is_sharded,
    loads_checkpoint,
    storage_move,
)
from mpslint.semantics.saved.given_to_numpy import goes_to_numpy
from mpslint.semantics.saved.kept_numbers import holds_no_tensors
from mpslint.semantics.saved.lightning_checkpoints import has_them_kept, reads_one
from mpslint.semantics.syntax.expressions import argument, arguments_for, keyword
from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.uses.switch_defaults import is_default
from mpslint.semantics.uses.unused import never_runs
from mpslint.semantics.worlds.refused import refusal_before

_LOADERS = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}
_FROM_THE_NET = frozenset({"torch.hub.load_state_dict_from_url", "torch.utils.model_zoo.load_url"})
_PARTIAL = "functools.partial"
"""`partial(torch.load, map_location="cuda:0")`: whoever calls it loads to CUDA."""
_PUBLISHED = b"download.pytorch.org"
"""What lies there was saved from the CPU."""


@rule(
    "MPS413",
    "load-map-location",
    severity=Severity.BREAKS,
    triggers=(b"load",),
    names=tuple(name.rpartition(".")[2].encode() for name in _LOADERS),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    unfixed="where the checkpoint should go, or how this is put together, was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_LOADERS):
        if any(item.arg is None for item in call.keywords):
            continue
        given = _map_location(context, call)
        if given is not None:
            given = _cuda_device(context, given)
            if given is None:
                continue
        if _comes_from_here(context, call) or _reads_data(context, call):
            continue
        # A run of the file is asked last: it costs more than all the rest.
        if never_runs(context, call) or not _raises(context, call):
            continue
        if given is None:
            if not _may_come_from_cuda(context, call):
                continue
            yield context.finding(
                rule,
                call.func,
                "without map_location a checkpoint saved on CUDA raises RuntimeError on a Mac",
                confidence=_confidence(context, call),
                provided="a checkpoint was saved on CUDA",
                applicability=Applicability.SAFE,
                fix=partial(add_map_location, context, call),
            )
        else:
            yield _at_cuda(context, rule, given)
    for call in context.calls_of(_PARTIAL):
        given = keyword(call, "map_location")
        if given is None or not call.args or context.resolve(call.args[0]) not in _LOADERS:
            continue
        device = _cuda_device(context, given)
        if device is not None and not never_runs(context, call) and _raises(context, call):
            yield _at_cuda(context, rule, device)


def _at_cuda(context: Context, rule: Rule, given: ast.expr) -> Finding:
    return context.finding(
        rule,
        given,
        "map_location is CUDA: raises where there is none",
        applicability=location_level(context, given),
        fix=partial(portable_map_location, context, given),
    )


def _raises(context: Context, call: ast.Call) -> bool:
    """A Mac comes here, or would if the program did not refuse to run without CUDA."""
    return context.worlds.breaks(call) or any(
        not event.caught and refusal_before(context.worlds, event)
        for event in context.worlds.loads.get(call, ())
    )


def _confidence(context: Context, call: ast.Call) -> Confidence:
    """Certain where this file, or a program beside it, also writes checkpoints, from the device
    that it works on: a machine with CUDA leaves ones that only load there. Where others write them
    is not known."""
    function = context.index.function(call)
    if function is not None and any(
        item.arg == "map_location" for item in explicit_parameters(function.args)
    ):
        return Confidence.CERTAIN  # Callers say where it goes, and are not heard.
    if context.resolve(call.func) in _FROM_THE_NET:
        return Confidence.INFERRED  # Whatever this program saves, it is not what is fetched.
    certain = saves_models_as_they_are(context) or (
        context.resolve(call.func) == "torch.load"
        and context.elsewhere is not None
        and not saved_here(context, call)
        and context.elsewhere.saves_models(context)
    )
    certain = certain or _is_lightnings(context, call) or _fits(context, call)
    return Confidence.CERTAIN if certain else Confidence.INFERRED


def _fits(context: Context, call: ast.Call) -> bool:
    """Whether a program of the project keeps its models under the keys by which this is read."""
    if context.elsewhere is None or saved_here(context, call):
        return False
    keys = keys_read(context, call)
    return say_whose(keys) and context.elsewhere.saves_under(context, keys)


def _is_lightnings(context: Context, call: ast.Call) -> bool:
    """Whether this reads a checkpoint that Lightning has kept for a program beside, or for this."""
    return reads_one(context, call) and (
        has_them_kept(context)
        or (context.elsewhere is not None and context.elsewhere.has_checkpoints_kept(context))
    )


def _may_come_from_cuda(context: Context, call: ast.Call) -> bool:
    """Whether the file seems to be a checkpoint that some machine with CUDA may have written."""
    name = context.resolve(call.func)
    if name == "torch.jit.load":
        return not saved_by_this_run(context, call)
    if name != "torch.load":
        return _PUBLISHED not in context.source.data
    return loads_checkpoint(context, call) and not (
        is_sharded(context, call)
        or is_of_torchvision(context, call)
        or has_arm_for_the_cpu(context, call)
        or holds_no_tensors(context, call)
        or goes_to_numpy(context, call)
        or saved_by_this_run(context, call)
        or saved_from_cpu(context, call)
    )


def _comes_from_here(context: Context, call: ast.Call) -> bool:
    """Whether the file was written by this machine: in a test, from a buffer, or by `torch.save` to
    the same place in code that never speaks of devices."""
    if is_test_file(context):
        return True
    source = source_of(call)
    if source is None:
        return False
    place = ast.unparse(source)
    if "buffer" in place.lower() or "BytesIO" in place or _is_filled_here(context, source):
        return True
    if any(
        ast.unparse(seek.func) == f"{place}.seek" for seek in context.index.calls.get("seek", ())
    ):
        return True
    if any(word in context.source.data for word in (b"cuda", b"device", b"accelerat")):
        return False
    return any(
        len(saved.args) > 1 and ast.unparse(saved.args[1]) == place
        for saved in context.calls_of("torch.save")
    )


def _is_filled_here(context: Context, source: ast.expr) -> bool:
    """A name of an `io.BytesIO` that begins empty, or with what a `torch.save` of the file has
    written (`buffer.getvalue()`): with anything else it may be what was downloaded."""
    given = context.flow.reaching(source) if isinstance(source, ast.Name) else ()
    written = {
        ast.unparse(target)
        for saved in context.calls_of("torch.save")
        for target in arguments_for(saved, 1, "f")
    }
    return bool(given) and all(
        isinstance(made := item.value, ast.Call)
        and context.resolve(made.func) == "io.BytesIO"
        and not made.keywords
        and all(_root(held) in written for held in made.args)
        for item in given
    )


def _root(node: ast.expr) -> str:
    """`buffer` of `buffer.getvalue()`, `buffer.read()` and `buffer.getbuffer()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("getvalue", "getbuffer", "read"):
            return ast.unparse(node.func.value)
    return ""


def _reads_data(context: Context, call: ast.Call) -> bool:
    """In a data set: what it reads was made on the CPU, for workers that have no GPU."""
    klass = context.index.enclosing(call, ast.ClassDef)
    if klass is None:
        return False
    bases = [context.values.last_name(base) or "" for base in klass.bases]
    return any(word.endswith(("Dataset", "DataModule", "Sampler")) for word in [*bases, klass.name])


def _map_location(context: Context, call: ast.Call) -> ast.expr | None:
    return argument(call, _LOADERS[context.resolve(call.func) or ""], "map_location")


def _cuda_device(context: Context, given: ast.expr) -> ast.expr | None:
    """The CUDA device that is given, also by a switch which is not off where nobody says anything:
    `"cuda:0" if args.gpu != -1 else "cpu"`."""
    if not isinstance(given, ast.IfExp):
        return given if _is_cuda(context, given) else None
    arms = (given.body, True), (given.orelse, False)
    for arm, outcome in arms:
        found = _cuda_device(context, arm)
        if found is not None and not is_default(context, given.test, not outcome):
            return found
    return None


def _is_cuda(context: Context, node: ast.expr) -> bool:
    """A CUDA device that is written out right here."""
    if storage_move(node) is not None:
        return True
    return any(
        literal.backend == "cuda"
        and context.index.within(literal.node, node)
        and not isinstance(node, ast.Lambda | ast.Dict)
        and context.worlds.breaks(literal.node)
        for literal in context.devices.literals
    )
