"""Who saves models, or the states of models, around a file that loads one: the modules beside it,
those of the folder above, those of the folders below that it imports from, and then all others of
the project.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.saved.checkpoint_keys import keeps_under
from mpslint.semantics.saved.checkpoint_writers import (
    all_made_of_numbers,
    all_saved_from_cpu,
    classes_that_save,
    savers_of_states,
    saves_from_cpu,
    saves_models_as_they_are,
    saving_helpers,
)
from mpslint.semantics.saved.lightning_checkpoints import KEEPING, has_them_kept
from mpslint.sources.screening import names_in

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.semantics.context import Context

    Overheard = Callable[[Callable[[], "Saving"]], tuple["Saving", int]]

_SAVING = frozenset({b"torch", b"save"})


class Saving(NamedTuple):
    """What a module that has the words for it saves."""

    copies: bool = False
    """Something from the CPU."""
    helpers: frozenset[str] = frozenset()
    savers: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()


class SavedAround:
    def __init__(
        self,
        modules: Modules,
        projects: Projects,
        context: Callable[[str], Context | None],
        overheard: Overheard,
        hear: Callable[[int], None],
    ) -> None:
        """`overheard` gives an answer with the set of the files that it rests on: `hear` is told of
        that again where the answer is given again."""
        self._modules = modules
        self._projects = projects
        self._context = context
        self._overheard = overheard
        self._hear = hear
        self._known: dict[str, tuple[Saving, int]] = {}

    def models(self, context: Context) -> tuple[bool, tuple[str, ...]]:
        """Whether a program around the file saves models as they lie on its device, itself or by
        what it imports; and the files and folders that this rests on."""
        path, folder, beside = self._beside(context)
        below = tuple(self._modules.below(path))
        folders = {folder, os.path.dirname(folder), *map(os.path.dirname, below)}
        found = self._any_saves(context, beside, tuple(x for x in below if not self._copies(x)))
        rests = (*sorted(folders), *beside, *below)
        # A notebook reads what it was made for, wherever that lies.
        whole = None if found or path.endswith(".ipynb") else self._projects.of(path)
        if whole is None:
            return found, rests
        others = tuple(x for x in whole.modules if x not in beside and not self._copies(x))
        return self._any_saves(context, (), others), (*rests, *whole.files)

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

    def from_cpu(self, path: str, file_name: str) -> tuple[bool, tuple[str, ...]]:
        """Whether all modules beside the one at `path` that save a file of this name do so from the
        CPU, or, where none does, all of the project save numbers there; and what that rests on."""
        beside = tuple(self._modules.beside(path))
        found = [
            all_saved_from_cpu(saving, file_name) for saving in self._savers(beside, file_name)
        ]
        files = (os.path.dirname(path), *beside)
        if any(one is not None for one in found):
            return any(found) and False not in found, files
        whole = self._projects.of(path)
        if whole is None:
            return False, files
        found = [
            all_made_of_numbers(saving, file_name)
            for saving in self._savers(whole.modules, file_name)
        ]
        return any(found) and False not in found, (*files, *whole.files)

    def _savers(self, modules: Iterable[str], file_name: str) -> Iterator[Context]:
        """Those that may save a file of this name."""
        parts = names_in(file_name.encode("utf-8", "replace"))
        for other in modules:
            words = self._modules.words(other)
            if b"save" in words and parts <= words and (saving := self._context(other)):
                yield saving

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
        return self._modules.has_words(path, _SAVING) and self._saving(path).copies

    def _saving(self, path: str) -> Saving:
        """Many files of a folder ask the same of the modules around them."""
        known = self._known.get(path)
        if known is None:
            answer, heard = self._overheard(lambda: self._found_in(path))
            self._known[path] = answer, heard
            return answer
        self._hear(known[1])
        return known[0]

    def _found_in(self, path: str) -> Saving:
        saving = self._context(path)
        if saving is None:
            return Saving()
        return Saving(
            saves_from_cpu(saving),
            frozenset(saving_helpers(saving)),
            frozenset(savers_of_states(saving)),
            frozenset(classes_that_save(saving)),
        )

    def _any_saves(self, context: Context, beside: tuple[str, ...], below: tuple[str, ...]) -> bool:
        around = [other for other in (*beside, *below) if self._modules.has_words(other, _SAVING)]
        saving = {other: self._saving(other) for other in around}
        for training in self._programs(context, (*beside, *below), saving):
            imported = self._modules.imported_by(os.path.abspath(training.source.path))
            # What lies beside may be handed on by the package; many names are used again below.
            known = [x for x in saving if x in beside or _stem(x) in imported]
            if saves_models_as_they_are(training, {n for x in known for n in saving[x].helpers}):
                return True
            theirs = {n for x in known if _stem(x) in imported for n in saving[x].savers}
            if training is not context and not theirs.isdisjoint(training.index.calls):
                return True
            made = {n for x in known if _stem(x) in imported for n in saving[x].called}
            if training.placement.file_uses_devices and not made.isdisjoint(training.index.calls):
                return True
        return False

    def _programs(
        self, context: Context, around: tuple[str, ...], saving: dict[str, Saving]
    ) -> Iterator[Context]:
        """The file itself, and what works with devices around it and may have something saved."""
        yield context
        names = (name for one in saving.values() for name in one.helpers)
        wanted = {b"save", *(name.encode("utf-8", "replace") for name in names)}
        for other in around:
            if wanted.isdisjoint(self._modules.words(other)):
                continue
            training = self._context(other)
            if training is not None and training.placement.file_uses_devices:
                yield training


def _stem(path: str) -> bytes:
    """What a module is imported by: `saver` of `utils/saver.py`."""
    return os.path.splitext(os.path.basename(path))[0].encode("utf-8", "replace")
