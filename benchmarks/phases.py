"""Where the time of a cold check goes: `python benchmarks/phases.py FOLDER`; `bench.py` shows it.

Times the parts of a run in one process, each without the parts inside it. To take the time costs
some itself, a twentieth or so: shares are to be read, not seconds.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import Any

from mpslint.checking import linter
from mpslint.findings import suppress
from mpslint.folders.discovery import targets
from mpslint.output import Style, render
from mpslint.porting import foreseen
from mpslint.project.runs import imported_runs
from mpslint.project.runs.reached import Reached
from mpslint.running import runner
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.worlds.file import Worlds
from mpslint.settings.file import SettingsFinder
from mpslint.sources import source

PARTS = (
    "reading",
    "screen",
    "parse",
    "index",
    "names",
    "worlds",
    "other files",
    "judging fixes",
    "comments",
    "output",
)
"""In the order of a run; what is left is the rules', and the imports of mpslint itself."""

_spent: Counter[str] = Counter()
_calls: Counter[str] = Counter()
_inside: list[float] = []


def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*given: Any, **named: Any) -> Any:
        started = time.process_time()
        _inside.append(0.0)
        try:
            return function(*given, **named)
        finally:
            whole = time.process_time() - started
            _spent[part] += whole - _inside.pop()
            _calls[part] += 1
            if _inside:
                _inside[-1] += whole

    return wrapper


def watch() -> None:
    """Times the parts from here on."""
    for owner, name, part in (
        (runner.Job, "read", "reading"),
        (linter.Screen, "select", "screen"),
        (source.SourceFile, "parse", "parse"),
        (Index, "__init__", "index"),
        (Names, "__init__", "names"),
        (imported_runs.ImportedRuns, "_run", "other files"),
        (Reached, "left_behind", "judging fixes"),
        (suppress.Suppressions, "__init__", "comments"),
    ):
        setattr(owner, name, timed(part, getattr(owner, name)))
    linter.cast_doubt = timed("judging fixes", foreseen.cast_doubt)
    run = cached_property(timed("worlds", Worlds.run.func))  # type: ignore[attr-defined]
    run.__set_name__(Worlds, "run")
    Worlds.run = run  # type: ignore[misc,assignment]


def main(folder: str) -> None:
    watch()
    found = list(targets([folder], SettingsFinder(isolated=True), lambda _: None))
    started = time.process_time()
    results = runner.check_all(found, jobs=1, cache=False, with_fixes=False)
    timed("output", render)("concise", results, Style())
    total = time.process_time() - started
    _spent["rules and the rest"] = total - sum(_spent.values())
    files = sum(1 for result in results if result.findings)
    print(f"### Where the time goes: {len(results)} files, findings in {files}\n")
    print("| part | times | share of CPU |\n| --- | ---: | ---: |")
    for part in (*PARTS, "rules and the rest"):
        times = _calls[part] or ""
        print(f"| {part} | {times} | {_spent[part] / total:.0%} |")
    print()


if __name__ == "__main__":
    main(sys.argv[1])
