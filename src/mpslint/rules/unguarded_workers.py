"""Worker processes are started by a script that does its work when it is imported.

## What it does
Flags the `DataLoader(num_workers=4)` of a script that draws batches from it outside of
`if __name__ == "__main__":`, and a `multiprocessing.Pool`, `Process` or `ProcessPoolExecutor` that
is made there: at the top of the file, or in functions of the project that are called from there. A
script is told of it once, with the other places as related ones.

## Why is this bad?
Linux forks a process to get a worker. macOS spawns it since Python 3.8 (Linux asks a fork server
from 3.14 on): the worker starts with nothing and imports the script again. What stands at its top
runs once more, comes to the same loader, and Python raises `RuntimeError: An attempt has been made
to start a new process before the current process has finished its bootstrapping phase`; the script
ends with `DataLoader worker exited unexpectedly`.

## Example
```python
loader = DataLoader(dataset, num_workers=4)
for batch in loader:
    train(batch)
```
Use instead:
```python
def main():
    loader = DataLoader(dataset, num_workers=4)
    for batch in loader:
        train(batch)


if __name__ == "__main__":
    main()
```

## What is not flagged
Loaders without workers, with a number of workers that is not known from the code (options of the
program count with their defaults), and those that nothing at the top draws from. Files in which a
start method is named (`set_start_method("fork")`, `multiprocessing_context="fork"`). What a default
switches off, workers that are there with CUDA alone, and pools behind any test. Scripts that leave
all of it to other files: none of `DataLoader`, `num_workers`, `Pool` and `Process` stands in them,
nor a loop over what a function of the project makes.
Notebooks, and Python files with cells: they are no main module that a worker imports. There is no
fix: what follows the definitions is to be indented, and where it goes is for who knows which part
of it the functions above need.

## References
- [Contexts and start methods](https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods)
- `torch/utils/data/dataloader.py`, "Platform-specific behaviors" in the documentation of
  `torch.utils.data`
"""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.processes.started_processes import Start, started_on_import

_WORDS = (b"DataLoader", b"num_workers", b"Pool", b"Process")
"""What a script writes that starts processes itself."""
_LOOP = b"for "
"""What draws from a loader that another file makes. To look behind everything that any script calls
in other files costs a tenth of the time of a check, for one script in hundreds: so these loops are
looked for in the script itself, and the functions that it calls have to speak of loaders."""


@rule(
    "MPS705",
    "unguarded-workers",
    severity=Severity.BREAKS,
    triggers=(*_WORDS, _LOOP),
    unfixed="which statements belong to a function `main` is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    starts = started_on_import(context)
    if not starts:
        return
    first, *others = starts
    own = first.place.context is context
    labels = [
        context.label(other.call.func, "and here")
        for other in others
        if other.place.context is context
    ]
    if own and first.draws.context is context and first.is_loader:
        labels.insert(0, context.label(first.led, "its workers start here"))
    yield context.finding(
        rule,
        first.call.func if own else first.led,
        f"on macOS {_what(first)} imports this script again, which raises RuntimeError: "
        'what it does belongs below `if __name__ == "__main__":`',
        # It stops the script on every Mac, whatever its device: a fix is no half port for it.
        confidence=Confidence.INFERRED,
        labels=tuple(labels),
    )


def _what(start: Start) -> str:
    if start.is_loader:
        return "each worker of the DataLoader"
    return "each process that is started"
