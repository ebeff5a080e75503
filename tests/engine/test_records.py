"""What is made cheaply behaves as what Python makes."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

from mpslint.basics.expressions import later
from mpslint.records import NamedTuple


class Ours(NamedTuple):
    """A place."""

    path: str
    row: int = 1
    """Counted from 1."""

    @property
    def shown(self) -> str:
        return f"{self.path}:{self.row}"

    @classmethod
    def first(cls, path: str) -> Ours:
        return cls(path)


class Theirs(typing.NamedTuple):
    """A place."""

    path: str
    row: int = 1

    @property
    def shown(self) -> str:
        return f"{self.path}:{self.row}"


def test_a_record_is_the_named_tuple_of_its_annotations() -> None:
    assert Ours._fields == Theirs._fields
    assert Ours._field_defaults == Theirs._field_defaults
    assert (Ours.__doc__, Ours.__module__, Ours.__qualname__) == ("A place.", __name__, "Ours")
    assert repr(Ours("a.py")) == repr(Theirs("a.py")).replace("Theirs", "Ours")
    assert Ours("a.py", 3) == Theirs("a.py", 3) == ("a.py", 3)
    assert Ours.first("a.py").shown == "a.py:1"
    assert Ours("a.py")._replace(row=2) == Ours(path="a.py", row=2)


def test_a_record_is_copied_and_sent_to_other_processes() -> None:
    place = Ours("a.py", 7)
    assert copy.deepcopy(place) == place
    assert type(pickle.loads(pickle.dumps(place))) is Ours


def test_a_record_without_one_of_its_fields_is_refused() -> None:
    with pytest.raises(TypeError, match="path"):
        Ours()  # type: ignore[call-arg]


def test_an_expression_is_compiled_when_it_is_asked() -> None:
    broken = later("(")
    with pytest.raises(re.error):
        broken.search("a")


def test_an_expression_that_was_compiled_later_finds_what_it_would_have() -> None:
    text, flags = r"(?P<word>[a-z]+)", re.IGNORECASE
    now, then = re.compile(text, flags), later(text, flags)
    for _ in range(2):
        assert then.sub("x", "A b 1") == now.sub("x", "A b 1")
        found, expected = then.search("1 Ab"), now.search("1 Ab")
        assert found is not None
        assert expected is not None
        assert found["word"] == expected["word"] == "Ab"
    assert then.pattern == text


CHECKED = """
import sys
sys.argv = ["mpslint", "check", "--no-cache", "--isolated", sys.argv[1]]
from mpslint.__main__ import main
main()
print(sorted({"dataclasses", "inspect", "tokenize", "mpslint.sources.notebook"} & set(sys.modules)))
"""


def test_a_script_is_checked_without_what_makes_classes_dearly(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import torch\n\nx = torch.zeros(3).cuda()\n")
    ran = subprocess.run(
        [sys.executable, "-c", CHECKED, script], capture_output=True, text=True, check=True
    )
    assert "MPS102" in ran.stdout
    assert ran.stdout.splitlines()[-1] == "[]"
