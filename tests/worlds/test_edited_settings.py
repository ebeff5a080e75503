"""A script's constant between which the file chooses is a setting: its user edits it."""

from __future__ import annotations

import pytest

from .conftest import found

MODES = """
MODE = "test"

def main():
    model = Net()
    if MODE == "train":
        model.cuda()  # train
    elif MODE == "test":
        model.cuda()  # test

main()
"""
GIVEN = """
checkpoint = None  # path to a checkpoint, None if none

def main():
    if checkpoint is None:
        model = Net()
    else:
        model = torch.load(checkpoint)["model"].cuda()  # resumed

main()
"""


def told(text: str) -> list[str]:
    return [one.partition("# ")[2] for one in found(text, "MPS102")]


def test_a_script_that_chooses_by_a_text_may_be_set_to_each_of_them() -> None:
    assert told(MODES) == ["train", "test"]


def test_a_setting_that_is_none_may_be_given_where_the_file_says_what_to_do_with_it() -> None:
    assert told(GIVEN) == ["resumed"]


def test_one_that_its_functions_declare_global_is_a_setting_as_well() -> None:
    text = GIVEN.replace("def main():", "def main():\n    global checkpoint")
    assert told(text) == ["resumed"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(MODES.replace('elif MODE == "test"', "else"), id="compared-with-one"),
        pytest.param(MODES.replace("\n\ndef", '\nMODE = "test"\n\ndef'), id="set-twice"),
        pytest.param(MODES.rpartition("main()")[0], id="no-script"),
    ],
)
def test_what_is_no_setting_stays_as_it_is_written(text: str) -> None:
    assert "train" not in told(text)


def test_work_that_is_put_off_is_no_setting() -> None:
    text = """
    cache = None

    def main():
        if cache is None:
            model = Net()
        if not cache is None:
            model.cuda()  # cached

    main()
    """
    assert told(text.replace("\n    ", "\n")) == []


AGENTS = """
GAMES = [["dqn", "gym"], ["a3c", "atari"], ["acer", "atari"]]

class Params:
    def __init__(self):
        self.config = 2
        self.agent, self.game = GAMES[self.config]
        if self.agent == "dqn":
            self.net = Net().cuda()  # dqn
        elif self.agent == "a3c":
            self.net = Net().cuda()  # a3c
        else:
            self.net = Net().cuda()  # else

params = Params()
"""


def test_an_attribute_that_a_class_of_settings_compares_with_several_texts_may_be_each() -> None:
    assert told(AGENTS) == ["dqn", "a3c", "else"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(AGENTS.replace('elif self.agent == "a3c"', "elif 0"), id="compared-with-one"),
        pytest.param(AGENTS + 'params.agent = "dqn"\n', id="set-by-others"),
    ],
)
def test_an_attribute_that_is_no_setting_is_what_was_put_there(text: str) -> None:
    assert told(text) == ["else"]
