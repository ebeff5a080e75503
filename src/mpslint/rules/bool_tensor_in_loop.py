"""A tensor that decides an `if` at every step of a training loop is read back each time.

## What it does
Flags `if`, `while`, `assert`, `and`, `or`, `not`, conditional expressions and `bool()` whose truth
is that of a tensor on a device, at every step of a loop that trains: comparisons of tensors,
`.any()`, `.all()`, `torch.isnan(loss)`, `torch.allclose(...)`. In the forward passes of modules, in
what they call as well: assertions of this kind, also of parameters that torch's functions take
beside them, what raises an error and checks that all numbers are finite. In loops that go through
batches and train nothing: assertions of what is on the device, and checks of it that end all.

## Why is this bad?
Python must know the value to go on, so it waits for the device.

## Example
```python
if torch.isnan(loss):
    break
```
Use instead: test every so many steps, or keep the decision on the device (`torch.where`,
`torch.nan_to_num`, the check of `GradScaler`).

## What is not flagged
`x is None`, `isinstance`, `len(x)`, `x.shape`, `x.numel()`; what runs under a test of the step, the
rank or a verbosity switch, or of one for debugging that is made of `__debug__`; in evaluation and
generation loops what ends nothing; assertions of tests and in their files; tensors known to be on
the CPU; checks in a function of a forward pass that waits for a number or a size to go on with
anyway (`x[mask]`, `lens.max().item()`); what the function moves further down (`labels =
labels.to(device)`), which came to it on the CPU; what `isinstance(x, torch.Tensor)` has found to be
none; in functions that a step calls, in this file or from another, but for what ends all, and of
losses of which only `backward()` is seen (there tests are mostly for NaN, or of a line search, and
cannot be avoided).

By default: checks that all numbers are finite, with or without `.any()` and `.all()`, and
`torch.allclose`, where they end all or tell of it (`if torch.isnan(loss): break`, and what keeps
the state in a file before it exits), and assertions. Other tests, such as `if loss < best` and `if
torch.isfinite(loss): optimizer.step()`, are opt-in (`--select MPS306`), since most of them decide
what the algorithm does next, which somebody has to wait for.

## References
- `torch/csrc/autograd/python_variable_indexing.cpp`, `Tensor.__bool__`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.machines import HOST_METHODS
from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.operands.tensor_uses import is_of_tensors
from mpslint.semantics.purpose.debug_switches import is_debugging
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.reads.batch_outputs import goes_through_batches
from mpslint.semantics.reads.deciding_arms import decides_what_comes
from mpslint.semantics.reads.waits_of_the_pass import waits_besides
from mpslint.semantics.steps.step_runs import first_of_runs
from mpslint.semantics.steps.steps import (
    TRAINING_WORDS,
    Step,
    also_waiting,
    at_each,
    is_device_tensor,
    that_trains,
    training,
    training_on_device,
    trains_on_device,
)
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.giving_up import gives_up

_EQUAL = ("allclose", "equal")
_READING_FUNCTIONS = (
    *(f"torch.{name}" for name in _EQUAL),
    *(f"math.{name}" for name in ("isnan", "isinf", "isfinite")),
)
_FINITE = ("isnan", "isinf", "isfinite", "isposinf", "isneginf")
_OF_OBJECTS = frozenset({"len", "isinstance", "hasattr", "callable", "type"})
_OF_SIZES = (HOST_METHODS - {"item", "tolist"}) | _OF_OBJECTS
"""What answers without a look at the numbers."""
_FIELDS = ("shape", "ndim", "dtype", "device", "requires_grad", "is_cuda")
_OF_IDENTITY = (ast.Is, ast.IsNot)
_JOINING = (ast.BoolOp, ast.UnaryOp, ast.GeneratorExp, ast.ListComp)
_REDUCING = ("any", "all", "sum", "item", "max", "min")


@rule(
    "MPS306",
    "bool-tensor-in-loop",
    severity=Severity.SLOW,
    triggers=(b"if ", b"assert", b"while"),
    also=((*TRAINING_WORDS[0], b"def "),),
    least=Confidence.CERTAIN,
    certain=((b"assert", b"raise", *(name.encode() for name in (*_EQUAL, *_FINITE))),),
    unfixed="how often to ask, or what should decide on the device, is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not rule.tells_inferred(context) and not any(
        _needless(context, operand) is Confidence.CERTAIN
        for _, test in _tests(context)
        for operand in _operands(test)
    ):
        return
    yield from _in_forward_passes(context, rule)
    yield from _in_evaluations(context, rule)
    if not trains_on_device(context):
        return
    for steps in first_of_runs(context, list(_decisions(context))):
        node, _, turns = steps[0]
        yield context.finding(
            rule,
            node,
            f"Python waits for this value {at_each(context, turns)}",
            confidence=_needless(context, node),
            labels=(that_trains(context, turns), *also_waiting(context, steps)),
        )


def _in_forward_passes(context: Context, rule: Rule) -> Iterator[Finding]:
    """Checks of tensors in forward passes, which decide nothing of what is computed."""
    found = []
    for node, test in _tests(context):
        around = context.index.function(test)
        if around is None or isinstance(node, ast.IfExp) or not context.passes.may_run(around):
            continue
        for operand in _operands(test):
            if _needless(context, operand) is not Confidence.CERTAIN or _draws_again(node):
                continue
            if not isinstance(operand, ast.Compare | ast.Call | ast.BinOp) or _is_of_sizes(operand):
                continue
            if _asks_torch(context, operand):
                continue
            if context.values.of(operand).on_cpu:
                continue
            if not (
                context.passes.is_tensor(operand, around)
                or is_of_tensors(context, operand, around)
                or context.passes.is_compared(operand, around)
            ):
                continue
            # Who runs it may be told by other files, and is asked last.
            if training(context, operand, calls=0) is not None or only_tests_run(context, test):
                continue
            if b"__debug__" in context.source.data and is_debugging(context, node):
                continue
            function = context.passes.around(operand)
            if function is not None and not waits_besides(context, function):
                found.append(Step(operand, operand, function))
    for steps in first_of_runs(context, found):
        node, _, turns = steps[0]
        yield context.finding(
            rule,
            node,
            "Python waits for this value in every forward pass",
            confidence=Confidence.CERTAIN,
            labels=(
                context.label(turns, "this runs in every forward pass"),
                *also_waiting(context, steps),
            ),
        )


def _in_evaluations(context: Context, rule: Rule) -> Iterator[Finding]:
    """Checks of the batches that a loop brings to a device itself, and of what a model makes of
    them: what is wrong with a batch can be seen before it is moved, or behind the loop."""
    found = []
    for node, test in _tests(context):
        loop = context.loops.innermost(node)
        if loop is None or not _ends_all(node) or _in_a_test(context, node):
            continue
        if context.loops.kind(loop) not in (LoopKind.EVAL, LoopKind.DEVICE):
            continue
        if not goes_through_batches(context, loop) or not context.loops.every_step(test, loop):
            continue
        found += [
            Step(operand, operand, loop)
            for operand in _operands(test)
            if _needless(context, operand) is Confidence.CERTAIN and _is_read(context, operand)
        ]
    for steps in first_of_runs(context, found):
        node, _, turns = steps[0]
        yield context.finding(
            rule,
            node,
            f"Python waits for this value at each turn of the loop at {context.line(turns)}",
            confidence=Confidence.CERTAIN,
            labels=(
                context.label(turns, "this goes through batches"),
                *also_waiting(context, steps),
            ),
        )


def _asks_torch(context: Context, node: ast.expr) -> bool:
    """`torch.is_autocast_enabled()`: of how torch is set, not of a number."""
    name = context.resolve(node.func) if isinstance(node, ast.Call) else None
    return name is not None and name.startswith("torch.is_") and name != "torch.is_nonzero"


def _draws_again(node: ast.AST) -> bool:
    """`while True: x = draw(); if torch.isinf(x).any(): continue`: who draws until all is well has
    to know."""
    arms = [*node.body, *node.orelse] if isinstance(node, ast.If) else []
    return any(isinstance(item, ast.Continue | ast.Break) for item in arms)


def _is_of_sizes(node: ast.expr) -> bool:
    """`x.size(2) == width`, `len(x) > 1`: of numbers, whatever an annotation says of the other
    side; and `isinstance(x, Tensor)`, `x.is_complex()`, `x is not None`."""
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], _OF_IDENTITY):
        return True
    sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else [node]
    for side in sides:
        if isinstance(side, ast.Subscript):
            side = side.value
        if isinstance(side, ast.Call) and last_name(side.func) in _OF_SIZES:
            return True
        if isinstance(side, ast.Attribute) and side.attr in _FIELDS:
            return True
    return False


def _decisions(context: Context) -> Iterator[Step]:
    for node, test in _tests(context):
        if isinstance(node, ast.Assert) and _in_a_test(context, node):
            continue
        if b"__debug__" in context.source.data and is_debugging(context, node):
            continue
        for operand in _operands(test):
            if not _is_read(context, operand):
                continue  # It costs less to see that than to ask who trains.
            # A function that a step calls tests mostly for what it has to know, unless what it
            # finds ends all.
            watches = _ends_all(node) and _needless(context, operand) is Confidence.CERTAIN
            calls = {} if watches else {"calls": 0}
            turns = training_on_device(context, operand, **calls)
            if turns is not None:
                yield Step(operand, operand, turns)


def _ends_all(node: ast.AST) -> bool:
    """`assert valid.all()`, `if torch.isnan(x).any(): raise ValueError(...)` and `sys.exit(1)`"""
    return isinstance(node, ast.Assert) or (isinstance(node, ast.If) and gives_up(node.body))


def _raises(body: list[ast.stmt]) -> bool:
    """Whether an arm is there for an error alone: `if (x < 0).any(): raise ValueError(...)`"""
    return isinstance(body[-1], ast.Raise) and gives_up(body)


def _may_be_of_numbers(node: ast.AST) -> bool:
    """Whether a test may be of the numbers of a tensor: not `name not in known`, `mode == "train"`,
    `isinstance(x, list)`, `path.exists()`. Most tests in front of an error are such."""
    if isinstance(node, ast.Compare):
        if isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn):
            return False
        sides = (node.left, *node.comparators)
        texts = any(
            isinstance(item, ast.Constant) and isinstance(item.value, str) for item in sides
        )
        return not texts and not _is_of_sizes(node)
    if isinstance(node, ast.Call):
        return last_name(node.func) in (*_REDUCING, *_EQUAL, *_FINITE, "is_nonzero", "isclose")
    return isinstance(node, ast.BinOp)


def _needless(context: Context, node: ast.AST) -> Confidence:
    """Whether the value watches over the training and decides nothing of it, so that it could be
    asked for now and then, or on the device."""
    parent, child = context.index.parents[node], node
    while isinstance(parent, _JOINING) or _is_truth(parent):
        parent, child = context.index.parents[parent], parent
    if isinstance(parent, ast.Assert) and child is parent.test:
        return Confidence.CERTAIN
    if isinstance(parent, ast.If) and child is parent.test and _may_be_of_numbers(node):
        if _raises(parent.body):
            return Confidence.CERTAIN  # an assertion in other words
    if not _asks_for_numbers(context, node):
        return Confidence.INFERRED
    decides = isinstance(parent, ast.If | ast.IfExp) and decides_what_comes(context, parent)
    return Confidence.INFERRED if decides else Confidence.CERTAIN


def _asks_for_numbers(context: Context, node: ast.AST) -> bool:
    """`torch.isnan(loss).any()`, `torch.any(loss.isinf())`, `not torch.isfinite(loss).all()`"""
    if isinstance(node, ast.BinOp):  # `isnan(x) | isinf(x)`
        return _asks_for_numbers(context, node.left) and _asks_for_numbers(context, node.right)
    if isinstance(node, ast.UnaryOp):
        return _asks_for_numbers(context, node.operand)
    if not isinstance(node, ast.Call):
        return False
    if context.resolve(node.func) in _READING_FUNCTIONS:
        return True
    name = last_name(node.func)
    if name in _FINITE:
        return True
    if name not in _REDUCING:
        return False
    if node.args and context.resolve(node.func) is not None:
        return _asks_for_numbers(context, node.args[0])
    return isinstance(node.func, ast.Attribute) and _asks_for_numbers(context, node.func.value)


def _tests(context: Context) -> Iterator[tuple[ast.AST, ast.expr]]:
    for branch in context.index.of(ast.If):
        yield branch, branch.test
    for choice in context.index.of(ast.IfExp):
        yield choice, choice.test
    for assertion in context.index.of(ast.Assert):
        yield assertion, assertion.test


def _in_a_test(context: Context, node: ast.AST) -> bool:
    function = context.index.function(node)
    if function is not None and function.name.startswith("test"):
        return True
    return is_test_file(context)


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """What is asked for its truth in a test."""
    if isinstance(test, ast.BoolOp):
        for value in test.values:
            yield from _operands(value)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _operands(test.operand)
    elif _is_truth(test):
        for given in test.args:  # type: ignore[attr-defined]
            made = isinstance(given, ast.GeneratorExp | ast.ListComp)
            yield from _operands(given.elt) if made else [given]
    else:
        yield test


def _is_truth(node: ast.AST) -> bool:
    """`bool(x)`, and `any(torch.isnan(x).any() for x in ...)`, which asks for each of them."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id == "bool":
        return True
    given = node.args[0] if len(node.args) == 1 else None
    return node.func.id in ("any", "all") and isinstance(given, ast.GeneratorExp | ast.ListComp)


def _is_read(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and context.resolve(node.func) in _READING_FUNCTIONS:
        return any(is_device_tensor(context, argument) for argument in node.args)
    return is_device_tensor(context, node) and not context.values.of(node).by_use
