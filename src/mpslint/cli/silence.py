"""`mpslint check --explain-silence`: what is held back because a name makes something likely."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from mpslint.cli.options import find_settings, warn
from mpslint.errors import BadSource
from mpslint.printable import printable

if TYPE_CHECKING:
    import argparse

    from mpslint.facts.priors import Prior


def explain(options: argparse.Namespace) -> int:
    """Exit code 2: something could not be read; else 0, since nothing of it is reported."""
    from mpslint.discovery import targets
    from mpslint.held_back import held_back
    from mpslint.opening import located, open_source
    from mpslint.reading import read_bytes

    count, code = 0, 0
    for target in targets(options.paths or ["."], find_settings(options), warn):
        try:
            source = open_source(target.path, read_bytes(target.path))
            silent = held_back(source, target.settings)
        except BadSource as error:
            print(f"{target.path}: {error}", file=sys.stderr)
            code = 2
            continue
        placed = located(source, [one.finding for one in silent])
        for one, finding in zip(silent, placed, strict=True):
            count += 1
            place = printable(f"{target.path}:{finding.place}")
            print(f"{place}: {finding.code} {finding.message}")
            print(f"  not reported: {_because(one.row)}")
    if not options.quiet:
        print(f"{count} finding{'' if count == 1 else 's'} held back by what names say")
    return code


def _because(row: Prior) -> str:
    kind = f"a fact: {row.source}" if row.source else "a guess"
    return f"{row} ({row.reason}; reaches the {row.scope}; {kind})"
