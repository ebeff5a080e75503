"""What an import binds, and which machines have what it names."""

from __future__ import annotations

import ast

from mpslint.facts.priors import package_worlds
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.machines import ALL, NVIDIA
from mpslint.semantics.worlds.values import CONST, FALSE, NAME, Atom, Value, one

IMPORTERS = frozenset({"pytest.importorskip", "importlib.import_module", "__import__"})
"""Functions that import what a text names."""


class ImportStatements(Expressions):
    def s_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.needs(alias.name)
            if alias.asname:
                self.frame.env[alias.asname] = Atom(NAME, alias.name, None)
            else:
                top = alias.name.partition(".")[0]
                self.frame.env[top] = Atom(NAME, top)

    def s_ImportFrom(self, node: ast.ImportFrom) -> None:
        env = self.frame.env
        module = "." * node.level + (node.module or "")
        self.needs(module)
        for alias in node.names:
            local = alias.asname or alias.name
            if local == "*":
                self.starred.append(module)
            if node.level:
                dot = "" if module.endswith(".") else "."
                env[local] = Atom(NAME, f"{module}{dot}{alias.name}")
                self.needs(f"{module}{dot}{alias.name}")
                continue
            self.needs(f"{module}.{alias.name}")
            if alias.name == "TYPE_CHECKING" and module in ("typing", "typing_extensions"):
                env[local] = FALSE  # What stands below it, no program runs.
                continue
            if module == "torch" and alias.name == "nn":
                env[local] = Atom(NAME, "torch.nn")
            elif module.partition(".")[0] in ("torch", "sys", "os", "platform"):
                env[local] = self.named(f"{module}.{alias.name}", alias)  # type: ignore[arg-type]
            else:
                env[local] = Atom(NAME, f"{module}.{alias.name}")

    def imported_by_text(self, named: Value) -> Value | None:
        """The module that a text names; None where the text is not known."""
        package = one(named, ALL)
        if package.kind != CONST or not isinstance(package.v, str):
            return None
        self.needs(package.v)
        return Atom(NAME, package.v)

    def needs(self, module: str, *, ours: bool = True) -> None:
        """A package that only some machines can have: the worlds without it end here. So it is
        with a module of the project's own (`ours`) that cannot do without one."""
        if package_worlds(module) is not None:
            self.owned(NVIDIA)
        elif ours and self.project is not None:
            worlds = self.project.imports_on(module)
            if worlds != ALL:
                self.owned(worlds)
