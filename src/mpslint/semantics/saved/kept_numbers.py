"""What is saved to a file, or read from one, that holds no tensor of a device: numbers, texts and
NumPy arrays, the states of random generators, of a learning rate's schedule, of a gradient scaler.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import given_for, positional_names
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_STEPS = 6
"""A table, what is put into it, the function that makes that, what this returns, and its name."""
_ON_HOST = frozenset({"item", "numpy", "tolist", "cpu"})
_NUMBERS = frozenset({Kind.NUMBER, Kind.NDARRAY, Kind.STRING, Kind.FLAG})
_GENERATORS = frozenset({"set_rng_state", "set_rng_state_all", "setstate", "set_state"})
"""Of torch, of `random` and of `numpy.random`. Fact: torch takes these states as `ByteTensor`s of
the CPU alone, for CUDA's generators as well (`torch/random.py`, `torch/cuda/random.py`)."""
_RATES = frozenset({"get_lr", "get_last_lr"})
"""Methods of a learning rate's schedule (`torch/optim/lr_scheduler.py`), whose state is numbers."""
_PARSING = ("parse_args", "parse_known_args", "parse_args_into_dataclasses")
"""Methods of a parser of options (`argparse`, transformers' `HfArgumentParser`)."""
_SCHEDULES = "torch.optim.lr_scheduler."
_SETTINGS = "training_args.bin"
"""Fact: what transformers' `Trainer` pickles its options to (`trainer.py`, `TRAINING_ARGS_NAME`),
as the scripts did that it grew from."""
_WARMUPS = ("get_constant_schedule", "get_cosine_schedule", "get_linear_schedule", "get_scheduler")
"""Fact: functions of `transformers/optimization.py` that return a `LambdaLR`."""


def is_made_of_numbers(context: Context, node: ast.expr, steps: int = _STEPS) -> bool:
    """Whether the value is one of numbers, texts and arrays, or is made of nothing else, be it out
    of sight: `scores[name] = rank(model, loader)`, where `rank` returns `fit(features.numpy())`.
    The options of a program are such as well."""
    if steps == 0:
        return False
    if isinstance(node, ast.Constant | ast.JoinedStr) or _parses(node):
        return True
    if context.values.of(node).kind in _NUMBERS:
        return True
    if isinstance(node, ast.Dict | ast.List | ast.Tuple):
        parts = node.values if isinstance(node, ast.Dict) else node.elts
        return all(is_made_of_numbers(context, item, steps - 1) for item in parts)
    if isinstance(node, ast.Name):
        return _is_given_numbers(context, node, steps - 1)
    return isinstance(node, ast.Call) and _returns_numbers(context, node, steps - 1)


def _is_given_numbers(context: Context, name: ast.Name, steps: int) -> bool:
    bindings = context.flow.reaching(name)
    given = [binding.value for binding in bindings if binding.kind in ("assign", "parameter")]
    given += [
        binding.value for binding in bindings if binding.kind == "unpack" and _parses(binding.value)
    ]
    if not given or len(given) != len(bindings):
        return False
    if any(binding.kind == "parameter" for binding in bindings):
        return len(bindings) == 1 and _is_called_with_numbers(context, name, steps)
    put = _put_into(context, name)
    if put is None or (not put and any(map(_is_empty, given))):
        return False  # What is put there is not seen.
    return all(
        item is not None and is_made_of_numbers(context, item, steps) for item in (*given, *put)
    )


def _is_called_with_numbers(context: Context, parameter: ast.Name, steps: int) -> bool:
    """`def train(args):`, where all calls of the file give it what a parser of options returned."""
    function = context.index.function(parameter)
    if not isinstance(function, FUNCTIONS):
        return False
    is_placed = parameter.id in positional_names(function.args)
    if not is_placed or not isinstance(context.index.parents[function], ast.Module):
        return False
    calls = context.index.calls.get(function.name, ())
    given = [given_for(function.args, call, parameter.id, skipped=0) for call in calls]
    return bool(given) and all(
        item is not None and is_made_of_numbers(context, item, steps) for item in given
    )


