"""How a project selects its device: in place, by a helper function, or by `torch.accelerator`.

`inline` writes the selection where it is needed. `helper` writes one `get_device()` per file, or
imports it from the project's helper module. `accelerator` asks torch for the accelerator there
is. A helper that the file already has, or imports, is used in every style.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.facts.torch_releases import LAST_FOR_PYTHON_2
from mpslint.patterns.asking_order import asking_order
from mpslint.patterns.availability import cuda_available, mps_available
from mpslint.patterns.text import indent_unit, quote
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.selected_devices import returns_cuda
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import required_parameters
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.uses.purity import is_pure

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

_KNOWN_HELPER = "the helper that is there"
_NAMES = ("get_device", "select_device", "choose_device")
_ACCELERATOR = (
    "{torch}.accelerator.current_accelerator(check_available=True) or {torch}.device({q}cpu{q})"
)
_OF_PYTHON_3 = frozenset({"print_function", "division", "absolute_import", "unicode_literals"})


class Selection(NamedTuple):
    """How this file selects a device where it is not inline."""

    offset: int
    """Behind what the expression needs; `before` goes there."""
    before: str
    """Lines to insert first: an import, a function; empty for nothing."""
    expression: str
    is_string: bool = False
    compound: bool = False
    """The expression needs parentheses inside another one."""

    @property
    def is_call(self) -> bool:
        """Whether it is the call of a function that selects."""
        return self.expression.endswith("()")

    def as_string(self) -> str:
        if self.is_string:
            return self.expression
        held = f"({self.expression})" if self.compound else self.expression
        return f"{held}.type"


def selection(context: Context, torch: str, offset: int, cuda: str) -> Selection | None:
    """The selection in the project's style for module-level code at `offset`; None: inline.

    `cuda` is the device that CUDA machines must get (`cuda`, `cuda:0`).
    """
    known = known_helper(context, offset) if cuda == "cuda" else None
    if known is not None:
        return known
    style = context.settings.style
    if style == "helper" or context.settings.helper_module is not None:
        return _helper(context, torch, offset, cuda)
    if style == "accelerator" and cuda == "cuda":
        text = _ACCELERATOR.format(torch=torch, q=quote(context.source))
        return Selection(offset, "", text, compound=True)
    return None


def function(context: Context, torch: str, offset: int, cuda: str) -> Selection | None:
    """A function of this file, or of the project, that selects when it is called: one that is
    there already, else a new one."""
    known = known_helper(context, offset) if cuda == "cuda" else None
    return known or _helper(context, torch, offset, cuda)


def has_helper(context: Context, offset: int) -> bool:
    """Whether a function is there already that selects, or is to be imported."""
    if known_helper(context, offset) is not None:
        return True
    elsewhere = context.elsewhere
    return elsewhere is not None and elsewhere.helper_import(context) is not None


def is_inline(context: Context) -> bool:
    """Whether selections that are there stay in place."""
    return context.settings.style == "inline" and context.settings.helper_module is None


# helpers that are there


def known_helper(context: Context, offset: int) -> Selection | None:
    """A function of this file, or of the project, that returns the machine's device: CUDA
    wherever there is CUDA. One that comes before `offset` is there for code at `offset`; one that
    prints, logs or sets anything is not called where the program did not call it."""
    known = context.memo.get(_KNOWN_HELPER, False)
    if known is False:
        known = context.memo[_KNOWN_HELPER] = _find_helper(context)
    if known is None:
        return None
    assert isinstance(known, Selection)
    return known._replace(offset=max(known.offset, offset))


def _find_helper(context: Context) -> Selection | None:
    module = context.names.module
    fitting = [name for name in module.bindings if names_device(name)]
    for name in sorted(fitting, key=lambda n: (n != "get_device", n)):
        bindings = module.bindings[name]
        if len(bindings) != 1:
            continue
        found = _device_of(context, bindings[0])
        if found is None:
            continue
        statement = context.index.statement(bindings[0].node)
        if context.index.parents[statement] is not context.tree:
            continue
        row = statement.end_lineno or statement.lineno
        starts = context.source.starts
        end = starts[row] if row < len(starts) else len(context.source.text)
        return Selection(end, "", f"{name}()", found is Kind.DEVICE_STRING)
    return None


def has_busy_helper(context: Context) -> bool:
    """Whether a function of this file selects the device and does more than that."""
    bindings = [b for b in context.names.module.bindings.values() if len(b) == 1]
    return any(
        isinstance(one.node, FUNCTIONS)
        and names_device(one.node.name)
        and not is_pure(context, one.node)
        and returns_cuda(context, one.node)
        for (one,) in bindings
    )


def _device_of(context: Context, binding: Binding) -> Kind | None:
    """Whether the helper gives a device or a string; None where it may give something else, or
    does something else as well."""
    function = binding.node
    if isinstance(function, FUNCTIONS):
        if isinstance(function, ast.AsyncFunctionDef) or required_parameters(function.args):
            return None
        if function.decorator_list or not returns_cuda(context, function):
            return None
        if not is_pure(context, function):
            return None
        value = context.values.returned(function)
        return value.kind if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING) else None
    if binding.kind == "import" and binding.qualified:
        found = context.definition_elsewhere(binding.qualified)
        if found is not None and len(found.bindings) == 1:
            return _device_of(found.context, found.bindings[0])
    return None


# helpers that fixes write


def _helper(context: Context, torch: str, offset: int, cuda: str) -> Selection | None:
    module = context.elsewhere.helper_import(context) if context.elsewhere is not None else None
    newline = context.source.newline
    if module is not None and cuda == "cuda" and not _taken(context, _NAMES[0]):
        before = f"from {module} import {_NAMES[0]}{newline}"
        return Selection(offset, before, f"{_NAMES[0]}()")
    name = next((name for name in _NAMES if not _taken(context, name)), None)
    if name is None:
        return None
    accelerator = context.settings.style == "accelerator"
    lines = helper_lines(context, torch, name, cuda, accelerator=accelerator)
    text = newline.join(["", "", *lines]) + newline
    return Selection(offset, text, f"{name}()")


def _taken(context: Context, name: str) -> bool:
    return any(bound == name for bound, _ in context.names.every_binding()) or bool(
        context.index.names.get(name)
    )


def helper_lines(
    context: Context, torch: str, name: str, cuda: str = "cuda", *, accelerator: bool = False
) -> list[str]:
    """The function that selects, line by line."""
    unit, mark = indent_unit(context.source), quote(context.source)
    given = "" if _may_be_python_2(context) else f" -> {torch}.device"
    lines = [f"def {name}(){given}:"]
    if accelerator and cuda == "cuda":
        return [*lines, f"{unit}return {_ACCELERATOR.format(torch=torch, q=mark)}"]
    tests = {"cuda": cuda_available(torch), "mps": mps_available(context, torch)}
    for backend in asking_order(context):
        target = cuda if backend == "cuda" else backend
        if backend in tests:
            lines.append(f"{unit}if {tests[backend]}:")
            lines.append(f"{unit}{unit}return {torch}.device({mark}{target}{mark})")
    return [*lines, f"{unit}return {torch}.device({mark}cpu{mark})"]


def _may_be_python_2(context: Context) -> bool:
    """Whether who runs the file may do so with Python 2, which knows no annotations: it asks for
    what Python 3 is like, or its project for a torch that was built for Python 2."""
    if context.settings.oldest_started <= LAST_FOR_PYTHON_2:
        return True
    return any(
        item.module == "__future__" and any(one.name in _OF_PYTHON_3 for one in item.names)
        for item in context.index.of(ast.ImportFrom)
    )
