"""Memory that is let go after each answer of a server is missed; that of what runs once is not."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SERVING = """\
import torch
{imports}
device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
model = torch.nn.Linear(2, 2).to(device)

{mark}
def answer(text):
    made = model(text.to(device))
    torch.cuda.empty_cache()
    return made

{use}
"""


def told(imports: str = "", mark: str = "", use: str = "") -> bool:
    text = SERVING.format(imports=imports, mark=mark, use=use)
    found = lint(SourceFile("serve.py", text.encode()), Settings(select=("DEFAULT",)))
    return "MPS202" in [one.code for one in found]


@pytest.mark.parametrize(
    ("imports", "mark", "use"),
    [
        ("", '@app.post("/answer")', ""),
        ("", "", '@app.get("/")\ndef home(text):\n    return answer(text)'),
        ("import gradio as gr", "", "gr.Interface(fn=answer)"),
        ("import gradio as gr", "", "gr.ChatInterface(answer)"),
        ("import gradio as gr", "", "gr.Button().click(answer, box, box)"),
    ],
    ids=["a route", "called by a route", "of an interface", "of a chat", "for each click"],
)
def test_what_runs_for_each_request_keeps_memory(imports: str, mark: str, use: str) -> None:
    assert told(imports, mark, use)


@pytest.mark.parametrize(
    ("imports", "mark", "use"),
    [
        ("", "", "print(answer(torch.ones(2)))"),
        ("", '@app.command("answer")', ""),
        ("", "", "threading.Thread(target=answer)"),
        ("import gradio as gr", "", "print(answer(torch.ones(2)))"),
        ("import gradio as gr", "", "threading.Thread(target=answer)"),
        ("import gradio as gr", "", 'parser.add_argument("--text", type=answer)'),
        ("import gradio as gr", "", "pool.map(answer, texts)"),
        ("", "", '@app.post("/a")\ndef home(text):\n    return other.answer(text)'),
    ],
    ids=[
        "called once",
        "a command",
        "a thread",
        "beside an interface",
        "a thread beside an interface",
        "an option beside an interface",
        "a pool beside an interface",
        "a method of something else",
    ],
)
def test_what_runs_once_is_left_to_who_asks(imports: str, mark: str, use: str) -> None:
    assert not told(imports, mark, use)
