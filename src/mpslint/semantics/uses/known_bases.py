"""What the bases of a class may do with it: keep a list of what is derived from them, call its
methods by their names, or look them up by a text.

A base that another file of the project defines is looked at there. One of a package that is not the
project's is known by its name, or may do anything.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.uses.defined import HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_OF_GYM = frozenset({"reset", "step", "render", "close", "seed"})
_CALLED_BY: dict[str, frozenset[str]] = {
    "object": frozenset(),
    "abc.ABC": frozenset(),
    "typing.Generic": frozenset(),
    "gym.Env": _OF_GYM,
    "gymnasium.Env": _OF_GYM,
    "torch.autograd.Function": frozenset({"forward", "backward", "jvp", "vmap", "setup_context"}),
    "torch.nn.Module": HOOKS,
    "torch.utils.data.Dataset": frozenset(),
}
"""Known bases, each with the methods that it, or who holds an object of it, calls by name; those
that Python calls apart."""
_OF_LIGHTNING = frozenset({"LightningModule", "LightningDataModule"})
_LIGHTNING = ("lightning.", "pytorch_lightning.")
# Fact: lightning/pytorch/core/ (module.py, hooks.py, datamodule.py, saving.py), and those of 0.5 to
# 2.5: what these classes have, and what a trainer asks for, begins so.
_BY_TRAINERS = (
    *("on_", "configure_", "train", "val", "test", "predict", "tng_", "optimizer", "lr_", "log"),
    *("prepare_", "setup", "teardown", "transfer_", "backward", "manual_", "clip_", "init_", "get"),
    *("load_", "save_", "from_", "to_", "toggle", "untoggle", "freeze", "unfreeze", "summarize"),
    *("print", "tbptt", "grad_", "amp_", "all_gather", "hparams", "state_", "add_to", "allow_"),
)
_LISTING_NOTHING = frozenset(
    {"torch", "torchvision", "torchmetrics", "pytorch_lightning", "lightning", "transformers"}
    | {"diffusers", "gym", "gymnasium", "typing", "enum", "argparse", "logging", "threading"}
)
"""Fact: packages whose classes keep no list of those that are derived from them, and start none."""
_MOST_BASES = 8
"""So many classes are looked at, one the base of the next."""


def has_own_methods(context: Context, owner: ast.ClassDef, name: str) -> bool:
    """Whether the bases of a class ask for nothing of this name: they are known to ask for none."""
    for where, klass, qualified in line(context, owner):
        if klass is None:
            if _may_ask_for(qualified, name):
                return False
        elif klass.decorator_list or klass.keywords or _looks_up(where, name):
            return False
    return True


def _may_ask_for(base: str, name: str) -> bool:
    """Whether a class that the project does not define may call a method of this name."""
    if base.startswith(_LIGHTNING) and base.rpartition(".")[2] in _OF_LIGHTNING:
        return name in HOOKS or name.startswith(_BY_TRAINERS)
    return name in _CALLED_BY.get(base, (name,))


def keeps_no_list(context: Context, owner: ast.ClassDef) -> bool:
    """Whether no base and no metaclass of a class can tell anybody of it."""
    for where, klass, qualified in line(context, owner):
        if klass is None:
            package = qualified.partition(".")[0]
            if qualified not in _CALLED_BY and package not in _LISTING_NOTHING:
                return False
        elif (
            klass.keywords
            or "__subclasses__" in where.index.attributes
            or (klass is not owner and (klass.decorator_list or _has_hook(klass)))
        ):
            return False
    return True


def line(
    context: Context, owner: ast.ClassDef
) -> Iterator[tuple[Context, ast.ClassDef | None, str]]:
    """A class and all its bases, each with its file; of those that the project does not define
    none but the name, which is empty where that is not known either."""
    todo = [(context, owner)]
    for _ in range(_MOST_BASES):
        if not todo:
            return
        where, klass = todo.pop()
        yield where, klass, ""
        for base in klass.bases:
            if isinstance(base, ast.Subscript):
                base = base.value  # `Generic[T]`
            found = _defined(where, base)
            if found is not None:
                todo.append(found)
            else:
                bare = base.id if isinstance(base, ast.Name) else ""
                yield where, None, where.resolve(base) or bare
    if todo:
        yield context, None, ""


def _defined(context: Context, base: ast.expr) -> tuple[Context, ast.ClassDef] | None:
    """The one class of the project that a base is, and its file."""
    if isinstance(base, ast.Name):
        own = context.names.module.bindings.get(base.id, [])
        if len(own) == 1 and isinstance(own[0].node, ast.ClassDef):
            return context, own[0].node
    qualified = context.resolve(base)
    if qualified is None or "." not in qualified.strip("."):
        return None
    found = context.definition_elsewhere(qualified)
    if found is None or len(found.bindings) != 1:
        return None
    node = found.bindings[0].node
    return (found.context, node) if isinstance(node, ast.ClassDef) else None


def _has_hook(klass: ast.ClassDef) -> bool:
    return any(
        isinstance(item, FUNCTIONS) and item.name == "__init_subclass__" for item in klass.body
    )


def _looks_up(context: Context, name: str) -> bool:
    """Whether the file takes a method of its own objects by a text that may be this name:
    `getattr(self, "load_" + kind)`."""
    for call in context.index.calls.get("getattr", ()):
        if not isinstance(call.func, ast.Name) or len(call.args) < 2:
            continue
        of, text = call.args[:2]
        if isinstance(of, ast.Name) and of.id in ("self", "cls") and _may_be(text, name):
            return True
    return False


def _may_be(text: ast.expr, name: str) -> bool:
    """Whether a text may be a name, as far as its beginning is written out."""
    if isinstance(text, ast.Constant):
        return text.value == name
    begins: ast.expr = text
    while isinstance(begins, ast.BinOp | ast.JoinedStr):
        if isinstance(begins, ast.JoinedStr) and not begins.values:
            return False
        begins = begins.left if isinstance(begins, ast.BinOp) else begins.values[0]
    if not isinstance(begins, ast.Constant) or not isinstance(begins.value, str):
        return True
    return name.startswith(begins.value.partition("%")[0])
