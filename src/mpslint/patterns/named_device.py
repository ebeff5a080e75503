"""A device that somebody names, taken where there is CUDA, and the CPU elsewhere:
`torch.device(config.device if torch.cuda.is_available() else "cpu")`.

A Mac takes MPS in its place, but for who asks for the CPU by its name.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_process
from mpslint.model import Applicability, Fix, doubtful
from mpslint.patterns.availability import mps_available, opening_level, wants_mps
from mpslint.patterns.flat import flat
from mpslint.patterns.gates import parts_data
from mpslint.patterns.late_casts import casts_put_first
from mpslint.patterns.layout import arms_laid_out
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.switches import asked
from mpslint.patterns.text import holds_comment, quote, replace_span
from mpslint.patterns.waits import waits_along
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MESSAGE = "Choose MPS where it is there"


class _Choice(NamedTuple):
    node: ast.IfExp
    named: ast.expr
    cpu: ast.Constant
    test: str
    """That for CUDA."""
    keeps_cpu: bool
    """Who names the CPU is given it by the test itself."""


def mps_beside_named(context: Context, test: ast.expr) -> Fix | None:
    """The fix for such a choice by `test`; None: it is another one."""
    torch = torch_name(context, test)
    choice = _choice(context, test)
    if torch is None or choice is None or not wants_mps(context):
        return None
    source, node = context.source, choice.node
    cpu, named = source.segment(choice.cpu), source.segment(choice.named)
    mark = quote(source, choice.cpu)
    mps, condition = f"{mark}mps{mark}", mps_available(context, torch)
    if not choice.keeps_cpu and not _is_number(choice.named):
        condition += f" and {_as_text(context, node, choice.named)} != {cpu}"
    start, end = source.span(node)
    parts = [named, f"if {choice.test}", f"else {mps}", f"if {condition}", f"else {cpu}"]
    text = arms_laid_out(context, node, parts)
    arms = [(named, choice.test), (mps, condition), (cpu, "")]
    edit = flat(context, node, arms) if source.newline in text else None
    waits, unwaited = waits_along(context)
    along = (*casts_put_first(context), *waits)
    edits = (edit or replace_span(source, start, end, text), *along)
    return doubtful(
        Fix(_MESSAGE, edits, opening_level(context)), parts_data(context, test) or unwaited
    )


def _is_number(named: ast.expr) -> bool:
    """Whether it is the number of a GPU, which is never the CPU."""
    name = last_name(named) or ""
    return isinstance(named, ast.Constant) or names_process(name)


def _as_text(context: Context, node: ast.IfExp, named: ast.expr) -> str:
    """What is compared with a text: a device equals none. What `torch.device` is made of is one."""
    text, around = context.source.segment(named), context.index.parents[node]
    makes = isinstance(around, ast.Call) and context.resolve(around.func) == "torch.device"
    is_text = makes or context.values.of(named).kind is Kind.DEVICE_STRING
    return text if is_text else f"str({text})"


def level_beside_named(context: Context, test: ast.expr) -> Applicability | None:
    found = mps_beside_named(context, test)
    return found.applicability if found is not None else None


def names_device(context: Context, test: ast.expr) -> bool:
    """Whether `test` chooses between a device that is named elsewhere and the CPU."""
    return _choice(context, test) is not None


def _choice(context: Context, test: ast.expr) -> _Choice | None:
    node = context.index.parents.get(test)
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    whole: ast.expr = node if isinstance(node, ast.UnaryOp) else test
    around = context.index.parents.get(whole)
    if isinstance(around, ast.BoolOp):
        whole, around = around, context.index.parents.get(around)
    if not isinstance(around, ast.IfExp) or around.test is not whole:
        return None
    named, other = (around.orelse, around.body) if negated else (around.body, around.orelse)
    if not isinstance(other, ast.Constant) or other.value != "cpu" or not _may_repeat(named):
        return None
    source = context.source
    if holds_comment(source, *source.span(around)) or "\n" in source.segment(test):
        return None
    text = source.segment(test)
    if not isinstance(whole, ast.BoolOp):
        is_machine = asked(context, test, True) == []
        return _Choice(around, named, other, text, False) if is_machine else None
    if negated or not _asks_for_cpu_too(context, whole, test, named):
        return None
    text = source.segment(whole)
    return _Choice(around, named, other, text, True) if "\n" not in text else None


def _may_repeat(named: ast.expr) -> bool:
    """`device`, `self.config.device`, `config["device"]`, or the number of a GPU."""
    if isinstance(named, ast.Constant):
        return type(named.value) is int
    while isinstance(named, ast.Attribute | ast.Subscript):
        if isinstance(named, ast.Subscript) and not isinstance(named.slice, ast.Constant):
            return False
        named = named.value
    return isinstance(named, ast.Name)


def _asks_for_cpu_too(context: Context, whole: ast.BoolOp, test: ast.expr, named: ast.expr) -> bool:
    """`torch.cuda.is_available() or device == "cpu"`"""
    others = [one for one in whole.values if one is not test]
    if not isinstance(whole.op, ast.Or) or len(others) != 1 or asked(context, test, True) != []:
        return False
    other = others[0]
    if not isinstance(other, ast.Compare) or not isinstance(other.ops[0], ast.Eq):
        return False
    if len(other.ops) != 1 or ast.dump(other.left) != ast.dump(named):
        return False
    return backend_word(other.comparators[0]) == "cpu"
