"""What the modules that a file leads to leave behind, once its tensors are on a Mac's GPU."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.facts.priors import wide_words
from mpslint.left_behind import SPEAKING, Part, Place, parts, places, run_by, used

if TYPE_CHECKING:
    from mpslint.imported_runs import ImportedRuns
    from mpslint.modules import Modules
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere import Elsewhere


class Reached:
    """Each module is read once; what is kept of it is small."""

    def __init__(self, modules: Modules, runs: ImportedRuns, elsewhere: Elsewhere) -> None:
        self._modules = modules
        self._runs = runs
        self._elsewhere = elsewhere
        self._known: dict[str, tuple[list[Part], list[Place]]] = {}

    def left_behind(self, context: Context, *, alone: bool) -> tuple[str | None, tuple[str, ...]]:
        """A place that the file may come to, with the reason, and the files that this rests on; see
        `semantics.elsewhere.Elsewhere.left_behind`."""
        path = os.path.abspath(context.source.path)
        modules, files = self._runs.led_to(path, context.source.text)
        if not any(map(self._speaks, modules)):
            return None, files
        known = {module: self._known_of(module) for module in modules}
        run = run_by(used([context.tree]), {module: item[0] for module, item in known.items()})
        for module, (_, left) in known.items():
            for place in left:
                if place.is_mended and not alone:
                    continue
                if any(part.first <= place.row <= part.last for part in run[module]):
                    return place.reason, files
        return None, files

    def _speaks(self, path: str) -> bool:
        text = self._modules.text(path) or b""
        return any(word in text for word in (*SPEAKING, *wide_words()))

    def _known_of(self, path: str) -> tuple[list[Part], list[Place]]:
        if path not in self._known:
            context = self._modules.read_anew(path, self._elsewhere)
            if context is None:
                self._known[path] = [], []
            else:
                left = list(places(context)) if self._speaks(path) else []
                self._known[path] = parts(context.tree), left
                context.worlds.release()
        return self._known[path]
