"""What is told by a program's text alone: a choice of the GPU that is lost, a chosen precision."""

from __future__ import annotations

import pytest

from mpslint.verify import chosen_index, precision

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
