"""Write what follows from the rule modules: `python docs/generate.py`.

`docs/rules/NAME.md` for every rule, with an example that was tried, `docs/rules/README.md` as
their index, their part of the site's menu in `mkdocs.yml`, `mpslint.rules.index`, by which a run
knows the rules without importing them, and the JSON schema of the settings. A test keeps all of
them equal to what this writes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from rule_example import tried

from mpslint.model import Applicability, Confidence
from mpslint.rules.registry import Rule
from mpslint.rules.registry import declared_rules as all_rules
from mpslint.settings.table import schema

ROOT = Path(__file__).resolve().parent.parent
GROUPS = {
    "1": "Choosing a device",
    "2": "CUDA-only APIs",
    "3": "Between device and host",
    "4": "Dtypes and correctness",
    "5": "Operators without a kernel",
    "6": "Timing and performance",
    "7": "Memory and processes",
    "8": "One device for everything",
    "9": "Comments",
}


BEGIN, END = "# rules: begin", "# rules: end"


def fixability(rule: Rule) -> str:
    if rule.fix is None:
        return "no"
    return {
        Applicability.SAFE: "safe",
        Applicability.UNSAFE: "unsafe",
        Applicability.DISPLAY: "shown",
    }[rule.fix]


def state(rule: Rule) -> str:
    """Which of its findings are there without being asked for."""
    if not rule.default:
        return "opt-in"
    if rule.least is Confidence.CERTAIN:
        return "most certain findings" if rule.partly else "certain findings"
    return "most findings" if rule.partly else "on"


def page(rule: Rule) -> str:
    """One rule's page: its facts, then the docstring of its module."""
    summary, _, rest = rule.docs.partition("\n")
    facts = (
        f"**{rule.code}** · severity: {rule.severity.label} · fix: {fixability(rule)} · "
        f"by default: {state(rule)}"
    )
    example = tried(rule, ROOT / "fixtures" / "rules" / rule.name)
    return f"# {rule.name} ({rule.code})\n\n{summary}\n\n{facts}\n\n{rest.strip()}\n\n{example}"


def index() -> str:
    lines = [
        "# Rules",
        "",
        "On a Mac the flagged code **breaks** (raises), **ignores** the GPU (silently uses the",
        "CPU, or gives a wrong number), or is **slow** (waits for the device). `mpslint rule CODE`",
        "prints a rule's page.",
        "",
    ]
    for digit, title in GROUPS.items():
        lines += [
            f"## {digit}xx: {title}",
            "",
            "| code | rule | severity | fix | default | what it finds |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for rule in all_rules():
            if rule.code[3] == digit:
                lines.append(
                    f"| {rule.code} | [{rule.name}]({rule.name}.md) | {rule.severity.label} "
                    f"| {fixability(rule)} | {state(rule)} "
                    f"| {rule.summary} |"
                )
        lines.append("")
    return "\n".join(lines)


def menu(text: str) -> str:
    """`mkdocs.yml` with an entry for each rule's page."""
    head, _, rest = text.partition(f"{BEGIN}\n")
    lines = []
    for digit, title in GROUPS.items():
        lines.append(f"      - {title}:\n")
        lines += [
            f"          - {rule.code} {rule.name}: rules/{rule.name}.md\n"
            for rule in all_rules()
            if rule.code[3] == digit
        ]
    return f"{head}{BEGIN}\n{''.join(lines)}      {END}{rest.partition(END)[2]}"


MODULE = '''# ruff: noqa: E501
# fmt: off
"""What is known of each rule without importing it. Made by `python docs/generate.py`."""

from __future__ import annotations

# (code, name, module, severity, best fix, on by default, also where torch is not named, triggers,
# also, names, whether these are called, summary, least confidence by default,
# what else stands where a finding is certain, whether some kinds are told by request alone,
# why a finding has no fix)
Words = tuple[bytes, ...]
Entry = tuple[
    str, str, str, int, "int | None", bool, bool, Words, tuple[Words, ...], Words, bool, str, int,
    tuple[Words, ...], bool, str,
]
RULES: tuple[Entry, ...] = (
'''


def module_of_rules() -> str:
    """The text of `mpslint.rules.index`."""
    return "".join([MODULE, *(entry(rule) for rule in all_rules()), ")\n"])


def entry(rule: Rule) -> str:
    module = rule.module.rpartition(".")[2]
    fix = None if rule.fix is None else int(rule.fix)
    known = (rule.code, rule.name, module, int(rule.severity), fix, rule.default, rule.unnamed)
    words = (rule.triggers, rule.also, rule.names, rule.called)
    told = (int(rule.least), rule.certain, rule.partly, rule.unfixed)
    return f"    {(*known, *words, rule.summary, *told)!r},\n"


def pages() -> dict[Path, str]:
    """Every generated file with the text it should have."""
    folder = ROOT / "docs" / "rules"
    found = {folder / f"{rule.name}.md": page(rule) for rule in all_rules()}
    found[folder / "README.md"] = index()
    found[ROOT / "src" / "mpslint" / "rules" / "index.py"] = module_of_rules()
    settings = ROOT / "docs" / "schemas" / "settings.schema.json"
    found[settings] = json.dumps(schema(), indent=2) + "\n"
    site = ROOT / "mkdocs.yml"
    found[site] = menu(site.read_text(encoding="utf-8"))
    return found


def main() -> None:
    folder = ROOT / "docs" / "rules"
    folder.mkdir(exist_ok=True)
    known = ROOT / "src" / "mpslint" / "rules" / "index.py"
    if known.read_text(encoding="utf-8") != module_of_rules():
        # The pages try the rules, which a run knows by the index: a new run knows the new one.
        known.write_text(module_of_rules(), encoding="utf-8")
        os.execv(sys.executable, [sys.executable, *sys.argv])
    wanted = pages()
    for stale in set(folder.glob("*.md")) - set(wanted):
        stale.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
