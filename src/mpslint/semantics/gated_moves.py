"""Moves to CUDA behind a test: what the test asks, and so what becomes of the move on a Mac."""

from __future__ import annotations

import ast
import re
from enum import Enum
from typing import TYPE_CHECKING

from mpslint.semantics.cuda_packages import refuses_without_kernels
from mpslint.semantics.facts_known import CUDA_SETTLED, backend_word
from mpslint.semantics.index import FUNCTIONS, FunctionNode
from mpslint.semantics.paths import is_test
from mpslint.semantics.purpose import speaks_of_mps
from mpslint.semantics.value_syntax import last_name
from mpslint.semantics.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: the functions of `torch.distributed`, by their last names.
_COLLECTIVE = re.compile(
    r"(all_)?(reduce|gather)(_\w+)?|reduce_scatter\w*|broadcast(_\w+)?|barrier|all_to_all(_\w+)?"
)
_TEST_PACKAGES = ("unittest", "pytest")


class Asked(Enum):
    MACHINE = "machine"
    """Whether there is CUDA: without it the move is left out."""
    DEVICE = "device"
    """What the device is that somebody else has chosen."""
    SWITCH = "switch"
    """A flag by its name; the machine may be another."""


def asked_by(context: Context, gate: ast.If | ast.IfExp) -> Asked:
    """What the test of a gate in front of CUDA looks at."""
    tests = with_flags(context, gate.test)
    if any(asks_machine(context, test) for test in tests):
        return Asked.MACHINE
    if any(_compares_device(node) for test in tests for node in ast.walk(test)):
        return Asked.DEVICE
    implied = context.guards.implied(gate.test, True) | context.guards.implied(gate.test, False)
    return Asked.MACHINE if implied & {"cuda", "no-cuda"} else Asked.SWITCH


def always_asked(context: Context, call: ast.Call, gate: ast.If | ast.IfExp) -> bool:
    """Whether the gate is none: a flag that the file sets once and for all, `use_cuda = True`."""
    inside = in_first_arm(context, call, gate)
    if "cuda" in context.guards.implied(gate.test, inside):
        return False  # It is set below a test of the machine.
    return "impossible" in context.guards.implied(gate.test, not inside)


def in_first_arm(context: Context, node: ast.AST, gate: ast.If | ast.IfExp) -> bool:
    """Whether `node` runs where the test of `gate` holds."""
    arm = gate.body if isinstance(gate.body, list) else [gate.body]
    return any(context.index.within(node, item) for item in arm)


def rightly_gated(context: Context, call: ast.Call, asked: Asked) -> bool:
    """Whether the move is no business of a Mac's: the CUDA half of a test of both, what a process
    group wants on its own device, what needs CUDA kernels anyway, or the CUDA arm where another arm
    moves to MPS."""
    if in_tests(context) or _is_collective(context, call) or refuses_without_kernels(context, call):
        return True
    if not speaks_of_mps(context):
        return False
    return asked is Asked.DEVICE or _moved_otherwise(context, call)


def ends_in_raise(context: Context, node: ast.AST) -> bool:
    """Whether the block of `node` raises in the end, whatever happens in it."""
    block = context.index.block(context.index.statement(node))
    return isinstance(block[-1], ast.Raise)


def moves_part(context: Context, call: ast.Call) -> bool:
    """Whether a module moves a part of itself: who moves the whole to MPS moves that as well."""
    owner = context.index.enclosing(call, ast.ClassDef)
    moved = call.func.value if isinstance(call.func, ast.Attribute) else None
    return (
        isinstance(moved, ast.Attribute)
        and isinstance(moved.value, ast.Name)
        and moved.value.id == "self"
        and owner is not None
        and context.values.is_module_class(owner)
    )


def moves_unasked(context: Context) -> bool:
    """Whether the file moves something to CUDA without a test."""
    known = context.memo.get("moves-unasked")
    if known is None:
        known = context.memo["moves-unasked"] = any(
            isinstance(call.func, ast.Attribute)
            and context.resolve(call.func) is None
            and not context.guards.has(call, *CUDA_SETTLED)
            for call in context.index.calls.get("cuda", ())
        )
    return bool(known)


