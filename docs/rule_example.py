"""The example at the end of a rule's page: a file to try, what `check` says, what `fix` changes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from mpslint.checking.linter import lint
from mpslint.findings.results import FileResult
from mpslint.fixing.fixer import fix_source
from mpslint.fixing.fixing import Planned, unified_diff
from mpslint.output import Style, render
from mpslint.rules.registry import Rule
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

NAME, NEWLINE = "example.py", "\n"
_MARK = re.compile(r"[ \t]*#(?:\s*MPS\d{3}(?:@\d+-\d+)?)+\s*$", re.MULTILINE)
_OLDEST = re.compile(r"# min-torch: (\d+)\.(\d+)\n")


class Example(NamedTuple):
    text: str
    settings: Settings

    @property
    def options(self) -> str:
        """What the settings are on a command line."""
        (code,) = self.settings.select or ("",)
        oldest = self.settings.min_torch
        given = f" --min-torch {oldest[0]}.{oldest[1]}" if oldest != Settings().min_torch else ""
        return f"--select {code}{given}"

    @property
    def source(self) -> SourceFile:
        return SourceFile.from_text(self.text, NAME)

    def change(self, *, unsafe: bool) -> str:
        """What fixes change, as a patch; empty for nothing."""
        result = fix_source(self.source, self.settings, unsafe=unsafe)
        return "".join(unified_diff(Planned(NAME, self.source, result), NAME))


def tried(rule: Rule, folder: Path) -> str:
    """The section *Try it* of a rule's page, made from the shortest of its fixtures that shows a
    finding, and a fix where the rule has one."""
    example = _shortest(rule, folder)
    findings = tuple(lint(example.source, example.settings))
    check = f"mpslint check {example.options} --output-format concise {NAME}"
    said = render("concise", [FileResult(NAME, findings)], Style(unsafe=True)).replace(" [*]", "")
    parts = [
        "## Try it",
        f"Save this as `{NAME}`:",
        f"```python\n{example.text.rstrip()}\n```",
        f"```console\n$ {check}\n{said.rstrip(NEWLINE)}\n```",
    ]
    for unsafe in (False, True):
        change = example.change(unsafe=unsafe)
        if change:
            option = " --unsafe-fixes" if unsafe else ""
            command = f"mpslint fix --diff{option} {example.options} {NAME}"
            parts += [f"`{command}` shows:", f"```diff\n{change.rstrip(NEWLINE)}\n```"]
            break
    return "\n\n".join(parts) + "\n"


def _shortest(rule: Rule, folder: Path) -> Example:
    examples = []
    for path in sorted(folder.glob("*.py")):
        data = path.read_bytes()
        if path.name.startswith("silent_") or path.name.count(".") > 1 or b"\r" in data:
            continue
        examples.append(_example(rule, data.decode("utf-8")))
    unfixed = None
    # To lint and fix all of them is what the pages take: from the shortest on, until one will do.
    for example in sorted(examples, key=lambda one: (one.text.count("\n"), one)):
        if lint(example.source, example.settings):
            if rule.fix is None or example.change(unsafe=True):
                return example
            unfixed = unfixed or example
    if unfixed is None:
        raise LookupError(f"{rule.name}: no fixture shows a finding by itself")
    return unfixed


def _example(rule: Rule, text: str) -> Example:
    """A fixture without the marks of its tests."""
    settings = Settings(select=(rule.code,))
    oldest = _OLDEST.match(text)
    if oldest:
        major, minor = int(oldest.group(1)), int(oldest.group(2))
        settings, text = settings._replace(min_torch=(major, minor)), text[oldest.end() :]
    return Example(_MARK.sub("", text).strip("\n") + "\n", settings)
