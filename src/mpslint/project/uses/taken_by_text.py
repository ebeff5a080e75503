"""What a module of a project can take from another by a text: `getattr(module, name)`,
`eval(name)`, `import_module(name)`. None of them reaches further than what the module has bound.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import module_name
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import statements, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.semantics.context import Context

_LOOKED_UP = re.compile(
    rb"\bgetattr\((?!self\b|[\w.]+,\s*(?:'\w+'|\"\w+\")\s*[,)])"
    rb"|(?:(?<![.\w])(?P<owner>\w+)\.)?(?<!super\(\)\.)\b__dict__\b"
    rb"|\bglobals\(|(?<![.\w])(?<!def )eval\("
)
"""Python's ways to take a name from a text, but for attributes of one's own, and for a text that
is written out (`getattr(args, "name", None)`): such a one is looked for as it is."""
_IN_OWN_SCOPE = re.compile(rb"\bglobals\(|(?<![.\w])(?<!def )eval\(|\bsys\.modules\b|\b__name__\]")
"""Those that reach the names of the file itself. An attribute is that of a module which the file
has by a name."""
_LOOKING_UP = (b"getattr(", b"__dict__", b"globals(", b"eval(")
_IMPORTED_BY_TEXT = re.compile(rb"\b(?:import_module|__import__)\b")
_IMPORTING = (b"import_module", b"__import__")
_IMPORTERS = ("import_module", "__import__")
_LISTING = frozenset(
    {
        "iter_modules",
        "walk_packages",
        "listdir",
        "scandir",
        "iterdir",
        "glob",
        "iglob",
        "rglob",
        "walk",
    }
)
"""Ways of Python's to look through a folder."""
_LISTED = re.compile(rb"\b(?:%s)\(" % "|".join(sorted(_LISTING)).encode())
_INIT = "__init__.py"
_NO_NAME = ""
"""No function has it."""
_OPEN = "*"
"""What stands for the rest of a text of which only the beginning is written out."""


_Imports = list[ast.Import | ast.ImportFrom]


