"""The files around the one at hand: what they define, and the project's device helper.

Modules are found as Python would find them from the importing file (its package's root or its
own folder, then the project's root and `src` below it) and parsed; nothing is imported. What is
found depends on the files alone, not on the order in which they are asked for.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import BadSettings, MpslintError
from mpslint.patterns.styles import helper_lines
from mpslint.semantics.context import Context
from mpslint.semantics.elsewhere import Definition, exported_device
from mpslint.source import SourceFile
from mpslint.surroundings import Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.settings import Settings

HELPER = "get_device"
_DEPTH = 4
"""So many re-exports are followed."""
_MAX_BYTES = 2_000_000


class Project:
    """Implements `semantics.elsewhere.Elsewhere` for files on disk."""

    def __init__(self, settings: Settings) -> None:
        """Raises `BadSettings` for a helper module that cannot serve."""
        self._settings = settings
        self._contexts: dict[str, Context | None] = {}
        self._known: dict[tuple[str, str], Definition | None] = {}
        self._surroundings = Surroundings(settings, self._context)
        self.helper_source = helper_source(settings)
        """What the helper module holds when it is created."""
        self._check_helper()

    def holds_back(self, path: str) -> bool:
        return self._surroundings.hold_back(path)

    # definitions

    def definition(self, path: str, qualified: str) -> Definition | None:
        key = (os.path.abspath(path), qualified)
        if key not in self._known:
            # A cycle of re-exports finds this None.
            self._known[key] = None
            self._known[key] = self._definition(*key, _DEPTH)
        return self._known[key]

    def _definition(self, path: str, qualified: str, depth: int) -> Definition | None:
        body = qualified.lstrip(".")
        head, _, name = body.rpartition(".")
        module = qualified[: len(qualified) - len(body)] + head
        found = self._module(path, module) if module and depth else None
        if found is None or found == path:
            return None
        context = self._context(found)
        bindings = context.names.module.bindings.get(name, []) if context is not None else []
        if context is None or not bindings:
            return None
        if len(bindings) == 1 and bindings[0].kind == "import" and bindings[0].qualified:
            return self._definition(found, bindings[0].qualified, depth - 1)
        return Definition(context, tuple(bindings))

    def _module(self, path: str, module: str) -> str | None:
        """The file of a dotted module as the file at `path` names it."""
        dots = len(module) - len(module.lstrip("."))
        parts = [part for part in module.strip(".").split(".") if part]
        folders = list(self._roots(path))
        if dots:
            folder = os.path.dirname(path)
            for _ in range(dots - 1):
                folder = os.path.dirname(folder)
            folders = [folder]
        for folder in folders:
            base = os.path.join(folder, *parts)
            candidates = [f"{base}.py"] if parts else []
            for candidate in (*candidates, os.path.join(base, "__init__.py")):
                if os.path.isfile(candidate) or candidate == self.new_helper:
                    return candidate
        return None

    def _context(self, path: str) -> Context | None:
        if path not in self._contexts:
            self._contexts[path] = self._read(path)
        return self._contexts[path]

    def _read(self, path: str) -> Context | None:
        try:
            if path == self.new_helper:
                data = self.helper_source.encode()
            elif os.path.getsize(path) > _MAX_BYTES:
                return None
            else:
                with open(path, "rb") as file:
                    data = file.read()
            if b"torch" not in data and b"import" not in data:
                return None
            source = SourceFile(path, data)
            return Context(source, source.parse(), self._settings, self)
        except (OSError, MpslintError):
            return None

    def _roots(self, path: str) -> Iterator[str]:
        yield package_root(path)
        yield from self._project_roots()

    def _project_roots(self) -> tuple[str, str]:
        root = os.path.abspath(self._settings.root or ".")
        return root, os.path.join(root, "src")

    # the helper module

    @property
    def helper_path(self) -> str | None:
        """The absolute path of the setting `helper-module`."""
        if self._settings.helper_module is None:
            return None
        root = os.path.abspath(self._settings.root or ".")
        return os.path.normpath(os.path.join(root, self._settings.helper_module))

    @property
    def new_helper(self) -> str | None:
        """The helper module's path where there is no such file yet."""
        path = self.helper_path
        return path if path is not None and not os.path.lexists(path) else None

    def uses_helper(self, source: SourceFile) -> bool:
        """Whether a file imports the helper from the project's module."""
        if HELPER not in source.text or self.helper_path is None:
            return False
        context = Context(source, source.parse(), self._settings)
        bindings = context.names.module.bindings.get(HELPER, [])
        found = [self.definition(source.path, b.qualified) for b in bindings if b.qualified]
        return any(
            item is not None and item.context.source.path == self.helper_path for item in found
        )

    def _check_helper(self) -> None:
        path, shown = self.helper_path, self._settings.helper_module
        if path is None:
            return
        if not os.path.lexists(path):
            if not os.path.isdir(os.path.dirname(path)):
                raise BadSettings(f"helper-module {shown}: its folder does not exist; create it")
            return
        context = self._context(path)
        bindings = context.names.module.bindings.get(HELPER, []) if context is not None else []
        found = Definition(context, tuple(bindings)) if context is not None and bindings else None
        if found is None or exported_device(found, called=True) is None:
            raise BadSettings(
                f"helper-module {shown}: defines no {HELPER}() that returns a torch.device without "
                "arguments; add one, or name another file"
            )

    def helper_import(self, context: Context) -> str | None:
        helper, path = self.helper_path, os.path.abspath(context.source.path)
        if helper is None or helper == path:
            return None
        own = package_root(path)
        roots = [own, *(root for root in self._project_roots() if _imports_from(context, root))]
        for root in roots:
            if os.path.commonpath([root, helper]) == root:
                parts = os.path.splitext(os.path.relpath(helper, root))[0].split(os.sep)
                if parts[-1] == "__init__":
                    parts = parts[:-1]
                if parts and all(part.isidentifier() for part in parts):
                    return ".".join(parts)
        return None


def helper_source(settings: Settings) -> str:
    """A module with the function that selects the device."""
    blank = SourceFile.from_text("import torch\n")
    context = Context(blank, blank.parse(), settings)
    accelerator = settings.style == "accelerator"
    lines = helper_lines(context, "torch", HELPER, accelerator=accelerator)
    head = ['"""The device that this project computes on."""', "", "import torch", "", ""]
    return "\n".join([*head, *lines]) + "\n"


def package_root(path: str) -> str:
    """The folder that must be on `sys.path` for the file to be imported (or run) as it is."""
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    return folder


def _imports_from(context: Context, root: str) -> bool:
    """Whether the file imports, by absolute names, something that lies in the folder `root`."""
    for _, binding in context.names.every_binding():
        if binding.kind != "import" or not binding.qualified:
            continue
        top = binding.qualified.split(".")[0]
        if top and (
            os.path.isfile(os.path.join(root, f"{top}.py"))
            or os.path.isdir(os.path.join(root, top))
        ):
            return True
    return False
