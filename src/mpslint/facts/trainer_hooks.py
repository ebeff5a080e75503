"""The methods that trainers call at each step, and where these take tensors of the device.

Source: Lightning 2.5 (`src/lightning/pytorch/core/hooks.py`, `callbacks/callback.py`; a batch comes
to the device before the first of its hooks), transformers 4.57 (`trainer.py`: `training_step`
brings the inputs to the device and hands them to `compute_loss`).
"""

from __future__ import annotations

STEP = "training_step"
LOSS_METHOD = "compute_loss"
METRIC_METHOD = "update"
"""What a metric of torchmetrics is told each batch by, which lies where its states do
(`torchmetrics/metric.py`)."""
EVALUATIONS = frozenset({"validation_step", "test_step"})
"""What Lightning calls for each batch of an evaluation, and keeps what it returns."""
STEP_HOOKS = frozenset(
    {"on_train_batch_end", "on_before_backward", "on_after_backward", "on_before_optimizer_step"}
)
EVALUATION_HOOKS = frozenset({"on_validation_batch_end", "on_test_batch_end"})
HOOK_WORDS = tuple(
    name.encode() for name in (STEP, LOSS_METHOD, "on_train_batch_end", "on_before_", "on_after_")
)
"""What stands in every file that writes a step."""
_OF_TRAINED = {
    STEP: (0,),
    **dict.fromkeys(EVALUATIONS, (0,)),
    LOSS_METHOD: (1,),
    "on_before_backward": (0,),
    **dict.fromkeys(("on_train_batch_end", *EVALUATION_HOOKS), (0, 1)),
}
"""The places behind `self`: the batch; what a step has handed back, and the batch."""
_OF_CALLBACKS = 2
"""So many places further: callbacks are told the trainer and the module first."""


def places_of_tensors(method: str, *, of_callback: bool) -> tuple[int, ...]:
    """The places behind `self` at which a trainer gives `method` tensors, or what holds such."""
    places = _OF_TRAINED.get(method, ())
    return tuple(place + _OF_CALLBACKS for place in places) if of_callback else places
