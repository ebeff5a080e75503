"""Where tensors live, asked of small programs; the name `probe` marks the expression."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.terms.value import Kind, Value
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def context_of(program: str) -> tuple[Context, ast.expr]:
    """The meaning of a program and the argument of its only call of `probe`."""
    source = SourceFile("program.py", textwrap.dedent(program).encode())
    context = Context(source, source.parse(), Settings())
    (call,) = context.index.calls["probe"]
    return context, call.args[0]


def value_of(program: str) -> Value:
    context, node = context_of(program)
    return context.values.of(node)


MOVED = """
    import torch
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = torch.nn.Linear(2, 2).to(device)
"""


@pytest.mark.parametrize(
    ("lines", "probed"),
    [
        ("kept = []\nfor x in range(3):\n    kept.append(net(x))", "torch.cat(kept)"),
        ("kept = [net(x) for x in range(3)]", "torch.stack(kept)"),
        ("batch = {k: v.to(device) for k, v in other.items()}", "batch['x']"),
        ("batch = {'x': net(1), 'y': 3}", "batch['x']"),
        ("batch = other.to(device)", "batch['x']"),
        ("", "net(1).logits"),
        ("", "net(1) > 0"),
        ("", "net(1).type(torch.float32)"),
    ],
)
def test_what_goes_through_a_container_keeps_its_device(lines: str, probed: str) -> None:
    value = value_of(textwrap.dedent(MOVED) + f"{lines}\nprobe({probed})\n")
    assert value.devices == {"cuda", "cpu"}


def test_a_list_that_somebody_else_may_fill_is_unknown() -> None:
    program = textwrap.dedent(MOVED) + "kept = [net(1)]\nkept.extend(other())\nprobe(kept[0])\n"
    assert value_of(program) == Value(Kind.UNKNOWN)


def test_a_copy_that_only_cuda_gets_is_found_from_the_other_arm() -> None:
    context, node = context_of(
        """
        import torch
        def f(y, use_cuda):
            return y.cpu().numpy() if use_cuda else probe(y.data)
        """
    )
    copy = context.placement.copied_only_on_cuda(node)
    assert copy is not None
    assert ast.unparse(copy) == "y.cpu()"


def test_a_copy_on_every_device_but_the_cpu_is_no_cuda_only_copy() -> None:
    context, node = context_of(
        """
        import torch
        def f(y):
            if y.is_cuda:
                y = y.cpu()
            if y.device.type != "cpu":
                y = y.cpu()
            return probe(y)
        """
    )
    assert context.placement.copied_only_on_cuda(node) is None


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("import torch\nx.cuda()\nprobe(1)", True),
        ("import torch\nfrom settings import device\nx.to(device)\nprobe(1)", True),
        ("import torch\nx.to(torch.float16)\nprobe(1)", False),
        ("import torch\nx.to('cpu')\nprobe(1)", False),
    ],
)
def test_a_file_uses_devices_when_it_moves_something_to_one(program: str, expected: bool) -> None:
    context, _ = context_of(program)
    assert context.placement.file_uses_devices is expected


@pytest.mark.parametrize(
    ("given", "uses"),
    [("use_cuda=False", False), ("use_cuda=True", True), ("verbose=False", True), ("", True)],
)
def test_who_refuses_a_gpu_copies_to_the_host_for_others(given: str, uses: bool) -> None:
    context, _ = context_of(f"model = Clap({given})\nprobe(model(x).cpu())\n")
    assert context.placement.program_uses_devices is uses
