"""Numbers that a loop reads at each turn only to add them up, or to keep them for after it.

`correct += (scores.argmax(1) == y).sum().item()` needs no number before the loop is over: the sum
can stay on the device and be read once. That is so in an evaluation as in training, and where the
turn shows the sum, which need not be at each. It is not so where the turn itself asks for the
number, or waits for something else that it needs.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.loops.single_turns import takes_all_at_once
from mpslint.semantics.reads.batch_outputs import is_handed_back_in, whole, works_in_turns
from mpslint.semantics.reads.shown import is_shown
from mpslint.semantics.steps.handed_back import comes_from_device_work
from mpslint.semantics.steps.steps import Turns, is_device_tensor
from mpslint.semantics.steps.trainer_steps import is_trainer_evaluation
from mpslint.semantics.syntax.expressions import last_name, names_in, root_of
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_GATHERERS = frozenset({"append", "extend", "update", "add"})
"""Methods of lists and of meters that keep what they are given and return nothing."""
_LENGTHENING = ("append", "extend")
_OF_PYTHON = ("collections.", "builtins.", "queue.")
_LOGGERS = frozenset({"log", "log_dict"})
"""Methods of a trainer's module that take tensors as they are."""
_CONVERSIONS = ("float", "int", "round")
_JOINED = frozenset({"append", "concatenate", "hstack", "vstack", "cat"})
"""Functions of NumPy and torch that put what they are given behind what is there."""
_RECKONED = frozenset(
    {"sum", "mean", "float", "double", "astype", "eq", "abs", "square", "sqrt", "exp", "long"}
    | {"item", "numpy", "cpu", "detach", "type", "argmax", "flatten", "squeeze", "view", "reshape"}
    | {"max", "min", "topk"}
)
"""What works on an array of the host as on a tensor of the device, which could do it there."""
_COMPARING = frozenset({"eq", "ne", "view_as"})
_KEEPING = frozenset({"data", "T"})
_REDUCING = frozenset(
    {"argmax", "argmin", "max", "min", "topk", "sum", "mean", "norm", "any", "all", "median"}
)
_DECODES = "batch_decode"
"""Fact: tokenizers of transformers (`tokenization_utils_base.py`) make a list of the ids for it."""
_OF_ALL_RANKS = frozenset({"gather", "gather_for_metrics"})
"""Fact: accelerate's (`accelerator.py`) take tensors of the device, and hand back such ones."""
_READS = ("item", "cpu", "tolist", "numpy", "to")
_NUMBERS = frozenset({"int", "float", "bool"})
_HOST_KINDS = frozenset({Kind.NDARRAY, Kind.NUMBER, Kind.STRING, Kind.FLAG})
_NAMES_FOLLOWED = 2
"""`hits = x.sum().item()`, `share = hits / n`, and the sum: more is not seen in real code."""
_BUSY = "gathering.busy"


def gathered(context: Context, read: ast.expr, tensor: ast.expr | None = None) -> Turns | None:
    """The loop that works on a device without training, and reads `read` at each turn for nothing
    but a sum, a mean or a list; None where there is no such loop. One that calls for `tensor` what
    works on the device out of sight is one, too, and so is the method that a trainer calls for
    each batch."""
    loops = context.loops
    loop = loops.innermost(read)
    while loop is not None and (loops.kind(loop) is LoopKind.NONE or takes_all_at_once(loop)):
        if (
            tensor is not None
            and not takes_all_at_once(loop)
            and (is_handed_back_in(context, tensor, loop) or works_in_turns(context, tensor, loop))
        ):
            break
        loop = loops.innermost(loop)
    if loop is None:
        return _in_evaluation_step(context, read)
    if loops.kind(loop) is LoopKind.TRAIN:
        return None
    if not loops.every_step(read, loop) or loops.waits_anyway(loop):
        return None
    if not _is_gathered(context, read, loop, _NAMES_FOLLOWED) or _needs_others(context, loop):
        return None
    return loop


