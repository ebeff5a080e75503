"""A step comes only to what the switches that it hands over lead to."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROGRAM = """\
import torch

device = torch.device("mps")


class Trainer:
    {mark}
    def run(self, batch, training=True, save=False{more}):
        scores = self.net(batch.to(device))
        {body}
        return scores

    def train(self, loader):
        for batch in loader:
            loss = self.run({given}).mean()
            loss.backward()
            self.optimizer.step()

    def evaluate(self, loader):
        with torch.no_grad():
            self.kept = [self.run(batch, False, True) for batch in loader]
"""
SAVED = "if save: self.saved.append(scores.detach().cpu().numpy())"


def told(given: str, body: str = SAVED, more: str = "", mark: str = "") -> list[int]:
    text = PROGRAM.format(given=given, body=body, more=more, mark=mark)
    settings = Settings(select=("MPS304",))
    found = lint(SourceFile("program.py", text.encode()), settings)
    return [finding.row for finding in found if "step" in finding.message]


@pytest.mark.parametrize(
    ("given", "body", "more"),
    [
        ("batch", SAVED, ""),
        ("batch, True, False", SAVED, ""),
        ("batch, save=False", SAVED, ""),
        ("batch, save=None", SAVED, ""),
        ("batch", SAVED.replace("save", "save and self.names"), ""),
        ("batch", SAVED.replace("if save", "if not training"), ""),
        ("batch", SAVED.replace("if save", "if keep"), ", *, keep=False"),
    ],
)
def test_a_step_that_switches_it_off_does_not_copy(given: str, body: str, more: str) -> None:
    assert told(given, body, more) == []


@pytest.mark.parametrize(
    ("given", "body", "more"),
    [
        ("batch, True, True", SAVED, ""),
        ("batch, save=True", SAVED, ""),
        ("batch, save=self.save", SAVED, ""),
        ("batch, *self.more", SAVED, ""),
        ("batch, **self.more", SAVED, ""),
        ("batch", SAVED.replace("save", "save or self.names"), ""),
        ("batch", SAVED.replace("if save", "if training"), ""),
        ("batch", f"save = save or self.save\n        {SAVED}", ""),
        ("batch, keep=True", SAVED.replace("if save", "if keep"), ", *, keep"),
    ],
)
def test_one_that_may_switch_it_on_does(given: str, body: str, more: str) -> None:
    assert len(told(given, body, more)) == 1


def test_a_static_method_has_no_self_to_count() -> None:
    text = PROGRAM.format(given="batch, True, {}", body=SAVED, more="", mark="@staticmethod")
    text = text.replace("run(self, batch", "run(batch").replace("self.net", "net")
    settings = Settings(select=("MPS304",))
    for given, rows in (("False", 0), ("True", 1)):
        source = SourceFile("program.py", text.replace("{}", given).encode())
        assert len(lint(source, settings)) == rows