class _Lookups(NamedTuple):
    """How a module takes names from texts."""

    in_scope: bool
    """Whether in a way that reaches the names of the file itself."""
    plain: tuple[str, ...]
    """The modules that it imports whole."""
    parts: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Those that it imports names of, each with what stands between the two, and the names."""
    begins: tuple[str, ...] | None = None
    """How the names begin that it takes; None: they may be any."""


class _Texts(NamedTuple):
    """How a module imports others by texts."""

    imported: tuple[str | None, ...]
    """These texts, None for one that is not written out."""
    spoken: bytes
    """What such a one may be made of."""


def takers(context: Context) -> list[ast.expr]:
    """Where a file takes names from texts, or imports by them."""
    index = context.index
    called = ("getattr", "globals", "eval", *_IMPORTERS)
    return [
        *(call for name in called for call in index.calls.get(name, ())),
        *index.attributes.get("__dict__", ()),
    ]


class TakenByText:
    """Asked of the same modules for each function of a project: what their texts say is found out
    once."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._lookups: dict[str, _Lookups | bool] = {}
        self._imported: dict[str, _Texts | bool] = {}
        self._whole: dict[str, frozenset[str]] = {}
        self._held: dict[str, bool] = {}
        self._brought: dict[str, _Imports | None] = {}

    def take_over(self, known: TakenByText, changed: frozenset[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone."""
        lookups = {path: one for path, one in known._lookups.items() if path not in changed}
        self._lookups.update(lookups)
        imported = {path: one for path, one in known._imported.items() if path not in changed}
        self._imported.update(imported)

    def takes(self, other: str, path: str, name: str) -> bool:
        """Whether the module at `other` takes names from texts, and `name` of the file at `path`
        may be one of them: it has that by its name, by a star, or has the module itself, or its
        package."""
        if other not in self._imported:
            self._imported[other] = _importing_texts(self._modules, other)
        texts = self._imported[other]
        if texts is not False and (texts is True or self._imports(texts, other, path)):
            return True
        if other not in self._lookups:
            self._lookups[other] = _lookups_of(self._modules, other)
        known = self._lookups[other]
        return known if isinstance(known, bool) else self._looks_up(known, other, path, name)

    def is_held(self, others: tuple[str, ...], path: str) -> bool:
        """Whether one of the modules `others` does more with the module at `path`, or with a
        package that hands it on, than to take from it what is written out: then a name that stands
        somewhere as a text may come to be looked for in it."""
        if path not in self._held:
            words = {module_name(path).encode(), module_name(_package(path)).encode()}
            self._held[path] = any(
                other != path
                and any(word in (self._modules.text(other) or b"") for word in words)
                and self._holds(other, path)
                for other in others
            )
        return self._held[path]

    def _holds(self, other: str, path: str) -> bool:
        if other not in self._brought:
            self._brought[other] = self._brought_to(other)
        imports = self._brought[other]
        if imports is None:
            return b"import" in (self._modules.text(other) or b"")
        # Most import nothing of the kind, and to go through all of a module takes long.
        if not self._looks_up(_held(imports, None, in_scope=False), other, path, _NO_NAME):
            return False
        if other not in self._whole:
            tree = self._modules.tree(other)
            self._whole[other] = _whole_names(tree) if tree is not None else frozenset()
        known = _held(imports, self._whole[other], in_scope=False)
        return self._looks_up(known, other, path, _NO_NAME)

    def _brought_to(self, other: str) -> _Imports | None:
        """What a module imports, which is asked once for each file: its tree is not kept as long.
        None: it imports nothing, or cannot be read."""
        has_any = b"import" in (self._modules.text(other) or b"")
        tree = self._modules.tree(other) if has_any else None
        return _imports_of(tree) if tree is not None else None

    def _looks_up(self, known: _Lookups, other: str, path: str, name: str) -> bool:
        modules = self._modules

        def is_meant(module: str) -> bool:
            found = modules.find(other, module)[0]
            if found == _package(path):
                data = modules.text(other) or b""
                return _names(data, module_name(path)) or _hands_on(modules, found, path)
            return found == path or is_found_from_inside(other, module, path)

        if any(map(is_meant, known.plain)):
            return True
        for module, dot, names in known.parts:
            for one in names:
                if one == "*" and known.begins is not None and not name.startswith(known.begins):
                    continue
                if one in ("*", name) and is_meant(module):
                    # A package hands on modules by a star, a module its functions.
                    if known.in_scope or modules.find(other, module)[0] != path:
                        return True
                if one != "*" and is_meant(f"{module}{dot}{one}"):
                    return True
        return False

    def _imports(self, texts: _Texts, other: str, path: str) -> bool:
        """Whether a module that imports others by texts may get at the file at `path` so: a text
        that is written out is that module or its package, another one may be any that the file
        speaks of."""
        modules = self._modules
        for text in texts.imported:
            if text is None:
                if other == _package(path):
                    return True
                return any(
                    _names(texts.spoken, word)
                    for word in (module_name(path), module_name(_package(path)))
                )
            if text.endswith(_OPEN):
                if self._begins(text.removesuffix(_OPEN), other, path):
                    return True
                continue
            found = modules.find(other, text)[0]
            if found == path or is_found_from_inside(other, text, path):
                return True
            if found == _package(path) and _hands_on(modules, found, path):
                return True
        return False

    def _begins(self, text: str, other: str, path: str) -> bool:
        """Whether a text that begins so may be the file at `path`: of the package that is written
        out it may be any module, and none of those below."""
        package, _, first = text.rpartition(".")
        holder = _holder(path)
        found = self._modules.find(other, package)[0]
        if found is None:
            folder = os.path.basename(os.path.dirname(holder))
            return folder == package.rpartition(".")[2] and module_name(path).startswith(first)
        return found == holder and module_name(path).startswith(first)


def _lookups_of(modules: Modules, other: str) -> _Lookups | bool:
    """False: it takes nothing from texts; True: it may take whatever there is."""
    data = modules.text(other) or b""
    if not _has(data, _LOOKING_UP):
        return False
    owners = {match["owner"] for match in _LOOKED_UP.finditer(data)}
    if not owners:
        return False
    tree = modules.tree(other)
    if tree is None:
        return True
    imports = _imports_of(tree)
    for item in imports:
        names = {(alias.asname or alias.name).partition(".")[0] for alias in item.names}
        if "*" in names or not owners.isdisjoint(map(str.encode, names)):
            owners.add(None)
    if None not in owners:
        return False  # `args.__dict__`: the attributes of what is no module.
    in_scope = _IN_OWN_SCOPE.search(data) is not None
    if in_scope and (begins := _beginnings(tree, data)):
        fitting = {name for item in imports for name in _bound(item) if name.startswith(begins)}
        held = _held(imports, frozenset(fitting), in_scope=True)
        return held._replace(begins=begins)
    return _held(imports, None if in_scope else _whole_names(tree), in_scope=in_scope)


def _beginnings(tree: ast.Module, data: bytes) -> tuple[str, ...]:
    """How all names begin that a module takes from texts, where it does so by `eval` alone:
    `eval("LOSS_" + kind)`, `eval(f"LOSS_{kind}(x)")`; none: one of them may be any."""
    if any(match[0].strip() != b"eval(" for match in _LOOKED_UP.finditer(data)):
        return ()
    found: list[str] = []
    for node in walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "eval"
        ):
            text: ast.AST | None = node.args[0] if node.args else None
            while isinstance(text, ast.BinOp | ast.JoinedStr):
                text = text.left if isinstance(text, ast.BinOp) else next(iter(text.values), None)
            if not isinstance(text, ast.Constant) or not isinstance(text.value, str):
                return ()
            # Fact: Python's grammar, a name.
            first = re.match(r"[^\W\d]\w*", text.value)
            if first is None:
                return ()
            found.append(first[0])
    return tuple(found)


def _bound(item: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The names that an import binds."""
    for alias in item.names:
        yield alias.asname or alias.name.partition(".")[0]


def _imports_of(tree: ast.Module) -> _Imports:
    return [item for item in statements(tree) if isinstance(item, ast.Import | ast.ImportFrom)]


def _held(imports: _Imports, whole: frozenset[str] | None, *, in_scope: bool) -> _Lookups:
    """What is imported and has one of the names `whole`; None: one of any name."""
    plain: list[str] = []
    parts: list[tuple[str, str, tuple[str, ...]]] = []
    for item in imports:
        names = tuple(alias.name for alias in item.names if _may_be_asked(alias, whole))
        if isinstance(item, ast.Import):
            plain += names
        else:
            module = "." * item.level + (item.module or "")
            parts.append((module, "" if module.endswith(".") else ".", names))
    return _Lookups(in_scope, tuple(plain), tuple(parts))


def _whole_names(tree: ast.Module) -> frozenset[str]:
    """The names that a module does more with than to take an attribute of them that is written out:
    it asks such a one for another, or gives it to who does."""
    names: set[str] = set()
    owners: set[ast.AST] = set()
    for node in walk(tree):  # The outer ones first.
        if isinstance(node, ast.Attribute):
            if node.attr != "__dict__":
                owners.add(node.value)
        elif isinstance(node, ast.Name) and node not in owners:
            names.add(node.id)
    return frozenset(names)


def _may_be_asked(alias: ast.alias, whole: frozenset[str] | None) -> bool:
    """Whether what is imported may be asked for an attribute by a text; None: by any name."""
    if whole is None or alias.name == "*" or (alias.asname is None and "." in alias.name):
        return True
    return (alias.asname or alias.name) in whole


def _importing_texts(modules: Modules, other: str) -> _Texts | bool:
    """False: a module imports none so; True: it cannot be read."""
    data = modules.text(other) or b""
    if not _has(data, _IMPORTING) or not _IMPORTED_BY_TEXT.search(data):
        return False
    tree = modules.tree(other)
    if tree is None:
        return True
    imported: list[str | None] = []
    spoken: list[str] = []
    called: set[ast.AST] = set()
    said: set[ast.AST] = set()
    """Texts that nobody does anything with, as those at the heads of functions are."""
    for node in walk(tree):
        if isinstance(node, ast.Expr):
            said.add(node.value)
        if isinstance(node, ast.Call):
            called.add(node.func)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_IMPORTERS):
            imported.append(_written_out(node.args[0] if node.args else None))
        elif _hands_on_importer(node) and node not in called:
            imported.append(None)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in said:
            spoken.append(node.value)
    if not imported:
        return False
    if None not in imported:
        return _Texts(tuple(imported), b"")
    if _LISTED.search(data) and _imports_what_lies_there(tree):
        return True  # Others may name the folder.
    # Who looks through a package has it by its name.
    by_name = b"__path__" in data
    return _Texts(tuple(imported), data if by_name else "\n".join(spoken).encode(errors="replace"))


def _hands_on_importer(node: ast.AST) -> bool:
    """Whether a node gives one of Python's ways to import by a text another name, or gives it to
    who may use it: `from importlib import import_module as load`."""
    if isinstance(node, ast.ImportFrom):
        return any(alias.name in _IMPORTERS and alias.asname for alias in node.names)
    return isinstance(node, ast.Attribute | ast.Name) and last_name(node) in _IMPORTERS


def _imports_what_lies_there(tree: ast.Module) -> bool:
    """Whether a function, a class or the module itself that looks through a folder, or calls what
    does so here, imports by a text that is not written out."""
    listing: set[str] = set()
    importing: list[set[str]] = []
    for top in tree.body:
        calls = [node for node in walk(top) if isinstance(node, ast.Call)]
        names = {last_name(call.func) or "" for call in calls}
        if not names.isdisjoint(_LISTING):
            listing.add(getattr(top, "name", ""))
        if any(
            last_name(call.func) in _IMPORTERS
            and _written_out(call.args[0] if call.args else None) is None
            for call in calls
        ):
            importing.append(names | {getattr(top, "name", "")})
    return any(not names.isdisjoint(listing) for names in importing)


def _written_out(node: ast.expr | None) -> str | None:
    """The text of an expression; of one that begins with the name of a package only that much, and
    a mark; None where it may be any."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    begins: ast.AST | None = node
    while isinstance(begins, ast.BinOp | ast.JoinedStr):
        begins = begins.left if isinstance(begins, ast.BinOp) else begins.values[0]
    if isinstance(begins, ast.Constant) and isinstance(begins.value, str):
        text = begins.value.partition("%")[0]
        return text + _OPEN if text.strip(".") and "." in text and text[0] != "." else None
    return None


def _hands_on(modules: Modules, package: str, path: str) -> bool:
    """Whether a package, once it is imported, has the module at `path`, or what that defines."""
    data = modules.text(package) or b""
    if b"import" not in data:
        return False
    tree = modules.tree(package)
    if tree is None or _has(data, (*_IMPORTING, *_LOOKING_UP)):
        return True
    for item in ast.walk(tree):
        if isinstance(item, ast.Import):
            if any(modules.find(package, alias.name)[0] == path for alias in item.names):
                return True
        elif isinstance(item, ast.ImportFrom):
            module = "." * item.level + (item.module or "")
            dot = "" if module.endswith(".") else "."
            found = modules.find(package, module)[0]
            if found == path or any(
                modules.find(package, f"{module}{dot}{alias.name}")[0] == path
                for alias in item.names
            ):
                return True
            if found not in (None, package) and _names(
                text := modules.text(found) or b"", module_name(path)
            ):
                if any(not _defines(text, alias.name) for alias in item.names):
                    return True  # What it takes from there may be from here.
    return False


def _defines(data: bytes, name: str) -> bool:
    """Whether the text of a module has a function or class of this name at its own level."""
    word = re.escape(name).encode("utf-8", "replace")
    return re.search(rb"^(?:class|def|async[ \t]+def)[ \t]+%s\b" % word, data, re.M) is not None


def _names(data: bytes, stem: str) -> bool:
    word = stem.encode("utf-8", "replace")
    if word not in data:
        return False  # Most are not, and an expression for each would have to be compiled.
    bounded = rb"(?<![a-zA-Z0-9])%s(?![a-zA-Z0-9])" % re.escape(word)
    return re.search(bounded, data) is not None


def _package(path: str) -> str:
    """The file that is imported before the one at `path`."""
    return os.path.join(os.path.dirname(path), _INIT)


def _holder(path: str) -> str:
    """The file of the package that a module or a package lies in."""
    folder, own = os.path.split(path)
    return os.path.join(os.path.dirname(folder) if own == _INIT else folder, _INIT)


def looks_through_folders(data: bytes) -> bool:
    """Whether a text may call one of Python's ways to list what lies in a folder."""
    return _LISTED.search(data) is not None


def is_found_from_inside(here: str, module: str, path: str) -> bool:
    """Whether the file at `here` has that at `path` under the name `module` where the program is
    started in the folder which both lie in: another module of that name, further up, is then not
    looked for."""
    own = path.removesuffix(".py").removesuffix(os.sep + "__init__")
    ending = os.sep + module.replace(".", os.sep)
    if not module or module.startswith(".") or not own.endswith(ending):
        return False
    return here.startswith(own.removesuffix(ending) + os.sep)


def _has(data: bytes, words: tuple[bytes, ...]) -> bool:
    return any(word in data for word in words)
