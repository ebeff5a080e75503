"""The folders and the file that a path names, whatever system wrote it."""

from __future__ import annotations

from mpslint.facts.priors import matches


def parts(path: str) -> list[str]:
    """`a/b.py` and `a\\b.py` are the folder `a` and the file `b.py`."""
    return path.replace("\\", "/").split("/")


def is_test(path: str) -> bool:
    """Whether a file belongs to tests, by its name."""
    return matches("test-files", parts(path)[-1])


def is_test_of_cuda(path: str) -> bool:
    """Whether a file lies in a folder for CUDA of those for tests: `tests/python/cuda/`."""
    return matches("folders-of-cuda-tests", "/".join([*parts(path)[:-1], ""]))


def is_example(path: str) -> bool:
    """Whether a file lies in a folder of examples: `examples/train.py`."""
    return matches("folders-of-examples", "/".join([*parts(path)[:-1], ""]))


def is_among_tests(place: str) -> bool:
    """Whether a file lies in a folder of tests, by its path below the head of its project: that may
    lie in a folder of any name."""
    return matches("folders-of-tests", "/".join([*parts(place)[:-1], ""]))
