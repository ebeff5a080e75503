"""For how many findings there is a fix, and for how many a safe one, rule by rule.

`fixable.py FILE...` reads what `mpslint check --output-format json` has written, one file a
repository, and prints a table of the findings that break a Mac or leave its GPU unused, and one of
what speaks against the fixes that are not safe.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from pathlib import Path

_COUNTED = ("breaks", "ignores")
_REASON = re.compile(r"\((.*)\)$", re.S)
_PLACE = re.compile(r"^(?:\S+, )?line \d+(?: of cell \d+)?: ")
_CODE = re.compile(r"`[^`]*`|[\w./]*[.(\[][^ ]*\)?|\d+")
"""What is of one program in a reason: code, names with dots, numbers."""
_MOST = 25


def main(files: list[str]) -> None:
    every: Counter[str] = Counter()
    fixable: Counter[str] = Counter()
    safe: Counter[str] = Counter()
    why: Counter[str] = Counter()
    for file in files:
        for one in json.loads(Path(file).read_text("utf-8")):
            if one["severity"] not in _COUNTED:
                continue
            rule = f"{one['code']} ({one['name']})"
            level = (one["fix"] or {}).get("applicability")
            every[rule] += 1
            fixable[rule] += level in ("safe", "unsafe")
            safe[rule] += level == "safe"
            if level == "unsafe":
                why[_reason(one["fix"]["message"])] += 1
    print("| rule | findings | with a fix | with a safe one |\n| --- | ---: | ---: | ---: |")
    for rule, number in every.most_common():
        print(f"| {rule} | {number} | {fixable[rule]} | {safe[rule]} |")
    total = every.total()
    shares = [f"{some.total()} ({some.total() / total:.0%})" for some in (fixable, safe)]
    print(f"| all, of {len(files)} repositories | {total} | {shares[0]} | {shares[1]} |")
    print("\n| why a fix is not safe | findings |\n| --- | ---: |")
    for reason, number in why.most_common(_MOST):
        print(f"| {reason} | {number} |")


def _reason(message: str) -> str:
    """What a fix says against itself, without the place and the code that it speaks of."""
    found = _REASON.search(message)
    if found is None:
        return "the rule's own: its page says why"
    reason, places = _PLACE.subn("", found[1])
    return ("on its way: " if places else "") + " ".join(_CODE.sub("…", reason).split())


if __name__ == "__main__":
    main(sys.argv[1:])
