"""`torch.distributions` checks its arguments with a read from the device at each construction.

## What it does
Flags distributions that are made at every step of a training loop or in every forward pass without
`validate_args=False`, with the places where `log_prob` checks once more.

Opt-in: the check finds real mistakes (a negative scale), and is worth its price while a program is
young.

## Why is this bad?
The check asks whether all values are valid, which waits for the device: one read for
`Categorical`, more with each `log_prob`.

## Example
```python
policy = Categorical(logits=scores)
```
Use instead:
```python
policy = Categorical(logits=scores, validate_args=False)
```

## What is not flagged
Constructions with `validate_args`, files that call `set_default_validate_args`, and what runs
rarely, outside training loops, or in files that use no device.

## Fix safety
Unsafe: invalid arguments are no longer noticed.

## References
- `torch/distributions/distribution.py` (`Distribution.__init__`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Label, Severity
from mpslint.patterns.arguments import add_argument
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.steps.steps import at_each, that_trains, training, trains_itself
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.worlds.machines import MACS

_NAMES = (
    "Bernoulli Beta Binomial Categorical Cauchy Chi2 ContinuousBernoulli Dirichlet Exponential "
    "Gamma Geometric Gumbel HalfCauchy HalfNormal Independent InverseGamma Kumaraswamy Laplace "
    "LogNormal LowRankMultivariateNormal MixtureSameFamily Multinomial MultivariateNormal "
    "NegativeBinomial Normal OneHotCategorical Pareto Poisson RelaxedBernoulli "
    "RelaxedOneHotCategorical StudentT TransformedDistribution Uniform VonMises Weibull"
)


@rule(
    "MPS308",
    "validate-args-sync",
    severity=Severity.SLOW,
    triggers=(b"distributions",),
    default=False,
    fix=Applicability.UNSAFE,
    unfixed="the arguments of the call were not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.index.calls.get("set_default_validate_args"):
        return
    trains = trains_itself(context)
    for name in _NAMES.split():
        qualified = f"torch.distributions.{name}"
        module = f"torch.distributions.{name.lower()}.{name}"
        for call in context.calls_of(qualified, module):
            if keyword(call, "validate_args") is not None or _is_of_numbers(context, call):
                continue
            turns = training(context, call) if trains else None
            function = context.passes.around(call) if turns is None else None
            if turns is None and function is None:
                continue
            if not context.worlds.reach(call) & MACS or only_tests_run(context, call):
                continue
            hot = (
                that_trains(context, turns)
                if turns is not None
                else context.label(function or call, "this runs in every forward pass")
            )
            yield context.finding(
                rule,
                call.func,
                "checks its arguments"
                f" {at_each(context, turns) if turns is not None else 'in every forward pass'}",
                confidence=Confidence.INFERRED,
                labels=(hot, *_checked_again(context, call)),
                applicability=Applicability.UNSAFE,
                fix=partial(_fix, context, call),
            )


def _is_of_numbers(context: Context, call: ast.Call) -> bool:
    """`Normal(0, 1)`: what the host knows is checked there."""
    given = [*call.args, *(item.value for item in call.keywords)]
    return bool(given) and all(context.values.of(item).kind is Kind.NUMBER for item in given)


def _checked_again(context: Context, call: ast.Call) -> tuple[Label, ...]:
    """Where `log_prob` of the distribution checks what it is given."""
    statement = context.index.statement(call)
    return tuple(
        context.label(asked.func, "checks what it is given as well")
        for asked in context.index.calls.get("log_prob", ())
        if isinstance(asked.func, ast.Attribute)
        and isinstance(asked.func.value, ast.Name)
        and any(binding.node is statement for binding in context.flow.reaching(asked.func.value))
    )


def _fix(context: Context, call: ast.Call) -> Fix | None:
    edit = add_argument(context.source, call, "validate_args=False")
    if edit is None:
        return None
    return Fix("Add `validate_args=False`", (edit,), Applicability.UNSAFE)
