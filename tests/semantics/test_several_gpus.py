"""What only several GPUs reach, and what a single one reaches as well."""

from __future__ import annotations

import textwrap

import pytest
from probing import probe

from mpslint.semantics.gpus.several_gpus import for_several_gpus


def several(program: str) -> bool:
    context, node = probe("import os\nimport torch\n" + program)
    return for_several_gpus(context, node)


@pytest.mark.parametrize(
    "test",
    [
        "dist.get_world_size() > 1",
        "world_size > 1",
        "local_rank != -1",
        "args.local_rank >= 0",
        'int(os.environ.get("LOCAL_RANK", -1)) != -1',
        'int(os.environ["WORLD_SIZE"]) > 1',
        '"RANK" in os.environ',
        "world_size == 2",
        "1 < world_size",
        'os.environ.get("RANK") is not None',
        'os.environ.get("WORLD_SIZE")',
        "local_rank != -1 and verbose",
        "local_rank != -1 or dist.get_world_size() > 1",
    ],
)
def test_only_several_gpus_come_below(test: str) -> None:
    assert several(f"if {test}:\n    probe(1)\n")


@pytest.mark.parametrize(
    "test",
    [
        "local_rank == -1",
        "dist.get_world_size() >= 1",
        "dist.get_world_size() > 0",
        "world_size > 0",
        "args.distributed",
        "local_rank in (-1, 0)",
        "local_rank != 0",
        "rank == 0",
        "local_rank != -1 or verbose",
        "self.model_parallel",
        '"HOME" in os.environ',
        "world_size == 1",
        "1 <= world_size",
        'os.environ.get("RANK", "0")',
        'config.get("RANK")',
    ],
)
def test_a_single_gpu_comes_here_too(test: str) -> None:
    assert not several(f"if {test}:\n    probe(1)\n")


def test_the_other_arm_is_for_a_single_gpu() -> None:
    assert not several("if local_rank != -1:\n    pass\nelse:\n    probe(1)\n")


@pytest.mark.parametrize(
    "program",
    [
        "model = FSDP(model, device_id=probe(1))\n",
        'torch.distributed.init_process_group(backend="nccl")\ndef f():\n    probe(1)\n',
    ],
)
def test_so_say_a_wrapper_and_a_process_group(program: str) -> None:
    assert several(program)


def test_a_class_that_wraps_on_one_way_only_is_for_a_single_gpu_too() -> None:
    wrap = "self.m = torch.nn.parallel.DistributedDataParallel(m)"
    method = "    def f(self):\n        probe(1)\n"
    always = f"class T:\n    def __init__(self, m):\n        {wrap}\n{method}"
    asked = f"class T:\n    def __init__(self, m, n):\n        if n:\n            {wrap}\n{method}"
    assert several(always)
    assert not several(asked)


@pytest.mark.parametrize(
    "exit",
    [
        "if args.local_rank == -1:\n    return\n",
        "if get_world_size() == 1:\n    return\n",
        "if get_world_size() < 2:\n    raise ValueError\n",
        "if args.local_rank == -1:\n    raise ValueError\n",
        'if "RANK" not in os.environ or get_world_size() <= 1:\n    return\n',
        "if args.local_rank != -1:\n    wrap()\nelse:\n    raise ValueError\n",
        "if args.local_rank != -1:\n    wrap()\nelif gpu:\n    return\nelse:\n    return\n",
        "if get_world_size() > 8:\n    return\nelif args.local_rank == -1:\n    return\n",
        "if args.cpu:\n    return\nelif args.local_rank != -1:\n    wrap()\nelse:\n    return\n",
    ],
)
def test_where_others_leave_several_gpus_go_on(exit: str) -> None:
    assert several(f"def f():\n{indented(exit)}    probe(1)\n")


@pytest.mark.parametrize(
    "exit",
    [
        "if args.local_rank != -1:\n    return\n",
        "if args.local_rank != -1:\n    wrap()\nelif gpu:\n    raise ValueError\n",
        "if get_world_size() == 0:\n    return\n",
        "if args.local_rank == -1:\n    wrap()\nelse:\n    return\n",
        "if args.local_rank != -1:\n    wrap()\nelse:\n    print()\n",
        "if verbose:\n    if args.local_rank == -1:\n        return\n",
    ],
)
def test_a_single_gpu_goes_on_too(exit: str) -> None:
    assert not several(f"def f():\n{indented(exit)}    probe(1)\n")


@pytest.mark.parametrize(
    "flag",
    [
        "self.local_rank != -1 and (group is not None or forced)",
        "get_world_size() > 1",
        "not (get_world_size() == 1 or forced)",
    ],
)
def test_a_flag_asks_what_it_was_assigned(flag: str) -> None:
    assert several(f"several = {flag}\nif several:\n    probe(1)\n")
    assert several(f"several = {flag}\nother = several\nx = probe(1) if other else None\n")
    assert not several(f"several = {flag}\nif not several:\n    probe(1)\n")


def test_a_flag_that_may_come_from_elsewhere_asks_nothing() -> None:
    set_twice = "several = get_world_size() > 1\nif forced:\n    several = True\n"
    assert not several(f"{set_twice}if several:\n    probe(1)\n")
    assert not several("a, b = b, a\nif a:\n    probe(1)\n")
    assert not several("while x:\n    if a:\n        probe(1)\n    a = b\n    b = a\n")


MAIN = 'if __name__ == "__main__":\n    run()\n'
CALLED = "def run():\n    if get_world_size() > 1:\n        {}()\n"


@pytest.mark.parametrize(
    "program",
    [
        "def _f():\n    probe(1)\n" + CALLED.format("_f"),
        "def f():\n    probe(1)\n" + CALLED.format("f") + MAIN,
        "def _g():\n    probe(1)\ndef _f():\n    _g()\n" + CALLED.format("_f"),
        'def f():\n    probe(1)\nos.path.join(".", "f")\n' + CALLED.format("f") + MAIN,
        "def g():\n    def f():\n        probe(1)\n    step(f if get_world_size() > 1 else None)\n",
    ],
)
def test_a_function_of_the_file_is_for_those_who_call_it(program: str) -> None:
    assert several(program)


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    probe(1)\n" + CALLED.format("f"),
        "def _f():\n    probe(1)\n_f()\n" + CALLED.format("_f"),
        "def _f():\n    probe(1)\n    _f()\n",
        'def f():\n    probe(1)\ngetattr(os, "f")\n' + CALLED.format("f") + MAIN,
    ],
)
def test_a_function_that_others_may_call_is_for_them(program: str) -> None:
    assert not several(program)


def indented(text: str) -> str:
    return textwrap.indent(text, "    ")