def _parses(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _PARSING


def _is_empty(made: ast.expr | None) -> bool:
    """`{}` and `[]`"""
    return (isinstance(made, ast.Dict) and not made.keys) or (
        isinstance(made, ast.List) and not made.elts
    )


def _put_into(context: Context, table: ast.Name) -> list[ast.expr] | None:
    """What the function around puts under keys of a table; None where it is changed otherwise."""
    found: list[ast.expr] = []
    for use in context.index.names.get(table.id, ()):
        if context.index.function(use) is not context.index.function(table):
            continue
        item = context.index.parents[use]
        above = context.index.parents.get(item)
        if isinstance(item, ast.Subscript) and isinstance(item.ctx, ast.Store):
            if not isinstance(above, ast.Assign) or item not in above.targets:
                return None
            found.append(above.value)
        elif isinstance(item, ast.Attribute) and item.attr in ("append", "update", "extend"):
            if not isinstance(above, ast.Call) or above.keywords:
                return None
            found += above.args
    return found


def _returns_numbers(context: Context, call: ast.Call, steps: int) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _ON_HOST:
        return True
    if isinstance(call.func, ast.Name):
        made = [binding.node for binding in context.flow.reaching(call.func)]
        functions = [item for item in made if isinstance(item, FUNCTIONS)]
        if made and len(functions) == len(made):
            returned = [
                item.value for function in functions for item in context.index.returns(function)
            ]
            return bool(returned) and all(
                item is not None and is_made_of_numbers(context, item, steps) for item in returned
            )
    if (context.resolve(call.func) or "").startswith("torch."):
        return False  # `nn.Linear(2, 2)` is given numbers, and is none.
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    copied = any(isinstance(item, ast.Call) for item in given)
    return copied and all(_is_plainly_of_host(item) for item in given)


def _is_plainly_of_host(node: ast.expr) -> bool:
    """`features.numpy()`: what the call's result is made of, if it has any tensor at all."""
    return isinstance(node, ast.Constant) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _ON_HOST
    )


def holds_no_tensors(context: Context, call: ast.Call) -> bool:
    """Whether what is done with all that `call` reads shows that it has no tensor of a device, or
    the name of the file does. Who reads one part of it reads the others as well, which may be put
    to use by another call."""
    if any(_names_settings(item) for item in ast.walk(call)):
        return True
    return all(_gives_no_tensors(context, one) for one in _reading_the_same(context, call))


def _reading_the_same(context: Context, call: ast.Call) -> list[ast.Call]:
    """The calls that read a file under the name by which `call` does, itself among them."""
    name = last_name(call.func) or ""
    source = ast.unparse(call.args[0]) if call.args else None
    others = [one for one in context.index.calls.get(name, ()) if one is not call and one.args]
    return [call, *(one for one in others if ast.unparse(one.args[0]) == source)]


def _gives_no_tensors(context: Context, call: ast.Call) -> bool:
    parent = context.index.parents[call]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return _takes_no_tensors(context, call)
    target = parent.targets[0]
    if not isinstance(target, ast.Name):
        return False
    uses = list(reads_of(context, target))
    return bool(uses) and all(_takes_no_tensors(context, use) for use in uses)


def _names_settings(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and str(node.value).endswith(_SETTINGS)


def _takes_no_tensors(context: Context, node: ast.expr) -> bool:
    parent: ast.AST = context.index.parents[node]
    part = node
    while isinstance(parent, ast.Subscript) and parent.value is part:
        part, parent = parent, context.index.parents[parent]
    if not isinstance(parent, ast.Call) or part not in parent.args:
        # `if "cuda" in state:`
        return isinstance(parent, ast.Compare) and part in parent.comparators
    if sets_a_generator(parent):
        return True
    if context.resolve(parent.func) == "torch.from_numpy":
        return True
    return (
        isinstance(parent.func, ast.Attribute)
        and parent.func.attr == "load_state_dict"
        and _is_of_numbers(context, parent.func.value)
    )


def sets_a_generator(call: ast.Call) -> bool:
    """Whether it sets the state of a generator of random numbers."""
    return last_name(call.func) in _GENERATORS


def _is_of_numbers(context: Context, owner: ast.expr) -> bool:
    """Whether the state of `owner` is one of numbers: a schedule of a learning rate, a scaler."""
    if context.values.of(owner).kind is Kind.SCALER:
        return True
    spelled = ast.unparse(owner)
    if any(
        isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == spelled
        for name in _RATES
        for call in context.index.calls.get(name, ())
    ):
        return True
    given = context.flow.reaching(owner) if isinstance(owner, ast.Name) else ()
    return bool(given) and all(
        binding.kind == "assign" and _is_schedule(context, binding.value) for binding in given
    )


def _is_schedule(context: Context, made: ast.expr | None) -> bool:
    if not isinstance(made, ast.Call):
        return False
    name = context.resolve(made.func) or ""
    if name.startswith("transformers."):
        return name.rpartition(".")[2].startswith(_WARMUPS)
    return name.startswith(_SCHEDULES)
