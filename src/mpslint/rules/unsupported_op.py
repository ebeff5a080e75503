"""An op has no MPS kernel in part of the supported torch releases.

## What it does
Flags calls of functions, modules and methods of tensors that have no MPS kernel in a release from
`min-torch` to `max-torch`, by the table in `mpslint/facts/ops.json`; and, in models, operators of
torch_cluster and torch_scatter (`radius_graph`, `knn_graph`, `fps`, `scatter_max`, `segment_csr`),
which are built for the CPU and CUDA in every release.

## Why is this bad?
`NotImplementedError: The operator 'aten::linalg_eig' is not currently implemented for the MPS
device`. There is no silent fallback: it must be asked for by `PYTORCH_ENABLE_MPS_FALLBACK=1`
before torch is imported, and then every call copies to the CPU and back. An operator of another
package raises `RuntimeError: x must be CPU tensor` with or without it.

## Example
```python
values, vectors = torch.linalg.eig(a)
```
Use instead:
```python
values, vectors = (t.to(a.device) for t in torch.linalg.eig(a.cpu()))
```

## What is not flagged
Data known to be on the CPU, what a module's constructor has made without a device among them,
losses that are given such data wherever the file calls them, and what initializers fill that stand
beside those of `torch.nn.init`; also where a test for MPS sends it there before, notebooks that
name no device and import nothing that could, code that does not run on MPS, files that switch the
fallback on, what is tried (unless its result is read behind the `try`, and no handler gives it
another value), pooling to a single cell (`AdaptiveAvgPool3d(1)` is a mean, and so is
`AdaptiveAvgPool3d((None, 1, 1))` of what another pool has left one cell of), what is float64, which
no Mac's GPU holds: it is on the CPU, or its cast is told (MPS401), factories without `device=`, and
variants that depend on an argument's value (`norm(p="nuc")`). Tests. What torch_scatter makes of
torch's own operators (`scatter_add`, `scatter_mean`), and operators of packages in code that makes
data, no model. What transforms of a data set do with its samples (`data.vectors = ...; return data`
in `__call__`), what data sets and `LightningDataModule`s compute that move nothing themselves, with
what nobody else may have handed them, and functions that only such use. What a function makes of
its parameters alone, where all who call it, in other files as well, give arrays or what was left on
the CPU. Projects whose requirements let in no torch from 1.12 on, the first with MPS. Methods of
what is not known to be a tensor (`.take`), and `.mode` of what a module gives, which may be a
distribution. With the default `min-torch`, only ops that torch 2.13 lacks: what torch has had for
longer is flagged where a project sets `min-torch` to an older release.

## Fix safety
Unsafe: the op runs on the CPU on every machine. Offered where it takes one tensor.

## References
- pytorch/pytorch#77764 and #141287 (operators without an MPS kernel); `mpslint.facts`
- `CHECK_CPU` in `csrc/cpu/utils.h` of rusty1s/pytorch_cluster and rusty1s/pytorch_scatter
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.ops import NEVER, Release, release_text, support
from mpslint.facts.torch_releases import FIRST_WITH_MPS
from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.followed_values import callers
from mpslint.patterns.on_cpu import compute_on_cpu, takes_one_tensor
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.extension_calls import extension_calls, extension_words
from mpslint.semantics.operands.op_calls import falls_back, may_run_on_mps, oldest_release, op_calls
from mpslint.semantics.operands.single_cells import leaves_one_cell
from mpslint.semantics.purpose.test_files import lies_among_tests
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.syntax.paths import parts
from mpslint.semantics.terms.value import Kind


def _names() -> tuple[bytes, ...]:
    """The last parts of all names in the table."""
    table = support()
    found = {name.rpartition(".")[2] for name in (*table.native_since, *table.methods_since)}
    found |= extension_words()
    return tuple(name.encode() for name in sorted(found))


_WIDE = ("float64", "complex128")
_OF_DISTRIBUTIONS = frozenset({"mode"})
"""Methods that tensors share with distributions, and with what projects wrap around these."""


@rule(
    "MPS501",
    "unsupported-op",
    severity=Severity.BREAKS,
    triggers=(b"torch",),
    names=_names(),
    called=True,
    fix=Applicability.UNSAFE,
    unfixed="it does not take one tensor alone that could go to the CPU and back",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.is_bound_before(FIRST_WITH_MPS):
        return
    yield from _of_packages(context, rule)
    table, oldest = support(), oldest_release(context)
    lacking = {name: since for name, since in table.native_since.items() if since > oldest}
    for call, name in op_calls(context, lacking):
        if leaves_one_cell(context, call, name) or _is_made_wide(context, call):
            continue
        yield from _report(context, rule, call, call.func, name, lacking[name])
    for method, since in table.methods_since.items():
        if since <= oldest:
            continue
        for call in context.index.calls.get(method, ()):
            if _on_device_tensor(context, call):
                yield from _report(context, rule, call, call.func, f"Tensor.{method}", since)


def _of_packages(context: Context, rule: Rule) -> Iterator[Finding]:
    for call, name in extension_calls(context):
        if not _is_test(context):
            yield context.finding(
                rule,
                call.func,
                f"{name} is built for the CPU and CUDA alone: a tensor on MPS raises RuntimeError",
                confidence=Confidence.INFERRED,
            )


def _report(
    context: Context, rule: Rule, call: ast.Call, token: ast.expr, name: str, since: Release
) -> Iterator[Finding]:
    newest = context.settings.max_torch
    if falls_back(context) or _is_test(context):
        return
    never = since == NEVER or (newest is not None and since > newest)
    when = "up to torch 2.15, the newest known" if never else f"before torch {release_text(since)}"
    fixable = takes_one_tensor(context, call, name)
    yield context.finding(
        rule,
        token,
        f"{name} has no MPS kernel {when}: raises NotImplementedError there",
        confidence=Confidence.INFERRED,
        applicability=Applicability.UNSAFE if fixable else None,
        fix=partial(_on_cpu, context, call, name) if fixable else None,
    )


def _is_made_wide(context: Context, call: ast.Call) -> bool:
    """Whether a call is given what is float64: where that is made, or moved, a Mac's GPU raises
    before, so that what comes here is on the CPU."""
    return any(_is_wide(context, given) for given in call.args)


def _is_wide(context: Context, node: ast.expr) -> bool:
    """Whether an expression is float64, or is reckoned with what is and cast to nothing else."""
    known = context.dtypes.tensor(node)
    if known is not None:
        return known in _WIDE
    if isinstance(node, ast.Name):
        return _is_handed_wide(context, node)
    if isinstance(node, ast.BinOp):
        return _is_wide(context, node.left) or _is_wide(context, node.right)
    if isinstance(node, ast.Attribute | ast.Subscript):
        return _is_wide(context, node.value)
    if not isinstance(node, ast.Call) or context.dtypes.cast_of_to(node) is not None:
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "double":
        return True
    method = isinstance(node.func, ast.Attribute) and context.resolve(node.func) is None
    parts_of = [node.func.value] if method else node.args  # type: ignore[attr-defined]
    return any(_is_wide(context, one) for one in parts_of)


def _is_handed_wide(context: Context, node: ast.Name) -> bool:
    """Whether `node` is a parameter that all callers of its function, which nobody else uses, give
    such a tensor."""
    function = context.index.function(node)
    reaching = context.flow.reaching(node)
    if function is None or not reaching:
        return False
    if any(binding.kind != "parameter" for binding in reaching):
        return False
    calls = callers(context, function) or ()
    handed = [given_for(function.args, one, node.id) for one in calls if isinstance(one, ast.Call)]
    return bool(handed) and all(context.dtypes.tensor(item) in _WIDE for item in handed)


def _is_test(context: Context) -> bool:
    return parts(context.source.path)[-1].startswith("test_") or lies_among_tests(context)


def _on_cpu(context: Context, call: ast.Call, name: str) -> Fix | None:
    return compute_on_cpu(context, call, name)


def _is_made_by_torch(context: Context, node: ast.expr) -> bool:
    """Whether a function of torch gives this, or a parameter says that it is a tensor: what a
    module gives may be a distribution of the project's own."""
    made = node
    if isinstance(node, ast.Name):
        reaching = context.flow.reaching(node)
        if not reaching:
            return False
        if any(one.kind == "parameter" for one in reaching):
            return all(_is_annotated(context, one.node) for one in reaching)
        values = [one.value for one in reaching]
        return all(one is not None and _is_made_by_torch(context, one) for one in values)
    made = root_of(made, ast.Subscript)
    if not isinstance(made, ast.Call):
        return False
    name = context.resolve(made.func) or ""
    if name.startswith("torch."):
        return not name.startswith("torch.distributions.")
    return isinstance(made.func, ast.Attribute) and _is_made_by_torch(context, made.func.value)


def _is_annotated(context: Context, parameter: ast.AST) -> bool:
    annotation = getattr(parameter, "annotation", None)
    return annotation is not None and context.resolve(annotation) == "torch.Tensor"


def _on_device_tensor(context: Context, call: ast.Call) -> bool:
    function = call.func
    if not isinstance(function, ast.Attribute):
        return False
    if (context.resolve(function) or "").startswith("torch."):
        return False
    if function.attr in _OF_DISTRIBUTIONS and not _is_made_by_torch(context, function.value):
        return False
    value = context.values.of(function.value)
    return (
        value.kind is Kind.TENSOR
        and not value.on_cpu
        and may_run_on_mps(context, call, function.attr)
        and context.worlds.on_mps(call)
        and not context.worlds.is_caught(call)
    )
