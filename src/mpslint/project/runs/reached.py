"""What the modules that a file leads to leave behind, once its tensors are on a Mac's GPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.facts.priors import wide_words
from mpslint.project.runs.left_behind import (
    MADE_OF_NUMBERS,
    SPEAKING,
    Part,
    Place,
    Seen,
    parts,
    places,
    run_by,
    used,
)
from mpslint.semantics.operands.lacking_kernels import speaking_of_kernels

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.project.layout.modules import Modules
    from mpslint.project.runs.imported_runs import ImportedRuns
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

    Overheard = Callable[[Callable[[], list[Place]]], tuple[list[Place], int]]


class Reached:
    """Each module is read once; what is kept of it is small."""

    def __init__(
        self, modules: Modules, runs: ImportedRuns, elsewhere: Elsewhere, overheard: Overheard
    ) -> None:
        """`overheard` gives an answer with the set of the files that it rests on."""
        self._modules = modules
        self._runs = runs
        self._elsewhere = elsewhere
        self._overheard = overheard
        self._left: dict[str, tuple[list[Place], int]] = {}
        """By module, with the files that this rests on beside it."""
        self._parts: dict[str, list[Part]] = {}

    def take_over(self, known: Reached, changed: frozenset[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone."""
        touched = self._modules.file_sets.of(changed)
        for path, (left, files) in known._left.items():
            if path not in changed and not files & touched:
                self._left[path] = left, files
        self._parts.update({path: one for path, one in known._parts.items() if path not in changed})

    def left_behind(self, context: Context, *, alone: bool) -> tuple[str | None, int]:
        """A place that the file may come to, with the reason, and the set of the files that this
        rests on; see `semantics.elsewhere.Elsewhere.left_behind`."""
        path = os.path.abspath(context.source.path)
        modules, files = self._runs.led_to(path, context.source.text)
        if not any(map(self._speaks, modules)):
            return None, files
        run: dict[str, list[Part]] | None = None
        for module in modules:  # The nearest first: those behind the one that tells are not read.
            left = [place for place in self._left_in(module) if alone or not place.is_mended]
            if not left:
                continue
            if run is None:
                known = {other: self._parts_of(other) for other in modules}
                run = run_by(used([context.tree]), known)
            for place in left:
                if any(part.first <= place.row <= part.last for part in run[module]):
                    return place.reason, files
        return None, files

    def _speaks(self, path: str) -> bool:
        text = self._modules.text(path) or b""
        if any(word in text for word in (*SPEAKING, *wide_words(), *speaking_of_kernels())):
            return True
        return all(word in text for word in MADE_OF_NUMBERS)

    def _left_in(self, path: str) -> list[Place]:
        if path not in self._left:
            self._left[path] = [], 0
            if self._speaks(path):
                self._left[path] = self._overheard(lambda: self._places_in(path))
        return self._left[path][0]

    def _places_in(self, path: str) -> list[Place]:
        context = self._modules.read_anew(path, self._elsewhere)
        if context is None:
            return []
        found = list(places(context))
        context.worlds.release()
        return found

    def _parts_of(self, path: str) -> list[Part]:
        if path not in self._parts:
            tree = self._modules.tree(path)
            self._parts[path] = parts(tree, Seen.of(tree)) if tree is not None else []
        return self._parts[path]
