"""`"CUDA out of memory" in str(error)` is never true on a Mac, whose error says "MPS backend".

## What it does
Flags tests of an error's text for "CUDA out of memory".

## Why is this bad?
Where memory is out on a Mac, torch raises `RuntimeError: MPS backend out of memory (...)`. The
handler takes that for another error: the batch is not halved, the cache not emptied, the retry
never happens.

## Example
```python
except RuntimeError as error:
    if "CUDA out of memory" in str(error):
        batch_size //= 2
```
Use instead:
```python
except RuntimeError as error:
    if "CUDA out of memory" in str(error) or "MPS backend out of memory" in str(error):
        batch_size //= 2
```

## What is not flagged
Tests for what both say (`"out of memory"`); handlers that ask for the error of MPS as well,
somewhere in them; texts that are not asked for in a handler; and code that runs only on CUDA.

## Fix safety
Safe: on CUDA the added question changes no answer, as no error of CUDA's says it. Unsafe where what
the text is asked of calls something but `str` or `repr`, since it is then called twice.

## References
- `aten/src/ATen/mps/MPSAllocator.mm` ("MPS backend out of memory")
- pytorch/pytorch#130112
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.machines import SAID_BY_MPS
from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import quote, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import names_in

_ASKED = "cuda out of memory"
"""In lower case: some ask `str(error).lower()`."""
_ASKING = frozenset({"startswith", "endswith", "find", "count", "search", "match"})
_PURE = frozenset({"str", "repr", "lower"})
"""What may be called twice."""


@rule(
    "MPS221",
    "cuda-oom-message",
    severity=Severity.IGNORES,
    triggers=(b"out of memory",),
    fix=Applicability.SAFE,
    unfixed="the test is part of a longer comparison",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for compare in context.index.of(ast.Compare):
        if not _asks_for_cuda(compare):
            continue
        handler = _handler(context, compare)
        if handler is None or _knows_mps(context, handler) or not context.worlds.on_mps(handler):
            continue
        level = Applicability.SAFE if _may_be_repeated(compare) else Applicability.UNSAFE
        yield context.finding(
            rule,
            compare.left,
            "on a Mac the error says 'MPS backend out of memory', so this does not know it",
            applicability=level,
            fix=partial(_ask_for_both, context, compare, level),
        )


def _asks_for_cuda(compare: ast.Compare) -> bool:
    return (
        isinstance(compare.left, ast.Constant)
        and isinstance(compare.left.value, str)
        and compare.left.value.lower().startswith(_ASKED)
        and isinstance(compare.ops[0], ast.In | ast.NotIn)
    )


def _handler(context: Context, compare: ast.Compare) -> ast.ExceptHandler | None:
    """The handler of whose error the text is asked."""
    asked = names_in(compare.comparators[0])
    handlers = (
        parent
        for parent in context.index.ancestors(compare)
        if isinstance(parent, ast.ExceptHandler)
    )
    return next(
        (
            handler
            for handler in handlers
            if handler.name is not None and asked & {handler.name, *_texts_of(handler)}
        ),
        None,
    )


def _texts_of(handler: ast.ExceptHandler) -> Iterator[str]:
    """`message` of `message = str(error).lower()` in the handler."""
    for statement in ast.walk(handler):
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        names = names_in(statement.value)
        if isinstance(target, ast.Name) and handler.name in names:
            yield target.id


def _knows_mps(context: Context, handler: ast.ExceptHandler) -> bool:
    """Whether the handler asks for a text that the error of MPS has as well: by itself, or as one
    of a list."""
    return any(
        isinstance(item, ast.Constant)
        and _is_asked_for(context.index.parents[item], item)
        and isinstance(item.value, str)
        and "memory" in (text := item.value.lower())
        and (text in SAID_BY_MPS.lower() or SAID_BY_MPS.lower() in text)
        for item in ast.walk(handler)
    )


def _is_asked_for(parent: ast.AST, text: ast.Constant) -> bool:
    if isinstance(parent, ast.Call):
        asks = isinstance(parent.func, ast.Attribute) and parent.func.attr in _ASKING
        return asks and text in parent.args
    if isinstance(parent, ast.Compare):
        return parent.left is text
    return isinstance(parent, ast.List | ast.Tuple | ast.Set)


def _may_be_repeated(compare: ast.Compare) -> bool:
    calls = [item for item in ast.walk(compare.comparators[0]) if isinstance(item, ast.Call)]
    names = [
        func.id if isinstance(func := call.func, ast.Name) else getattr(func, "attr", "")
        for call in calls
    ]
    return set(names) <= _PURE


def _ask_for_both(context: Context, compare: ast.Compare, level: Applicability) -> Fix | None:
    if len(compare.ops) != 1:
        return None
    source = context.source
    text, asked = source.segment(compare), source.segment(compare.left)
    said = SAID_BY_MPS.lower() if asked == asked.lower() else SAID_BY_MPS
    # From the text on: it, or what it is asked of, may stand in parentheses.
    joined, word = ("or", "in") if isinstance(compare.ops[0], ast.In) else ("and", "not in")
    mark = quote(source, compare)
    other = f"{mark}{said}{mark} {word} {source.segment(compare.comparators[0])}"
    both = f"{text} {joined} {other}"
    if not isinstance(context.index.parents[compare], ast.If | ast.While | ast.Assign | ast.Return):
        both = f"({both})"
    return Fix("Ask for the error of MPS as well", (replace(source, compare, both),), level)
