"""What a trainer of Lightning's is told: tables.

Source: Lightning 2.5, `trainer.py` and `connectors/accelerator_connector.py`.
"""

from __future__ import annotations

CHOSEN = ("gpu", "cpu")
"""What a program chooses between: any GPU, a Mac's as well, and none."""
AUTO = "auto"
"""`_choose_auto_accelerator`: XLA, then MPS, then CUDA, then the CPU; `devices` counts for the one
that is chosen."""
ANYWHERE = frozenset(
    {"accelerator", "logger", "callbacks", "fast_dev_run", "max_epochs", "min_epochs", "max_steps"}
    | {"min_steps", "max_time", "limit_train_batches", "limit_val_batches", "limit_test_batches"}
    | {"limit_predict_batches", "overfit_batches", "val_check_interval", "check_val_every_n_epoch"}
    | {"num_sanity_val_steps", "log_every_n_steps", "enable_checkpointing", "enable_progress_bar"}
    | {"enable_model_summary", "accumulate_grad_batches", "gradient_clip_val", "deterministic"}
    | {"gradient_clip_algorithm", "benchmark", "inference_mode", "use_distributed_sampler"}
    | {"profiler", "detect_anomaly", "default_root_dir", "reload_dataloaders_every_n_epochs"}
    | {"move_metrics_to_cpu", "progress_bar_refresh_rate", "weights_summary", "checkpoint_callback"}
)
"""Arguments that mean the same on each machine; the last ones are those of earlier versions."""
OF_ONE_GPU = {
    "devices": (1, -1, "1", "-1", AUTO),
    "strategy": (AUTO,),
    "precision": (32, "32", "32-true"),
}
"""What other arguments may be where they ask for nothing but one GPU's usual ways; -1: all that
there are, which is one on a Mac."""
