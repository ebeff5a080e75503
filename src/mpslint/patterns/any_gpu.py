"""`accelerator="gpu" if torch.cuda.is_available() else "cpu"` becomes `accelerator="auto"`.

Lightning chooses the same with CUDA, MPS on a Mac, and the CPU where there is neither.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.machines import gpu_argument
from mpslint.model import Applicability, Fix
from mpslint.patterns.text import holds_comment, quote, replace

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: Lightning 2.5, `accelerator_connector.py`, `_choose_auto_accelerator`: XLA, then MPS, then
# CUDA, then the CPU; `devices` counts for the one that is chosen.
_WORDS = ("gpu", "cpu")
_AUTO = "auto"
_ANYWHERE = frozenset(
    {"accelerator", "logger", "callbacks", "fast_dev_run", "max_epochs", "min_epochs", "max_steps"}
    | {"min_steps", "max_time", "limit_train_batches", "limit_val_batches", "limit_test_batches"}
    | {"limit_predict_batches", "overfit_batches", "val_check_interval", "check_val_every_n_epoch"}
    | {"num_sanity_val_steps", "log_every_n_steps", "enable_checkpointing", "enable_progress_bar"}
    | {"enable_model_summary", "accumulate_grad_batches", "gradient_clip_val", "deterministic"}
    | {"gradient_clip_algorithm", "benchmark", "inference_mode", "use_distributed_sampler"}
    | {"profiler", "detect_anomaly", "default_root_dir", "reload_dataloaders_every_n_epochs"}
)
"""Arguments of a trainer that mean the same on each machine."""


def chosen_by_trainer(context: Context, test: ast.expr) -> Fix | None:
    """The fix for such a choice by `test` that is written in the call itself. A number of devices,
    a strategy or a precision beside it may not suit a Mac: then there is none."""
    choice = context.index.parents.get(test)
    given = context.index.parents.get(choice) if isinstance(choice, ast.IfExp) else None
    call = context.index.parents.get(given) if isinstance(given, ast.keyword) else None
    if not isinstance(call, ast.Call) or not isinstance(given, ast.keyword):
        return None
    assert isinstance(choice, ast.IfExp)
    if gpu_argument(context.resolve(call.func) or "") != given.arg:
        return None
    arms = [arm.value for arm in (choice.body, choice.orelse) if isinstance(arm, ast.Constant)]
    if tuple(arms) != _WORDS or holds_comment(context.source, *context.source.span(choice)):
        return None
    mark = quote(context.source)
    if not all(item.arg in _ANYWHERE or _suits_a_mac(item) for item in call.keywords):
        return None
    edit = replace(context.source, choice, f"{mark}{_AUTO}{mark}")
    return Fix("Let Lightning choose", (edit,), Applicability.SAFE)


def _suits_a_mac(item: ast.keyword) -> bool:
    """Whether an argument of the trainer asks for nothing but one GPU's usual ways."""
    value = item.value.value if isinstance(item.value, ast.Constant) else None
    if item.arg == "devices":
        return value in (1, -1, "1", "-1", "auto")
    if item.arg == "strategy":
        return value == "auto"
    return item.arg == "precision" and value in (32, "32", "32-true")
