"""`torch.cuda.FloatTensor` and its kind do not exist off CUDA.

## What it does
Flags the legacy CUDA tensor types where they are called, passed on or chosen, also by name in
`.type("torch.cuda.FloatTensor")`.

## Why is this bad?
Calling one off CUDA raises `TypeError: type torch.cuda.FloatTensor not available`, and
`x.type(torch.cuda.FloatTensor)` raises RuntimeError. Choosing one
with `torch.cuda.FloatTensor if cuda else torch.FloatTensor`, or by an import below such a test,
leaves an Apple GPU unused: every tensor made with it is on the CPU, also where the choice follows
`x.is_cuda` and `x` is on MPS.

## Example
```python
t = torch.cuda.FloatTensor([1, 2])
```
Use instead:
```python
t = torch.tensor([1, 2], dtype=torch.float32, device=device)
```

## What is not flagged
Comparisons and `isinstance` tests (they are False elsewhere, which is right), membership, keys,
annotations, branches that run only on CUDA and choose nothing, a choice that goes to a name which
nothing reads, and code that is about CUDA or about a group of processes by the name of its
function, class or file.

## Fix safety
Safe: a name for the type of whichever device is there goes away together with all gated moves of
the file; what was made with it becomes a `torch.tensor` or `torch.empty` on the selected device.
Where one use is unclear nothing is changed. A type that is called, or given to `.type(...)`, on
every machine becomes the same on the selected device, or on that of the tensor beside it; a choice
that asks a tensor where it is (`x.is_cuda`) becomes the device of that tensor. A plain name for a
type (`Tensor = torch.cuda.FloatTensor`) goes away likewise, with all that is made by it.

## References
- run with torch 2.13 without CUDA: `TypeError: type torch.cuda.FloatTensor not available`; with
  `.type(...)`, of a type and of its name: `RuntimeError: Cannot initialize CUDA`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Label, Severity
from mpslint.patterns.gates import gates_level, open_gates
from mpslint.patterns.legacy import (
    follows_operand,
    with_device,
    with_device_level,
    with_operand,
    with_operand_level,
)
from mpslint.patterns.unfixed import of_choice, of_type, of_type_choice
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.terms.legacy_types import CUDA_TYPES, is_cuda_type_name
from mpslint.semantics.worlds.machines import MAC


@rule(
    "MPS111",
    "cuda-tensor-type",
    severity=Severity.BREAKS,
    triggers=(b"Tensor",),
    also=((b"cuda",),),
    fix=Applicability.SAFE,
    unfixed="one of the uses of this type was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for node in _types(context):
        if _only_compared(context, node):
            continue
        branch = _choice(context, node)
        if branch is not None:
            if _unused(context, node):
                continue
            if not context.worlds.breaks(branch):
                continue
            follows = follows_operand(context, node)
            level = partial(with_operand_level, context, node)
            found = context.finding(
                rule,
                node,
                _chosen(branch.test),
                severity=Severity.IGNORES,
                labels=(context.label(branch.test, "the choice"), *_used(context, node)),
                applicability=level if follows else partial(gates_level, context),
                fix=partial(with_operand, context, node)
                if follows
                else partial(open_gates, context),
                unfixed=partial(of_type_choice, context, node),
            )
            found.follows = follows
            yield found
        elif context.worlds.breaks(node):
            yield context.finding(
                rule,
                node,
                _raised(context, node),
                applicability=partial(with_device_level, context, node),
                fix=partial(with_device, context, node),
                unfixed=partial(of_type, context, node),
            )
    for alias, branch in _imported_by_choice(context):
        uses = tuple(context.label(use, "used here") for use in _reads(context, alias))
        if uses and context.worlds.breaks(branch):
            start, end = context.source.span(alias)
            yield context.finding_at(
                rule,
                start,
                end,
                _chosen(branch.test),
                severity=Severity.IGNORES,
                labels=(context.label(branch.test, "the choice"), *uses),
                unfixed=partial(of_choice, context, branch.test),
            )


def _imported_by_choice(context: Context) -> Iterator[tuple[ast.alias, ast.If]]:
    """CUDA's types that are imported where CUDA is, under a name that is torch's own type
    elsewhere: no Mac asks for them, and its tensors stay on the CPU."""
    for item in context.index.of(ast.ImportFrom):
        branch = context.index.parents[item]
        if item.module != "torch.cuda" or not isinstance(branch, ast.If):
            continue
        for alias in item.names:
            name = alias.asname or alias.name
            others = [b for b in context.names.bindings(name, item) if b.node is not item]
            own = any(b.qualified == f"torch.{alias.name}" for b in others)
            if alias.name in CUDA_TYPES and own and not context.worlds.reach(item) & MAC:
                yield alias, branch


def _reads(context: Context, alias: ast.alias) -> list[ast.Name]:
    """Where a type that is imported is read, a line each."""
    rows: dict[int, ast.Name] = {}
    for use in context.index.names.get(alias.asname or alias.name, ()):
        if isinstance(use.ctx, ast.Load):
            rows.setdefault(use.lineno, use)
    return [use for _, use in sorted(rows.items())]


def _types(context: Context) -> Iterator[ast.expr]:
    """Names of CUDA tensor types, and strings that name one for `.type(...)`."""
    for word in CUDA_TYPES:
        for node in context.index.attributes.get(word, ()):
            if context.resolve(node) == f"torch.cuda.{word}":
                yield node
        for name in context.index.names.get(word, ()):
            imported = context.resolve(name) == f"torch.cuda.{word}"
            if imported and isinstance(name.ctx, ast.Load) and _is_import(context, name):
                yield name
    for call in context.index.calls.get("type", ()):
        if isinstance(call.func, ast.Attribute):
            for argument in call.args[:1]:
                if is_cuda_type_name(argument):
                    yield argument


def _is_import(context: Context, name: ast.Name) -> bool:
    """Whether the name comes from an import that a Mac comes to, and not from one that takes
    torch's own type in its place; an alias is flagged where it is made."""
    imports = [b for b in context.names.bindings(name.id, name) if b.kind == "import"]
    return any(
        (b.qualified or "").startswith("torch.cuda.") and context.worlds.reach(b.node) & MAC
        for b in imports
    )