def _in_evaluation_step(context: Context, read: ast.expr) -> FunctionNode | None:
    """The method around `read` that a trainer calls for each batch of an evaluation, and which
    only hands back or logs what it reads."""
    function = context.index.function(read)
    if function is None or not is_trainer_evaluation(context, function):
        return None
    if not context.loops.every_step(read, function) or context.loops.waits_anyway(function):
        return None
    if not _is_gathered(context, read, function, _NAMES_FOLLOWED):
        return None
    return None if _needs_others(context, function) else function


def is_small(context: Context, tensor: ast.expr, names: int = _NAMES_FOLLOWED) -> bool:
    """Whether a kernel has reduced what `tensor` is made of: what is kept of that takes little
    memory, wherever it lies."""
    while True:
        if isinstance(tensor, ast.Compare):
            return is_small(context, tensor.left, names)
        if isinstance(tensor, ast.Call):
            if last_name(tensor.func) in _REDUCING:
                return True
            if not isinstance(tensor.func, ast.Attribute):
                return False
            tensor = tensor.func.value
        elif isinstance(tensor, ast.Attribute | ast.Subscript):
            tensor = tensor.value
        else:
            break
    if not isinstance(tensor, ast.Name) or not names:
        return False
    given = [binding.value for binding in context.flow.reaching(tensor)]
    return bool(given) and all(
        item is not None and is_small(context, item, names - 1) for item in given
    )


def is_summed(context: Context, node: ast.expr) -> bool:
    """Whether a statement adds `node` to a sum, not a list to a list: `total += node`."""
    statement = context.index.statement(node)
    if isinstance(node, ast.Call) and last_name(node.func) == "tolist":
        return False
    return isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add)


def _is_gathered(context: Context, node: ast.expr, loop: Turns, names: int) -> bool:
    """Whether the value of `node` goes into a sum or a container, and nowhere else."""
    parents = context.index.parents
    child: ast.AST = node
    parent = parents[child]
    while _passes_on(context, parent, child):
        child, parent = parent, parents[parent]
    if isinstance(parent, ast.keyword):
        child, parent = parent, parents[parent]
    if isinstance(parent, ast.Return):
        return parent.value is not None and isinstance(loop, FUNCTIONS)
    if isinstance(parent, ast.AugAssign):
        kept = isinstance(parent.op, ast.Add) and child is parent.value
        return kept and _is_only_kept(context, parent.target, parent, loop)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Subscript):
            known = is_of_memory(context, target.value)
            return known and _is_only_kept(context, target.value, parent, loop)
        if not isinstance(target, ast.Name):
            return False
        joins = not isinstance(parent.value, ast.DictComp | ast.ListComp) and any(
            isinstance(n, ast.Name)
            and n.id == target.id
            and not context.index.within(n, node)  # `error = error.mean().item()` adds nothing.
            for n in ast.walk(parent.value)
        )
        if joins:
            return _is_only_kept(context, target, parent, loop)
        return bool(names) and _goes_on(context, target, parent, loop, names - 1)
    if isinstance(loop, FUNCTIONS) and _receiver(context, parent, child, _LOGGERS) is not None:
        return True
    receiver = _receiver(context, parent, child, _GATHERERS)
    if receiver is None or _is_of_a_library(context, receiver):
        return False
    return _is_only_kept(context, receiver, parent, loop)


def _is_of_a_library(context: Context, container: ast.expr) -> bool:
    """Whether a container that is appended to is made by a class of somebody else's, and may write
    what it is given to a file, which takes arrays of the host alone (`NpyAppendArray`). One that is
    given tensors to reckon with has an `update`."""
    parent = context.index.parents[container]
    if not isinstance(container, ast.Name) or getattr(parent, "attr", "") not in _LENGTHENING:
        return False
    if is_of_memory(context, container):
        return False
    made = [binding.value for binding in context.flow.reaching(container)]
    named = [context.resolve(one.func) for one in made if isinstance(one, ast.Call)]
    return any(
        name is not None
        and "." in name
        and not name.startswith(_OF_PYTHON)
        and context.definition_elsewhere(name) is None
        for name in named
    )


