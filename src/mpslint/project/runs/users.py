"""Who uses what a file defines: the modules of its folder, and those of the folder above, from
which the scripts of a project import it. Asked of the whole project, each finding would hang on all
files.
"""

from __future__ import annotations

import ast
import os
import re
from functools import partial
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import apart
from mpslint.semantics.elsewhere.elsewhere import entered_from
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.terms.facts_known import NOBODY, NONE, common
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.near import Near
    from mpslint.project.runs.imported_runs import ImportedRuns
    from mpslint.semantics.context import Context
    from mpslint.semantics.terms.facts_known import Facts

_ASKING = frozenset({b"cuda", b"is_cuda", b"is_available", b"device_count", b"nccl"})
_NCCL = b"nccl"
_BY_TEXT = (b"import_module", b"__import__", b"sys.modules", b"eval(", b"exec(", b"run_path")
_LASTING = frozenset({"cuda", "no-mps"})
"""What is still so in a function that is called where it holds."""
_FOR_CUDA: Facts = frozenset({"cuda"})
_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_HOPS = 2
"""So many other files are gone through, from a function to those that call it."""
_CALLS = 3
"""And so many functions of each."""


class Users:
    def __init__(self, modules: Modules, runs: ImportedRuns, elsewhere: Near) -> None:
        self._modules = modules
        self._runs = runs
        self._elsewhere = elsewhere

    def entered(self, path: str, name: str, hops: int = _HOPS) -> tuple[Facts, tuple[str, ...]]:
        """What holds wherever others use the function or class `name` of the file at the absolute
        `path`, and the files that this rests on. Who cannot be imported on a Mac uses it for CUDA;
        of a function that uses it, those that call that are asked as well, `hops` times over.
        """
        folder, stem = os.path.split(path.removesuffix(".py"))
        own = stem if stem != "__init__" else os.path.basename(folder)
        beside = [*self._modules.beside(path), *self._modules.beside(folder)]
        files = [folder, os.path.dirname(folder), *beside]
        words = [frozenset({_bytes(by), _bytes(name)}) for by in self._known_by(path, own)]
        users = [
            other for other in beside if any(self._modules.has_words(other, both) for both in words)
        ]
        if not users:
            return frozenset({NOBODY}), tuple(files)
        here: list[str] = []
        sites: list[Facts] = []
        groups = [other for other in beside if _NCCL in self._modules.words(other)]
        # Who speaks of no machine asks for none, but where somebody starts NCCL for him: one of
        # them says it all.
        for other in sorted(users, key=self._asks):
            if self._means_another(other, path) or self._only_builds(other, path):
                continue
            if not self._may_have(other, path, own):
                continue
            worlds, looked = self._runs.uses_on(other, name)
            files += looked
            if not worlds & MACS:
                sites.append(_FOR_CUDA)
            elif self._modules.tree(other) is None:
                continue  # No Python of today's: nobody runs it.
            elif not self._asks(other) and not groups and not self._imports_nccl(other):
                if not self._defines(other, name) or self._mentions(path, name, other, files):
                    return NONE, tuple(files)
            else:
                here.append(other)
        for other in here:
            found = self._mentions(path, name, other, files, hops)
            files += self._elsewhere.rests_on(other)
            if found is None:
                return NONE, tuple(files)
            if not found and not self._asks(other) and not self._defines(other, name):
                return NONE, tuple(files)  # A base, or a type: what is made of it is not seen.
            sites += found
            if sites and not common(sites):
                return NONE, tuple(files)
        if not sites:
            return frozenset({NOBODY}), tuple(files)
        return common(sites) & _LASTING, tuple(files)

    def may_start_groups(self, path: str, qualified: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a name that the file at the absolute `path` imports, or a module of that name,
        may start processes of NCCL, by its text alone; and the files that were looked at, or for.
        """
        modules = self._modules
        found, looked = modules.find(path, qualified)
        if found is not None:
            return _NCCL in modules.words(found), looked
        module, name = apart(qualified)
        found, more = modules.find(path, module)
        may = found is not None and found != path and modules.may_say(found, name, (_NCCL,))
        return may, (*looked, *more)

    def _known_by(self, path: str, own: str) -> list[str]:
        """The words by which others import from the file at `path`: its name, and that of its
        package where this hands on what the file defines."""
        folder = os.path.dirname(path)
        package = os.path.join(folder, "__init__.py")
        if package == path or package not in self._modules.beside(path):
            return [own]
        hands_on = _bytes(own) in self._modules.imported_by(package)
        return [own, os.path.basename(folder)] if hands_on else [own]

    def _asks(self, other: str) -> bool:
        return not _ASKING.isdisjoint(self._modules.words(other))

    def _imports_nccl(self, other: str) -> bool:
        """Whether a file imports one that may start processes of NCCL for it."""
        return any(
            _NCCL in self._modules.words(imported) for imported in self._runs.imports_of(other)
        )

    def _defines(self, other: str, name: str) -> bool:
        """Whether a file seems to have a function or class of this name itself."""
        head = rb"^(?:async def|def|class) %s\b" % re.escape(_bytes(name))
        return re.search(head, self._modules.text(other) or b"", re.M) is not None

    def _only_builds(self, other: str, path: str) -> bool:
        """Whether it is a setup script, which names what is compiled and calls none of it."""
        return os.path.basename(other) == "setup.py" and path not in self._runs.imports_of(other)

    def _may_have(self, other: str, path: str, own: str) -> bool:
        """Whether a file may have anything of the one at `path`: it imports that by its name, or
        by another that imports it in turn, or may import by a text. A word that is the name of the
        module and of its function (`train` of `train.py`) is met in many files beside."""
        if not self._modules.imported_by(other).isdisjoint(map(_bytes, self._known_by(path, own))):
            return True
        if any(way in (self._modules.text(other) or b"") for way in _BY_TEXT):
            return True
        imported = self._runs.imports_of(other)
        return any(path == one or path in self._runs.imports_of(one) for one in imported)

    def _means_another(self, other: str, path: str) -> bool:
        """Whether a file imports a module of the same name from elsewhere, and not this one."""
        imported = self._runs.imports_of(other)
        last = os.path.basename(path)
        return path not in imported and any(os.path.basename(found) == last for found in imported)

    def _mentions(
        self, path: str, name: str, other: str, files: list[str], hops: int = 0
    ) -> list[Facts] | None:
        """What holds at each mention in another file; None where that cannot be read."""
        context = self._modules.context(other, self._elsewhere)
        if context is None:
            return None

        def imported(qualified: str) -> bool:
            body = qualified.lstrip(".")
            head, _, last = body.rpartition(".")
            module = qualified[: len(qualified) - len(body)] + head
            if last != name:
                return False
            found = self._modules.find(other, module)[0]
            return found == path or (found is not None and self._hands_on(other, qualified, path))

        around = partial(self._around, context, other, files, hops, _CALLS)
        bound = rb"^[ \t]*%s[ \t]*=[ \t]*(?:functools\.)?partial\(" % re.escape(_bytes(name))
        is_bound = re.search(bound, self._modules.text(path) or b"", re.M) is not None
        found = entered_from(context, imported, name, around, switched=is_bound)
        if not found and self._takes_others(context, path, name):
            return []
        # A file that has both words and no mention that can be followed may use it somehow.
        return found or [NONE]

    def _around(
        self,
        context: Context,
        path: str,
        files: list[str],
        hops: int,
        calls: int,
        use: ast.expr,
    ) -> Facts:
        """What holds wherever the function around `use` is called, in its file or in those that
        import it from there: `calls` times over here, `hops` times over there."""
        around = [x for x in context.index.ancestors(use) if isinstance(x, _DEFINITIONS)]
        function = around[-1] if around else None
        if function not in context.tree.body or function is None or not calls:
            return NONE
        if function.decorator_list or _is_read_with_class(around):
            return NONE
        callers = context.guards.callers
        if not hops or callers.named_by_frameworks(function):
            return NONE
        sites = callers.mentions(function)
        if sites:
            onward = partial(self._around, context, path, files, hops, calls - 1)
            return common([(context.guards.at(site) & _LASTING) or onward(site) for site in sites])
        found, looked = self.entered(path, function.name, hops - 1)
        files += looked
        return found & _LASTING

    def _hands_on(self, other: str, qualified: str, path: str) -> bool:
        """Whether what `other` names comes from the file at `path` through another module."""
        definition = self._elsewhere.definition(other, qualified)
        return definition is not None and definition.context.source.path == path

    def _takes_others(self, context: Context, path: str, name: str) -> bool:
        """Whether a file takes other names from the one at `path`, written out, and defines one of
        this name itself."""
        here = context.source.path
        taken = {
            alias.name
            for node in context.index.of(ast.ImportFrom)
            if self._modules.find(here, "." * node.level + (node.module or ""))[0] == path
            for alias in node.names
        }
        whole = {binding.qualified for _, binding in context.names.every_binding()}
        own = context.names.module.bindings.get(name, ())
        return (
            bool(taken)
            and taken.isdisjoint((name, "*"))
            and bool(own)
            and all(binding.kind != "import" for binding in own)
            and all(self._modules.find(here, one)[0] != path for one in whole if one)
        )


def _is_read_with_class(around: list[FunctionNode | ast.ClassDef]) -> bool:
    """Whether the innermost of these, which stand in each other, is a class: what stands in its
    body runs when its file is imported, whoever makes objects of it."""
    return isinstance(around[0], ast.ClassDef)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
