"""`mpslint rule`: explain one rule, or list all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpslint.cli import OK, fail
from mpslint.model import Confidence

if TYPE_CHECKING:
    from mpslint.cli.parsing import Parser
    from mpslint.rules.registry import Rule


_MOST_NAMED = 20


def parser() -> Parser:
    from mpslint.cli.parsing import Parser

    options = Parser("rule", "Explain a rule, by its code or name.")
    options.add_argument("rule", nargs="?", metavar="RULE", help="such as MPS101")
    options.add_argument("--all", action="store_true", help="every rule")
    options.add_argument("--output-format", choices=("text", "json"), default="text")
    return options


def run(arguments: list[str]) -> int:
    options = parser()
    given = options.parse_args(arguments)
    if given.all == bool(given.rule):
        options.error("give a rule, or --all" + " alone" * given.all)

    from mpslint.rules.registry import all_rules

    rules = [r for r in all_rules() if given.all or given.rule.lower() in (r.code.lower(), r.name)]
    if not rules:
        return fail(_unknown(given.rule))
    if given.output_format == "json":
        import json

        rows = [as_data(rule) for rule in rules]
        print(json.dumps(rows if given.all else rows[0], indent=2))
    elif given.all:
        print("\n".join(_line(rule) for rule in rules))
    else:
        print(page(rules[0]))
    return OK


def _unknown(name: str) -> str:
    from mpslint.errors import BadSettings
    from mpslint.settings.selectors import resolve

    try:
        codes = resolve(name)[1]
    except BadSettings as error:
        return str(error)
    if len(codes) > _MOST_NAMED:
        return f"{name!r} names {len(codes)} rules; `mpslint rule --all` lists them"
    return f"{name!r} names several rules, {', '.join(codes)}; name one"


def as_data(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.severity.label,
        "default": rule.default,
        "default_confidence": rule.least.label,
        "partly_by_request": rule.partly,
        "fix": rule.fix.label if rule.fix is not None else None,
        "url": rule.url,
        "explanation": rule.docs,
    }


def _line(rule: Rule) -> str:
    state = " (off by default)"
    if rule.default:
        most = "most " if rule.partly else ""
        state = f" (by default: {most}certain findings)"
        if rule.least is not Confidence.CERTAIN:
            state = " (by default: most findings)" if most else ""
    return f"{rule.code}  {rule.severity.label:<7}  {rule.name}: {rule.summary}{state}"


def page(rule: Rule) -> str:
    """The rule's page as `mpslint rule` prints it."""
    from mpslint.cli.options import columns
    from mpslint.cli.rule_page import laid_out

    fix = f"{rule.fix.label} fix" if rule.fix is not None else "no fix"
    state = "on by default" if rule.default else "off by default"
    if rule.least is Confidence.CERTAIN:
        state += " for findings that are certain"
    if rule.partly:
        state += ", but for kinds that are told when they are asked for"
    facts = f"Severity: {rule.severity.label}; {fix}; {state}."
    return laid_out(f"{rule.code} {rule.name}", facts, rule.docs, rule.url, columns())
