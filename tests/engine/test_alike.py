"""Where a fix changes a line, those that read the same go along, told or not."""

from __future__ import annotations

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_RUN = """import torch


def run(net, rows):
    torch.cuda.empty_cache()
    net.cuda()
    for row in rows:
        net(row.cuda())
{loop}
    torch.cuda.empty_cache()


def main():
    run(torch.nn.Linear(2, 2), [torch.zeros(1, 2)])
    torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
"""
_DEFAULTS = """import torch


def zeros(n, device="cuda"):
    return torch.zeros(n, device=device)


def ones(n, device="cuda"):
    return torch.ones(n, device=device)


class Noise:
    def __init__(self, device="cuda"):
        self.device = device

    def draw(self, n):
        return torch.randn(n).to(self.device)


print(zeros(2), ones(2, "cpu"))
print(Noise("cpu").draw(2))
"""


def text_of(text: str, **options: bool) -> str:
    result = fix_source(SourceFile.from_text(text), Settings(), **options)
    assert result.error is None
    return result.text


def rows_of(text: str, code: str) -> list[int]:
    return [one.row for one in lint(SourceFile.from_text(text), Settings()) if one.code == code]


def test_a_call_that_nobody_misses_gets_what_the_one_in_the_loop_gets() -> None:
    text = _RUN.format(loop="        torch.cuda.empty_cache()")

    assert rows_of(text, "MPS202") == [9]
    assert text_of(text, unsafe=True).count("    empty_cache()\n") == 4


def test_alone_it_stays_as_it_is() -> None:
    text = text_of(_RUN.format(loop="        pass"), unsafe=True)

    assert text.count("torch.cuda.empty_cache()") == 3
    assert "torch.mps" not in text


def test_a_default_that_no_call_leaves_out_becomes_what_the_others_become() -> None:
    assert rows_of(_DEFAULTS, "MPS101") == [4, 8]
    assert '="cuda"' not in text_of(_DEFAULTS, unsafe=True)


def test_it_stays_where_nothing_else_is_changed() -> None:
    text = "import torch\n\n\nclass" + _DEFAULTS.split("class")[1].split("print")[0]
    text += 'print(Noise("cpu").draw(2))\n'

    assert text_of(text, unsafe=True) == text


def test_what_a_comment_silences_does_not_go_along() -> None:
    text = _DEFAULTS.replace('ones(n, device="cuda"):', 'ones(n, device="cuda"):  # noqa: MPS101')

    assert 'ones(n, device="cuda")' in text_of(text, unsafe=True)


def test_what_a_run_is_not_about_does_not_go_along() -> None:
    other = frozenset({("MPS102", 0)})
    result = fix_source(SourceFile.from_text(_DEFAULTS), Settings(), unsafe=True, hidden=other)

    assert result.text.count('device="cuda"') == 1
