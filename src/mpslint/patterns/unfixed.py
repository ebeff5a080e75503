"""Why there is no fix where there often is one: what stands in its way, as one clause."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.availability import wants_mps
from mpslint.patterns.calls import overrides_cuda
from mpslint.patterns.legacy import alias_of, is_read_here_alone, unclear_use
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.named_gpus import several_gpus
from mpslint.patterns.place import find_place, settles_somewhere
from mpslint.patterns.switches import asked
from mpslint.patterns.text import holds_comment
from mpslint.semantics.gpus.negative_numbers import may_be_negative
from mpslint.semantics.gpus.numbers_given import given_to, number_of
from mpslint.semantics.packages.consumers import foreign_consumer
from mpslint.semantics.packages.moved_by_flag import stays_by_flag
from mpslint.semantics.purpose.settled_moves import settled

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.chains import Chain
    from mpslint.semantics.devices.devices import Literal, Slot

BY_HAND = "parts go to several GPUs by hand, and a Mac has one"
_NAMELESS = "torch goes by no name here that a selection could use"
_MOST = 40
"""So much of the code a clause quotes."""


def of_move(context: Context, call: ast.Call) -> str:
    """Why a `.cuda(...)` stays as it is; empty: nothing of these."""
    stays = stays_by_flag(context, call)
    if stays:
        return stays
    if settled(context, call):
        return _behind_test(context, call)
    given = given_to(context, call)
    if isinstance(given, ast.Constant) and given.value is not None:
        return f"{_quoted(context, given)} is a GPU of its own, beside others of the program"
    if given is not None:
        return _of_number(context, given)
    if overrides_cuda(context, call):
        return "its cuda() may be a method of the project's, and .to() would not call that"
    return _of_place(context, call)


def _behind_test(context: Context, call: ast.Call) -> str:
    gate = context.chains.gate(call)
    if gate is None:
        return "it hangs on a test for CUDA that is no plain `if` around it"
    return f"what else hangs on the test at {context.line(gate)} was not understood"


def _of_number(context: Context, given: ast.expr) -> str:
    spelled = _quoted(context, given)
    number = number_of(context, given)
    if number is None:
        return f"the GPU is worked out, or named, by {spelled}, which was not understood"
    if may_be_negative(context, given):
        return f"{spelled} may be negative, by which the program says that nothing goes to a GPU"
    if number.owner is None:
        return f"{spelled}, the number of the GPU, gets its value in more than one place, or unseen"
    return f"things go to the GPU of {spelled} on some ways only, and which was not understood"


def of_literal(context: Context, literal: Literal | None, slot: Slot | None) -> str:
    """Why a device that is written out stays so; empty: nothing of these."""
    if literal is None or slot is None:
        return "where this device goes was not understood"
    consumer = foreign_consumer(context, literal.node)
    if consumer is not None:
        return f"it goes to {consumer}, which is not known to take MPS"
    if literal.computed_index:
        return "the number of the GPU is worked out"
    if several_gpus(context):
        return "the file names several GPUs, and one device would stand for all"
    return _of_place(context, literal.node)


def _of_place(context: Context, node: ast.AST) -> str:
    if holds_comment(context.source, *context.source.span(node)):
        return "a comment stands within it"
    if torch_name(context, node) is None:
        return _NAMELESS
    if find_place(context, node) is None:
        if settles_somewhere(context):
            return "a device could only be asked for before it is said which GPUs are seen"
        return "no place for a selection was found that comes before it"
    return ""


def of_choice(context: Context, test: ast.expr) -> str:
    """Why a choice between CUDA and something else stays one; empty: nothing of these."""
    if holds_comment(context.source, *context.source.span(test)):
        return "a comment stands within it"
    parent = context.index.parents.get(test)
    if isinstance(parent, ast.If):
        return f"not all that {_quoted(context, test)} decides was understood as one device's"
    if isinstance(parent, ast.Assign):
        return f"not all that {_quoted(context, parent.targets[0])} decides was understood"
    if isinstance(parent, ast.Assert):
        return "what needs CUDA behind this assertion was not understood"
    if isinstance(parent, ast.keyword):
        return f"what reads `{parent.arg}` was not understood"
    if isinstance(parent, ast.IfExp):
        return (
            f"what is chosen by {_quoted(context, test)} is no device that was followed to its use"
        )
    return ""


def of_selection(context: Context, chain: Chain) -> str:
    """Why a selection gets no arm for MPS; empty: nothing of these."""
    node, test = chain.node, chain.test
    if torch_name(context, node) is None:
        return _NAMELESS
    if not wants_mps(context):
        return "the setting device-order leaves MPS out"
    if asked(context, test, not chain.inverted) is None:
        return f"what else {_quoted(context, test)} asks was not understood"
    if holds_comment(context.source, *context.source.span(node)):
        return "a comment stands within it"
    return "its arms do more than name a device, or share a line with something else"


def of_type(context: Context, node: ast.expr) -> str:
    """Why the name of a CUDA type stays; empty: nothing of these."""
    parent = context.index.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        place = _of_place(context, node)
        return place or "what the tensor is made of, numbers or sizes, was not understood"
    return ""


def of_type_choice(context: Context, node: ast.expr) -> str:
    """Why a CUDA type that is chosen for the machine stays; empty: nothing of these."""
    choice = context.index.parents[node]
    statement = context.index.parents[choice]
    if not isinstance(node, ast.Attribute) or not isinstance(choice, ast.IfExp):
        return ""
    if node.attr == "DoubleTensor":
        return "MPS has no float64, which this type is for"
    alias = alias_of(context, node, node.attr)
    unclear = unclear_use(context, alias) if alias is not None else None
    if unclear is not None:
        use, is_given = unclear
        line = context.line(use)
        made = context.index.parents[use]
        if is_given and isinstance(made, ast.Call):
            call = f"{_quoted(context, made)} at {line}"
            return f"whether {call} is given the data or the sizes is not seen"
        return f"what `{use.id}` is for at {line} was not understood"
    if alias is not None:
        return "what else goes to CUDA in this file was not understood"
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return ""
    if not is_read_here_alone(context, target):
        return f"`{target.id}` is read in another file, by a text, or as an attribute of a class"
    if len(context.names.bindings(target.id, target)) > 1:
        return f"`{target.id}` is not the same wherever it is bound"
    return ""


def _quoted(context: Context, node: ast.expr) -> str:
    text = " ".join(context.source.segment(node).split())
    return f"`{text}`" if len(text) <= _MOST else f"`{text[: _MOST - 3]}...`"
