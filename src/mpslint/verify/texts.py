"""The two programs of a verification as texts, and what can be said of them without running any."""

from __future__ import annotations

import ast
import os
import re

from mpslint.verify import changed_lines, chosen_index, named_devices
from mpslint.verify.request import Request

# PyTorch takes the index and hands out mps:0, so no run can show that the name is wrong.
_SECOND_MPS = re.compile(rb"""["'](mps:[1-9]\d*)["']""")


class Texts:
    """original and patched: path -> bytes to lay over the copy, for each of the two; script: the
    text of the patched script itself.
    """

    def __init__(self, request: Request) -> None:
        self._path = os.path.realpath(request.script)
        self.original: dict[str, bytes] = {}
        self.beside: list[str] = []
        """The files beside the original that its run has in place of those beside the script."""
        if request.original is not None:
            self.original = {request.script: _read(request.original)}
            beside = _beside(request.original, request.script)
            self.beside = [os.path.relpath(path, os.path.dirname(self._path)) for path in beside]
            self.original.update(beside)
        self.patched = dict(request.patched)
        patched = _real(self.patched)
        self.script = patched[self._path] if self._path in patched else _read(self._path)

    def changed(self) -> dict[str, list[int]]:
        """Which lines of which files are not those of the original."""
        return changed_lines.of_files(_real(self.original), self._after())

    def named(self) -> dict[str, set[int]]:
        """Which lines of which files take a device as somebody names it."""
        return {path: named_devices.rows(text) for path, text in self._after().items()}

    def _after(self) -> dict[str, bytes]:
        after = _real(self.patched)
        if self.original:
            after.setdefault(self._path, self.script)
        for path in _real(self.original):
            if path not in after:
                after[path] = _read(path)
        return after

    def trains(self) -> bool:
        """Whether the script holds a training step."""
        try:
            tree = ast.parse(self.script)
        except (SyntaxError, ValueError):
            return False
        return any(
            isinstance(node, ast.Attribute) and node.attr == "backward" for node in ast.walk(tree)
        )

    def wrong_on(self, device: str) -> str | None:
        """Why the patched text is wrong on machines with such a device, whatever a run gives."""
        if device == "cuda":
            return self._lost_choice()
        named = _SECOND_MPS.search(b"\n".join([self.script, *self.patched.values()]))
        if named and device == "mps":
            return f"names {named[1].decode()}, but a Mac has one MPS device, mps:0"
        return None

    def _lost_choice(self) -> str | None:
        """What chose the GPU in the original and chooses nothing any more, in words."""
        original = _real(self.original)
        for path, after in self._after().items():
            before = original.get(path) or (_read(path) if os.path.isfile(path) else b"")
            if lost := chosen_index.lost(before, after):
                where = f"{os.path.basename(path)}:{lost.line}"
                return f"{lost.name} chooses the GPU in the original ({where}), here it does not"
        return None


def _beside(original: str, script: str) -> dict[str, bytes]:
    """The modules below the folder of an original of the same name as the script, in a folder of
    its own, with other texts than those that stand in their places below the script's folder: it
    ran with them, not with what they became."""
    folder, other = (os.path.dirname(os.path.realpath(path)) for path in (script, original))
    if folder == other or os.path.basename(script) != os.path.basename(original):
        return {}
    found: dict[str, bytes] = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in names:
            path = os.path.join(place, name)
            before = os.path.join(other, os.path.relpath(path, folder))
            if not name.endswith(".py") or path == os.path.realpath(script) or os.path.islink(path):
                continue
            if os.path.isfile(before) and (text := _read(before)) != _read(path):
                found[path] = text
    return found


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _real(files: dict[str, bytes]) -> dict[str, bytes]:
    return {os.path.realpath(path): text for path, text in files.items()}
