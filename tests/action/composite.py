"""Runs a composite action here, as far as its own scripts go.

Expressions are the few kinds that `action.yml` uses. A step that `uses` another action is not
run: which ones came to their turn, and with what, is in `used`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
NAME = re.compile(r"'[^']*'|\b[a-z]\w*(?:\.[\w-]+)+")


@dataclass
class Action:
    """An action of a folder, with the folders that a runner would lend it."""

    folder: Path
    workspace: Path
    temporary: Path
    github: dict[str, str] = field(default_factory=dict)
    """The context `github`, as far as it is asked for."""
    environment: dict[str, str] = field(default_factory=dict)
    """What is in force beside the variables of the runner."""
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    log: str = ""

    def __post_init__(self) -> None:
        self.definition = yaml.safe_load((self.folder / "action.yml").read_text(encoding="utf-8"))
        self.outputs: dict[str, dict[str, str]] = {}

    def run(self, only: tuple[str, ...] = (), **inputs: str) -> dict[str, str]:
        """The action's outputs. `only` names the steps to run; none: all."""
        self.log, self.used, failed = "", [], False
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        self.inputs = {
            name: given.pop(name, about["default"])
            for name, about in self.definition["inputs"].items()
        }
        assert not given
        for step in self.definition["runs"]["steps"]:
            if only and step.get("id") not in only and "uses" not in step:
                continue
            condition = step.get("if", "${{ true }}")
            whatever = "cancelled()" in condition
            if (failed and not whatever) or not self._value(condition):
                continue
            if "uses" in step:
                with_ = {name: str(self._value(text)) for name, text in step["with"].items()}
                self.used.append((step["uses"], with_))
            else:
                failed |= self._script(step) != 0
        named = self.definition["outputs"]
        return {name: str(self._value(about["value"]) or "") for name, about in named.items()}

    def _script(self, step: dict[str, Any]) -> int:
        assert step["shell"] == "bash"
        script, output = self.temporary / "step.sh", self.temporary / "output"
        script.write_text(step["run"], encoding="utf-8")
        output.write_text("")
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={
                **os.environ,
                **self.environment,
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(self.folder),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.temporary),
                **{name: str(self._value(text)) for name, text in step["env"].items()},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log += ran.stdout
        lines = output.read_text().splitlines()
        self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        return ran.returncode

    def _value(self, text: object) -> object:
        """Of a value in the file: an expression's, or the text itself."""
        if not isinstance(text, str):
            return text
        found = EXPRESSION.fullmatch(text)
        return self._expression(found[1]) if found else text

    def _expression(self, expression: str) -> object:
        python = NAME.sub(lambda name: repr(self._looked_up(name[0])), expression)
        for ours, theirs in (("&&", " and "), ("||", " or "), ("!cancelled()", "True")):
            python = python.replace(ours, theirs)
        return eval(python, {"__builtins__": {}, "true": True})

    def _looked_up(self, name: str) -> str:
        if name.startswith("'"):
            return name[1:-1]
        match name.split("."):
            case ["inputs", key]:
                return str(self.inputs[key])
            case ["github", key]:
                return self.github.get(key, "")
            case ["steps", step, "outputs", key]:
                return self.outputs.get(step, {}).get(key, "")
        raise LookupError(name)
