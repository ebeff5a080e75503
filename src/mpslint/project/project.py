"""The project around the files that are fixed: what it says against MPS, and its device helper."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.errors import BadSettings
from mpslint.folders.looks import Looked
from mpslint.patterns.asking_order import asks_cuda_first, cuda_first
from mpslint.patterns.styles import helper_lines
from mpslint.project.compiled.missing_modules import is_missing
from mpslint.project.layout.import_places import imports_shown, is_part_of_name
from mpslint.project.layout.modules import Modules, package_root
from mpslint.project.layout.whole import Projects
from mpslint.project.neighbours import Neighbours
from mpslint.project.runs.importers import Importers
from mpslint.project.surroundings import Surroundings
from mpslint.semantics.context import Context
from mpslint.semantics.elsewhere.elsewhere import Definition, exported_device
from mpslint.settings.torch_pins import text_of
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from mpslint.settings.settings import Settings

HELPER = "get_device"


class Project(Neighbours):
    """What fixes ask besides: what the project says against MPS, and its helper."""

    def __init__(self, settings: Settings, planned: dict[str, bytes] | None = None) -> None:
        """`planned`: what files will hold, by absolute path. Raises `BadSettings` for a helper
        module that cannot serve."""
        self._settings = settings
        self._projects = Projects(settings)
        self._cuda_first: dict[str, bool] = {}
        self._ordered_by: set[str] = set()
        """The modules that an order of devices was taken from."""
        self.helper_source = self._helper_source()
        """What the helper module holds when it is created."""
        new = self.new_helper
        virtual = dict(planned or {})
        if new is not None:
            virtual[new] = self.helper_source.encode()
        super().__init__(settings, Modules(settings, virtual))
        self._importers = Importers(self._projects, self.modules, self._runs)
        self._surroundings = Surroundings(settings, self.context, self._modules_of)
        self._check_helper()

    @property
    def newest_torch(self) -> tuple[int, int] | None:
        return self._settings.newest_torch

    def is_imported(self, path: str, *, is_module: bool = False) -> bool:
        path = os.path.abspath(path)
        if is_module and (self.modules.beside(path) or self.modules.beside(os.path.dirname(path))):
            return True
        return self._importers.is_imported(path)

    def asks_cuda_first(self, path: str) -> bool:
        whole = self._projects.of(os.path.abspath(path))
        if whole is None:
            return False
        if whole.head not in self._cuda_first:
            self._ordered_by.update(whole.modules)
            texts = map(text_of, whole.modules)
            self._cuda_first[whole.head] = asks_cuda_first(texts)
        return self._cuda_first[whole.head]

    def modules_around(self, path: str) -> tuple[str, ...]:
        """The modules of the project that the file at `path` is of; none where they are many."""
        whole = self._projects.of(os.path.abspath(path))
        return whole.modules if whole is not None else ()

    def is_missing(self, path: str, module: str) -> bool:
        """Whether whoever imports a module of the package of the file at `path` ends there."""
        path = os.path.abspath(path)
        return is_missing(self.modules, self._projects.building(path), path, module)

    def sees_gpus_late(self, path: str) -> str:
        return self._importers.sees_gpus_late(os.path.abspath(path))

    def holds_back(self, path: str) -> str:
        return self._surroundings.hold_back(path)

    @property
    def runs_let_go(self) -> int:
        """How many runs of modules were taken apart: those of their users may rest on them."""
        return self._runs.let_go

    def led_to(self, path: str, text: str) -> list[str]:
        """The modules that a file of this text leads to, by absolute path, nearest first."""
        return self._runs.led_to(os.path.abspath(path), text)[0]

    def _modules_of(self, path: str) -> list[str]:
        text = self.modules.text(path) or b""
        return self.led_to(path, text.decode("utf-8", "replace"))

    def imports_of(self, path: str) -> tuple[str, ...]:
        """The modules that the file at the absolute `path` imports itself."""
        return self._runs.imports_of(path)

    def rests_on(self) -> Looked:
        """All that was looked at so far."""
        for path in (*self.files_of(self._heard[0]), *self._ordered_by):
            self.modules.sign(path)
        parts = (self.modules, self._projects, self._surroundings)
        signs = {path: sign for part in reversed(parts) for path, sign in part.signs.items()}
        marks = {path: is_there for part in parts for path, is_there in part.marks.items()}
        return Looked(signs, marks, self._projects.asked, self.modules.listed)

    # the helper module

    def _helper_source(self) -> str:
        settings, path = self._settings, helper_path(self._settings)
        if path is None or settings.device_order_is_set or not self.asks_cuda_first(path):
            return helper_source(settings)
        return helper_source(settings._replace(device_order=cuda_first(settings.device_order)))

    @property
    def helper_path(self) -> str | None:
        """The absolute path of the setting `helper-module`."""
        return helper_path(self._settings)

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
        if any(b.qualified == f"{self.helper_name(context)}.{HELPER}" for b in bindings):
            return True
        found = [self.definition(source.path, b.qualified) for b in bindings if b.qualified]
        return any(
            item is not None and item.context.source.path == self.helper_path for item in found
        )

    def _check_helper(self) -> None:
        path, shown = self.helper_path, self._settings.helper_module
        if path is None:
            return
        require_helper_folder(self._settings)
        if not os.path.lexists(path):
            root = os.path.join(os.path.realpath(self._settings.root or "."), "")
            if not os.path.realpath(path).startswith(root):
                raise BadSettings(
                    f"helper-module {shown}: is not made outside of {root}; create it, or name a "
                    "file in there"
                )
            return
        context = self.context(path)
        bindings = context.names.module.bindings.get(HELPER, []) if context is not None else []
        found = Definition(context, tuple(bindings)) if context is not None and bindings else None
        if found is None or exported_device(found, called=True) is None:
            raise BadSettings(
                f"helper-module {shown}: defines no {HELPER}() that returns a torch.device without "
                "arguments; add one, or name another file"
            )

    def helper_import(self, context: Context) -> str | None:
        """What the file writes between `from` and `import`: as it imports what lies around it."""
        name, path = self.helper_name(context), os.path.abspath(context.source.path)
        package = os.path.relpath(os.path.dirname(path), package_root(path)).split(os.sep)
        if name is None or package == [os.curdir] or not _imports_relatively(context, package[0]):
            return name
        parts = name.split(".")
        if len(parts) < 2 or parts[0] != package[0]:
            return name
        shared = 0
        for own, other in zip(package, parts[:-1], strict=False):
            if own != other:
                break
            shared += 1
        return "." * (1 + len(package) - shared) + ".".join(parts[shared:])

    def helper_name(self, context: Context) -> str | None:
        """The helper module's full name, as a program that runs the file would import it."""
        helper, path = self.helper_path, os.path.abspath(context.source.path)
        if helper is None or helper == path:
            return None
        own, top = package_root(path), os.path.abspath(self._settings.root or ".")
        shown = imports_shown(context, top)
        roots = [one.root for one in shown]
        if not any(is_part_of_name(one, own) for one in shown):
            roots.insert(0, own)
        if self._settings.helper_root:
            roots.insert(0, self._settings.helper_root)
        for root in roots:
            if os.path.commonpath([root, helper]) == root:
                parts = os.path.splitext(os.path.relpath(helper, root))[0].split(os.sep)
                if parts[-1] == "__init__":
                    parts = parts[:-1]
                if parts and all(part.isidentifier() for part in parts):
                    return ".".join(parts)
        return None


