"""Who saves models, or the states of models, around a file that loads one: the modules beside it,
those of the folder above, and those of the folders below that it imports from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.checkpoint_keys import keeps_under
from mpslint.semantics.checkpoint_writers import (
    classes_that_save,
    savers_of_states,
    saves_from_cpu,
    saves_models_as_they_are,
    saving_helpers,
)
from mpslint.semantics.lightning_checkpoints import KEEPING, has_them_kept

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.semantics.context import Context
    from mpslint.whole import Projects

_SAVING = frozenset({b"torch", b"save"})


class SavedAround:
    def __init__(
        self, modules: Modules, projects: Projects, context: Callable[[str], Context | None]
    ) -> None:
        self._modules = modules
        self._projects = projects
        self._context = context

    def models(self, context: Context) -> tuple[bool, tuple[str, ...]]:
        """Whether a program around the file saves models as they lie on its device, itself or by
        what it imports; and the files and folders that this rests on."""
        path, folder, beside = self._beside(context)
        below = tuple(self._modules.below(path))
        folders = {folder, os.path.dirname(folder), *map(os.path.dirname, below)}
        found = self._any_saves(context, beside, tuple(x for x in below if not self._copies(x)))
        return found, (*sorted(folders), *beside, *below)

    def under(self, context: Context, keys: frozenset[str]) -> tuple[bool, tuple[str, ...]]:
        """Whether a program of the project that uses a device keeps states of models under these
        keys; and what that rests on."""
        whole = self._projects.of(os.path.abspath(context.source.path))
        if whole is None:
            return False, ()
        spelled = [key.encode("utf-8", "replace") for key in keys]
        for other in whole.modules:
            text = self._modules.text(other) or b""
            if b"state_dict" not in text or not any(key in text for key in spelled):
                continue
            saving = self._context(other)
            if saving is None or not keeps_under(saving, keys) or saves_from_cpu(saving):
                continue
            # A program may have its model moved by a base class, as who loads it does.
            if saving.placement.file_uses_devices or context.placement.file_uses_devices:
                return True, (other,)
        return False, whole.files

    def by_lightning(self, context: Context) -> tuple[bool, tuple[str, ...]]:
        """Whether a program beside the file has Lightning keep checkpoints; and what that rests
        on."""
        _, folder, beside = self._beside(context)
        kept = any(
            self._modules.has_words(other, KEEPING)
            and (training := self._context(other)) is not None
            and has_them_kept(training)
            for other in beside
        )
        return kept, (folder, os.path.dirname(folder), *beside)

    def _beside(self, context: Context) -> tuple[str, str, tuple[str, ...]]:
        """The file's path, its folder, and the modules beside it and in the folder above."""
        path = os.path.abspath(context.source.path)
        folder = os.path.dirname(path)
        return path, folder, (*self._modules.beside(path), *self._modules.beside(folder))

    def _copies(self, path: str) -> bool:
        """Whether a library's module saves something from the CPU: then that is how its models
        are saved, and what else it saves are optimizers and states of a run."""
        return (
            self._modules.has_words(path, _SAVING)
            and (saving := self._context(path)) is not None
            and saves_from_cpu(saving)
        )

    def _any_saves(self, context: Context, beside: tuple[str, ...], below: tuple[str, ...]) -> bool:
        around = [other for other in (*beside, *below) if self._modules.has_words(other, _SAVING)]
        helpers: dict[str, set[str]] = {}
        savers: dict[str, set[str]] = {}
        called: dict[str, set[str]] = {}
        for other in around:
            if saving := self._context(other):
                helpers[other] = saving_helpers(saving)
                savers[other] = savers_of_states(saving)
                called[other] = classes_that_save(saving)
        for training in self._programs(context, (*beside, *below), helpers):
            imported = self._modules.imported_by(os.path.abspath(training.source.path))
            # What lies beside may be handed on by the package; many names are used again below.
            known = [x for x in helpers if x in beside or _stem(x) in imported]
            if saves_models_as_they_are(training, {n for x in known for n in helpers[x]}):
                return True
            theirs = {n for x in known if _stem(x) in imported for n in savers[x]}
            if training is not context and not theirs.isdisjoint(training.index.calls):
                return True
            made = {n for x in known if _stem(x) in imported for n in called[x]}
            if training.placement.file_uses_devices and not made.isdisjoint(training.index.calls):
                return True
        return False

    def _programs(
        self, context: Context, around: tuple[str, ...], helpers: dict[str, set[str]]
    ) -> Iterator[Context]:
        """The file itself, and what works with devices around it and may have something saved."""
        yield context
        wanted = {b"save", *(n.encode("utf-8", "replace") for x in helpers.values() for n in x)}
        for other in around:
            if wanted.isdisjoint(self._modules.words(other)):
                continue
            training = self._context(other)
            if training is not None and training.placement.file_uses_devices:
                yield training


def _stem(path: str) -> bytes:
    """What a module is imported by: `saver` of `utils/saver.py`."""
    return os.path.splitext(os.path.basename(path))[0].encode("utf-8", "replace")
