"""Data loaders that begin late, so that what is left ends as the whole does: with the last batch,
which may be smaller.

The sampler still draws all indices, so that random numbers are those of the whole; batches that are
left out are never loaded. ``len`` says what is left: to the program it is a smaller data set.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from .options import Options
from .recorder import RECORDER


class LastOnes:
    """The last items of a sampler."""

    def __init__(self, sampler: Any, total: int, keep: int) -> None:
        self._sampler, self._total, self._keep = sampler, total, keep

    def __iter__(self) -> Iterator[Any]:
        RECORDER.went_in_part("batches", self._keep, self._total, ("", 0))
        return itertools.islice(iter(self._sampler), self._total - self._keep, None)

    def __len__(self) -> int:
        return self._keep

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sampler, name)


def install(options: Options) -> None:
    """Shorten every loader that knows its length."""
    keep = options.sample
    kind: Any = DataLoader
    whole = kind._index_sampler

    def shortened(self: Any) -> Any:
        sampler = whole.fget(self)
        if isinstance(self.dataset, IterableDataset):
            return sampler  # its sampler has no end, or says nothing of the data's
        try:
            total = len(sampler)
        except (TypeError, NotImplementedError):
            return sampler
        return LastOnes(sampler, total, keep) if total > keep else sampler

    kind._index_sampler = property(shortened)
