"""A model is wrapped in `DataParallel` for CUDA alone, and its `.module` is asked for everywhere.

## What it does
Flags `model.module` where the model was put into `torch.nn.DataParallel` on machines with CUDA
only.

## Why is this bad?
Without the wrapper the model has no `.module`: AttributeError, on a Mac as on a machine without a
GPU.

All that is read of what one wrapper wraps is one finding, with the further reads as related places:
one change at the wrapper settles them.

## Example
```python
if torch.cuda.is_available():
    model = nn.DataParallel(model.cuda())
torch.save(model.module.state_dict(), "model.pt")
```
Use instead:
```python
if torch.cuda.is_available():
    model = nn.DataParallel(model.cuda())
inner = model.module if isinstance(model, nn.DataParallel) else model
torch.save(inner.state_dict(), "model.pt")
```

## What is not flagged
Reads behind the test that wraps it, behind one that looks at the model itself
(`isinstance(model, nn.DataParallel)`, `hasattr(model, "module")`, `is_parallel(model)`), and in a
`try` that deals with the error; models that are wrapped on a Mac as well, on some way; objects of a
class that has an attribute `module` of its own; `DistributedDataParallel`, which stands in code for
CUDA; a model of another file.

## Fix safety
There is no fix: whether the wrapper goes, or the read asks for it, is for the author to say.

## References
- `torch/nn/parallel/data_parallel.py` (`DataParallel`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.errors import kinds_of, may_catch
from mpslint.semantics.worlds.events import Event, Kind


@rule(
    "MPS216",
    "wrapped-for-cuda",
    severity=Severity.BREAKS,
    triggers=(b"DataParallel",),
    also=((b".module",), (b"cuda",)),
    unfixed="whether the wrapper goes, or the read asks for it, is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    found: dict[ast.AST, list[Event]] = {}
    seen: set[ast.AST] = set()
    for event in context.worlds.events(Kind.UNWRAPPED):
        if not event.on_mac or event.node in seen or _is_tried(context, event.node):
            continue
        if _is_looked_at(context, event.node):
            continue
        seen.add(event.node)
        # One change at the wrapper settles all that is read of what it wraps.
        found.setdefault(event.use or context.index.statement(event.node), []).append(event)
    for events in found.values():
        first, *more = sorted(events, key=lambda event: context.source.span(event.node))
        labels = (context.label(first.use, "wrapped only here"),) if first.use else ()
        yield context.finding(
            rule,
            first.node,
            "raises AttributeError: the model has no `.module` where CUDA is not there to wrap it",
            labels=(*labels, *(context.label(event.node, "read here as well") for event in more)),
        )


def _is_looked_at(context: Context, node: ast.AST) -> bool:
    """Whether a test around it looks at the model itself (`hasattr(model, "generate")`,
    `is_parallel(model)`), which is how the two are told apart."""
    assert isinstance(node, ast.Attribute)
    model = ast.dump(node.value)
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.If | ast.IfExp) and not context.index.within(node, parent.test):
            test = context.guards.behind(parent.test)
            if any(
                isinstance(item, ast.Name | ast.Attribute) and ast.dump(item) == model
                for item in ast.walk(test)
            ):
                return True
    return False


def _is_tried(context: Context, node: ast.AST) -> bool:
    """Whether the same function deals with the error."""
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return False
        if isinstance(parent, ast.Try) and any(
            may_catch(kinds_of(handler.type), "AttributeError") for handler in parent.handlers
        ):
            return any(context.index.within(node, statement) for statement in parent.body)
    return False
