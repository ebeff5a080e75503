"""Dispatch blocks: the CUDA call on CUDA, its MPS counterpart on MPS, nothing elsewhere.

Never a bare `torch.accelerator.*`: it raises without an accelerator, memory calls assert on MPS
in torch 2.9 to 2.12, and `synchronize` does not wait on MPS in 2.6. Behind its own test, and only
in style `accelerator`, which supports no such torch, it takes the place of both calls.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.availability import wants_mps
from mpslint.patterns.joined import Arms, after_its_like, joined
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.own_device import tests_at
from mpslint.patterns.shared_dispatch import shared_dispatch
from mpslint.patterns.text import alone_on_lines, indent_unit, replace_span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.patterns.own_device import Tests
    from mpslint.semantics.context import Context
    from mpslint.sources.source import SourceFile

_FOR_TOOLS = (
    "noqa",
    "type:",
    "pragma:",
    "pylint:",
    "pyright:",
    "mypy:",
    "ruff:",
    "fmt:",
    "mpslint:",
)
"""How comments begin that tools read on the row that they are about."""
_ON_ACCELERATORS = ("synchronize", "empty_cache")
"""Calls that `torch.accelerator` makes for every backend (style `accelerator`, torch 2.13)."""


def dispatch_statement(
    context: Context,
    call: ast.Call,
    mps_call: str,
    message: str,
    applicability: Applicability = Applicability.SAFE,
    calls: Sequence[ast.Call] = (),
) -> Fix | None:
    """Turn the expression statement `call` into an `if cuda / elif mps` block, or into the call of
    a function that holds one, where `calls`, all of the file that need it, are many.

    `mps_call` is the statement for MPS, with `{torch}` where the name of torch goes. None where
    the call is part of a larger expression, shares its line, or torch has no name there.
    """
    torch = torch_name(context, call)
    tests = tests_at(context, call, torch) if torch is not None else None
    waits = tests is not None and tests.waits
    shared = shared_dispatch(context, call, calls)
    if shared is not None:
        return Fix(message, shared, applicability, waits=waits)
    edit = dispatch_edit(context, call, mps_call, tests) if tests is not None else None
    return Fix(message, (edit,), applicability, waits=waits) if edit is not None else None


def dispatch_edit(context: Context, call: ast.Call, mps_call: str, tests: Tests) -> Edit | None:
    statement = context.index.parents[call]
    torch = torch_name(context, call)
    if not isinstance(statement, ast.Expr) or torch is None:
        return None
    source = context.source
    start, end = source.span(statement)
    body = source.text[start:end]
    if "\n" in body or "\r" in body:
        return None
    newline, unit = source.newline, indent_unit(source)
    indent = source.indentation(statement.lineno)
    lead, comment = "", _comment_behind(source, end)
    last = body.removesuffix("()").rpartition(".")[2] if not call.args else ""
    by_accelerator = (
        context.settings.style == "accelerator" and last in _ON_ACCELERATORS and not call.keywords
    )
    on_mps = mps_call.format(torch=torch) if wants_mps(context) else ""
    arms = Arms(tests.cuda, body, tests.mps, on_mps)
    if by_accelerator:
        arms = Arms(f"{torch}.accelerator.is_available()", f"{torch}.accelerator.{last}()")
    beside = joined(context, statement, arms)
    if beside is not None:
        return beside
    if not alone_on_lines(source, statement):
        header = _one_line_header(context, statement)
        if header is None:
            return None
        start, indent, comment = header, indent + unit, None
        lead = newline + indent
    lines = [f"if {arms.cuda}:", f"{indent}{unit}{arms.on_cuda}"]
    if arms.on_mps:
        lines += [f"{indent}elif {arms.mps}:", f"{indent}{unit}{arms.on_mps}"]
    if comment is not None:
        # What was said of the one call is said of both.
        end, lead = comment[1], f"{comment[0]}{newline}{indent}"
    edit = replace_span(source, start, end, lead + newline.join(lines))
    return edit if lead else after_its_like(context, statement, edit)


def _comment_behind(source: SourceFile, at: int) -> tuple[str, int] | None:
    """The comment behind a statement that ends there, and where it ends; None: it is for a tool,
    and has to stay on its row."""
    rest = source.text[at:].split("\n", 1)[0].rstrip()
    text = rest.lstrip()
    if not text.startswith("#") or text.lstrip("# ").lower().startswith(_FOR_TOOLS):
        return None
    return text, at + len(rest)


def _one_line_header(context: Context, statement: ast.stmt) -> int | None:
    """Offset behind the colon of `if x: statement`, where `statement` is all that follows it."""
    source = context.source
    parent = context.index.parents[statement]
    if not isinstance(parent, ast.If | ast.For | ast.While | ast.With):
        return None
    block = context.index.block(statement)
    if len(block) != 1 or parent.lineno != statement.lineno:
        return None
    start, end = source.span(statement)
    rest = source.text[end:].split("\n", 1)[0].strip()
    if rest and not rest.startswith("#"):
        return None
    before = source.text[:start].rstrip(" \t")
    return len(before) if before.endswith(":") else None
