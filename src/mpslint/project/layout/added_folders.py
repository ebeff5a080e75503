"""The folders that a file puts on `sys.path`, from which it then imports.

`sys.path.append(os.path.join(os.path.dirname(__file__), "utils"))` is worked out by the text alone:
nothing is asked of the machine. What hangs on where the program is started (a relative text,
`os.getcwd()`) is taken from the file's own folder, from those around it that a program would be
started in, and from the head of the project.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from weakref import WeakMethod

from mpslint.project.layout.import_texts import imported_modules
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.parameters import positional_names

WORD = b"sys.path"
"""A file without it adds none."""
_ADDING = {"append": 0, "insert": 1, "extend": 0}
"""Methods of a list, and where they take what is put in."""
_SAME = frozenset({"abspath", "realpath", "normpath", "str", "fspath"})
"""What is done to a path and leaves its place."""
_SAME_METHODS = frozenset({"resolve", "absolute", "as_posix"})
_JOINING = frozenset({"join", "joinpath", "Path", "PurePath"})
_HERE = frozenset({"getcwd", "cwd"})
_OF_PROGRAM = frozenset({"sys.path[0]", "sys.argv[0]"})
_PARTS = {"pardir": "..", "curdir": "."}
_DEEP = 12
"""Names that are made of names, and calls in calls, are followed so deep."""


class AddedFolders:
    """The folders that the files of a project add, worked out once for each."""

    def __init__(
        self,
        text_of: Callable[[str], bytes | None],
        tree_of: Callable[[str], ast.Module | None],
        is_file: Callable[[str], bool],
        head: str,
    ) -> None:
        # Who owns this one owns the trees: held by it in turn, both would outlive their use.
        self._asked = WeakMethod(text_of), WeakMethod(tree_of), WeakMethod(is_file)
        self._head = head
        self._known: dict[str, tuple[str, ...]] = {}
        self._imported: dict[str, dict[str, tuple[str, ...]]] = {}

    def _text_of(self, path: str) -> bytes | None:
        text_of = self._asked[0]()
        return text_of(path) if text_of is not None else None

    def _tree_of(self, path: str) -> ast.Module | None:
        tree_of = self._asked[1]()
        return tree_of(path) if tree_of is not None else None

    def _is_file(self, path: str) -> bool:
        is_file = self._asked[2]()
        return is_file is not None and is_file(path)

    def take_over(self, known: AddedFolders, changed: Collection[str]) -> None:
        """Takes over what another one knows of other files than those that `changed`."""
        self._known.update(
            {path: added for path, added in known._known.items() if path not in changed}
        )

    def by(self, path: str) -> tuple[str, ...]:
        """The folders that the file at the absolute `path` adds."""
        if path not in self._known:
            self._known[path] = ()
            if path.endswith(".py") and WORD in (self._text_of(path) or b""):
                tree = self._tree_of(path)
                if tree is not None:
                    self._known[path] = added_folders(tree, path, [self._head])
        return self._known[path]

    def by_imported(self, path: str) -> dict[str, tuple[str, ...]]:
        """The modules beside the file at the absolute `path` that it imports, each with the folders
        that it adds."""
        if path not in self._imported:
            folder = os.path.dirname(path)
            names = imported_modules(self._text_of(path) or b"")
            beside = (os.path.join(folder, f"{one}.py") for one in names if one.isidentifier())
            self._imported[path] = {
                one: self.by(one) for one in beside if one != path and self._is_file(one)
            }
        return self._imported[path]


def added_folders(tree: ast.Module, path: str, heads: Iterable[str]) -> tuple[str, ...]:
    """The folders that the file at the absolute `path` adds, absolute, each once."""
    names = {
        target.id: item.value
        for item in tree.body
        if isinstance(item, ast.Assign)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    readers = [_Reader(path, names, start) for start in _starts(path, tuple(heads))]
    found: dict[str, None] = {}
    for value in _added(tree):
        for reader in readers:
            text = reader.text(value)
            if text is not None:
                found[os.path.normpath(os.path.join(reader.start, text))] = None
    return tuple(found)


def puts_first_what_is_given(tree: ast.Module) -> bool:
    """Whether who starts the program says in which folder Python looks first:
    `sys.path.insert(0, sys.argv[1])`."""
    parsed = {
        target.id
        for item in ast.walk(tree)
        if isinstance(item, ast.Assign) and _is_parsed(item.value)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr == "insert"
        and _is_path(item.func.value)
        and len(item.args) > _ADDING["insert"]
        and any(_is_given(part, parsed) for part in ast.walk(item.args[_ADDING["insert"]]))
        for item in walk(tree)
    )


def _is_parsed(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "parse_args"
    )


def _is_given(node: ast.AST, parsed: Collection[str]) -> bool:
    if isinstance(node, ast.Attribute):
        value = node.value
        is_parsed = _is_parsed(value) or (isinstance(value, ast.Name) and value.id in parsed)
        return is_parsed or ast.unparse(node) == "sys.argv"
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "input"


def _starts(path: str, heads: tuple[str, ...]) -> tuple[str, ...]:
    """Where a program that imports the file may be started: beside it, at the head of its project
    or in a folder between, which holds a part of the project."""
    folder = os.path.dirname(path)
    between: list[str] = []
    above = folder
    while above != os.path.dirname(above) and above not in heads:
        above = os.path.dirname(above)
        between.append(above)
    return tuple(dict.fromkeys((folder, *heads, *(between if above in heads else ()))))


def _added(tree: ast.Module) -> Iterator[ast.expr]:
    """What is put on `sys.path` anywhere in a file, by a function of its own as well:
    `add_path(lib)`."""
    found: list[ast.expr] = []
    calls: list[ast.Call] = []
    for item in walk(tree):
        if isinstance(item, ast.AugAssign) and _is_path(item.target):
            found += _items(item.value)
        elif isinstance(item, ast.Call):
            function = item.func
            if isinstance(function, ast.Name):
                calls.append(item)
            elif isinstance(function, ast.Attribute):
                place = _ADDING.get(function.attr)
                if place is not None and _is_path(function.value) and len(item.args) > place:
                    given = item.args[place]
                    found += _items(given) if function.attr == "extend" else (given,)
    adding = dict(_adding(tree, [one for one in found if isinstance(one, ast.Name)]))
    for call in calls if adding else ():
        at = adding.get(call.func.id)  # type: ignore[attr-defined]
        if at is not None and at < len(call.args):
            found.append(call.args[at])
    yield from found


def _adding(tree: ast.Module, names: Iterable[ast.Name]) -> Iterator[tuple[str, int]]:
    """The functions of a file that put what they are given there, and where they take it; `names`
    are put there somewhere."""
    for name in names:
        for function in tree.body:
            if isinstance(function, ast.FunctionDef):
                taken = positional_names(function.args)
                last = function.end_lineno or function.lineno
                if name.id in taken and function.lineno <= name.lineno <= last:
                    yield function.name, taken.index(name.id)


def _items(node: ast.expr) -> Iterable[ast.expr]:
    return node.elts if isinstance(node, ast.List | ast.Tuple) else ()


def _is_path(node: ast.expr) -> bool:
    """`sys.path`"""
    value = node.value if isinstance(node, ast.Attribute) and node.attr == "path" else None
    return isinstance(value, ast.Name) and value.id == "sys"


class _Reader:
    """Works out paths of one file."""

    def __init__(self, path: str, names: dict[str, ast.expr], start: str) -> None:
        """`start`: the folder in which the program is started."""
        self._path = path
        self._names = names
        self.start = start
        self._left = _DEEP

    def text(self, node: ast.expr) -> str | None:
        """The path that an expression stands for; None where it hangs on what is not in the
        file."""
        if not self._left:
            return None
        self._left -= 1
        try:
            return self._text(node)
        finally:
            self._left += 1

    def _text(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            if node.id == "__file__":
                return self._path
            known = self._names.get(node.id)
            return self.text(known) if known is not None else None
        if isinstance(node, ast.BinOp):
            return self._joined(node)
        if isinstance(node, ast.Attribute):
            inner = self.text(node.value) if node.attr == "parent" else None
            return os.path.dirname(inner) if inner is not None else _PARTS.get(node.attr)
        if isinstance(node, ast.Subscript):
            return self._above(node)
        return self._called(node) if isinstance(node, ast.Call) else None

    def _joined(self, node: ast.BinOp) -> str | None:
        left, right = self.text(node.left), self.text(node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, ast.Add):
            return left + right
        return os.path.join(left, right) if isinstance(node.op, ast.Div) else None

    def _above(self, node: ast.Subscript) -> str | None:
        """`path.parents[1]`; the folder of a program, which stands first in `sys.path`, and its
        own path, by which it was started."""
        if (asked := ast.unparse(node)) in _OF_PROGRAM:
            return os.path.dirname(self._path) if asked == "sys.path[0]" else self._path
        parents, place = node.value, node.slice
        if not isinstance(parents, ast.Attribute) or parents.attr != "parents":
            return None
        found = self.text(parents.value)
        if not isinstance(place, ast.Constant) or not isinstance(place.value, int):
            return None
        for _ in range(place.value + 1):
            found = os.path.dirname(found) if found is not None else None
        return found

    def _called(self, node: ast.Call) -> str | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else ast.unparse(function)
        if name in _HERE:
            return self.start
        if not node.args:
            if isinstance(function, ast.Attribute) and name in _SAME_METHODS:
                return self.text(function.value)
            return None
        first = (
            [function.value] if name == "joinpath" and isinstance(function, ast.Attribute) else []
        )
        given = [self.text(item) for item in (*first, *node.args)]
        parts = [item for item in given if item is not None]
        if len(parts) < len(given):
            return None
        if name == "dirname":
            return os.path.dirname(parts[0])
        if name in _JOINING:
            return os.path.join(*parts)
        return parts[0] if name in _SAME else None
