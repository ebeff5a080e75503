"""Calls right below each other that need the same test share one block."""

from __future__ import annotations

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def fixed(text: str, *, unsafe: bool = False) -> str:
    source = SourceFile.from_text("import torch\n\n" + text)
    result = fix_source(source, Settings(), unsafe=unsafe)
    assert result.error is None
    return result.text.removeprefix("import torch\n\n")


def test_a_reset_and_a_wait_below_it_get_one_block() -> None:
    text = "torch.cuda.reset_peak_memory_stats(0)\ntorch.cuda.synchronize(0)\n"

    assert fixed(text) == (
        "if torch.cuda.is_available():\n"
        "    torch.cuda.reset_peak_memory_stats(0)\n"
        "    torch.cuda.synchronize(0)\n"
        "elif torch.backends.mps.is_available():\n"
        "    torch.mps.synchronize()\n"
    )


def test_three_calls_in_a_row_get_one_block() -> None:
    calls = ["synchronize(0)", "ipc_collect()", "reset_peak_memory_stats()"]

    text = fixed("".join(f"torch.cuda.{call}\n" for call in calls))

    assert text.count("if torch.cuda.is_available()") == 1
    assert [line.strip() for line in text.splitlines()[1:4]] == [f"torch.cuda.{c}" for c in calls]


def test_a_call_joins_the_block_of_the_author_beside_it() -> None:
    block = "if torch.cuda.is_available():\n    torch.cuda.ipc_collect()\n"
    call = "torch.cuda.reset_peak_memory_stats()\n"

    behind, in_front = fixed(block + call), fixed(call + block)

    assert behind == f"{block}    {call}"
    assert in_front == block.replace("\n", f"\n    {call}", 1)


def test_an_arm_for_all_other_machines_is_not_taken_from_mps() -> None:
    block = "if torch.cuda.is_available():\n    print(1)\nelse:\n    print(2)\n"

    text = fixed(f"{block}torch.cuda.synchronize(0)\n")

    assert text.startswith(block)
    assert text.count("if torch.cuda.is_available()") == 2


def test_what_stands_apart_keeps_a_block_of_its_own() -> None:
    text = fixed("torch.cuda.ipc_collect()\n\n# a new part\ntorch.cuda.reset_peak_memory_stats()\n")

    assert text.count("if torch.cuda.is_available()") == 2


def test_a_block_that_gives_the_device_another_value_is_not_joined() -> None:
    text = fixed(
        "def run(device: torch.device):\n    torch.ones(2, device=device)\n"
        '    if device.type == "cuda":\n        device = torch.device("cpu")\n'
        "    torch.cuda.reset_peak_memory_stats()\n"
    )

    assert text.count('torch.device("cpu")\n    if ') == 1


def test_a_counter_is_read_in_the_block_of_the_wait_in_front_of_it() -> None:
    text = fixed(
        "torch.cuda.synchronize(0)\nused = torch.cuda.max_memory_allocated(0)\nprint(used)\n",
        unsafe=True,
    )

    assert text == (
        "if torch.cuda.is_available():\n"
        "    torch.cuda.synchronize(0)\n"
        "    used = torch.cuda.max_memory_allocated(0)\n"
        "elif torch.backends.mps.is_available():\n"
        "    torch.mps.synchronize()\n"
        "    used = torch.mps.driver_allocated_memory()\n"
        "else:\n"
        "    used = 0\n"
        "print(used)\n"
    )


def test_a_counter_that_is_read_twice_becomes_a_function() -> None:
    text = fixed(
        "def a():\n    print(torch.cuda.max_memory_allocated())\n\n\n"
        "def b():\n    print(torch.cuda.max_memory_allocated())\n\n\na()\nb()\n",
        unsafe=True,
    )

    assert text.count("print(max_memory_allocated())") == 2
    assert text.count("torch.mps.driver_allocated_memory()") == 1


def test_a_counter_of_one_gpu_is_read_in_place() -> None:
    text = fixed(
        "print(torch.cuda.max_memory_allocated(0))\nprint(torch.cuda.max_memory_allocated(1))\n",
        unsafe=True,
    )

    assert "def " not in text
