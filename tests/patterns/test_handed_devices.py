"""Functions that are handed `args` move their batches to its device, where all callers set that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_SETS = 'args.device = "cuda" if torch.cuda.is_available() else "cpu"'
_PROGRAM = """import argparse
import torch


def evaluate(net, loader, args):
    for x in loader:
        print(net(x.cuda()), args.name)


def main():
    args = argparse.ArgumentParser().parse_args()
    {sets}
    net = torch.nn.Linear(2, 2).to(args.device)
    evaluate(net, [torch.zeros(1, 2)], args)
    {more}


main()
"""


def test_it_is_named_rather_than_selected_anew(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _PROGRAM.format(sets=_SETS, more="print(args)"))

    assert "net(x.to(args.device))" in text
    assert text.count("mps.is_available()") == 1


def test_under_another_name_of_the_caller_it_is_the_same(cli: Cli, project: Path) -> None:
    before, _, caller = _PROGRAM.format(sets=_SETS, more="pass").partition("def main")
    caller = caller.replace("args)", "options)").replace("args =", "options =")
    caller = caller.replace("args.device", "options.device")

    text = _fixed(cli, project, f"{before}def main{caller}".replace(", args):", ", options):"))

    assert "x.cuda()" not in text


@pytest.mark.parametrize(
    ("sets", "more"),
    [
        (f"if args.gpu:\n        {_SETS}", "print(args)"),
        ('args.device = "cuda" if args.gpu else "cpu"', "print(args)"),
        (_SETS, "evaluate(net, [], argparse.Namespace())"),
        (_SETS, "args = argparse.Namespace()\n    evaluate(net, [], args)"),
        (_SETS, "return map(evaluate, [net], [[]], [args])"),
    ],
    ids=["sometimes", "asked for", "other object", "made anew", "called out of sight"],
)
def test_a_device_that_not_every_call_sets_is_not_asked_for(
    cli: Cli, project: Path, sets: str, more: str
) -> None:
    text = _fixed(cli, project, _PROGRAM.format(sets=sets, more=more), "--unsafe-fixes")

    assert "x.to(args.device)" not in text


def test_nor_where_another_file_may_call_the_function(cli: Cli, project: Path) -> None:
    (project / "other.py").write_text("from run import evaluate\n\nevaluate(abs, [], None)\n")

    text = _fixed(cli, project, _PROGRAM.format(sets=_SETS, more="print(args)"), "--unsafe-fixes")

    assert "x.to(args.device)" not in text


def _fixed(cli: Cli, project: Path, text: str, *options: str) -> str:
    (project / "README.md").write_text("A project of which all is here.\n")
    script = project / "run.py"
    script.write_text(text)
    ran = cli("fix", "--no-verify", "--no-cache", *options, "run.py")
    assert ran.code in (0, 1), ran.err
    return script.read_text()
