"""The device that a fix names: one at hand, or one that it adds."""

from __future__ import annotations

import textwrap

import pytest
from probing import probe

from mpslint.model import Applicability
from mpslint.patterns.selection import reference

PICK = (
    "torch.device('cuda' if torch.cuda.is_available() else "
    "'mps' if torch.backends.mps.is_available() else 'cpu')"
)


def named(program: str, index: int | None = None) -> tuple[str, bool, Applicability] | None:
    """The name, whether it had to be added, and how safe that is."""
    context, node = probe("import torch\n" + textwrap.dedent(program))
    found = reference(context, node, index)
    return (found.text, bool(found.edits), found.level) if found is not None else None


def test_a_device_that_follows_the_machine_is_taken() -> None:
    assert named(f"device = {PICK}\nprobe(1)") == ("device", False, Applicability.SAFE)


@pytest.mark.parametrize(
    "program",
    [
        "def f(device):\n    probe(1)",
        "def f(args):\n    device = torch.device('cuda' if args.cuda else 'cpu')\n    probe(1)",
    ],
)
def test_beside_a_device_that_somebody_else_chooses_one_is_added(program: str) -> None:
    assert named(program) == ("torch_device", True, Applicability.SAFE)


def test_without_a_place_for_one_such_a_device_is_taken_unsafely() -> None:
    program = "probe(1)\n"
    context, node = probe(
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
        f"def f(device: torch.device):\n    {program}"
    )
    found = reference(context, node)
    assert found is not None
    assert (found.text, found.level) == ("device", Applicability.UNSAFE)


def test_cuda_and_its_first_gpu_differ_where_another_is_made_the_current_one() -> None:
    program = (
        "torch.cuda.set_device(rank)\n"
        "device = torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')\nprobe(1)"
    )
    assert named(program) == ("torch_device", True, Applicability.SAFE)
    assert named(program, index=0) == ("device", False, Applicability.SAFE)


def test_no_question_comes_before_the_visible_devices_are_set() -> None:
    said = "    os.environ['CUDA_VISIBLE_DEVICES'] = '1'\n"
    assert named(f"import os\ndef f():\n    probe(1)\n{said}") is None
    late = f"import os\ndef f():\n{said}    probe(1)"
    assert named(late) == ("get_device()", True, Applicability.SAFE)
    other = f"import os\ndef main():\n{said}    f()\ndef f():\n    probe(1)"
    assert named(other) == ("get_device()", True, Applicability.SAFE)
    assert named(f"import os\ndef main():\n{said}\nmain()\nprobe(1)") is None
    early = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '1'\nprobe(1)"
    assert named(early) == ("device", True, Applicability.SAFE)
    context, node = probe("import torch\n" + early)
    found = reference(context, node)
    assert found is not None
    assert context.source.text[: found.edits[0].start].endswith("= '1'\n")


def test_what_would_stand_behind_the_program_itself_is_asked_in_the_function() -> None:
    program = """
    import os
    import torch
    def f():
        probe(1)
    if __name__ == "__main__":
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        f()
    """
    context, node = probe(program)
    found = reference(context, node)
    assert found is not None
    assert (found.text, found.level) == ("get_device()", Applicability.SAFE)
    (helper,) = found.edits
    assert context.source.text[helper.start :].startswith("def f():")
    asked = [line for line in helper.text.splitlines() if "is_available" in line]
    assert asked
    assert all(line.startswith("    ") for line in asked)


def test_a_program_selects_behind_what_says_which_gpus_it_sees() -> None:
    program = """
    import os
    if __name__ == "__main__":
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
        probe(1)
    """
    context, node = probe("import torch\n" + textwrap.dedent(program))
    found = reference(context, node)
    assert found is not None
    assert (found.text, found.level) == ("device", Applicability.SAFE)
    assert context.source.text[: found.edits[0].start].rstrip().endswith('= "1"')


def test_no_selection_stands_before_that() -> None:
    program = """
    import os
    if __name__ == "__main__":
        probe(1)
        os.environ["CUDA_VISIBLE_DEVICES"] = "1"
    """
    assert named(program) is None


def test_no_question_comes_before_a_fork_that_needs_cuda() -> None:
    program = """
    import multiprocessing
    def work(x):
        probe(x.cuda())
    multiprocessing.Process(target=work, args=(1,)).start()
    """
    assert named(program) is None
    spawned = textwrap.dedent(program) + "multiprocessing.set_start_method('spawn')\n"
    assert named(spawned) == ("device", True, Applicability.SAFE)
