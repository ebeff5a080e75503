"""Tensors of float64 that another file of the project keeps, on its objects or under a name of its
own (`grid.points.to(device)`, `from grid import POINTS`): they cannot be moved to MPS.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.basics.brief import brief
from mpslint.halfway.unread_arrays import NOT_MOVED
from mpslint.halfway.wide_moves import moved_by
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.wide.sample_values import WIDE

if TYPE_CHECKING:
    from mpslint.halfway.data_sets import Files
    from mpslint.semantics.wide.sample_kinds import SampleKinds

_SEES = 60
_SHORT = 3
"""What has so short a name is anybody's."""
_LAST_ROW = 1 << 30
_MAKES = re.compile(rb"from_numpy|\btensor\(|as_tensor|float64|double|linspace|\bnp\.")
_MOVED = re.compile(rb"\b(\w+)\.(?:to|cuda)\(|(?:tensor|from_numpy)\([ \n]*(?:\w+\.)*(\w+)\b")
_STORED = rb"(?m)(?:\bself\.|^)%s[ \t]*(?::[^=\n]+)?=[^=]"
"""How a file gives an attribute of its objects, or a name of its own, what it is."""


class KeptArrays:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._kinds: dict[str, SampleKinds | None] = {}

    def around(self, path: str) -> dict[str, str]:
        """By name what a file moves that one of the files which it leads to keeps as float64, and
        that file; not what the file itself, or a second one, keeps under this name as well, and
        which may be meant."""
        text = self._files.text_of(path)
        moved = _MOVED.findall(text) if b"torch" in text else []
        names = {name for pair in moved for name in pair if len(name) > _SHORT}
        paths = [path, *self._files.led_to(path)] if names else []
        found: dict[str, str] = {}
        for name in sorted(names):
            keeping = [one for one in paths if _stores(self._files.text_of(one), name)]
            if len(keeping) == 1 and keeping[0] != path and self._is_wide(keeping[0], name):
                found[name.decode()] = keeping[0]
        return found

    def taken(self, tree: ast.Module, kept: dict[str, str]) -> Iterator[tuple[int, str]]:
        """The rows in which a file moves what is kept elsewhere under these names."""
        taken = {
            alias.asname or alias.name
            for node in walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for call in walk(tree):
            if not isinstance(call, ast.Call):
                continue
            moved = moved_by(frozenset(), call)
            if moved is call:  # `torch.tensor(POINTS, device=device)`
                moved = call.args[0] if call.args else None
            name = last_name(moved) if moved is not None else None
            is_kept = isinstance(moved, ast.Attribute) or name in taken
            if name is not None and name in kept and is_kept:
                said = f"is float64 as {os.path.basename(kept[name])} keeps it, which {NOT_MOVED}"
                yield call.lineno, f"{brief(ast.unparse(call), _SEES)} {said}"

    def _is_wide(self, path: str, name: bytes) -> bool:
        if _MAKES.search(self._files.text_of(path)) is None:
            return False
        if path not in self._kinds:
            from mpslint.semantics.wide.sample_kinds import SampleKinds

            tree = self._files.tree_of(path)
            self._kinds[path] = SampleKinds(tree) if tree is not None else None
        kinds = self._kinds[path]
        if kinds is None:
            return False
        spelled = name.decode()
        kept = ast.Attribute(ast.Name("kept", ast.Load()), spelled, ast.Load())
        named = ast.Name(spelled, ast.Load())
        return any(kinds.value(one, kinds.top, _LAST_ROW) == WIDE for one in (kept, named))


def _stores(text: bytes, name: bytes) -> bool:
    if b"self." + name not in text and b"\n" + name not in text:
        return False
    return re.search(_STORED % re.escape(name), text) is not None
