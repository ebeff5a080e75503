"""Files that nobody can import, and that end where they are started: come what may they import a
module or a name of the project itself that is not there any more, or another file that does so.

Only what is certain counts. An import below a test, in a `try` or in a function may never run. What
a relative name stands for hangs on nothing but the project's own folders; an absolute one is looked
for in all of them that have its name, and says nothing where Python is told to look elsewhere.
"""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mpslint.facts.priors import understood
from mpslint.project.layout.added_folders import WORD, added_folders
from mpslint.project.layout.import_texts import module_name
from mpslint.project.layout.modules import is_foreign
from mpslint.project.uses.gone import Gone
from mpslint.project.uses.lacked_names import LackedNames
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole

_INIT = "__init__.py"
# Fact: Python's grammar, an import that stands in no block.
_IMPORT = re.compile(
    rb"^(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]*(?P<names>\([^)]*\)|(?:\\\n|[^\n#;])*)"
    rb"|import[ \t]+(?P<plain>[\w., \t]+))",
    re.M,
)
_COMMENT = re.compile(rb"#[^\n]*")
_SEARCHED = re.compile(rb"\bPYTHONPATH\b[^\n]*?[=:][ \t\"']*([^\s\"'&;]+)")
# Fact: commands of shells, of what builds containers and of Python's `shutil` that copy folders.
_COPIED = rb"(?:^|[\s`$;&|(])(?:cp|mv|ln|rsync|scp|COPY|ADD|copytree\()[^\n]*\b%s\b"
_COMMANDS = ("Dockerfile", "Makefile")
_DEFINED = rb"^(?:(?:class|def|async[ \t]+def)[ \t]+%s\b|%s[ \t]*=)"
_TEXTS = 2048
"""Of so many texts it is kept what they import."""


class _Import(NamedTuple):
    """`import a.b` (no names), or `from .a import x, y`."""

    module: str
    names: tuple[str, ...]

    @property
    def level(self) -> int:
        return len(self.module) - len(self.module.lstrip("."))


class _Looked(NamedTuple):
    """What the imports of a file by themselves show."""

    lacking: str
    """What one of them finds nothing of, on every machine; empty: all find something."""
    leads_to: tuple[str, ...]
    """The files that run once it is imported, whatever else happens."""


