"""Decorators of another file of the project that ask for CUDA guard the tests that they mark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_DECORATORS = """
import functools
import unittest

import torch


def gpu_test(gpu_count: int = 1):
    def decorator(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            if torch.cuda.device_count() >= gpu_count:
                return function(*args, **kwargs)

        return wrapped

    return decorator


def marked(gpu_count):
    return unittest.skipUnless(torch.cuda.device_count() >= gpu_count, "too few GPUs")


def needs_gpu(function):
    return unittest.skipUnless(torch.cuda.is_available(), "needs a GPU")(function)


def skipped_elsewhere():
    def decorator(function):
        if not torch.cuda.is_available():
            return unittest.skip("no GPU")(function)
        return function

    return decorator


def logged(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        print("with CUDA" if torch.cuda.is_available() else "without CUDA")
        return function(*args, **kwargs)

    return wrapped


def with_devices(gpu_count):
    def decorator(function):
        if gpu_count and torch.cuda.device_count() < gpu_count:
            return unittest.skip("too few GPUs")(function)
        return function

    return decorator
"""
_TEST = """
import unittest

import torch
from marks import *


class TestModel(unittest.TestCase):
    {decorator}
    def test_it_trains(self):
        torch.zeros(3).cuda()
"""
_WORKER = """
import unittest

import torch
from marks import gpu_test


def spawn(worker, count):
    torch.multiprocessing.spawn(worker, nprocs=count)


class TestModel(unittest.TestCase):
    @staticmethod
    def _worker(rank):
        torch.zeros(3).cuda()

    {decorator}
    def test_it_trains(self):
        spawn(self._worker, 2)
"""


def _codes(cli: Cli, project: Path, text: str) -> list[str]:
    (project / "marks.py").write_text(_DECORATORS)
    (project / "test_model.py").write_text(text)
    ran = cli("check", "--output-format", "json", "test_model.py")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize(
    "decorator",
    ["@gpu_test()", "@gpu_test(gpu_count=2)", "@marked(1)", "@needs_gpu", "@skipped_elsewhere()"],
)
def test_a_test_that_is_run_on_cuda_alone_is_for_cuda(
    cli: Cli, project: Path, decorator: str
) -> None:
    assert _codes(cli, project, _TEST.format(decorator=decorator)) == []


@pytest.mark.parametrize("decorator", ["@logged", "@with_devices(0)"])
def test_a_decorator_that_runs_the_test_everywhere_guards_nothing(
    cli: Cli, project: Path, decorator: str
) -> None:
    assert _codes(cli, project, _TEST.format(decorator=decorator)) == ["MPS102"]


def test_a_worker_that_only_such_a_test_starts_is_for_cuda(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, _WORKER.format(decorator="@gpu_test(gpu_count=2)")) == []


def test_a_worker_that_any_test_starts_is_for_all(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, _WORKER.format(decorator="@unittest.expectedFailure")) == ["MPS102"]
