"""A file's text, bytes and positions agree, whatever its encoding and newlines."""

from __future__ import annotations

import ast
import tokenize
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.errors import BadSource
from mpslint.sources.source import SourceFile, declared_encoding

NEWLINES = st.sampled_from(["\n", "\r\n", "\r"])
WORDS = st.sampled_from(["x", "größe", "名前", "𝕏", "tensor", "e\u0301"])
STRINGS = st.sampled_from(
    ["'a'", "'ü\\n'", "'𝕊𝕊'", "'''one\ntwo'''", "'''ä\n\n𝕏'''", "f'{x}ß'", "'\\\n'", "'\t'"]
)
INDENTS = st.sampled_from(["    ", "\t", "  ", "\f    "])


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Small valid programs with many kinds of newline, indentation and character."""
    newline = draw(NEWLINES)
    mixed = draw(st.booleans())
    lines: list[str] = []
    for _ in range(draw(st.integers(0, 6))):
        target, value = draw(WORDS), draw(STRINGS)
        kind = draw(st.integers(0, 5))
        if kind == 0:
            lines += [f"if {target}:", f"{draw(INDENTS)}{target} = call({value}, {target})"]
        elif kind == 1:
            lines += [f"# {value!r} größe", ""]
        elif kind == 2:
            lines += ["\f", f"{target} = ({value},", f"   {target})  # ä"]
        elif kind == 3:
            lines += [f"{target} = 1 + \\", f"  call({value})"]
        else:
            lines += [f"{target}.call({value}); {target} = {value}"]
    out = []
    for line in "\n".join(lines).split("\n"):
        out.append(line)
        out.append(draw(NEWLINES) if mixed else newline)
    if out and draw(st.booleans()):
        out.pop()
    return "".join(out)


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@settings(max_examples=400, derandomize=True, deadline=None)
@given(programs(), st.booleans())
def test_positions_of_the_tree_name_the_text_that_the_tree_means(text: str, bom: bool) -> None:
    source = SourceFile("f.py", (b"\xef\xbb\xbf" if bom else b"") + text.encode())
    if not parses(text):
        with pytest.raises(BadSource):
            source.parse()
        return
    for node in ast.walk(source.parse()):
        if isinstance(node, ast.Name):
            assert ast.parse(source.segment(node)).body[0].value.id == node.id
        elif isinstance(node, ast.Call):
            segment = source.segment(node).replace("\r\n", "\n").replace("\r", "\n")
            called = ast.parse(segment, mode="eval").body
            assert ast.dump(called) == ast.dump(node)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(programs(), st.booleans())
def test_text_encodes_to_the_bytes_it_came_from(text: str, bom: bool) -> None:
    data = (b"\xef\xbb\xbf" if bom else b"") + text.encode()
    source = SourceFile("f.py", data)
    assert source.encode(source.text) == data
    assert source.with_text(source.text).data == data


@settings(max_examples=300, derandomize=True, deadline=None)
@given(programs())
def test_a_position_and_its_offset_are_each_others_inverse(text: str) -> None:
    source = SourceFile.from_text(text)
    for offset in range(len(text) + 1):
        row, column = source.position(offset)
        assert source.starts[row - 1] + column - 1 == offset


@settings(max_examples=300, derandomize=True, deadline=None)
@given(programs())
def test_lines_are_those_of_pythons_tokenizer(text: str) -> None:
    source = SourceFile.from_text(text)
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    assert [source.line(row) for row in range(1, len(source.starts) + 1)] == unified.split("\n")


@pytest.mark.parametrize(
    "head",
    [
        b"# -*- coding: latin-1 -*-\n",
        b"#!/usr/bin/env python\n# vim: set fileencoding=iso-8859-15 :\n",
        b"# coding: utf-8-unix\n",
        b"\n# coding=cp1252\n",
        b"\f# coding: utf8\r\n",
        b"x = 1\n# coding: latin-1\n",
        b"# nothing of the kind\n# still nothing\n# coding: latin-1\n",
        b"#coding:utf_8\r",
    ],
)
def test_the_declared_encoding_is_the_one_python_would_use(head: bytes) -> None:
    mine = declared_encoding(head)
    theirs = tokenize.detect_encoding(BytesIO(head.replace(b"\r", b"\n")).readline)[0]
    assert "ä€".encode(mine, "replace") == "ä€".encode(theirs, "replace")


def test_a_file_in_latin_1_keeps_its_bytes_through_a_change() -> None:
    data = "# coding: latin-1\nname = 'größe'\n".encode("latin-1")
    source = SourceFile("f.py", data)
    changed = source.with_text(source.text.replace("größe", "maß"))
    assert changed.data == "# coding: latin-1\nname = 'maß'\n".encode("latin-1")


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    source = SourceFile("f.py", b"# coding: latin-1\n")
    with pytest.raises(BadSource, match=r"f\.py: .*save the file as UTF-8"):
        source.with_text("# coding: latin-1\nname = '名'\n")


def test_a_change_that_would_move_the_coding_line_is_refused() -> None:
    source = SourceFile("f.py", "# coding: latin-1\nname = 'ä'\n".encode("latin-1"))
    with pytest.raises(BadSource):
        source.with_text("import a\nimport b\n" + source.text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"x = '\xff'\n", "not valid utf-8 at byte 5"),
        ("x = 1\n".encode("utf-16"), "is UTF-16"),
        (b"# coding: klingon\nx = 1\n", "unknown encoding: klingon"),
        (b"# coding: rot13\nk = 1\n", "not a text encoding"),
        (b"# coding: undefined\nk = 1\n", "cannot be decoded"),
        (b"x = 1\0\n", "null bytes"),
    ],
)
def test_bytes_that_are_no_source_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BadSource, match=reason):
        SourceFile("f.py", data)


@pytest.mark.parametrize(
    "text", ["def f(:\n", "x = (\n", "  x = 1\n y = 2\n", "'unterminated\n", "x = 1 1\n"]
)
def test_a_syntax_error_names_its_place(text: str) -> None:
    with pytest.raises(BadSource) as caught:
        SourceFile.from_text(text, "f.py").parse()
    assert caught.value.row
    assert "\n" not in str(caught.value)


def test_a_file_nested_too_deeply_is_refused_and_not_crashed_on() -> None:
    with pytest.raises(BadSource):
        SourceFile.from_text("x = " + "-" * 200_000 + "1\n").parse()


def test_parsing_warns_nobody(recwarn: pytest.WarningsRecorder) -> None:
    SourceFile.from_text("x = '\\d'\nassert (x, 'y')\n").parse()
    assert not recwarn.list


def test_the_newline_to_write_is_that_of_most_lines() -> None:
    assert SourceFile.from_text("a\r\nb\n").newline == "\r\n"
    assert SourceFile.from_text("\ra\nb\n").newline == "\n"
    assert SourceFile.from_text("a\rb\n").newline == "\r"
    assert SourceFile.from_text("a").newline == "\n"
