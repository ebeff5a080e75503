"""Packages of others that a file uses, of which nobody knows whether they work with tensors on MPS.

Of a few hundred it is known: they compute by torch's own operators, or are given no tensors; of
some others it is known of parts. What any other does with a tensor stands in code that is not there
to be read.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Sequence

from mpslint.facts.priors import holds_without_mps, kernels_of, understood, understood_part
from mpslint.halfway.around_files import Around
from mpslint.halfway.device_arrays import host_names
from mpslint.halfway.foreign_uses import ForeignUses
from mpslint.halfway.kept_fields import Fields
from mpslint.project.layout.import_texts import imported_modules
from mpslint.sources.screening import names_torch

_UNKNOWN = "is not known to work with tensors on MPS"
_COMPILED = "is compiled for the CPU and CUDA"
_KEEPS = "keeps"


def doubtful_modules(
    text: bytes, is_own: Callable[[str], bool | None], is_missing: Callable[[str], bool]
) -> dict[str, str]:
    """The modules that a text seems to import and that are in doubt, by the first name, or by the
    whole one of compiled kernels of the project's own; each with the reason. `is_own` tells whether
    the project has a module; None: nothing is known. `is_missing`: an import of it ends there."""
    found: dict[str, str] = {}
    by_first: dict[str, list[str]] = {}
    for module in imported_modules(text):
        last = module.rpartition(".")[2]
        if last.startswith("_") and not last.startswith("__") and is_own(module) is False:
            found[module] = f"`{last}` {_COMPILED}"
        elif not module.startswith("."):
            by_first.setdefault(module.partition(".")[0], []).append(module)
    is_near = names_torch(text)
    for first, modules in by_first.items():
        if first in sys.stdlib_module_names or understood(first):
            continue
        lacks = holds_without_mps(first) or any(map(kernels_of, modules))
        if (is_near or lacks) and not any(map(is_own, modules)):
            if all(map(is_missing, modules)):
                continue
            found[first] = f"`{first}` {_UNKNOWN}"
    return found


KINDS: frozenset[type[ast.AST]] = frozenset({ast.Import, ast.ImportFrom, ast.Name})
"""The kinds of nodes that are asked for."""


def uses(
    tree: ast.Module,
    nodes: Sequence[ast.AST],
    doubtful: dict[str, str],
    others: Around,
    *,
    is_of_today: bool = True,
) -> Iterator[tuple[int, str]]:
    """The rows in which one of these is used for what may be a tensor, with the reason. An import
    by itself does nothing. `nodes`: those of these `KINDS`; `others` tells of the other files
    of the project. `is_of_today`: its packages may be of the releases of which parts are known."""
    named: dict[str, str] = {}
    origins: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                reason = doubtful.get(alias.name.partition(".")[0])
                if reason is not None:
                    name = alias.asname or alias.name.partition(".")[0]
                    named[name] = reason
                    origins[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            first = doubtful.get(module.partition(".")[0])
            for alias in node.names:
                dot = "" if module.endswith(".") else "."
                reason = first or doubtful.get(module) or doubtful.get(module + dot + alias.name)
                if reason is None:
                    continue
                if alias.name == "*" and not (is_of_today and understood_part(f"{module}.*")):
                    yield node.lineno, reason
                named[alias.asname or alias.name] = reason
                origins[alias.asname or alias.name] = module + dot + alias.name
    if not named:
        return
    seen: set[int] = set()
    foreign: ForeignUses | None = None
    fields = Fields(tree)
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in named and isinstance(node.ctx, ast.Load):
            foreign = foreign or ForeignUses(tree, named, host_names(nodes), others)
            if node.lineno in seen or not foreign.is_foreign(node):
                continue
            part, call = foreign.asked_of(node, origins[node.id])
            known = understood_part(part) if is_of_today else None
            if known == _KEEPS and call is not None:
                for row, why in fields.unread_in(call):
                    seen.add(row)
                    yield row, why
            elif known == _KEEPS and foreign.is_only_named(node):
                continue
            elif known in (None, _KEEPS) and not foreign.is_apart(node):
                seen.add(node.lineno)
                yield node.lineno, named[node.id]
    if any(understood_part(one) for one in origins.values()) and is_of_today:
        yield from fields.unread_later()
