"""Which loops train, what runs at each of their steps, and what loaders bind."""

from __future__ import annotations

import ast
import textwrap

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.steps.steps import training
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def context_of(program: str) -> Context:
    source = SourceFile("program.py", textwrap.dedent(program).encode())
    return Context(source, source.parse(), Settings())


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("loss.backward()", LoopKind.TRAIN),
        ("optimizer.step()", LoopKind.TRAIN),
        ("scheduler.step()", LoopKind.NONE),
        ("y = model(x)", LoopKind.DEVICE),
        ("loss.backward()\n    break", LoopKind.NONE),
        ("for y in z:\n        loss.backward()", LoopKind.NONE),
        ("print(x)", LoopKind.NONE),
    ],
)
def test_a_loop_is_known_by_what_its_own_body_runs(body: str, kind: LoopKind) -> None:
    context = context_of(f"import torch\nfor x in xs:\n    {body}\n")
    outer = next(loop for loop in context.index.of(ast.For) if loop.lineno == 2)
    assert context.loops.kind(outer) is kind


@pytest.mark.parametrize(
    ("line", "each_step"),
    [
        ("probe()", True),
        ("if ready: probe()", True),
        ("if step % 10 == 0: probe()", False),
        ("if epoch == last: probe()", False),
        ("if verbose: probe()", False),
        ("if step % 10 == 0 and probe(): pass", False),
        ("if rank == 0: probe()", False),
        ("for i, y in enumerate(x):\n        loss.backward()\n        if i == 0: probe()", False),
        ("if bad:\n        probe()\n        break", False),
    ],
)
def test_tests_of_the_step_make_a_node_rare(line: str, each_step: bool) -> None:
    context = context_of(
        f"import torch\nfor step, x in enumerate(xs):\n    loss.backward()\n    {line}\n"
    )
    (call,) = context.index.calls["probe"]
    assert (training(context, call) is not None) is each_step


@pytest.mark.parametrize(
    ("count", "each_step"),
    [("n += 1", False), ("n = i + 1", False), ("n = i + other", True), ("n += loss", True)],
)
def test_what_a_turn_counts_up_is_its_number(count: str, each_step: bool) -> None:
    context = context_of(
        f"""
        import torch
        for i in range(1000):
            {count}
            loss.backward()
            if divides(n, every):
                probe()
        """
    )
    (call,) = context.index.calls["probe"]
    assert (training(context, call) is not None) is each_step


@pytest.mark.parametrize(
    ("turns", "test", "first", "second"),
    [
        ("range(n)", "i == 0", False, True),
        ("range(n)", "i == n - 1", False, True),
        ("range(n)", "i > 0", True, False),
        ("range(n)", "i != 0", True, False),
        ("range(n)", "kinds == i", True, True),
        ("range(n)", "i == wanted", True, True),
        ("range(2)", "i == 0", True, True),
    ],
)
def test_one_turn_alone_comes_to_one_arm_and_all_others_to_the_other(
    turns: str, test: str, first: bool, second: bool
) -> None:
    context = context_of(
        f"""
        import torch
        for i in {turns}:
            loss.backward()
            if {test}:
                probe()
            else:
                other()
        """
    )
    (probe,), (other,) = context.index.calls["probe"], context.index.calls["other"]
    found = (training(context, probe) is not None, training(context, other) is not None)
    assert found == (first, second)


GRADIENTS = """
import torch
for x in xs:
    x.requires_grad_()
    model(x).sum().backward()
    {used}
"""


@pytest.mark.parametrize(
    ("used", "kind"),
    [
        ("kept.append(x.grad.cpu())", LoopKind.DEVICE),
        ("total += mask.grad.abs()", LoopKind.DEVICE),
        ("self.seen = None; kept.append(self.seen.grad)", LoopKind.DEVICE),
        ("x.grad.zero_()", LoopKind.TRAIN),
        ("x.data = x + rate * x.grad.sign()", LoopKind.TRAIN),
        ("g = x.grad.sign()\n    x = (x + g).detach()", LoopKind.TRAIN),
        ("g = x.grad\n    y = x + g\n    x = y.clamp(0, 1)", LoopKind.TRAIN),
        ("x.data.sub_(rate * x.grad)", LoopKind.TRAIN),
        ("for p in model.parameters(): total += p.grad.norm()", LoopKind.TRAIN),
        ("kept.append(x.grad)\n    optimizer.step()", LoopKind.TRAIN),
    ],
)
def test_a_loop_that_only_keeps_gradients_of_what_it_gives_trains_nothing(
    used: str, kind: LoopKind
) -> None:
    context = context_of(GRADIENTS.format(used=used))
    loop = next(loop for loop in context.index.of(ast.For) if loop.lineno == 3)
    assert context.loops.kind(loop) is kind


