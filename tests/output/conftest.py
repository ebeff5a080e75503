"""One check of every fixture by every rule, for what is asked of all that it prints."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import CUDA_ONLY, FIXTURES

from mpslint.cli import run

Printed = Callable[..., Any]


@pytest.fixture(scope="session")
def every_fixture(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """`every_fixture(FORMAT, PATHS...)`: what `check` says of `rules`, and of some odd files
    beside it, read as JSON. What was checked for one format is in the cache for the next."""
    folder = tmp_path_factory.mktemp("every_fixture")
    (folder / "rules").symlink_to(FIXTURES / "rules")
    (folder / "broken.py").write_text("import torch\ntorch.cuda.synchronize(\n")
    (folder / "sub folder").mkdir()
    (folder / "sub folder" / "größe.py").write_text(CUDA_ONLY)
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": CUDA_ONLY}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "book.ipynb").write_text(json.dumps(book))
    told: dict[tuple[str, ...], Any] = {}

    def printed(*wanted: str) -> Any:
        if wanted not in told:
            out = io.StringIO()
            with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(out):
                patched.chdir(folder)
                patched.setenv("MPSLINT_CACHE_DIR", str(folder.with_name("cache")))
                run(["check", "--select", "ALL", "--output-format", *wanted])
            told[wanted] = json.loads(out.getvalue())
        return told[wanted]

    return printed
