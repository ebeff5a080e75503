"""A parent whose children do all that is done on a device has no memory there to give back."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import gc
from {module} import Process, Queue

import torch
from transformers import AutoModel


def attempt(q, name, ids, device):
    model = AutoModel.from_pretrained(name).to(device)
    q.put(model(ids.to(device)).shape)


def search(q, name, ids, device):
    def fits(size):
        inner = Queue()
        p = Process(target=attempt, args=(inner, name, ids[:size], device))
        p.start()
        p.join()
        torch.cuda.empty_cache()
        return inner.get()

    q.put(max(size for size in range(8) if fits(size)))


def run(name, datasets):
    device = "mps"
    {before}
    for ids in datasets:
        q = Queue()
        p = Process(target=search, args=(q, name, ids, device))
        p.start()
        p.join()
        print(q.get())
        torch.cuda.empty_cache()
        gc.collect()


if __name__ == "__main__":
    for name in ("small", "large"):
        run(name, load())
"""


def told(before: str = "pass", module: str = "multiprocessing", more: str = "") -> list[int]:
    program = PROGRAM.format(before=before, module=module) + more
    found = lint(SourceFile("program.py", program.encode()), Settings(select=("MPS202",)))
    return [one.row for one in found]


@pytest.mark.parametrize("module", ["multiprocessing", "torch.multiprocessing"])
def test_a_parent_that_leaves_all_to_its_children_has_nothing_to_give_back(module: str) -> None:
    assert told(module=module) == []


@pytest.mark.parametrize(
    "before",
    ["model = AutoModel.from_pretrained(name).to(device)", "model = warm_up(name, device)"],
)
def test_a_parent_that_has_a_model_itself_is_told(before: str) -> None:
    assert told(before) == [34]


def test_a_parent_that_does_the_work_of_a_child_is_told() -> None:
    assert told("attempt(Queue(), name, datasets[0], device)") == [19, 34]


def test_a_pool_of_threads_is_no_process() -> None:
    assert told(module="threads") == [19, 34]