def test_a_bar_of_progress_counts_the_turns() -> None:
    context = context_of(
        """
        import torch
        bar = tqdm(range(1000), desc="training")
        for i in bar:
            loss.backward()
            if divides(i, every):
                probe()
        """
    )
    (call,) = context.index.calls["probe"]
    assert training(context, call) is None


@pytest.mark.parametrize(
    ("test", "each_step"),
    [('mode == "test"', False), ('mode == "train"', True), ('other == "test"', True)],
)
def test_a_mode_that_does_not_train_is_no_step_of_training(test: str, each_step: bool) -> None:
    context = context_of(
        f"""
        import torch
        for x in xs:
            if mode == "train":
                loss.backward()
            if {test}:
                probe()
        """
    )
    (call,) = context.index.calls["probe"]
    assert (training(context, call) is not None) is each_step


def test_a_loop_that_waits_on_purpose_has_no_hidden_waits() -> None:
    context = context_of(
        """
        import torch
        for x in xs:
            loss.backward()
            torch.cuda.synchronize()
            probe()
        """
    )
    (call,) = context.index.calls["probe"]
    assert training(context, call) is None


def test_loops_over_loaders_tell_whole_batches_from_their_parts() -> None:
    context = context_of(
        """
        import torch
        from tqdm import tqdm
        from torch.utils.data import DataLoader
        for x, y in DataLoader(data): pass
        for step, batch in enumerate(tqdm(DataLoader(data))): pass
        for i, (image, label) in enumerate(DataLoader(data)): pass
        """
    )
    found = [(batch.whole, batch.parts) for batch in context.batches.all]
    assert found == [(None, ("x", "y")), ("batch", ()), (None, ("image", "label"))]


@pytest.mark.parametrize(
    "call",
    ["Generator()", "get_model('tiny')", "Bridge.boot_model('x')"],
)
def test_what_makes_a_model_returns_no_tensor(call: str) -> None:
    context = context_of(f"import torch\nprobe({call})\n")
    (probe,) = context.index.calls["probe"]
    assert context.values.of(probe.args[0]).kind.name == "MODULE"


@pytest.mark.parametrize(
    ("given", "default", "each_step"),
    [
        ("x, save=False", "", False),
        ("x, False", "", False),
        ("x", "=False", False),
        ("x, save=None", "=True", False),
        ("x, save=True", "=False", True),
        ("x", "=True", True),
        ("x, save=wanted", "=False", True),
        ("x, *more", "=False", True),
        ("x, **more", "=False", True),
        ("x", "=wanted", True),
    ],
)
def test_a_loop_does_not_come_to_an_arm_that_its_call_closes(
    given: str, default: str, each_step: bool
) -> None:
    context = context_of(
        f"""
        import torch
        class Engine:
            def batch(self, x, save{default}):
                loss = self.net(x)
                if save:
                    if len(x) > 1:
                        probe(loss)
                return loss
            def train(self):
                for x in self.loader:
                    loss = self.batch({given})
                    loss.backward()
                    self.optimizer.step()
            def show(self):
                for x in self.loader:
                    self.batch(x, save=True)
        """
    )
    (call,) = context.index.calls["probe"]
    assert (training(context, call) is not None) is each_step


def test_another_call_of_the_loop_may_open_the_arm() -> None:
    context = context_of(
        """
        import torch
        def batch(x, save=False):
            loss = net(x)
            if save:
                probe(loss)
            return loss
        for x in loader:
            batch(x).backward()
            batch(x, save=True)
            optimizer.step()
        """
    )
    (call,) = context.index.calls["probe"]
    assert training(context, call) is not None