def is_of_memory(context: Context, container: ast.expr) -> bool:
    """Whether a container is no file: what somebody else's function has made may be written to a
    disk (`h5py`), so that it does not fill the memory."""
    if not isinstance(container, ast.Name):
        return True
    if context.values.of(container).kind is not Kind.UNKNOWN:
        return True
    return not any(
        isinstance(binding.value, ast.Call) for binding in context.flow.reaching(container)
    )


def _passes_on(context: Context, parent: ast.AST, child: ast.AST) -> bool:
    """Whether `parent` is the number in another form, or reckoned from it."""
    if isinstance(parent, ast.Call):
        if isinstance(parent.func, ast.Name) and parent.func.id in _CONVERSIONS:
            return child in parent.args
        if child in parent.args and context.values.of(parent).loss:
            return True  # A loss can be reckoned where the scores are.
        if isinstance(parent.func, ast.Attribute) and child is parent.func:
            return parent.func.attr in _RECKONED
        if isinstance(parent.func, ast.Attribute) and child in parent.args:
            both = (child, parent.func.value)
            if parent.func.attr in _COMPARING and any(map(has_host_copy, both)):
                return True  # `guess.eq(target.cpu())`: both could stay where they are.
        called = context.resolve(parent.func) or ""
        module, _, name = called.rpartition(".")
        known = name in _JOINED or name in _RECKONED
        return module in ("numpy", "torch") and known and child in parent.args
    if isinstance(parent, ast.Attribute):
        return parent.attr in _RECKONED or parent.attr in _KEEPING
    if isinstance(parent, ast.Subscript):
        return child is parent.value and isinstance(parent.slice, ast.Constant)
    if isinstance(parent, ast.Compare):
        return not isinstance(parent.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn)
    if isinstance(parent, ast.BinOp):
        return isinstance(parent.op, ast.Add | ast.Sub | ast.Mult | ast.Div)
    if isinstance(parent, ast.IfExp):
        return child is not parent.test
    if isinstance(parent, ast.Dict | ast.DictComp):
        return child in parent.values if isinstance(parent, ast.Dict) else child is parent.value
    if isinstance(parent, ast.ListComp):
        return child is parent.elt
    return isinstance(parent, ast.UnaryOp | ast.Tuple | ast.List) and not isinstance(
        getattr(parent, "op", None), ast.Not
    )