def helper_path(settings: Settings) -> str | None:
    """The absolute path of the setting `helper-module`."""
    if settings.helper_module is None:
        return None
    root = os.path.abspath(settings.root or ".")
    return os.path.normpath(os.path.join(root, settings.helper_module))


def require_helper_folder(settings: Settings) -> None:
    """Raise `BadSettings` where the helper module neither is there nor can be made."""
    path = helper_path(settings)
    if path is not None and not os.path.isdir(os.path.dirname(path)):
        shown = settings.helper_module
        raise BadSettings(f"helper-module {shown}: its folder does not exist; create it")


def helper_source(settings: Settings) -> str:
    """A module with the function that selects the device."""
    blank = SourceFile.from_text("import torch\n")
    context = Context(blank, blank.parse(), settings)
    accelerator = settings.style == "accelerator"
    lines = helper_lines(context, "torch", HELPER, accelerator=accelerator)
    head = ['"""The device that this project computes on."""', "", "import torch", "", ""]
    return "\n".join([*head, *lines]) + "\n"


def _imports_relatively(context: Context, package: str) -> bool:
    """Whether a file names modules of its package by where they lie, and none by its full name."""
    tops = {name.split(".")[0] for name in _absolute_imports(context)}
    items = context.index.of(ast.ImportFrom)
    return package not in tops and any(item.level for item in items)


def _absolute_imports(context: Context) -> list[str]:
    plain = [alias.name for item in context.index.of(ast.Import) for alias in item.names]
    items = context.index.of(ast.ImportFrom)
    return plain + [item.module or "" for item in items if not item.level]
