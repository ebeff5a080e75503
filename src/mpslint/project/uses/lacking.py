"""Programs that end at an import on every machine: they import a module that is gone from the
package of their own project, or a name that its module has no more.

Only what is certain counts. The package is a regular one, of which there is one alone; nothing
makes the module, be it a build, a hook of imports or a command in some text; git would not leave it
out, and nobody imports the program, who might deal with the error.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches, understood
from mpslint.folders.gitignore import NAME as IGNORES
from mpslint.folders.gitignore import extended
from mpslint.project.layout.added_folders import WORD, added_folders
from mpslint.project.layout.definition_texts import definition_of
from mpslint.project.layout.import_texts import imported_modules, module_name, runs_files
from mpslint.project.layout.modules import INSTALLING, is_foreign
from mpslint.project.uses.taken_by_text import is_found_from_inside
from mpslint.semantics.syntax.fitting import bindings_of
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.signatures import may_rebind

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole

_INIT = "__init__.py"
_MAKING = (
    *(b"__getattr__", b"__path__", b"extend_path", b"sys.modules", b"import_module"),
    *(b"__import__", b"lazy", b"setattr", b"exec(", b"globals("),
)
"""By these a package has modules, or a module names, that stand nowhere."""
_HOOKS = (b"sys.meta_path", b"path_hooks", b"sys.modules[", b"site.addsitedir")
_SAYING = (b"import", b"=", b"torch", b"for ", b"with ", b"as ")
"""Without these a module binds functions and classes alone."""
_MAPPING = re.compile(
    rb"package_dir|package-dir|force-include|targets\.\w+\.sources|ext_modules|\bExtension\b|cythonize"
    rb"|CUDAExtension|CppExtension|pybind11|maturin|cmake|mypyc|grpc_tools|\bto\s*=",
    re.I,
)
"""By these a build makes modules, or puts them where they do not lie."""
_COMMANDS = re.compile(
    rb"\b(?:clone|wget|curl|gdown|download\w*|unzip|tar|extract\w*|cp|mv|ln|copy|copied|move|place"
    rb"|put|generate\w*|protoc|submodule|build|make|mkdir|symlink|install|snapshot_download)\b",
    re.I,
)
"""What may bring a folder about, in a text for people or for a shell."""
_WRITES = re.compile(
    rb"dirs?\b|open\(|write|copy|link|save|rename|extract|unzip|unpack|download|clone|generate"
    rb"|fetch|join\(|Path\(|\bcd\b|git\b| / ",
    re.I,
)
"""What may make a file, in a line of Python."""
_MORE = (".gitmodules", "Makefile", "Dockerfile", "MANIFEST.in", "justfile", "noxfile.py")


class Lacking:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules
        self._packages: dict[str, dict[str, str]] = {}
        """By the head of a project: the folders of its outermost packages, by their names."""
        self._by_name: dict[str, dict[str, list[str]]] = {}
        self._files: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._own: dict[tuple[str, str], bool] = {}
        self._hooked: dict[str, bool] = {}
        self._gone: dict[tuple[str, str], bool] = {}
        """By the head, and a place without a suffix."""
        self._asked: dict[str, dict[str, None]] = {}
        """By the head: the texts that are no files of the project, and decide what may be made."""

    def includes(self, whole: Whole, path: str) -> bool:
        """Whether the module of the project at the absolute `path` is one of these."""
        text = self._text(path)
        if not path.endswith(".py"):
            return False
        tree = self._modules.tree(path)
        if tree is None or not any(self._lacks(whole, path, *item) for item in _imported(tree)):
            return False
        if WORD in text and not added_folders(tree, path, [whole.head]):
            return False  # Where it looks is not understood.
        return not self._is_hooked(whole) and not self._is_imported(whole, path)

    def rests_on(self, whole: Whole) -> tuple[str, ...]:
        """The files beside the project's own on which it rests what was said of it so far."""
        return tuple(self._asked.get(whole.head, ()))

    def _note(self, whole: Whole, paths: Iterable[str]) -> None:
        for path in paths:
            self._modules.sign(path)
            self._asked.setdefault(whole.head, {})[path] = None

    def _lacks(self, whole: Whole, path: str, module: str, names: tuple[str, ...]) -> bool:
        """Whether an import of a module, and of names from it, certainly ends in an error."""
        body = module.lstrip(".")
        parts = body.split(".") if body else []
        if body != module:
            folder = path
            for _ in range(len(module) - len(body)):
                folder = os.path.dirname(folder)
            return self._lacks_in(whole, folder, parts, names)
        if is_foreign(module) or understood(parts[0]):
            return False
        package = self._packages_of(whole).get(parts[0])
        if package is None:
            return self._lacks_there(whole, path, module, names)
        return (
            self._lacks_in(whole, package, parts[1:], names)
            and self._is_on_path(whole, path, package)
            and self._is_own(whole, parts[0])
        )

    def _lacks_in(
        self, whole: Whole, folder: str, parts: list[str], names: tuple[str, ...]
    ) -> bool:
        """The same of a module below a folder."""
        modules, folders = self._files_of(whole)
        for part in parts:
            if _may_make(self._text(os.path.join(folder, _INIT))):
                return False
            inner = os.path.join(folder, part)
            if inner not in folders:
                if inner + ".py" not in modules:
                    return self._is_gone(whole, inner)
                return any(self._lacks_name(whole, inner + ".py", "", name) for name in names)
            folder = inner
        init = os.path.join(folder, _INIT)
        return init in modules and any(
            self._lacks_name(whole, init, folder, name) for name in names
        )

    def _lacks_there(self, whole: Whole, path: str, module: str, names: tuple[str, ...]) -> bool:
        """The same of names from a module in folders that are no packages."""
        if "." not in module:
            return False  # A module of such a name is somebody else's as often.
        ending = os.sep + module.replace(".", os.sep)
        ends = (f"{ending}.py", os.path.join(ending, _INIT))
        alone = [one for one in self._named(whole, os.path.basename(ending)) if one.endswith(ends)]
        if len(alone) != 1 or os.path.basename(alone[0]) == _INIT or alone[0] == path:
            return False
        if not any(self._lacks_name(whole, alone[0], "", name) for name in names):
            return False
        # Somebody is seen to have it under this name.
        return self._is_own(whole, module.partition(".")[0]) and any(
            self._modules.find(other, module)[0] == alone[0]
            for other in self._modules.holding(whole.modules, module.encode("utf-8", "replace"))
            if module in imported_modules(self._text(other))
        )

    def _files_of(self, whole: Whole) -> tuple[frozenset[str], frozenset[str]]:
        """The modules of a project, and its folders."""
        if whole.head not in self._files:
            self._files[whole.head] = frozenset(whole.modules), frozenset(whole.folders)
        return self._files[whole.head]

    def _is_own(self, whole: Whole, top: str) -> bool:
        """Whether no text says that a package of this name is to be installed, or taken from
        somebody else."""
        key = whole.head, top
        if key not in self._own:
            building = self._projects.building(os.path.join(whole.head, _INIT))
            settings = {os.path.join(whole.head, name) for name in INSTALLING}
            self._note(whole, sorted({*building.wanted, *settings}))
            word = re.escape(top).replace("_", "[-_.]").encode("utf-8", "replace")
            listed = re.compile(rb"^[ \t\"'-]*%s\b[ \t]*(?:[=<>~!\[@;,\"']|$)" % word, re.M | re.I)
            command = re.compile(
                rb"\b(?:(?:pip[\d.]*|uv|conda|mamba|poetry|pdm)\b[^\n]*\b(?:install|add)|clone)\b"
                rb"[^\n]*(?<![\w.-])%s(?![\w-])" % word,
                re.I,
            )
            self._own[key] = not any(
                listed.search(self._text(one)) for one in {*building.wanted, *settings}
            ) and not any(command.search(self._text(one)) for one in whole.others)
        return self._own[key]

    def _is_on_path(self, whole: Whole, path: str, package: str) -> bool:
        """Whether a package lies where the file at `path` finds it before all others of its name:
        at the head of the project, or where the file says that it looks."""
        around = os.path.dirname(package)
        if around in (whole.head, os.path.join(whole.head, "src"), os.path.dirname(path)):
            return True
        tree = self._modules.tree(path) if WORD in self._text(path) else None
        return tree is not None and around in added_folders(tree, path, [whole.head])

    def _named(self, whole: Whole, name: str) -> list[str]:
        """The modules and packages of this name."""
        if whole.head not in self._by_name:
            known = self._by_name[whole.head] = {}
            for one in whole.modules:
                known.setdefault(module_name(one), []).append(one)
        return self._by_name[whole.head].get(name, [])

    def _lacks_name(self, whole: Whole, path: str, package: str, name: str) -> bool:
        """Whether a module has no such name, nor, where it is a package, such a module."""
        text = self._text(path)
        if name == "*" or definition_of(text, name) is not None or _may_make(text):
            return False
        if package and not self._is_gone(whole, os.path.join(package, name)):
            return False
        if any(word in text for word in _SAYING):
            tree = self._modules.tree(path)
            if tree is None or bindings_of(tree, name) or any(map(may_rebind, walk(tree))):
                return False
        word = name.encode("utf-8", "replace")
        given = re.compile(rb"[.\"']%s\b[\"']?[ \t]*[=,)\]]" % re.escape(word))
        return not any(
            given.search(self._text(other))
            for other in self._modules.holding_alone(whole.modules, word)
        )

    def _is_gone(self, whole: Whole, place: str) -> bool:
        """Whether nothing lies at a place, whatever its suffix, or is made there."""
        key = whole.head, place
        name = os.path.basename(place)
        if key not in self._gone:
            self._gone[key] = (
                not (name.startswith("_") or matches("kernel-names", name) or _lies_there(place))
                and not self._is_left_out(whole, place)
                and not self._may_be_built(whole)
                and not self._may_be_made(whole, place)
            )
        return self._gone[key]

    def _is_left_out(self, whole: Whole, place: str) -> bool:
        """Whether git would leave it out, as what a program writes or downloads."""
        self._note(whole, [os.path.join(whole.head, IGNORES)])
        ignores, folder = extended(None, whole.head, _nothing), whole.head
        parts = os.path.relpath(place, whole.head).split(os.sep)
        for part in parts:
            inner = os.path.join(folder, part)
            if ignores is not None and (
                ignores.ignored(inner, True) or ignores.ignored(f"{inner}.py", False)
            ):
                return True
            folder = inner
            self._note(whole, [os.path.join(folder, IGNORES)])
            ignores = extended(ignores, folder, _nothing)
        return False

    def _may_be_built(self, whole: Whole) -> bool:
        building = self._projects.building(os.path.join(whole.head, _INIT))
        settings = (os.path.join(whole.head, name) for name in INSTALLING)
        asked = {*building.scripts, *settings}
        self._note(whole, sorted(asked))
        texts = map(self._text, asked)
        return bool(building.kernels) or any(map(_MAPPING.search, texts))

    def _may_be_made(self, whole: Whole, place: str) -> bool:
        """Whether a text of the project speaks of the place as of one that somebody fills."""
        name = os.path.basename(place).encode("utf-8", "replace")
        word = re.escape(name)
        around = os.path.basename(os.path.dirname(place)).encode("utf-8", "replace")
        path = rb"\b%s[/\\]%s\b" % (re.escape(around), word)
        quoted = re.compile(rb"[\"']%s(?:\.py)?[\"']|%s" % (word, path))
        spelled = re.compile(rb"%s|(?<![\w/.])%s(?:/|\.py\b)|\./%s\b" % (path, word, word))
        for other in self._modules.holding_alone(whole.modules, name):
            for match in quoted.finditer(text := self._text(other)):
                if _WRITES.search(_line_at(text, match.start())):
                    return True
        more = tuple(os.path.join(whole.head, one) for one in _MORE)
        self._note(whole, more)
        return any(
            spelled.search(line) and (other in more or _COMMANDS.search(line))
            for other in self._modules.holding_alone((*whole.others, *more), name)
            for line in self._text(other).split(b"\n")
            if name in line
        )

    def _packages_of(self, whole: Whole) -> dict[str, str]:
        """The folders of the outermost packages by their names, where no other folder or module
        has that name."""
        if whole.head not in self._packages:
            folders = [
                os.path.dirname(one) for one in whole.modules if one.endswith(os.sep + _INIT)
            ]
            inits = {*folders}
            named: dict[str, int] = {}
            for one in (*folders, *(one for one in whole.modules if not one.endswith(_INIT))):
                stem = os.path.basename(one).removesuffix(".py")
                named[stem] = named.get(stem, 0) + 1
            self._packages[whole.head] = {
                os.path.basename(one): one
                for one in folders
                if os.path.dirname(one) not in inits and named[os.path.basename(one)] == 1
                if one != whole.head
            }
        return self._packages[whole.head]

    def _is_hooked(self, whole: Whole) -> bool:
        """Whether the project changes how Python finds modules."""
        if whole.head not in self._hooked:
            texts = map(self._text, whole.modules)
            self._hooked[whole.head] = any(word in text for text in texts for word in _HOOKS)
        return self._hooked[whole.head]

    def _is_imported(self, whole: Whole, path: str) -> bool:
        """Whether another file seems to import this one, by whatever name, or runs files."""
        stem = os.path.basename(path).removesuffix(".py")
        files = (*whole.modules, *whole.others)
        return stem == "__init__" or any(
            other.endswith(".ipynb") or runs_files(self._text(other)) or self._names(other, path)
            for other in self._modules.holding_alone(files, stem.encode("utf-8", "replace"))
            if other != path
        )

    def _names(self, other: str, path: str) -> bool:
        """Whether a text imports the file at `path`, or what may be it once a program has put a
        folder on the path."""
        own = path.removesuffix(".py")
        stem = os.path.basename(own)
        for module in imported_modules(self._text(other)):
            body = module.lstrip(".")
            if stem not in body.split("."):
                continue
            body = f"{body.partition(stem)[0]}{stem}"
            found = self._modules.find(
                other, module[: len(module) - len(module.lstrip("."))] + body
            )[0]
            ending = os.sep + body.replace(".", os.sep)
            if found == path or (found is None and own.endswith(ending)):
                return True
            if is_found_from_inside(other, body, path):
                return True
        return False

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


def _imported(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a file imports come what may, each module with the names that are taken from it."""
    for item in tree.body:
        if isinstance(item, ast.Import):
            yield from ((alias.name, ()) for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            module = "." * item.level + (item.module or "")
            yield module, tuple(alias.name for alias in item.names)


def _line_at(text: bytes, at: int) -> bytes:
    end = text.find(b"\n", at)
    return text[text.rfind(b"\n", 0, at) + 1 : end if end >= 0 else None]


def _may_make(text: bytes) -> bool:
    return any(word in text for word in _MAKING)


def _lies_there(place: str) -> bool:
    """Whether a folder has something of this name, whatever its suffix and its case."""
    folder, name = os.path.split(place)
    try:
        entries = os.listdir(folder)
    except OSError:
        return True
    return any(one.split(".")[0].lower() == name.lower() for one in entries)


def _nothing(_: str) -> None:
    """What cannot be read leaves nothing out."""