def _receiver(
    context: Context, call: ast.AST, given: ast.AST, methods: frozenset[str]
) -> ast.expr | None:
    """`losses` of the statement `losses.append(number)`."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if call.func.attr not in methods or given is call.func:
        return None
    if not isinstance(context.index.parents[call], ast.Expr):
        return None
    return call.func.value


def _goes_on(
    context: Context, target: ast.Name, statement: ast.stmt, loop: Turns, names: int
) -> bool:
    """Whether all that the loop makes of the number that `target` is given is gathered."""
    kept = False
    for use in context.index.names.get(target.id, ()):
        if not isinstance(use.ctx, ast.Load) or not context.index.within(use, loop):
            continue
        if all(binding.node is not statement for binding in context.flow.reaching(use)):
            continue
        if not context.loops.every_step(use, loop):
            continue
        if not _is_gathered(context, use, loop, names):
            return False
        kept = True
    return kept


def _is_only_kept(context: Context, sink: ast.expr, own: ast.AST, loop: Turns) -> bool:
    """Whether the turns of the loop add to `sink`, and ask nothing of it but to show it, or under a
    test of the step."""
    sink = root_of(sink, ast.Subscript)
    uses: list[ast.Name] | list[ast.Attribute]
    if isinstance(sink, ast.Name):
        uses = context.index.names.get(sink.id, [])
    elif isinstance(sink, ast.Attribute):
        spelled = ast.unparse(sink)
        same = context.index.attributes.get(sink.attr, ())
        uses = [use for use in same if ast.unparse(use) == spelled]
    else:
        return False
    header = loop.iter if isinstance(loop, ast.For | ast.AsyncFor) else None
    return all(
        context.index.within(use, own)
        or _keeps(context, use)
        or is_shown(context, use, loop)
        or not context.loops.every_step(use, loop)
        for use in uses
        if context.index.within(use, loop)
        # `for x, y in meters.log_every(loader, 10):` is evaluated once.
        and (header is None or not context.index.within(use, header))
    )


def _keeps(context: Context, use: ast.expr) -> bool:
    """Whether `use` is added to, or bound anew, or one of the meters that it holds is
    (`logger.meters["acc1"].update(n)`)."""
    node: ast.expr = use
    parent = context.index.parents[node]
    while isinstance(parent, ast.Subscript | ast.Attribute) and parent.value is node:
        if isinstance(parent, ast.Attribute) and parent.attr in _GATHERERS:
            break
        node, parent = parent, context.index.parents[parent]
    if isinstance(getattr(node, "ctx", None), ast.Store):
        return True
    if isinstance(parent, ast.Attribute) and parent.attr in _GATHERERS:
        call = context.index.parents[parent]
        return isinstance(call, ast.Call) and call.func is parent
    return False


def _needs_others(context: Context, loop: Turns) -> bool:
    """Whether each turn waits for something that it needs itself: then what is read beside it
    costs nothing more."""
    known: dict[Turns, bool]
    known = context.memo.setdefault(_BUSY, {})  # type: ignore[assignment]
    if loop not in known:
        known[loop] = any(_needs(context, node, loop) for node in ast.walk(loop))
    return known[loop]


def _needs(context: Context, node: ast.AST, loop: Turns) -> bool:
    if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
        return is_device_tensor(context, node.test) and context.loops.every_step(node.test, loop)
    if isinstance(node, ast.For) and node is not loop:
        return _counts_by_elements(context, node) and context.loops.every_step(node, loop)
    if not isinstance(node, ast.Call) or not _copies_to_host(context, node):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == _DECODES:
        return context.loops.every_step(node, loop)
    own = (
        loop
        if isinstance(loop, FUNCTIONS)
        else context.index.enclosing(loop, *FUNCTIONS, ast.Lambda)
    )
    if context.index.enclosing(node, *FUNCTIONS, ast.Lambda) is not own:
        return False
    if not context.loops.every_step(node, loop):
        return False
    return not _is_gathered(context, whole(context, node), loop, _NAMES_FOLLOWED)


def _counts_by_elements(context: Context, inner: ast.For) -> bool:
    """`for label, guess in zip(labels, guesses): table[label][guess] += 1`, whose every element is
    read to find its place."""
    iterable = inner.iter
    is_zip = isinstance(iterable, ast.Call) and last_name(iterable.func) == "zip"
    walked = iterable.args if is_zip else [iterable]  # type: ignore[attr-defined]
    if not any(is_device_tensor(context, one) for one in walked):
        return False
    elements = names_in(inner.target)
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.slice, ast.Name)
        and part.slice.id in elements
        for statement in inner.body
        for part in ast.walk(statement)
    )


def _copies_to_host(context: Context, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        is_number = isinstance(call.func, ast.Name) and call.func.id in _NUMBERS
        return is_number and len(call.args) == 1 and is_device_tensor(context, call.args[0])
    if call.func.attr == _DECODES:
        return _decodes(context, call)
    if call.func.attr not in _READS or (call.func.attr == "to" and not has_host_copy(call)):
        return False
    value = context.values.of(call.func.value)
    return has_host_copy(call.func.value) or not (value.on_cpu or value.kind in _HOST_KINDS)


def _decodes(context: Context, call: ast.Call) -> bool:
    """Whether a tokenizer makes texts of a tensor of the device, which it copies to a list."""
    given = call.args[0] if call.args else None
    if given is None or has_host_copy(given):
        return False
    return is_device_tensor(context, given) or (
        isinstance(given, ast.Name)
        and (comes_from_device_work(context, given) or _comes_from_all_ranks(context, given))
    )


def _comes_from_all_ranks(context: Context, name: ast.Name) -> bool:
    """`ids, labels = accelerator.gather_for_metrics((ids, labels))`"""
    given = [binding.value for binding in context.flow.reaching(name)]
    return bool(given) and all(
        isinstance(value, ast.Call) and last_name(value.func) in _OF_ALL_RANKS for value in given
    )
