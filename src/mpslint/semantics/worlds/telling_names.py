"""What a file calls the things that can do something to a device, or that only some machines have:
a function that names none of them need not be run."""

from __future__ import annotations

import ast

from mpslint.facts.priors import called_packages, package_worlds
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.core import Core

_ASKING = ("torch.cuda", "torch.mps", "torch.backends", "torch.amp", "torch.accelerator")
_CUDA = "torch.cuda"
_GROUPS = "torch.distributed"


def names_of_torch(tree: ast.Module) -> list[str]:
    """What a file calls the things that it takes from modules of torch other than its layers, and
    what stands for a package of kernels that may be missing."""
    kernels = [
        name.id
        for statement in tree.body
        if isinstance(statement, ast.Try) and any(map(_imports_kernels, statement.body))
        for name in ast.walk(statement)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]
    # `sync = torch.cuda.synchronize`
    kept = [
        target.id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Attribute)
        if (Core.key(statement.value) or "").startswith(_ASKING)
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    # `T = torch.cuda if cuda else torch`, of which `T.FloatTensor` is then looked up
    chosen = [
        f"{target.id}."
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.IfExp)
        if _CUDA in map(Core.key, (statement.value.body, statement.value.orelse))
        for target in statement.targets
        if isinstance(target, ast.Name)
    ]
    # `dist.all_reduce(x)`
    groups = [
        f"{alias.asname or alias.name}."
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if f"{getattr(node, 'module', None) or ''}.{alias.name}".strip(".") == _GROUPS
    ]
    # `rasterization(means, ...)` of a package with kernels for CUDA alone
    called = [
        alias.asname or alias.name.partition(".")[0]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] in called_packages()
    ]
    return [*kernels, *kept, *chosen, *groups, *called] + [
        alias.asname or alias.name.rpartition(".")[2]
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).startswith(_ASKING)
    ]


def _imports_kernels(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return not statement.level and package_worlds(statement.module or "") is not None
    return isinstance(statement, ast.Import) and any(
        package_worlds(alias.name) is not None for alias in statement.names
    )


def classes_that_move(tree: ast.Module) -> list[str]:
    """The classes of the file that have a `cuda` method of their own: what their objects are given
    to is another than what tensors are."""
    return [
        item.name
        for item in tree.body
        if isinstance(item, ast.ClassDef)
        and any(isinstance(m, FUNCTIONS) and m.name == "cuda" for m in item.body)
    ]
