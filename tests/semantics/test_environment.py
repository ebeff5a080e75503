"""Writes to the environment, and the import of torch that has run before them."""

from __future__ import annotations

from mpslint.semantics.context import Context
from mpslint.semantics.packages.environment import torch_import_before, writes
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def read(text: str) -> list[tuple[str, str | None, bool, int | None]]:
    source = SourceFile.from_text(text)
    context = Context(source, source.parse(), Settings())
    found = []
    for write in writes(context, "PYTORCH_"):
        loaded = torch_import_before(context, write.node)
        row = loaded.lineno if loaded is not None else None
        found.append((write.name, write.text, write.own_process, row))
    return found


def test_an_assignment_below_the_import_is_late() -> None:
    assert read("import os\nimport torch\nos.environ['PYTORCH_X'] = '1'\n") == [
        ("PYTORCH_X", "1", True, 2)
    ]


def test_an_assignment_above_the_import_is_not() -> None:
    assert read("import os\nos.environ['PYTORCH_X'] = '1'\nimport torch\n") == [
        ("PYTORCH_X", "1", True, None)
    ]


def test_a_function_runs_after_the_module() -> None:
    text = "import os\ndef f():\n    os.environ['PYTORCH_X'] = '1'\nimport torch\n"
    assert read(text)[0][3] == 4


def test_a_function_that_is_called_above_the_import_runs_before_it() -> None:
    text = "import os\ndef f():\n    os.environ['PYTORCH_X'] = '1'\nf()\nimport torch\n"
    assert read(text)[0][3] is None


def test_a_relative_import_is_nobody_that_we_know() -> None:
    assert read("import os\nfrom . import torch\nos.environ['PYTORCH_X'] = '1'\n")[0][3] is None


def test_a_dictionary_is_the_environment_of_another_process() -> None:
    text = "import torch\nrun(env={'PYTORCH_X': '1'})\nenv['PYTORCH_Y'] = value\n"
    assert [(name, own) for name, _, own, _ in read(text)] == [
        ("PYTORCH_X", False),
        ("PYTORCH_Y", False),
    ]


def test_reading_a_variable_writes_nothing() -> None:
    assert read("import os\nprint(os.environ['PYTORCH_X'], os.environ.get('PYTORCH_Y'))\n") == []
