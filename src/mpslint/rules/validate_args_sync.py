"""`torch.distributions` checks its arguments with a read from the device at each construction.

## What it does
Flags distributions that are made at every step of a training loop without `validate_args=False`.

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

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.arguments import add_argument
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.steps import at_each, that_trains, training, trains_on_device
from mpslint.semantics.value_syntax import keyword

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
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.index.calls.get("set_default_validate_args"):
        return
    if not trains_on_device(context):
        return
    for name in _NAMES.split():
        qualified = f"torch.distributions.{name}"
        module = f"torch.distributions.{name.lower()}.{name}"
        for call in context.calls_of(qualified, module):
            turns = training(context, call)
            if turns is None or keyword(call, "validate_args") is not None:
                continue
            yield context.finding(
                rule,
                call.func,
                f"checks its arguments {at_each(context, turns)}",
                confidence=Confidence.INFERRED,
                labels=(that_trains(context, turns),),
                applicability=Applicability.UNSAFE,
                fix=partial(_fix, context, call),
            )


def _fix(context: Context, call: ast.Call) -> Fix | None:
    edit = add_argument(context.source, call, "validate_args=False")
    if edit is None:
        return None
    return Fix("Add `validate_args=False`", (edit,), Applicability.UNSAFE)
