"""A question to CUDA by whose error somebody learns that there is none gets no test around it: he
would take the way for CUDA."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.model import Finding
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

INFO = """\
import torch


def describe():
    print("running on", torch.cuda.get_device_name(0))
"""
MAIN = """\
import torch
from info import describe


def main():
    try:
        describe()
        backend = "nccl"
    except Exception:
        backend = "gloo"
    print(backend, torch.ones(2))


main()
"""


def question(files: dict[str, str], asked: str = "info.py") -> Finding:
    """What is told of the question to CUDA in one of a project's files."""
    for name, text in {"README.md": "A program.\n", **files}.items():
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    source = SourceFile(asked, files[asked].encode())
    settings = Settings()
    found = lint(source, settings, elsewhere=Neighbours(settings))
    return next(one for one in found if one.code == "MPS206")


def is_guarded(files: dict[str, str], asked: str = "info.py") -> bool:
    return question(files, asked).applicability is not None


def test_a_caller_in_another_file_that_goes_on_without_cuda_learns_by_it(project: Path) -> None:
    assert not is_guarded({"info.py": INFO, "main.py": MAIN})


GOING_ON = {
    "from another place": MAIN.replace("describe", "show").replace(
        "import show", "import describe as show"
    ),
    "by the module": MAIN.replace("from info import describe", "import info").replace(
        "describe()", "info.describe()"
    ),
    "by its word for it": MAIN.replace("except Exception", "except AssertionError"),
    "by nothing more": MAIN.replace('        backend = "gloo"\n', "        return\n"),
    "over the rest": MAIN.replace(
        "    except Exception:\n        backend", "    except Exception:\n        pass\n    backend"
    ),
    "by suppress": "from contextlib import suppress\n"
    + MAIN.replace("    try:", "    with suppress(Exception):").replace(
        '    except Exception:\n        backend = "gloo"\n', ""
    ),
    "by a test": "import pytest\n"
    + MAIN.replace("    try:", "    with pytest.raises(RuntimeError):").replace(
        '    except Exception:\n        backend = "gloo"\n', ""
    ),
}


@pytest.mark.parametrize("main", GOING_ON.values(), ids=GOING_ON)
def test_he_learns_by_it_however_he_goes_on(main: str, project: Path) -> None:
    assert not is_guarded({"info.py": INFO, "main.py": main})


NOT_LEARNING = {
    "it is not tried": MAIN.replace("        describe()\n", "        pass\n") + "\n\ndescribe()\n",
    "another error is caught": MAIN.replace("except Exception", "except KeyError"),
    "the run ends": MAIN.replace('        backend = "gloo"\n', "        raise SystemExit(1)\n"),
    "only a word is said": MAIN.replace('        backend = "nccl"\n', "").replace(
        'backend = "gloo"\n', 'print("no GPU")\n'
    ),
    "it is raised on": MAIN.replace('        backend = "gloo"\n', "        raise\n"),
    "a module of another name is meant": MAIN.replace("from info", "from other"),
}


@pytest.mark.parametrize("main", NOT_LEARNING.values(), ids=NOT_LEARNING)
def test_nobody_learns_by_it_where(main: str, project: Path) -> None:
    assert is_guarded({"info.py": INFO, "main.py": main})


def test_he_learns_by_it_over_functions_of_other_files(project: Path) -> None:
    between = "from info import describe\n\n\ndef start():\n    describe()\n    return 1\n"
    main = MAIN.replace("from info import describe", "from between import start")
    files = {"info.py": INFO, "between.py": between, "main.py": main.replace("describe", "start")}
    assert not is_guarded(files)


def test_he_learns_by_it_over_a_package_that_hands_it_on(project: Path) -> None:
    files = {
        "lib/__init__.py": "from .info import describe\n",
        "lib/info.py": INFO,
        "main.py": MAIN.replace("from info", "from lib"),
    }
    assert not is_guarded(files, "lib/info.py")


def test_he_learns_by_the_import_of_a_module_that_asks(project: Path) -> None:
    asking = 'import torch\n\nprint("running on", torch.cuda.get_device_name(0))\n'
    main = MAIN.replace("from info import describe\n", "").replace("describe()", "import info")
    assert not is_guarded({"info.py": asking, "main.py": main})
    assert is_guarded({"info.py": asking, "main.py": "import info\n"})


IN_ONE_FILE = f"""\
{INFO}

def start():
    describe()


try:
    start()
    backend = "nccl"
except Exception:
    backend = "gloo"
print(backend)
"""
OBJECT = """\
import torch


class Gpu:
    def __init__(self):
        self.report()

    def report(self):
        print("running on", torch.cuda.get_device_name(0))


class Named(Gpu):
    pass


try:
    device = Named()
except Exception:
    device = None
print(device)
"""


@pytest.mark.parametrize("text", [IN_ONE_FILE, OBJECT, OBJECT.replace("= Named()", "= Gpu()")])
def test_he_learns_by_it_over_functions_and_classes_of_one_file(text: str, project: Path) -> None:
    assert not is_guarded({"info.py": text})
    assert is_guarded({"info.py": text.replace("Exception", "KeyError")})
