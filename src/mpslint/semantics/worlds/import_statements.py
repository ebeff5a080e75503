"""What an import binds, and which machines have what it names."""

from __future__ import annotations

import ast

from mpslint.facts.priors import package_worlds
from mpslint.semantics.worlds.expressions import Expressions
from mpslint.semantics.worlds.machines import ALL, NVIDIA
from mpslint.semantics.worlds.text_imports import module_texts
from mpslint.semantics.worlds.values import (
    CONST,
    FALSE,
    NAME,
    NONE,
    UNK,
    Atom,
    Value,
    one,
    pack,
)

IMPORTERS = frozenset({"pytest.importorskip", "importlib.import_module", "__import__"})
"""Functions that import what a text names."""
FINDER = "importlib.util.find_spec"


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

    def imported_by_text(self, named: Value, node: ast.expr) -> Value | None:
        """The module that a text names, which is `named` and stands as `node`; None where the text
        is not known, or is one of several."""
        package = one(named, ALL)
        function = self.frame.function
        texts: tuple[str, ...] | None = None
        if not isinstance(node, ast.Constant):
            texts = module_texts(node, function.node if function is not None else None, self.tree)
        is_known = package.kind == CONST and isinstance(package.v, str)
        if not is_known or (texts is not None and len(texts) > 1):
            self._needs_one_of(texts or ())
            return None
        self.needs(package.v)
        return Atom(NAME, package.v)

    def found_by_text(self, named: Value) -> Value:
        """What `find_spec` says of the package that a text names: nothing, on machines that cannot
        have it."""
        package = one(named, ALL)
        if package.kind != CONST or package_worlds(str(package.v)) is None:
            return UNK
        return pack([(NVIDIA, UNK), (ALL & ~NVIDIA, NONE)])

    def _needs_one_of(self, modules: tuple[str, ...]) -> None:
        """The worlds end in which none of these modules can be imported."""
        worlds = 0
        for module in modules:
            if package_worlds(module) is not None:
                worlds |= NVIDIA
            else:
                worlds |= self.project.imports_on(module) if self.project is not None else ALL
        if modules and worlds != ALL:
            self.owned(worlds)

    def needs(self, module: str, *, ours: bool = True) -> None:
        """A package that only some machines can have: the worlds without it end here. So it is
        with a module of the project's own (`ours`) that cannot do without one."""
        if package_worlds(module) is not None:
            self.owned(NVIDIA)
        elif ours and self.project is not None:
            worlds = self.project.imports_on(module)
            if worlds != ALL:
                self.owned(worlds)