def _chosen(test: ast.expr) -> str:
    """What a choice by `test` does on a Mac."""
    if any(isinstance(item, ast.Attribute) and item.attr == "is_cuda" for item in ast.walk(test)):
        return "follows is_cuda: beside a tensor on MPS, what is made with it is on the CPU"
    return "chosen by CUDA alone: what is made with the other type is on the CPU of a Mac"


def _raised(context: Context, node: ast.expr) -> str:
    """Which error the use of a type raises: a call of it TypeError, `x.type(...)` RuntimeError."""
    parent = context.index.parents[node]
    if not isinstance(parent, ast.Call | ast.keyword):
        return "not available where there is no CUDA: the use of this type raises there"
    call = parent if isinstance(parent, ast.Call) else context.index.parents[parent]
    assert isinstance(call, ast.Call)
    if call.func is node:
        return "raises TypeError where there is no CUDA: the type is not available"
    if context.values.last_name(call.func) == "type":
        return "raises RuntimeError where there is no CUDA: .type() has to initialise it"
    return "not available where there is no CUDA: the use of this type raises there"


def _only_compared(context: Context, node: ast.expr) -> bool:
    """In a comparison, an `isinstance`, a key, a list of types, an annotation, or as argument of
    `set_default_tensor_type`, which has a rule of its own."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.IfExp):
        parent = context.index.parents[parent]
    if isinstance(
        parent, ast.Compare | ast.Dict | ast.List | ast.Set | ast.arg | ast.BinOp | ast.Subscript
    ):
        return True
    if isinstance(parent, ast.Tuple):
        return not _unpacked(context, parent)
    if isinstance(parent, ast.FunctionDef | ast.AnnAssign):
        return parent.annotation is node if isinstance(parent, ast.AnnAssign) else True
    if isinstance(parent, ast.Call) and node is not parent.func:
        last = context.values.last_name(parent.func)
        return last in ("isinstance", "issubclass", "set_default_tensor_type", "is_same_type")
    return False


def _unpacked(context: Context, items: ast.Tuple) -> bool:
    """Whether the tuple gives several names their values at once."""
    statement = context.index.parents[items]
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)


def _choice(context: Context, node: ast.expr) -> ast.If | ast.IfExp | None:
    """The branch that chooses between this type and one of the CPU."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.IfExp) and node is not parent.test:
        other = parent.orelse if parent.body is node else parent.body
        return parent if _cpu_type(context, other) else None
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return None
    branch = context.index.parents[parent]
    if not isinstance(branch, ast.If):
        return None
    target = ast.unparse(parent.targets[0])
    for arm in (branch.body, branch.orelse):
        for statement in arm:
            if not isinstance(statement, ast.Assign) or statement is parent:
                continue
            if ast.unparse(statement.targets[0]) == target:
                return branch if _cpu_type(context, statement.value) else None
    held = context.flow.reaching_name(target, branch.test)
    before = [binding.value for binding in held if binding.kind == "assign"]
    if held and len(before) == len(held) and all(x and _cpu_type(context, x) for x in before):
        return branch
    return None


def _unused(context: Context, node: ast.expr) -> bool:
    """Whether the type only goes to a name that nothing reads."""
    statement = context.index.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    name = statement.targets[0]
    if not isinstance(name, ast.Name) or any(x.value == name.id for x in context.index.strings):
        return False
    scope = context.names.scope_of(name)
    return not any(
        isinstance(use.ctx, ast.Load) and context.names.owner(name.id, use) is scope
        for use in context.index.names[name.id]
    )


def _used(context: Context, node: ast.expr) -> tuple[Label, ...]:
    """The places where the type that was chosen makes or converts tensors, a line each."""
    statement = context.index.statement(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    rows: dict[int, ast.Name] = {}
    for name in (item for item in targets if isinstance(item, ast.Name)):
        scope = context.names.scope_of(name)
        for use in context.index.names[name.id]:
            if isinstance(use.ctx, ast.Load) and context.names.owner(name.id, use) is scope:
                rows.setdefault(use.lineno, use)
    return tuple(context.label(use, "used here as well") for _, use in sorted(rows.items()))


def _cpu_type(context: Context, node: ast.expr) -> bool:
    name = context.resolve(node) or ""
    return name.startswith("torch.") and name.count(".") == 1 and name.endswith("Tensor")
