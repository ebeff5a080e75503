"""What a finding is known by when its line has moved: its rule and the text of its line.

Blanks, comments and the kind of quotes do not count, so that a formatter changes nothing. Findings
that are alike in one file are told apart by counting them.
"""

from __future__ import annotations

import re
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from mpslint.sources.opening import line_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile

_NO_MATTER = re.compile(r"#.*|\s+")


def fingerprint(finding: Finding, source: SourceFile | None) -> str:
    """The same for all findings of one rule on lines that read alike; `source` is the finding's
    file, None where it cannot be read any more."""
    line = line_of(source, finding.cell, finding.row) if source is not None else None
    return digest(finding.code, _NO_MATTER.sub("", line or "").replace("'", '"'))


def counted(findings: Sequence[Finding], source: SourceFile | None) -> list[tuple[str, int]]:
    """The fingerprint of each finding of one file, and how many alike have come so far."""
    seen: Counter[str] = Counter()
    found = []
    for finding in findings:
        mark = fingerprint(finding, source)
        seen[mark] += 1
        found.append((mark, seen[mark]))
    return found


def digest(*parts: str) -> str:
    """Sixteen hexadecimal digits that stand for these texts."""
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=8).hexdigest()
