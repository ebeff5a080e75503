"""What a file says against MPS for its whole project: a policy, or data that cannot go there.

A helper that selects MPS only where an environment variable allows it holds MPS back on purpose;
a sparse tensor, and a module with a sparse buffer, cannot be moved to MPS before torch 2.9.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import arguments_for, last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind
from mpslint.sources.files import spoken_path

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SPARSE_SINCE = (2, 9)
"""The first torch whose MPS backend has COO tensors."""
_SPARSE = ("to_sparse", "to_sparse_coo", "sparse_coo_tensor")
_ENVIRONMENT = ("os.environ", "os.getenv", "os.environ.get")
_WORDS = (b"environ", b"getenv", b"MPS", b"_mps", b"mps_")
_CHOSEN = (b'"mps', b"'mps")
_MADE_SPARSE = (b"to_sparse", b"sparse_coo", b"coalesce")


def may_hold_back(data: bytes) -> bool:
    """Whether the text of a file can say anything here, before it is parsed."""
    if b"sparse" in data and any(word in data for word in _MADE_SPARSE):
        if b"register_buffer" in data or b".to(" in data or b".cuda(" in data:
            return True
    return any(word in data for word in _CHOSEN) and any(word in data for word in _WORDS)


def holds_back(context: Context) -> str:
    """Why MPS is opt-in in the project of this file, or not for its modules; empty: it is not."""
    if context.settings.oldest_torch < _SPARSE_SINCE:
        sparse = sparse_buffer(context) or moved_sparse(context)
        if sparse is not None:
            return f"{_place(context, sparse)}: a sparse tensor, which no MPS before torch 2.9 has"
    asked = allowed_on_request(context)
    if asked is not None:
        return f"{_place(context, asked)}: the project chooses MPS on request only"
    return ""


def _place(context: Context, node: ast.AST) -> str:
    path = spoken_path(context.source.path, context.settings.root)
    return f"{path}, {context.line(node)}"


def sparse_buffer(context: Context) -> ast.Call | None:
    """`self.register_buffer("heads", mask.to_sparse())`"""
    for call in context.index.calls.get("register_buffer", ()):
        given = arguments_for(call, 1, "tensor")
        for value in given:
            if any(_is_sparse(node) for part in _behind(context, value) for node in ast.walk(part)):
                return call
    return None


def moved_sparse(context: Context) -> ast.Call | None:
    """`graph.coalesce().to(device)`: a method that only sparse tensors have."""
    for name in ("to", "cuda"):
        for call in context.index.calls.get(name, ()):
            if not isinstance(call.func, ast.Attribute) or not _may_be_gpu(context, call):
                continue
            made = call.func.value
            if isinstance(made, ast.Call) and (_is_sparse(made) or _is_coalesced(made)):
                if not context.guards.has(call, "cuda"):
                    return call
    return None


def _may_be_gpu(context: Context, call: ast.Call) -> bool:
    if last_name(call.func) == "cuda":
        return True
    given = context.values.of(call.args[0]) if call.args else None
    if given is None or given.kind not in (Kind.DEVICE, Kind.DEVICE_STRING, Kind.UNKNOWN):
        return False
    return not given.on_cpu


def _is_coalesced(call: ast.Call) -> bool:
    return last_name(call.func) == "coalesce" and not call.args and not call.keywords


def allowed_on_request(context: Context) -> ast.expr | None:
    """The `"mps"` that is selected only where an environment variable, or a switch of the
    project's own, asks for it."""
    for literal in context.devices.literals:
        if literal.backend == "mps" and not _is_compared(context, literal.node):
            if any(_is_opt_in(context, test) for test in _tests_around(context, literal.node)):
                return literal.node
    return None


def _behind(context: Context, value: ast.expr) -> Iterator[ast.expr]:
    yield value
    if isinstance(value, ast.Name):
        for binding in context.flow.reaching(value):
            if binding.kind in ("assign", "annotate") and binding.value is not None:
                yield binding.value


def _is_sparse(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) in _SPARSE


def _is_compared(context: Context, node: ast.expr) -> bool:
    """Whether a device is asked for (`kind in ("cpu", "mps")`), not chosen."""
    child: ast.AST = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.Compare) or getattr(parent, "test", None) is child:
            return True
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False


def _tests_around(context: Context, node: ast.expr) -> Iterator[ast.expr]:
    """The tests that all must be true where `node` is chosen."""
    child: ast.AST = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return
        if isinstance(parent, ast.If | ast.IfExp):
            arm = parent.body if isinstance(parent.body, list) else [parent.body]
            if any(item is child for item in arm):
                yield parent.test
        child = parent


def _is_opt_in(context: Context, test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.Or):
            return False
        return any(_is_opt_in(context, value) for value in test.values)
    if isinstance(test, ast.Compare):
        if not isinstance(test.ops[0], ast.Eq | ast.In):
            return False
        allowed = {ast.dump(item) for item in test.comparators}
        return any(
            _reads_environment(context, node) and not _by_default(node, allowed)
            for node in ast.walk(test.left)
        )
    if isinstance(test, ast.Name | ast.Attribute):
        if _is_switch(context, test):
            return True
        decided = context.guards.behind(test)
        return decided is not test and _is_opt_in(context, decided)
    if isinstance(test, ast.Call):
        if context.resolve(test.func) in _ENVIRONMENT:
            return not _by_default(test, None)
        return _is_helper(context, test) or any(_is_opt_in(context, item) for item in test.args)
    return False


def _reads_environment(context: Context, node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return context.resolve(node.func) in _ENVIRONMENT
    return isinstance(node, ast.Subscript) and context.resolve(node.value) == "os.environ"


def _by_default(node: ast.AST, allowed: set[str] | None) -> bool:
    """Whether what is asked for is so where the variable is not set: `getenv("USE_MPS", "1")`."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    default = node.args[1]
    if allowed is None:
        return not isinstance(default, ast.Constant) or bool(default.value)
    return ast.dump(default) in allowed


def _is_switch(context: Context, test: ast.Name | ast.Attribute) -> bool:
    """`ALLOW_MPS`, `settings.allow_mps`: of a module, not an option of one script."""
    if isinstance(test, ast.Name):
        bindings = context.names.bindings(test.id, test)
        imported = bool(bindings) and all(binding.kind == "import" for binding in bindings)
        return imported and matches("mps-words", test.id)
    name = context.resolve(test) or ""
    return matches("mps-words", test.attr) and bool(name) and not name.startswith("torch")


def _is_helper(context: Context, call: ast.Call) -> bool:
    """A function of this file that reads the environment for a word on MPS."""
    if not isinstance(call.func, ast.Name):
        return False
    bindings = context.names.bindings(call.func.id, call.func)
    if len(bindings) != 1 or not isinstance(bindings[0].node, FUNCTIONS):
        return False
    nodes = list(ast.walk(bindings[0].node))
    return any(_reads_environment(context, node) for node in nodes) and any(
        isinstance(node, ast.Constant) and matches("mps-words", str(node.value)) for node in nodes
    )
