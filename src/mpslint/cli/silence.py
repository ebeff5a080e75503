"""`mpslint check --explain-silence`: what is held back because a name makes something likely, or
because nothing of the project uses it."""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.checking.checking import guarded
from mpslint.cli.options import find_settings, warn
from mpslint.findings.results import FileResult
from mpslint.sources.opening import located, open_source
from mpslint.sources.reading import read_bytes

if TYPE_CHECKING:
    import argparse

    from mpslint.checking.held_back import HeldBack
    from mpslint.facts.priors import Prior
    from mpslint.model import Finding
    from mpslint.settings.settings import Settings


def explain(options: argparse.Namespace) -> int:
    """Exit code 2: something could not be read; else 0, since nothing of it is reported."""
    from mpslint.folders.discovery import targets

    # Each look makes anew what is known around a file, in circles: with the collector off, as it
    # is for a check, a folder of 300 files takes gigabytes.
    gc.enable()
    count, code = 0, 0
    for target in targets(options.paths or ["."], find_settings(options), warn):
        silent = guarded(target.path, partial(_silent, target.path, target.settings))
        if isinstance(silent, FileResult):
            print(printable(silent.error or ""), file=sys.stderr)
            code = 2
            continue
        for one, finding in silent:
            count += 1
            place = printable(f"{target.path}:{finding.place}")
            print(f"{place}: {finding.code} {finding.message}")
            print(f"  not reported: {_because(one.row)}")
            if one.why:
                print(f"  the project: {printable(one.why)}")
    if not options.quiet:
        print(f"{count} finding{'' if count == 1 else 's'} held back")
    return code


def _silent(path: str, settings: Settings) -> list[tuple[HeldBack, Finding]]:
    """What is held back in a file, each with its finding as it is placed on disk."""
    from mpslint.checking.held_back import held_back

    source = open_source(path, read_bytes(path))
    found = held_back(source, settings)
    return list(zip(found, located(source, [one.finding for one in found]), strict=True))


def _because(row: Prior) -> str:
    kind = f"a fact: {row.source}" if row.source else "a guess"
    return f"{row} ({row.reason}; reaches the {row.scope}; {kind})"
