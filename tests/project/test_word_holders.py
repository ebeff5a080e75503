"""Which texts of a project hold a name."""

from __future__ import annotations

import re

import pytest

from mpslint.project.layout.word_holders import WordHolders, is_in_word, stands_alone

_TEXTS = {
    "a.py": b"def net():\n    pass\n",
    "b.py": b"subnet = 1\nnets = 2\n",
    "c.py": b"subnet, net = 1, 2\n",
    "d.py": b"x = 1\n",
    "gone.py": None,
}
_FILES = tuple(_TEXTS)


class _Told(WordHolders):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def text(self, path: str) -> bytes | None:
        self.asked.append(path)
        return _TEXTS[path]


def test_those_are_told_in_order_that_hold_it_be_it_in_a_longer_word() -> None:
    assert _Told().holding(_FILES, b"net") == ("a.py", "b.py", "c.py")


def test_those_are_told_that_hold_it_by_itself() -> None:
    assert _Told().holding_alone(_FILES, b"net") == ("a.py", "c.py")


def test_a_text_is_gone_through_once_for_a_name() -> None:
    told = _Told()
    told.holding(_FILES, b"net")
    told.holding(_FILES, b"net")
    assert told.asked == list(_FILES)


@pytest.mark.parametrize("word", [b"net", b"_x", b"a1", b"-x", b"x-", "größe".encode(), b""])
@pytest.mark.parametrize(
    "text",
    [b"net", b"net.x", b"(net)", b"subnet", b"nets", b"netnet net", b"_x", b"__x", b"a1 b", b"a12",
     b"a -x b", b"a x-b", "größe".encode(), "xgrößey".encode(), b"", b"\n"],
)  # fmt: skip
def test_a_word_stands_alone_where_an_expression_finds_it(word: bytes, text: bytes) -> None:
    assert stands_alone(word, text) == (re.search(rb"\b%s\b" % re.escape(word), text) is not None)


def test_a_word_does_not_go_on_where_the_text_begins() -> None:
    assert not is_in_word(b"net", 0)


def test_a_word_goes_on_behind_a_letter() -> None:
    assert is_in_word(b"subnet", 3)
