"""Classes of others, and how objects of the classes below them are made."""

from __future__ import annotations

# Source: their classes, which have no metaclass of their own, and no `__new__`.
PLAIN_BASES = frozenset(
    {
        "object",
        "abc.ABC",
        "torch.nn.Module",
        "torch.nn.ModuleList",
        "torch.nn.Sequential",
        "torch.optim.Optimizer",
        "torch.utils.data.Dataset",
        "torch.utils.data.IterableDataset",
        "torch.utils.data.dataset.Dataset",
        "lightning.LightningModule",
        "lightning.pytorch.LightningModule",
        "pytorch_lightning.LightningModule",
    }
)
"""Their subclasses are made as any class of Python's: `__init__` is given what the call is."""
