"""A comment silences a finding that is not there.

## What it does
Flags `# noqa` codes of mpslint, and `# mpslint: ignore` comments, on lines where the rules that
they name find nothing. A code that no rule has is flagged too.

## Why is this bad?
Such a comment says that something is wrong with the line, which is not so any more, and it would
hide the next finding there.

## Example
```python
torch.save(model.state_dict(), path)  # noqa: MPS201
```
Use instead:
```python
torch.save(model.state_dict(), path)
```

## What is not flagged
What cannot be judged: codes of other tools, a bare `# noqa` (which silences other tools as well),
rules that are off for the file, and comments that silence a whole file.

A `# noqa: MPS900` on the line keeps a comment that is of use to somebody else.

## Fix safety
Safe: only a comment changes. The codes of other tools and what else the comment says stay.

## References
- [Comments](../settings.md#comments)
- [ruff: unused-noqa (RUF100)](https://docs.astral.sh/ruff/rules/unused-noqa/), whose RUF102 takes
  codes of mpslint for mistakes unless `lint.external = ["MPS"]` names them
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.rules.registry import Rule
    from mpslint.semantics.context import Context


@rule(
    "MPS900",
    "unused-suppression",
    severity=Severity.SLOW,
    triggers=(b"noqa", b"NOQA", b"NoQA", b"Noqa", b"mpslint"),
    also=((b"MPS", b"mps", b"Mps"),),
    unnamed=True,
    fix=Applicability.SAFE,
    unfixed="the comment was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for unused in context.unused:
        yield context.finding_at(
            rule,
            unused.start,
            unused.end,
            unused.message,
            applicability=Applicability.SAFE,
            fix=partial(Fix, "Remove what silences nothing", unused.edits, Applicability.SAFE),
        )
