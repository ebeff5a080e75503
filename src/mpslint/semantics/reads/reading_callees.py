"""Functions of other files that read numbers of the tensors that they are given.

`acc += get_accuracy(scores, y)` waits at each step of its loop where the function ends in
`float(corr) / n`, and nothing in the file of the function says that it runs so often. So does
`meters.update(**losses)`, where `meters` is made of a class of another file, whose `update` reads
what it is given by name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.reads.gathering import gathered
from mpslint.semantics.steps.converting_methods import converting_methods
from mpslint.semantics.steps.given_in_steps import origins
from mpslint.semantics.steps.handed_back import comes_from_device_work, is_table
from mpslint.semantics.steps.handed_tensors import holds_tensors
from mpslint.semantics.steps.step_runs import first_of_runs
from mpslint.semantics.steps.steps import Step, is_device_tensor, training, trains_on_device
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import positional_names
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_READS = ("item", "float", "int")
_WORDS = (b".item()", b"float(", b"int(")
_KNOWN = "reading-callees"


class Reading(NamedTuple):
    """A function of another file that reads numbers of what it is given."""

    function: FunctionNode
    read: frozenset[str]
    """The parameters of which it reads one."""
    bare: frozenset[str]
    """Those that it only counts as numbers (`self.sum += float(value)`), which may be ones."""
    path: str
    """The file that it stands in."""
    klass: str
    """The class that makes numbers of tensors by it (`converting_methods`); empty: none does."""
    of_torch: bool
    """Whether that file speaks of torch: in others nobody looks for findings."""


class ReadingCall(NamedTuple):
    step: Step
    function: FunctionNode
    """What is called, in another file."""


def calls_that_read(context: Context, told: set[int]) -> Iterator[list[ReadingCall]]:
    """Runs of such calls at each step of training, or in evaluations that only gather what comes
    back, but for those in lines that are told already."""
    if not (trains_on_device(context) or context.placement.program_uses_devices):
        return
    found: dict[ast.expr, FunctionNode] = {}
    trained: list[Step] = []
    evaluated: list[Step] = []
    for call in context.index.of(ast.Call):
        if call.lineno in told or context.loops.innermost(call) is None:
            continue
        if not call.args and not call.keywords:
            continue
        found_there = reads_what_it_is_given(context, call)
        if found_there is None or only_tests_run(context, call):
            continue
        function = found_there.function
        turns = training(context, call)
        if turns is not None:
            if not _is_told_there(context, found_there):
                trained.append(Step(call, call, turns))
        elif (loop := gathered(context, call, call)) is not None:
            evaluated.append(Step(call, call, loop))
        found[call] = function
    for steps in (trained, evaluated):
        for run in first_of_runs(context, steps):
            yield [ReadingCall(step, found[step.node]) for step in run]


def _is_told_there(context: Context, found: Reading) -> bool:
    """Whether the file of the function knows that steps of training call it, and tells of the read
    itself."""
    if context.elsewhere is None or not found.of_torch:
        return False
    name = f"{found.klass}.{found.function.name}" if found.klass else found.function.name
    return bool(context.elsewhere.given_in_steps(found.path, name))


def reads_what_it_is_given(context: Context, call: ast.Call) -> Reading | None:
    """The function of another file of the project that `call` runs, where it reads a number of what
    is a tensor of a device here."""
    if not isinstance(call.func, ast.Name | ast.Attribute):
        return None
    names = list(_qualified(context, call.func)) or list(methods(context, call.func))
    # Most functions read nothing, which is known by the name; where an argument lies is not.
    found = next((read for name in names if (read := _reading(context, name)) is not None), None)
    given = [*call.args, *(item.value for item in call.keywords)]
    if found is None or not any(is_on_device(context, item) for item in given):
        return None
    if any(is_on_device(context, item) for item in _for(call, found, found.read)):
        return found
    counted = _for(call, found, found.bare)
    return found if any(is_device_tensor(context, item) for item in counted) else None


def _reading(context: Context, name: str) -> Reading | None:
    known: dict[str, Reading | None]
    known = context.memo.setdefault(_KNOWN, {})  # type: ignore[assignment]
    if name not in known:
        known[name] = _summary(context, name)
    return known[name]


def _for(call: ast.Call, found: Reading, read: frozenset[str]) -> Iterator[ast.expr]:
    """What a call gives to the parameters of which a number is read."""
    arguments = found.function.args
    own = positional_names(arguments)
    for name, item in zip(own[own[:1] == ["self"] :], call.args, strict=False):
        if isinstance(item, ast.Starred):
            return
        if name in read:
            yield item
    others = arguments.kwarg is not None and arguments.kwarg.arg in read
    for keyword in call.keywords:
        named = keyword.arg in own
        if keyword.arg in read if named else others:
            yield keyword.value


def methods(context: Context, function: ast.expr) -> Iterator[str]:
    """`package.Meters.update` of `meters.update`, where `meters = package.Meters(...)`, or of
    `self.meters.update`, where the class stores that once; `package.Meters.__call__` of such
    `meters` themselves."""
    name = "__call__"
    made = _made(context, function)
    if made is None and isinstance(function, ast.Attribute):
        made, name = _made(context, function.value), function.attr
    if made is not None:
        for klass in _qualified(context, made):
            if klass.rpartition(".")[2][:1].isupper():
                yield f"{klass}.{name}"


def _made(context: Context, receiver: ast.expr) -> ast.Name | ast.Attribute | None:
    """What makes an object that has a name, or that a class keeps on `self`, as its file says."""
    made: ast.expr | None = None
    if isinstance(receiver, ast.Name):
        bindings = context.flow.reaching(receiver)
        if len(bindings) == 1 and bindings[0].kind == "assign":
            made = bindings[0].value
    elif isinstance(receiver, ast.Attribute) and isinstance(receiver.value, ast.Name):
        klass = context.index.enclosing(receiver, ast.ClassDef)
        stored = [
            context.index.parents[target]
            for target in context.index.attributes.get(receiver.attr, ())
            if isinstance(target.ctx, ast.Store)
            and isinstance(target.value, ast.Name)
            and target.value.id == receiver.value.id
            and context.index.enclosing(target, ast.ClassDef) is klass
        ]
        if klass is not None and len(stored) == 1 and isinstance(stored[0], ast.Assign):
            made = stored[0].value
    maker = made.func if isinstance(made, ast.Call) else None
    return maker if isinstance(maker, ast.Name | ast.Attribute) else None


def _qualified(context: Context, function: ast.Name | ast.Attribute) -> Iterator[str]:
    """The names that a function may have in the project: that of its import, or that of all that a
    module defines."""
    name = context.resolve(function)
    if name is not None:
        if "." in name and not name.startswith(("torch.", "numpy.")):
            yield name
    elif isinstance(function, ast.Name) and context.names.owner(function.id, function) is None:
        for everything in context.names.module.bindings.get("*", ()):
            if everything.qualified is not None and not everything.qualified.startswith("torch."):
                yield everything.qualified.removesuffix("*") + function.id


def is_on_device(context: Context, node: ast.expr) -> bool:
    """Whether what is given lies on a device, as far as its file knows."""
    if isinstance(node, ast.Constant) or has_host_copy(node):
        return False
    if is_device_tensor(context, node) or holds_tensors(context, node):
        return True
    value = context.values.of(node)
    if value.kind is Kind.TENSOR and context.placement.on_accelerator(node):
        return True
    return (
        value.kind in (Kind.UNKNOWN, Kind.SEQUENCE)
        and isinstance(node, ast.Name)
        and (comes_from_device_work(context, node) or is_table(context, node))
    )


def _summary(context: Context, name: str) -> Reading | None:
    """The function that defines `name`, and the parameters of which each of its calls reads a
    number."""
    holder, _, method = name.rpartition(".")
    of_class = holder.rpartition(".")[2][:1].isupper()
    found = context.definition_elsewhere(holder if of_class else name, _WORDS)
    if found is None or len(found.bindings) != 1:
        return None
    function: ast.AST | None = found.bindings[0].node
    if of_class and isinstance(function, ast.ClassDef):
        function = next(
            (x for x in function.body if isinstance(x, ast.FunctionDef) and x.name == method), None
        )
    elif not isinstance(found.context.index.parents[function], ast.Module):  # type: ignore[index]
        return None
    if not isinstance(function, ast.FunctionDef):
        return None
    read = frozenset(_parameters_read(found.context, function))
    bare = frozenset(_parameters_counted(found.context, function)) - read
    if not read and not bare:
        return None
    source = found.context.source
    klass = holder.rpartition(".")[2] if function in converting_methods(found.context) else ""
    return Reading(function, read, bare, source.path, klass, b"torch" in source.data)


def _parameters_counted(context: Context, function: FunctionNode) -> Iterator[str]:
    """Parameters of which each call makes a number as they are: `float(value)`."""
    for call in context.index.calls.get("float", ()):
        if context.index.function(call) is not function:
            continue
        number = _read(call, "float")
        if not isinstance(number, ast.Name) or not _is_read_each_time(context, call, function):
            continue
        bindings = context.flow.reaching(number)
        if bindings and all(binding.kind == "parameter" for binding in bindings):
            yield number.id


def _parameters_read(context: Context, function: FunctionNode) -> Iterator[str]:
    own = set(positional_names(function.args))
    own |= {function.args.kwarg.arg} if function.args.kwarg is not None else set()
    for word in _READS:
        for call in context.index.calls.get(word, ()):
            if context.index.function(call) is not function:
                continue
            tensor = _read(call, word)
            if tensor is None or has_host_copy(tensor):
                continue
            value = context.values.of(tensor)
            if word != "item" and (value.kind is not Kind.TENSOR or value.on_cpu):
                continue
            if _is_read_each_time(context, call, function):
                yield from own & set(origins(context, tensor))


def _is_read_each_time(context: Context, read: ast.Call, function: FunctionNode) -> bool:
    """Whether each call of a function comes to a read: what stands below a flag (`if self.loud:`)
    runs for those who set it, which its file does not say."""
    child: ast.AST = read
    for parent in context.index.ancestors(read):
        if parent is function:
            break
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            test = parent.test
            asked = test.operand if isinstance(test, ast.UnaryOp) else test
            if isinstance(asked, ast.Name | ast.Attribute):
                return False
        child = parent
    return context.loops.every_step(read, function)


def _read(call: ast.Call, word: str) -> ast.expr | None:
    if word == "item":
        return call.func.value if isinstance(call.func, ast.Attribute) else None
    return call.args[0] if isinstance(call.func, ast.Name) and len(call.args) == 1 else None
