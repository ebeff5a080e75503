"""A flag that functions are handed becomes the device that it stands for.

`def as_tensor(x, use_cuda)`, with `if use_cuda: x = x.cuda()` in it, is `def as_tensor(x, device)`
with `x = x.to(device)`, and who calls it with `use_cuda` gives the device: so does what an object
keeps of it (`self.use_cuda = use_cuda`). That is one unit, with every function, call and attribute
that the flag comes by: where one of them is out of sight, or does something else with it, nothing
is changed.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit
from mpslint.patterns.gate_device import device_for, may_keep_device, positive
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.references import Reference
from mpslint.patterns.text import holds_comment, quote, replace
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.cuda_machine import outcome
from mpslint.semantics.packages.consumers import given_to
from mpslint.semantics.syntax.expressions import only_defines
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import (
    default_of,
    explicit_parameters,
    positional_parameters,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_NAME = "device"
Kept = tuple[ast.ClassDef, str]
"""A class, and the attribute in which its objects keep a flag."""


class Handed(NamedTuple):
    """The unit: what it edits, and what it leaves of the tests and the flags."""

    devices: dict[ast.expr, str]
    """By the tests of the gates, the name of the device that takes the place of their flag."""
    edits: tuple[Edit, ...]
    replaced: tuple[ast.expr, ...]
    """The flags that calls gave, and give the device for now."""
    level: Applicability
    reason: str


def handed_flags(context: Context, tests: Iterable[ast.expr]) -> Handed | None:
    """The unit of all flags that these tests ask for and their functions are handed; None where
    there are none, or where one of them cannot be followed all the way."""
    return _Following(context, list(tests)).found()


class _Lost(Exception):
    """A flag goes where it cannot be followed."""


class _Following:
    def __init__(self, context: Context, tests: list[ast.expr]) -> None:
        self._context = context
        self._tests = {test: self._flag_in(test) for test in tests}
        self._asking = {flag for flag in self._tests.values() if flag is not None}
        self._done: set[ast.arg | Kept] = set()
        self._edits: list[Edit] = []
        self._replaced: list[ast.expr] = []
        self._level, self._reason = Applicability.SAFE, ""

    def found(self) -> Handed | None:
        devices: dict[ast.expr, str] = {}
        try:
            for test, flag in self._tests.items():
                text = self._followed(flag) if flag is not None else None
                if text is not None:
                    devices[test] = text
        except _Lost:
            return None
        if not devices:
            return None
        edits = tuple(dict.fromkeys(self._edits))
        return Handed(devices, edits, tuple(self._replaced), self._level, self._reason)

    def _flag_in(self, test: ast.expr) -> ast.expr | None:
        """`use_cuda` of `not use_cuda`, and of `use_cuda and torch.cuda.is_available()`."""
        test, wanted = positive(test, True)
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and wanted:
            asked = [one for one in test.values if outcome(self._context, one) is not True]
            test = asked[0] if len(asked) == 1 else test
        return test if isinstance(test, ast.Name | ast.Attribute) else None

    def _followed(self, flag: ast.expr) -> str | None:
        """The device in place of a flag that its function was handed; None: it is no such flag."""
        if isinstance(flag, ast.Name):
            parameter = self._parameter(flag)
            if parameter is None:
                return None
            self._follow_parameter(parameter)
            return _NAME
        kept = self._kept(flag)
        if kept is None:
            return None
        self._follow_kept(*kept)
        return f"self.{_NAME}"

    def _parameter(self, flag: ast.Name) -> ast.arg | None:
        bindings = self._context.names.bindings(flag.id, flag)
        node = bindings[0].node if len(bindings) == 1 else None
        return node if isinstance(node, ast.arg) and bindings[0].kind == "parameter" else None

    def _kept(self, flag: ast.expr) -> Kept | None:
        """The class and the attribute of `self.use_cuda`, where its objects keep what a parameter
        of their constructor says."""
        owner = self._context.index.enclosing(flag, ast.ClassDef)
        if not isinstance(flag, ast.Attribute) or not isinstance(owner, ast.ClassDef):
            return None
        if not isinstance(flag.value, ast.Name) or flag.value.id != "self":
            return None
        values = self._context.guards.assigned(flag)
        value = values[0] if len(values) == 1 else None
        if not isinstance(value, ast.Name) or self._parameter(value) is None:
            return None
        return owner, flag.attr

    # what a function is handed

    def _follow_parameter(self, parameter: ast.arg) -> None:
        if parameter in self._done:
            return
        self._done.add(parameter)
        context = self._context
        function = context.index.parents[context.index.parents[parameter]]
        if not isinstance(function, FUNCTIONS) or function.decorator_list:
            raise _Lost
        if not _may_be_renamed(context, function, parameter):
            raise _Lost
        torch = torch_name(context, parameter)
        if parameter.annotation is None:
            self._replace(parameter, _NAME)
        elif torch is not None and ast.unparse(parameter.annotation) == "bool":
            self._replace(parameter, f"{_NAME}: {torch}.device")
        else:
            raise _Lost
        scope = context.names.own_scope(function)
        for use in context.index.names.get(parameter.arg, ()):
            if context.names.owner(parameter.arg, use) is scope:
                self._follow_use(use, _NAME)
        calls = self._calls(function)
        given = [_given(context, call, parameter, function) for call in calls]
        self._follow_default(function, parameter, all_given=bool(calls) and None not in given)
        for one in given:
            if one is not None:
                self._follow_given(one)

    def _follow_use(self, use: ast.expr, text: str) -> None:
        """Where a flag is read: by a gate, as an argument, or to be kept by an object."""
        context, parent = self._context, self._context.index.parents[use]
        if use in self._asking:
            return
        if isinstance(parent, ast.Call | ast.keyword):
            call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
            given = parent if isinstance(parent, ast.keyword) else use
            assert isinstance(call, ast.Call)
            function, _ = given_to(context, call, given)
            if function is None or use is call.func:
                raise _Lost
            names = explicit_parameters(function.args)
            for one in names:
                if _given(context, call, one, function) is given:
                    self._follow_parameter(one)
                    return
            raise _Lost
        if isinstance(parent, ast.Assign) and parent.value is use and len(parent.targets) == 1:
            target = parent.targets[0]
            kept = self._kept(target)
            if kept is not None:
                self._follow_kept(*kept)
                self._replace(use, text)
                return
        raise _Lost

    def _follow_kept(self, owner: ast.ClassDef, attribute: str) -> None:
        """All that is done with what the objects of a class keep."""
        if (owner, attribute) in self._done:
            return
        self._done.add((owner, attribute))
        context = self._context
        if not may_keep_device(context, owner) or _is_spelled(context, attribute):
            raise _Lost
        if is_used_elsewhere(context, attribute, method=True):
            raise _Lost
        for one in context.index.attributes.get(attribute, ()):
            if self._kept(one) != (owner, attribute):
                raise _Lost
            if isinstance(one.ctx, ast.Store):
                (value,) = context.guards.assigned(one)
                parameter = self._parameter(value) if isinstance(value, ast.Name) else None
                if parameter is None:
                    raise _Lost
                self._follow_parameter(parameter)
                self._replace(one, f"self.{_NAME}")
            else:
                self._follow_use(one, f"self.{_NAME}")

    # what calls give

    def _calls(self, function: FunctionNode) -> list[ast.Call]:
        """All calls of a function; it is lost where something else is done with it."""
        context = self._context
        owner = context.index.parents[function]
        made = owner if isinstance(owner, ast.ClassDef) and function.name == "__init__" else None
        if isinstance(owner, ast.ClassDef) and made is None:
            if sum(one.name == function.name for one in context.index.functions()) > 1:
                raise _Lost  # Who calls it may mean another one.
            uses: list[ast.expr] = list(context.index.attributes.get(function.name, ()))
            is_method, name = True, function.name
        else:
            name = made.name if made is not None else function.name
            uses = list(context.index.names.get(name, ()))
            is_method = False
            if context.index.attributes.get(name):
                raise _Lost
        if is_used_elsewhere(context, name, method=is_method):
            raise _Lost
        calls = []
        for use in uses:
            call = context.index.parents[use]
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "super":
                continue
            if not isinstance(call, ast.Call) or call.func is not use:
                raise _Lost
            if _callee(context, call) is not function:
                raise _Lost
            calls.append(call)
        if not calls:
            raise _Lost
        return calls

    def _follow_default(
        self, function: FunctionNode, parameter: ast.arg, *, all_given: bool
    ) -> None:
        default = default_of(function.args, parameter)
        if default is None:
            if not all_given:
                raise _Lost
            return
        if isinstance(default, ast.Constant):
            if default.value is not False or not all_given:
                raise _Lost
            mark = quote(self._context.source)
            text = f"{mark}cpu{mark}"
            if parameter.annotation is not None:
                text = f"{torch_name(self._context, parameter)}.device({text})"
            self._replace(default, text)
            return
        self._follow_source(default, default)

    def _follow_given(self, given: ast.expr | ast.keyword) -> None:
        """What one call gives: a flag that its own function was handed, or one of the machine."""
        value = given.value if isinstance(given, ast.keyword) else given
        text = self._followed(value) if isinstance(value, ast.Name | ast.Attribute) else None
        if text is None:
            self._follow_source(value, given)
        else:
            self._replace(given, text)

    def _follow_source(self, value: ast.expr, given: ast.expr | ast.keyword) -> None:
        device = device_for(self._context, value)
        if device is None or device.is_string:
            raise _Lost
        self._edits += device.edits
        self._level = min(self._level, device.level)
        self._reason = self._reason or device.reason
        self._replaced.append(value)
        self._replace(given, device.text)

    def _replace(self, node: ast.expr | ast.arg | ast.keyword, text: str) -> None:
        source = self._context.source
        start, end = source.span(node)
        if holds_comment(source, start, end) or "\n" in source.text[start:end]:
            raise _Lost
        if isinstance(node, ast.keyword):
            text = f"{_NAME}={text}"
        self._edits.append(replace(source, node, text))


def reference_to(handed: Handed, test: ast.expr) -> Reference | None:
    """The device that a test of a gate asks for, as the unit names it."""
    text = handed.devices.get(test)
    if text is None:
        return None
    return Reference(text, False, handed.edits, handed.level, reason=handed.reason)


def is_used_elsewhere(context: Context, name: str, *, method: bool) -> bool:
    """Whether another file may use what goes by a name here. Who runs a program that nobody imports
    uses none of it by its name; its objects may be handed to modules of the project."""
    elsewhere, path = context.elsewhere, context.source.path
    if elsewhere is None or not elsewhere.uses(path, name, method=method):
        return False
    if only_defines(context.tree) or elsewhere.is_imported(path):
        return True
    return method and any(
        binding.qualified is not None and context.definition_elsewhere(binding.qualified)
        for _, binding in context.names.every_binding()
        if binding.kind == "import"
    )


def _is_spelled(context: Context, name: str) -> bool:
    """Whether a text of the file names it: `getattr(net, "use_cuda")`."""
    return bool(context.index.spelled(name))


def _may_be_renamed(context: Context, function: FunctionNode, parameter: ast.arg) -> bool:
    """Whether the parameter may be called `device`: nothing there is called so, and no docstring
    speaks of the flag."""
    scope = context.names.own_scope(function)
    if len(scope.bindings.get(parameter.arg, ())) != 1 or _NAME in scope.bindings:
        return False
    if any(context.index.within(use, function) for use in context.index.names.get(_NAME, ())):
        return False
    owner = context.index.parents[function]
    documented: list[FunctionNode | ast.ClassDef] = [function]
    if isinstance(owner, ast.ClassDef):
        documented.append(owner)
    return not any(parameter.arg in (ast.get_docstring(one) or "") for one in documented)


def _callee(context: Context, call: ast.Call) -> FunctionNode | None:
    probe: ast.AST | None = next(iter(call.args), None) or next(iter(call.keywords), None)
    return given_to(context, call, probe)[0] if probe is not None else None


def _given(
    context: Context, call: ast.Call, parameter: ast.arg, function: FunctionNode
) -> ast.expr | ast.keyword | None:
    """What a call gives for a parameter; None: it leaves it to the default."""
    if any(isinstance(item, ast.Starred) for item in call.args):
        raise _Lost
    for keyword in call.keywords:
        if keyword.arg == parameter.arg:
            return keyword
        if keyword.arg is None:
            raise _Lost
    positional = positional_parameters(function.args)
    if parameter not in positional:
        return None
    skip = int(isinstance(context.index.parents[function], ast.ClassDef))
    place = positional.index(parameter) - skip
    return call.args[place] if 0 <= place < len(call.args) else None