class Importable:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._modules = modules
        self._gone = Gone(projects, modules)
        self._lacked = LackedNames(modules)
        self._looked: dict[str, _Looked] = {}
        self._known: dict[str, bool] = {}
        self._lost: dict[str, bool] = {}
        self._further: dict[str, bool] = {}
        """By the head of the project."""
        self._places: dict[str, frozenset[str]] = {}

    def includes(self, whole: Whole, path: str) -> bool:
        """Whether the module of the project at the absolute `path` may be imported, or started, on
        some machine."""
        if path in self._known:
            return self._known[path]
        leading: dict[str, str | None] = {path: None}
        """Each with the one that imports it."""
        todo = [path]
        while todo:
            one = todo.pop()
            looked = self._look(whole, one)
            if looked.lacking or self._known.get(one) is False:
                end, above = one, leading[one]
                self._known[end] = False
                while above is not None and end in self._run_by(whole, above):
                    self._known[above] = False
                    end, above = above, leading[above]
                if above is None:
                    return False
                continue
            for other in looked.leads_to:
                if other not in leading and not self._known.get(other):
                    leading[other] = one
                    todo.append(other)
        self._known = {**dict.fromkeys(leading, True), **self._known}
        return True

    def _run_by(self, whole: Whole, path: str) -> set[str]:
        """The files that run once a module is imported, by its tree: a text may hold examples."""
        tree = self._modules.tree(path)
        certain = _certain(tree) if tree is not None else ()
        return {other for one in certain for other in self._runs(whole, path, one)}

    def is_lost(self, whole: Whole, path: str) -> bool:
        """Whether a module may be imported nowhere for want of something that the project has in no
        place. Where that has only moved one line mends the file, so that it may have a use for what
        it names."""
        if self.includes(whole, path):
            return False
        if path not in self._lost:
            seen, todo = {path}, [path]
            self._lost[path] = False
            while todo and not self._lost[path]:
                looked = self._look(whole, one := todo.pop())
                self._lost[path] = bool(looked.lacking) and self._wants_what_is_lost(whole, one)
                todo += [other for other in looked.leads_to if other not in seen]
                seen.update(looked.leads_to)
        return self._lost[path]

    def lacking(self, whole: Whole, path: str) -> tuple[str, str]:
        """The nearest file at which the import of a module ends that may be imported nowhere, and
        what that looks for in vain; empty texts where it may be imported."""
        if self.includes(whole, path):
            return "", ""
        seen, todo = {path}, [path]
        while todo:
            looked = self._look(whole, one := todo.pop(0))
            if looked.lacking:
                return one, looked.lacking
            todo += [other for other in looked.leads_to if other not in seen]
            seen.update(looked.leads_to)
        return path, "a module"

    def _wants_what_is_lost(self, whole: Whole, path: str) -> bool:
        return any(
            self._finds_nothing(whole, path, one) and not self._has_moved(whole, path, one)
            for one in _imports(self._text(path))
            if one.level or not (is_foreign(one.module) or understood(one.module.split(".")[0]))
        )

    def _has_moved(self, whole: Whole, path: str, one: _Import) -> bool:
        """Whether other modules of the project define all that an import would take."""
        names = [name for name in one.names if name != "*"]
        if not names:
            stem = one.module.rpartition(".")[2]
            return any(module_name(other) == stem for other in whole.modules)
        return all(
            any(module_name(other) == name for other in whole.modules)
            or any(
                re.search(_DEFINED % (re.escape(word), re.escape(word)), self._text(other), re.M)
                for other in self._modules.holding_alone(whole.modules, word)
                if other != path
            )
            for name in names
            for word in [name.encode("utf-8", "replace")]
        )

    def rests_on(self, whole: Whole, path: str) -> tuple[str, ...]:
        """The files on which it rests what was said of a module."""
        if not self._known.get(path, True):
            return (*whole.files, *self._gone.rests_on(whole))
        seen = {path: None}
        todo = [path]
        while todo:
            looked = self._looked.get(todo.pop())
            for other in looked.leads_to if looked is not None else ():
                if other not in seen:
                    seen[other] = None
                    todo.append(other)
        return (*seen, *self._gone.rests_on(whole))

    def _look(self, whole: Whole, path: str) -> _Looked:
        if path not in self._looked:
            self._looked[path] = self._looked_at(whole, path)
        return self._looked[path]

    def _looked_at(self, whole: Whole, path: str) -> _Looked:
        found: dict[str, None] = {}
        for one in _imports(self._text(path)):
            first = one.module.partition(".")[0]
            if not one.level and (is_foreign(one.module) or understood(first)):
                continue
            if self._finds_nothing(whole, path, one):
                tree = self._modules.tree(path)
                if (
                    tree is not None
                    and one in _certain(tree)
                    and not self._gone.is_hooked(whole)
                    and not self._is_put_elsewhere(whole, path)
                ):
                    return _Looked(self._spelled(whole, path, one), ())
                continue
            found.update(dict.fromkeys(self._runs(whole, path, one)))
        found.pop(path, None)
        return _Looked("", tuple(found))

    def _spelled(self, whole: Whole, path: str, one: _Import) -> str:
        found = self._modules.find(path, one.module)[0]
        if found is None:
            return one.module
        names = (name for name in one.names if self._lacks(whole, path, one, found, name))
        return f"{', '.join(names)} of {one.module}"

    def _is_put_elsewhere(self, whole: Whole, path: str) -> bool:
        """Whether a command copies a folder around a file to another place, where there may be more
        beside it."""
        folders = os.path.relpath(os.path.dirname(path), whole.head).split(os.sep)
        for folder in folders if folders != ["."] else ():
            word = folder.encode("utf-8", "replace")
            copied = re.compile(_COPIED % re.escape(word), re.M)
            more = tuple(os.path.join(whole.head, one) for one in _COMMANDS)
            if any(
                copied.search(self._text(one)) is not None
                for one in self._modules.holding_alone((*whole.others, *whole.modules, *more), word)
            ):
                return True
        return False

    def _finds_nothing(self, whole: Whole, path: str, one: _Import) -> bool:
        found = self._modules.find(path, one.module)[0]
        if found is None:
            # Of a single name nobody knows whether it is to be a module of the project.
            is_gone = self._gone.names(whole, path, one.module)
            return is_gone and (one.level > 0 or not self._looks_further(whole))
        if found not in self._of(whole):
            return False
        missing = [name for name in one.names if name != "*"]
        return any(self._lacks(whole, path, one, found, name) for name in missing)

    def _lacks(self, whole: Whole, path: str, one: _Import, found: str, name: str) -> bool:
        """Whether a module has no such name, nor, if it is a package, such a module."""
        same = (found,) if one.level else tuple(self._alike(whole, one.module))
        if found not in same or not all(self._lacked.includes(whole, at, name) for at in same):
            return False
        inner = f"{one.module}{'' if one.module.endswith('.') else '.'}{name}"
        is_package = any(os.path.basename(at) == _INIT for at in same)
        if is_package and (
            self._modules.find(path, inner)[0] is not None
            or not self._gone.names(whole, path, inner)
        ):
            return False
        return one.level > 0 or not self._looks_further(whole)

    def _alike(self, whole: Whole, module: str) -> Iterator[str]:
        """The modules of the project that an absolute name may stand for, wherever one starts."""
        ending = os.sep + module.replace(".", os.sep)
        for other in self._of(whole):
            if other.endswith((f"{ending}.py", f"{ending}{os.sep}{_INIT}")):
                yield other

    def _runs(self, whole: Whole, path: str, one: _Import) -> Iterator[str]:
        """The files of the project that certainly run once a file imports something."""
        folder = os.path.dirname(path)
        for _ in range(one.level):
            if (around := os.path.join(folder, _INIT)) in self._of(whole):
                yield around
            folder = os.path.dirname(folder)
        dot = "" if one.module.endswith(".") else "."
        for module in (one.module, *(f"{one.module}{dot}{name}" for name in one.names)):
            found = self._modules.find(path, module)[0] if not module.endswith("*") else None
            if found is None or found not in self._of(whole):
                continue
            if one.level:
                yield from self._packages_below(whole, path, module)
                yield found
            elif len(list(self._alike(whole, module))) == 1:
                yield from self._modules.packages_of(path, module, found)
                yield found

    def _packages_below(self, whole: Whole, path: str, module: str) -> Iterator[str]:
        """The packages that Python imports on the way to a module that a file names from its own
        ones, which it has imported before."""
        parts = module.lstrip(".").split(".")
        folder = path
        for _ in range(len(module) - len(module.lstrip("."))):
            folder = os.path.dirname(folder)
        for part in parts[:-1]:
            folder = os.path.join(folder, part)
            if (package := os.path.join(folder, _INIT)) in self._of(whole):
                yield package

    def _looks_further(self, whole: Whole) -> bool:
        """Whether Python may be told to look for modules in folders that are not the project's."""
        if whole.head not in self._further:
            self._further[whole.head] = any(
                self._adds_others(whole, other)
                for other in self._modules.holding(whole.modules, WORD)
            ) or any(
                place.strip("./") and os.path.basename(place.rstrip("/")) not in names
                for names in [{os.path.basename(one) for one in whole.folders} | {"pwd)", "`pwd`"}]
                for other in self._modules.holding((*whole.others, *whole.modules), b"PYTHONPATH")
                for match in _SEARCHED.finditer(self._text(other))
                for place in match[1].decode(errors="replace").split(":")
                if not place.startswith(("$PYTHONPATH", "${PYTHONPATH", "$PWD", "${PWD", "$(pwd"))
            )
        return self._further[whole.head]

    def _adds_others(self, whole: Whole, other: str) -> bool:
        tree = self._modules.tree(other)
        added = added_folders(tree, other, [whole.head]) if tree is not None else ()
        names = {os.path.basename(one) for one in whole.folders}
        return not added or any(
            os.path.basename(one) not in names
            if one.startswith(os.path.join(whole.head, ""))
            else not whole.head.startswith(one)
            for one in added
            if one not in whole.folders
        )

    def _of(self, whole: Whole) -> frozenset[str]:
        if whole.head not in self._places:
            self._places[whole.head] = frozenset(whole.modules)
        return self._places[whole.head]

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


@lru_cache(_TEXTS)
def _imports(text: bytes) -> tuple[_Import, ...]:
    """What the lines of a text import that stand in no block; lines of a longer text among them."""
    found: dict[_Import, None] = {}
    for match in _IMPORT.finditer(text):
        if match["plain"] is not None:
            for item in match["plain"].split(b","):
                if words := item.split():
                    found[_Import(words[0].decode(errors="replace"), ())] = None
            continue
        lines = match["names"].replace(b"\\\n", b" ")
        names = _COMMENT.sub(b"", lines).strip(b"() \t\r\n").split(b",")
        taken = (item.split()[0].decode(errors="replace") for item in names if item.split())
        plain = tuple(name for name in taken if name == "*" or name.isidentifier())
        found[_Import(match["module"].decode(errors="replace"), plain)] = None
    return tuple(found)


def _certain(tree: ast.Module) -> set[_Import]:
    """What a module imports come what may."""
    found: set[_Import] = set()
    for item in tree.body:
        if isinstance(item, ast.Import):
            found.update(_Import(alias.name, ()) for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            module = "." * item.level + (item.module or "")
            found.add(_Import(module, tuple(alias.name for alias in item.names)))
    return found
