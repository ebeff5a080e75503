"""What is told by a program's text alone: a choice of the GPU that is lost, a chosen precision."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.verify import chosen_index, precision
from mpslint.verify.request import Request
from mpslint.verify.texts import Texts

READS = "import torch\nargs = parse()\n"
CHOOSES = {
    "a move": "x = x.cuda(args.gpu)",
    "the current device": "torch.cuda.set_device(args.gpu)",
    "a device": "device = torch.device('cuda', args.gpu)",
    "an f-string": "device = f'cuda:{args.gpu}'",
    "a sum of texts": "device = 'cuda:' + str(args.gpu)",
    "a format": "device = 'cuda:{}'.format(args.gpu)",
    "an old format": "device = 'cuda:%d' % args.gpu",
}


@pytest.mark.parametrize("way", CHOOSES)
def test_a_choice_that_is_read_no_more_is_lost(way: str) -> None:
    before = f"{READS}{CHOOSES[way]}\nprint('GPU', args.gpu)\n"
    after = f"{READS}device = pick()\nprint('GPU', args.gpu)\n"
    found = chosen_index.lost(before.encode(), after.encode())
    assert found == ("args.gpu", 3)


KEEPS = {
    "in a branch": "device = f'cuda:{args.gpu}' if torch.cuda.is_available() else 'mps'",
    "through a function": "device = pick(args.gpu)",
    "as an index": "torch.cuda.set_device(args.gpu)",
}


@pytest.mark.parametrize("way", KEEPS)
def test_a_choice_that_is_still_read_is_kept(way: str) -> None:
    before = f"{READS}x = x.cuda(args.gpu)\n".encode()
    assert chosen_index.lost(before, f"{READS}{KEEPS[way]}\n".encode()) is None


def test_a_number_that_is_written_down_is_no_choice() -> None:
    before, after = b"gpu = 0\nx = x.cuda(gpu)\n", b"x = x.to(device)\n"
    assert chosen_index.lost(before, after) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("# half of the data\n'''at double speed'''\nx = 1", None),
        ("print(data.half())", "half"),
        ("x = torch.zeros(3, dtype=torch.float64)", "float64"),
        ("model = load(dtype='bfloat16')", "bfloat16"),
        ("with torch.autocast('cuda'):\n    pass", "autocast"),
        ("with torch.autocast('cuda', enabled=False):\n    pass", None),
        ("torch.set_float32_matmul_precision('highest')", None),
        ("torch.set_float32_matmul_precision('high')", "set_float32_matmul_precision"),
        ("y = x.double().half()", "half"),
        ("def shift(x, half):\n    return x - half", None),
        ("half = 1.96 * sigma\nlow, high = mean - half, mean + half", None),
    ],
)
def test_a_precision_is_chosen_by_code_and_not_by_words_about_it(
    text: str, word: str | None
) -> None:
    choice = precision.chosen(text.encode())
    assert (choice and choice.word) == word


def test_more_precision_than_mps_has_is_told_from_less_than_float32() -> None:
    found = [precision.chosen(text) for text in (b"x.double()", b"x.half()")]
    assert [choice.high for choice in found if choice] == [True, False]


def project(folder: Path, **texts: str) -> Path:
    """The `main.py` of a new folder that holds these modules, one of them in a package."""
    (folder / "parts").mkdir(parents=True)
    for name, text in texts.items():
        place = folder / "parts" if name == "inner" else folder
        (place / f"{name}.py").write_text(text)
    return folder / "main.py"


def test_an_original_runs_with_the_modules_below_its_own_folder(tmp_path: Path) -> None:
    old = project(tmp_path / "old", main="1", same="s", helper="old", inner="old", gone="g")
    new = project(tmp_path / "new", main="2", same="s", helper="new", inner="new", extra="e")
    texts = Texts(Request(str(new), original=str(old)))
    at = new.parent
    assert texts.original == {
        str(new): b"1",
        str(at / "helper.py"): b"old",
        str(at / "parts" / "inner.py"): b"old",
    }
    assert sorted(texts.beside) == ["helper.py", "parts/inner.py"]


def test_a_line_that_differs_in_a_module_beside_the_original_has_changed(tmp_path: Path) -> None:
    old = project(tmp_path / "old", main="x = 1\n", helper="a = 1\nb = 2\n")
    new = project(tmp_path / "new", main="x = 1\n", helper="a = 1\nb = 3\n")
    assert Texts(Request(str(new), original=str(old))).changed() == {
        str(new.parent / "helper.py"): [2]
    }


def test_an_original_of_another_name_meets_the_modules_as_they_are(tmp_path: Path) -> None:
    old = project(tmp_path / "old", main="1", helper="old")
    new = project(tmp_path / "new", main="2", helper="new")
    other = old.rename(old.with_name("before.py"))
    assert Texts(Request(str(new), original=str(other))).original == {str(new): b"1"}


def test_an_original_beside_the_script_meets_the_modules_as_they_are(tmp_path: Path) -> None:
    new = project(tmp_path / "new", main="2", helper="new", old="1")
    texts = Texts(Request(str(new), original=str(new.with_name("old.py"))))
    assert texts.original == {str(new): b"1"}
