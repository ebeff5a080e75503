"""Writes to the process environment, and what was imported before them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

TORCH_PACKAGES = frozenset(
    [
        "torch",
        "torchvision",
        "torchaudio",
        "torchtext",
        "torchmetrics",
        "transformers",
        "diffusers",
        "accelerate",
        "timm",
        "lightning",
        "pytorch_lightning",
        "lightning_fabric",
        "peft",
        "trl",
        "sentence_transformers",
        "fastai",
        "kornia",
        "open_clip",
        "torch_geometric",
        "whisper",
        "ultralytics",
        "skorch",
        "botorch",
        "gpytorch",
        "pyro",
        "monai",
        "fairseq",
        "stable_baselines3",
        "deepspeed",
        "xformers",
        "flash_attn",
        "safetensors.torch",
        "clip",
    ]
)
"""Packages that load torch when they are imported."""


_SETTING = ("setdefault", "putenv", "setenv")


class Write(NamedTuple):
    """One variable that gets a value for this process or for one it starts."""

    node: ast.AST
    """The assignment or call."""
    key: ast.Constant
    name: str
    value: ast.expr | None
    own_process: bool
    """False for a dictionary that may be another process's environment."""

    @property
    def text(self) -> str | None:
        """The value, where it is written out."""
        value = self.value
        return str(value.value) if isinstance(value, ast.Constant) else None


def writes(context: Context, prefix: str) -> Iterator[Write]:
    """Every place that sets a variable whose name starts with `prefix`, in source order."""
    for key in context.index.strings:
        name = str(key.value)
        if name.startswith(prefix):
            write = _write(context, key, name)
            if write is not None:
                yield write


def late_writes(context: Context, prefix: str) -> Iterator[tuple[Write, ast.stmt]]:
    """Those that a process makes for itself when torch is loaded already, each with the statement
    that loads it."""
    for write in writes(context, prefix):
        loaded = torch_import_before(context, write.node) if write.own_process else None
        if loaded is not None:
            yield write, loaded


def _write(context: Context, key: ast.Constant, name: str) -> Write | None:
    parent = context.index.parents[key]
    if isinstance(parent, ast.Subscript) and parent.slice is key:
        if isinstance(parent.ctx, ast.Store):
            statement = context.index.parents[parent]
            own = context.resolve(parent.value) == "os.environ"
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                return Write(statement, key, name, statement.value, own)
        return None
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is key:
        last = parent.func.attr if isinstance(parent.func, ast.Attribute) else None
        if isinstance(parent.func, ast.Name):
            last = (context.resolve(parent.func) or "").rsplit(".", 1)[-1]
        if last in _SETTING and len(parent.args) >= 2:
            qualified = context.resolve(parent.func)
            own = qualified in ("os.environ.setdefault", "os.putenv") or last == "setenv"
            return Write(parent, key, name, parent.args[1], own)
        return None
    if isinstance(parent, ast.Dict):
        place = next((i for i, item in enumerate(parent.keys) if item is key), None)
        if place is not None:
            call = context.index.parents[parent]
            own = isinstance(call, ast.Call) and context.resolve(call.func) == "os.environ.update"
            return Write(parent, key, name, parent.values[place], own)
    return None


def loads_torch(statement: ast.AST) -> bool:
    """Whether an import statement brings torch in, by itself or through a known package."""
    if isinstance(statement, ast.Import):
        return any(_of_torch(alias.name) for alias in statement.names)
    if isinstance(statement, ast.ImportFrom):
        return statement.level == 0 and _of_torch(statement.module or "")
    return False


def _of_torch(module: str) -> bool:
    return module.split(".")[0] in TORCH_PACKAGES or module in TORCH_PACKAGES


def torch_import_before(context: Context, node: ast.AST) -> ast.stmt | None:
    """The first import of torch that has surely run when control comes to `node`."""
    function = context.index.enclosing(node, *FUNCTIONS)
    row = node.lineno  # type: ignore[attr-defined]
    for statement in _imports(context):
        if not loads_torch(statement):
            continue
        owner = context.index.function(statement)
        if _typing_only(context, statement):
            continue
        if owner is None:
            if function is None and statement.lineno < row:
                return statement
            if function is not None and not _called_before(context, function, statement.lineno):
                return statement
        elif owner is function and statement.lineno < row:
            return statement
    return None


def _imports(context: Context) -> list[ast.stmt]:
    found: list[ast.stmt] = [*context.index.of(ast.Import), *context.index.of(ast.ImportFrom)]
    return sorted(found, key=lambda item: item.lineno)


def _typing_only(context: Context, statement: ast.stmt) -> bool:
    parent = context.index.parents[statement]
    if not isinstance(parent, ast.If):
        return False
    return last_name(parent.test) == "TYPE_CHECKING"


def _called_before(context: Context, function: ast.AST, row: int) -> bool:
    """Whether module code above `row` calls this function."""
    name = getattr(function, "name", "")
    return any(
        call.lineno < row and context.index.function(call) is None
        for call in context.index.calls.get(name, ())
    )


def sets_variable(code: ast.AST, key: str) -> int:
    """The row in which code sets a variable of its own process, in whichever way; 0: it does not.
    For code of which no more is known than its tree."""
    for node in ast.walk(code):
        at: ast.AST | None = None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            at = node.slice if last_name(node.value) == "environ" else None
        elif isinstance(node, ast.Call) and last_name(node.func) in _SETTING and node.args:
            at = node.args[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "update" and last_name(node.func.value) == "environ":
                given = [k for one in node.args if isinstance(one, ast.Dict) for k in one.keys]
                at = next((one for one in given if _is(one, key)), None)
                if keyword(node, key) is not None:
                    return node.lineno
        if _is(at, key):
            return getattr(node, "lineno", 0)
    return 0


def _is(node: ast.AST | None, key: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == key
