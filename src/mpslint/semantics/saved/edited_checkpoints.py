"""Files that only edit checkpoints: what is loaded there is saved again, or shown.

A script that takes masks out of a checkpoint, or averages some, computes next to nothing, and the
CPU is the best place for it: what a Mac saves from MPS is loaded on no other machine without a
`map_location`, and float64 in it raises there.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from mpslint.basics.words import words
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_KEY = "the file only edits checkpoints"
# Fact: torch's documentation: these load and save, or tell what something is, and compute nothing.
_OF_TORCH = words("""
    torch torch.load torch.save torch.device torch.cuda torch.cuda.is_available torch.backends
    torch.backends.mps torch.backends.mps.is_available torch.cuda.device_count torch.is_tensor
    torch.Tensor torch.nn.Parameter torch.nn torch.dtype torch.float torch.float32 torch.float16
    torch.half torch.bfloat16 torch.__version__
""")
_COMPUTING = frozenset({"load_state_dict", "backward", "forward", "to", "cuda", "mps"})
"""Methods by which what is loaded becomes part of a model, or goes to a device."""
_BESIDE = frozenset({"torch", "numpy", "tqdm", "safetensors", "yaml"})
"""Packages that take no tensors anywhere."""


def only_edits_checkpoints(context: Context) -> bool:
    """Whether a file loads and saves, and nothing that computes sees what it has loaded: it imports
    nobody who could, and calls nothing of torch that does."""
    if _KEY not in context.memo:
        context.memo[_KEY] = _only_edits(context)
    return bool(context.memo[_KEY])


def _only_edits(context: Context) -> bool:
    if not any(context.calls_of("torch.save")) or not _COMPUTING.isdisjoint(context.index.calls):
        return False
    return all(_is_known(node) for node in _imports(context)) and all(
        name is None or not name.startswith("torch.") or name in _OF_TORCH
        for node in _uses(context)
        for name in (context.resolve(node),)
    )


def _imports(context: Context) -> list[ast.Import | ast.ImportFrom]:
    return [*context.index.of(ast.Import), *context.index.of(ast.ImportFrom)]


def _uses(context: Context) -> list[ast.expr]:
    """What may be a name of torch's."""
    named: list[ast.expr] = [
        use for uses in context.index.attributes.values() for use in uses if last_name(use)
    ]
    return [*named, *(call.func for calls in context.index.calls.values() for call in calls)]


def _is_known(node: ast.Import | ast.ImportFrom) -> bool:
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""] if not node.level else [""]
    else:
        names = [one.name for one in node.names]
    roots = {name.partition(".")[0] for name in names}
    return roots <= _BESIDE | sys.stdlib_module_names
