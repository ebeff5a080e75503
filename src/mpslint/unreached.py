"""Modules of a program's package that nothing of the program leads to: no file imports them, or
only such as nobody imports either, no text names them, and started by themselves they do nothing.

What such a module defines runs on no machine. One that lies in no package is another matter: it is
new, or somebody starts what uses it by hand; and what others install they may import as well.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.import_texts import imported_modules
from mpslint.left_behind import programs
from mpslint.taken_by_text import is_found_from_inside
from mpslint.whole import PROSE

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.offered import Offered
    from mpslint.published import Published
    from mpslint.taken_by_text import TakenByText
    from mpslint.whole import Projects, Whole

_INIT = "__init__.py"
_ENTRIES = frozenset({_INIT, "__main__.py", "conftest.py", "hubconf.py", "setup.py"})
"""Modules that Python or a tool starts by their names."""
_TEST = re.compile(r"test_|.*_test\.py")  # Fact: pytest's names of files that it collects.
_BY_FILE = (b"SourceFileLoader", b"spec_from_file_location", b"load_source", b"run_path")
"""What imports a module by the place of its file, which a program puts together."""
_SOME_NAME = ""
"""No module has it: whoever may take this one from a text may take any."""


class Unreached:
    def __init__(
        self,
        projects: Projects,
        modules: Modules,
        published: Published,
        offered: Offered,
        taken: TakenByText,
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._published = published
        self._offered = offered
        self._taken = taken
        self._known: dict[str, tuple[str, ...] | None] = {}

    def includes(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether the module at the absolute `path` is one of these, and the files that this
        rests on."""
        whole = self._projects.of(path)
        if whole is None or path not in whole.modules:
            return False, ()
        if not self._may_be(whole, path):
            return False, whole.folders
        published, told = self._published.is_for_others(whole)
        if published and not self._offered.is_shown(whole):
            return False, told
        leading = self._leading_to(whole, path)
        if leading is not None:
            return False, leading
        if published and not self._is_among_reached(whole, path):
            return False, (*told, *whole.files)
        return True, whole.files

    def _is_among_reached(self, whole: Whole, path: str) -> bool:
        """Whether something leads to another module beside one. Who installs a package may import
        any: where the project itself has a use for those that it offers, one that it has none for
        was left behind."""
        folder = os.path.dirname(path)
        return any(
            os.path.dirname(other) == folder
            and other != path
            and self._may_be(whole, other)
            and self._leading_to(whole, other) is not None
            for other in whole.modules
        )

    def _may_be(self, whole: Whole, path: str) -> bool:
        folder, name = os.path.split(path)
        if name in _ENTRIES or _TEST.match(name):
            return False
        return os.path.join(folder, _INIT) in whole.modules

    def _leading_to(self, whole: Whole, path: str) -> tuple[str, ...] | None:
        """Files that show that something leads to a module; None: nothing does."""
        if path not in self._known:
            self._known[path] = (path,)  # Modules that import each other are taken for reached.
            tree = self._modules.tree(path)
            does_nothing = tree is not None and not programs(tree)
            self._known[path] = self._found(whole, path) if does_nothing else (path,)
        return self._known[path]

    def _found(self, whole: Whole, path: str) -> tuple[str, ...] | None:
        stem = os.path.splitext(os.path.basename(path))[0]
        word = re.escape(stem.encode("utf-8", "replace"))
        spoken = re.compile(rb"\b%s\b" % word)
        as_file = re.compile(rb"[./]%s\b|\b%s\.py\b" % (word, word))
        folder = re.escape(os.path.basename(os.path.dirname(path)).encode("utf-8", "replace"))
        in_text = re.compile(
            rb"[\"'](?:[\w./-]*\b%s[./]%s\b|[\w./-]*\b%s\.py\b)" % (folder, word, word)
        )
        package = os.path.join(os.path.dirname(path), _INIT)
        for other in whole.modules:
            data = self._modules.text(other) or b""
            if other == path or stem.encode("utf-8", "replace") not in data:
                continue
            if not spoken.search(data):
                continue
            if in_text.search(data) or other == package:
                return (other,)
            if self._imports(other, data, stem, path):
                further = self._leading_to(whole, other) if self._may_be(whole, other) else ()
                if further is not None:
                    return (other, *further)
        for other in whole.modules:
            if other == path:
                continue
            if self._taken.takes(other, path, _SOME_NAME):
                further = self._leading_to(whole, other) if self._may_be(whole, other) else ()
                if further is not None:
                    return (other, *further)
            if any(way in (self._modules.text(other) or b"") for way in _BY_FILE):
                return (other,)
        for other in whole.others:
            data = self._modules.text(other) or b""
            if (as_file if other.endswith(PROSE) else spoken).search(data):
                return (other,)
        return None

    def _imports(self, other: str, data: bytes, stem: str, path: str) -> bool:
        for module in imported_modules(data):
            if module.rpartition(".")[2] != stem:
                continue
            found = self._modules.find(other, module)[0]
            # One that is not found here may be found once a program has put a folder on the path.
            if found == path or is_found_from_inside(other, module, path):
                return True
            ending = os.sep + module.replace(".", os.sep) + ".py"
            if found is None and path.endswith(ending):
                return True
        return False