def in_tests(context: Context) -> bool:
    """Whether the file is one of tests, by its folder and what it imports."""
    known = context.memo.get("in-tests")
    if known is None:
        known = context.memo["in-tests"] = is_test(context.source.path) or any(
            context.names.imports(package) for package in _TEST_PACKAGES
        )
    return bool(known)


def with_flags(context: Context, test: ast.expr) -> list[ast.expr]:
    """The test, and what the flags that it reads were assigned."""
    found = [test]
    for node in ast.walk(test):
        if isinstance(node, ast.Name | ast.Attribute):
            decided = context.guards.behind(node)
            if decided is not node:
                found.append(decided)
    return found


def asks_machine(context: Context, test: ast.expr) -> bool:
    """Whether a call in the test asks the machine for CUDA."""
    guards = context.guards
    return any(
        isinstance(node, ast.Call)
        and ("cuda" in guards.implied(node, True) or "no-cuda" in guards.implied(node, False))
        and not _compares_device(node)
        for node in ast.walk(test)
    )


def _compares_device(node: ast.AST) -> bool:
    """`device.type == "cuda"`, `str(device).startswith("cuda")`, `x.is_cuda`"""
    if isinstance(node, ast.Attribute):
        return node.attr == "is_cuda"
    if isinstance(node, ast.Compare):
        return any(backend_word(item) for item in (node.left, *node.comparators))
    if isinstance(node, ast.Call):
        return bool(node.args) and backend_word(node.args[0]) is not None
    return False


def _is_collective(context: Context, call: ast.Call) -> bool:
    """`dist.all_reduce(x.cuda())`: no backend of `torch.distributed` takes MPS tensors."""
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.stmt):
            return False
        if isinstance(parent, ast.Call) and _COLLECTIVE.fullmatch(last_name(parent.func) or ""):
            return True
    return False


def _moved_otherwise(context: Context, call: ast.Call) -> bool:
    """Whether the same thing goes to MPS, or to the device at hand, elsewhere in the function."""
    assert isinstance(call.func, ast.Attribute)
    moved, function = ast.dump(call.func.value), context.index.function(call)
    return any(
        isinstance(other.func, ast.Attribute)
        and ast.dump(other.func.value) == moved
        and other.args
        and context.index.function(other) is function
        and context.values.of(other.args[0]).kind in (Kind.DEVICE, Kind.DEVICE_STRING)
        for other in context.index.calls.get("to", ())
    )


def entry_test(context: Context, node: ast.AST) -> ast.expr | None:
    """The assertion or exit that a program passes before `node`, where it refuses to run without
    CUDA: somewhere on the one way to the function around."""
    place: ast.AST | None = node
    for _ in range(8):
        if place is None:
            return None
        found = _settled_by(context, place)
        if found is not None:
            return found
        place = _mention(context, context.index.function(place))
    return None


def _mention(context: Context, function: FunctionNode | None) -> ast.AST | None:
    """Where the file calls a function, or makes an object of the class that it is a method of."""
    if function is None:
        return None
    callers = context.guards.callers
    owner = context.index.parents[function]
    found = [] if callers.named_by_frameworks(function) else callers.mentions(function)
    if not found and isinstance(owner, ast.ClassDef):
        found = callers.mentions(owner)
    return found[0] if found else None


def _settled_by(context: Context, place: ast.AST) -> ast.expr | None:
    """The test of a statement before `place`, in its function, that ends a run without CUDA."""
    child = context.index.statement(place)
    while True:
        for statement in context.index.block(child):
            if statement is child:
                break
            if not isinstance(statement, ast.Assert | ast.If):
                continue
            if "cuda" in context.guards.settled_by(statement) and asks_machine(
                context, statement.test
            ):
                return statement.test
        parent = context.index.parents[child]
        if not isinstance(parent, ast.stmt) or isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return None
        child = parent
