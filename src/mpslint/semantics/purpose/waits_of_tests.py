"""Waits in tests: a test reads what it compares, and nobody waits for it but a runner of tests."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Severity
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.syntax.expressions import is_main_block
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.uses.defined import definitions_around

if TYPE_CHECKING:
    from mpslint.model import Finding
    from mpslint.semantics.context import Context


_RUNNERS = ("unittest.main", "pytest.main")
_WORK = (ast.For, ast.While, ast.With)


def is_wait_of_a_test(context: Context, finding: Finding) -> bool:
    """Whether a finding tells of a wait in code that only a runner of tests runs. A file that
    somebody starts as well is a program, whatever its functions are called."""
    if finding.severity is not Severity.SLOW:
        return False
    around = [item.node for item in definitions_around(context, finding.row)]
    if not around:
        return False
    if _is_test_case(context, around[0]):
        return True
    if not is_test_file(context) or _is_started(context):
        return False
    return _is_collected(context, around[0]) or only_tests_run(context, around[0].body[0])


def _is_test_case(context: Context, node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any(
        (context.values.last_name(base) or "").endswith("TestCase") for base in node.bases
    )


def _is_collected(context: Context, node: FunctionNode | ast.ClassDef) -> bool:
    """Whether pytest finds a function or class of the module, and nothing of the file uses it."""
    return node.name.startswith(("test", "Test")) and node.name not in context.index.names


def _is_started(context: Context) -> bool:
    """Whether a file does something for who starts it, other than to run its tests; or does
    something as it is read."""
    return any(
        not _runs_tests(context, item)
        for item in context.tree.body
        if is_main_block(item) or isinstance(item, _WORK)
    )


def _runs_tests(context: Context, item: ast.AST) -> bool:
    calls = [one for one in ast.walk(item) if isinstance(one, ast.Call)]
    return any(context.resolve(one.func) in _RUNNERS for one in calls)
