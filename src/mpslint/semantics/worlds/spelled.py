"""What the names and texts in a file say before it is run: that it cannot come to a GPU, that it
cannot call a function of torch. Each says no only where a run would find nothing either."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.machines import TYPES
from mpslint.facts.priors import wide_words

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index
    from mpslint.semantics.worlds.core import Project

_GPUS = (b"cuda", b"mps", b"accelerat", b"GradScaler")
"""One of them stands in whatever spells a GPU; a scaler of gradients is for CUDA unless told."""
_WIDE = (b"float64", b"double", b"Double", b"complex128", b"float_", b"oader")
"""One of them stands in whatever spells a dtype that MPS lacks, or a loader, which makes float64 of
fractions, but for Python's `float` and arrays of NumPy and of environments that are float64 unless
told."""
_OF_ARRAYS = frozenset({"tensor", "as_tensor", "from_numpy", "asarray"})
"""Functions of torch whose tensors have the dtype of an array."""
_ARRAYS = (b"numpy", b"gym")
_INSTANCES = frozenset({"self", "cls"})
"""No modules, as Python's methods name them."""
_GIVES_MODULES = b"get_device_module"


def may_name_gpu(index: Index, text: bytes, project: Project | None) -> bool:
    """Whether some value of the file may be on a GPU, or be the name of one. A GPU is named by a
    text, by its number (`x.to(0)`, `torch.device(0)`), or by another file of the project."""
    if any(word in text for word in _GPUS):
        return True
    if "to" in index.attributes or "device" in index.attributes:
        return True
    imported = list(_imported(index))
    return "torch.device" in imported or (
        project is not None and any(map(project.may_hold, imported))
    )


def may_be_wide(index: Index, text: bytes, project: Project | None) -> bool:
    """Whether some tensor of the file may have a dtype that MPS lacks."""
    if any(word in text for word in (*_WIDE, *wide_words())) or any(
        _is_dtype(index, use) for use in index.names.get("float", ())
    ):
        return True
    imported = list(_imported(index))
    if any(word in text for word in _ARRAYS) and (
        any(name in index.attributes or name in index.names for name in _OF_ARRAYS)
        or any(name.rpartition(".")[2] in _OF_ARRAYS for name in imported)
    ):
        return True
    return project is not None and any(map(project.may_hold, imported))


def _is_dtype(index: Index, use: ast.Name) -> bool:
    """Whether `float` may stand for a dtype here: it is no annotation, is not called, and is not
    what a value is tested for or a text is read as."""
    parent = index.parents[use]
    if isinstance(parent, ast.Call):
        asked = isinstance(parent.func, ast.Name) and parent.func.id in ("isinstance", "map")
        return parent.func is not use and not asked
    if isinstance(parent, ast.keyword):
        call = index.parents[parent]
        named = (
            call.func.attr
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
            else ""
        )
        return not (parent.arg == "type" and named == "add_argument")
    if isinstance(parent, ast.AnnAssign):
        return use is parent.value
    if isinstance(parent, ast.Tuple):
        around = index.parents[parent]
        if isinstance(around, ast.Call) and isinstance(around.func, ast.Name):
            return around.func.id != "isinstance"
        return not isinstance(around, ast.Subscript)
    return not isinstance(
        parent, ast.arg | ast.FunctionDef | ast.AsyncFunctionDef | ast.Subscript | ast.BinOp
    )


def may_move(index: Index, text: bytes, project: Project | None) -> bool:
    """Whether the file may move something by CUDA's own names: `x.cuda()`, a legacy type."""
    if "cuda" in index.calls or any(name.encode() in text for name in TYPES):
        return True
    return project is not None and any(map(project.may_hold, _imported(index)))


def may_call(index: Index, text: bytes, qualified: str) -> bool:
    """Whether the file may call a function of this name, whatever it calls it."""
    module, _, name = qualified.rpartition(".")
    if name.encode() not in text:
        return False
    part = module.rpartition(".")[2]
    if module == "torch" or _GIVES_MODULES in text or index.spelled(part):
        return True
    if part.encode() not in text:
        return False
    uses = index.attributes.get(part, ())
    return any(not _is_of_instance(use) for use in uses) or any(
        imported.startswith(module) for imported in _imported(index)
    )


def _is_of_instance(use: ast.Attribute) -> bool:
    """`self.accelerator`: what a module holds is not looked up there."""
    return isinstance(use.value, ast.Name) and use.value.id in _INSTANCES


def _imported(index: Index) -> Iterator[str]:
    """What the file imports, by qualified names; a module's name stands for all that it holds."""
    for plain in index.of(ast.Import):
        yield from (alias.name for alias in plain.names)
    for item in index.of(ast.ImportFrom):
        module = "." * item.level + (item.module or "")
        dot = "" if module.endswith(".") else "."
        yield from (f"{module}{dot}{alias.name}" for alias in item.names)
