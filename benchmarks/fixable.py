"""For how many findings there is a fix, and for how many a safe one, rule by rule.

`fixable.py FILE...` reads what `mpslint check --output-format json` has written, one file a
repository, and prints a table of the findings that break a Mac or leave its GPU unused.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

_COUNTED = ("breaks", "ignores")


def main(files: list[str]) -> None:
    every: Counter[str] = Counter()
    fixable: Counter[str] = Counter()
    safe: Counter[str] = Counter()
    for file in files:
        for one in json.loads(Path(file).read_text("utf-8")):
            if one["severity"] not in _COUNTED:
                continue
            rule = f"{one['code']} ({one['name']})"
            level = (one["fix"] or {}).get("applicability")
            every[rule] += 1
            fixable[rule] += level in ("safe", "unsafe")
            safe[rule] += level == "safe"
    print("| rule | findings | with a fix | with a safe one |\n| --- | ---: | ---: | ---: |")
    for rule, number in every.most_common():
        print(f"| {rule} | {number} | {fixable[rule]} | {safe[rule]} |")
    total = every.total()
    shares = [f"{some.total()} ({some.total() / total:.0%})" for some in (fixable, safe)]
    print(f"| all, of {len(files)} repositories | {total} | {shares[0]} | {shares[1]} |")


if __name__ == "__main__":
    main(sys.argv[1:])
