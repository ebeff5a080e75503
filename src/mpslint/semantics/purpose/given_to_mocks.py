"""Devices that a test writes down for stand-ins: an attribute of a `SimpleNamespace`, where what
would be placed with it is a mock."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.mocks import MOCKS, NAMESPACE
from mpslint.semantics.purpose.test_code import only_tests_run

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_for_mocks(context: Context, device: ast.AST) -> bool:
    """Whether a device stands in a namespace that a test makes which makes mocks as well."""
    if not any(context.index.within(device, call) for call in context.calls_of(NAMESPACE)):
        return False
    test = context.index.function(device)
    if test is None or not only_tests_run(context, device):
        return False
    return any(context.index.within(call, test) for call in context.calls_of(*MOCKS))
