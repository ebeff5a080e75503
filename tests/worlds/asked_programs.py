"""Programs in which an option says whether things go to the GPU, run without that option."""

from __future__ import annotations

from collections.abc import Iterator

# What the option is, the question for it, and how it names a GPU.
_OPTIONS = {
    "number": ('"--gpu", type=int', "args.gpu is not None", "args.gpu"),
    "below zero": ('"--gpu", type=int, default=-1', "args.gpu is not None", "args.gpu"),
    "from zero": ('"--gpu", type=int, default=-1', "args.gpu >= 0", "args.gpu"),
    "not minus one": ('"--gpu", type=int, default=-1', "args.gpu != -1", "args.gpu"),
    "flag": ('"--gpu", action="store_true"', "args.gpu", ""),
    "list": ('"--gpu", type=int, nargs="*", default=[]', "args.gpu", "args.gpu[0]"),
    "length": ('"--gpu", type=int, nargs="*", default=[]', "len(args.gpu) > 0", "args.gpu[0]"),
    "text": ('"--gpu", default=""', "args.gpu", "int(args.gpu)"),
    "cpu": ('"--gpu", default="cpu"', 'args.gpu != "cpu"', ""),
}
_QUESTIONS = ("{}", "torch.cuda.is_available() and {}")

_HEAD = """\
import argparse

import torch
import torch.nn as nn

options = argparse.ArgumentParser()
options.add_argument({option})
args = options.parse_args([])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)
        self.second = nn.Linear(2, 2)

    def forward(self, x):
        return self.second(self.first(x))


"""
_FORMS = {
    "moved in place": """\
net, x = Net(), torch.ones(1, 2)
if {question}:
    net.cuda({gpu})
if {question}:
    x = x.cuda({gpu})
""",
    "given back": """\
def moved(thing):
    if {question}:
        thing = thing.cuda({gpu})
    return thing


net, x = moved(Net()), moved(torch.ones(1, 2))
""",
    "kept in a flag": """\
use = {question}
net, x = Net(), torch.ones(1, 2)
if use:
    net.cuda({gpu})
    x = x.cuda({gpu})
""",
    "in part at first": """\
net, x = Net(), torch.ones(1, 2)
if {question}:
    net.first.cuda({gpu})
if {question} and isinstance(args.gpu, int) and args.gpu >= 0:
    net.cuda({gpu})
    x = x.cuda({gpu})
""",
    "the other way round": """\
net, x = Net(), torch.ones(1, 2)
if not ({question}):
    print("on the CPU")
else:
    net = net.cuda({gpu})
if {question}:
    x = x.cuda({gpu})
""",
    "by a device": """\
device = torch.device("cuda" if {question} else "cpu")
net, x = Net().to(device), torch.ones(1, 2).to(device)
""",
}
_TAIL = "print(net(x).device.type)\n"


def programs() -> Iterator[tuple[str, str]]:
    for name, (option, asked, gpu) in _OPTIONS.items():
        for machine, question in enumerate(_QUESTIONS):
            for form, text in _FORMS.items():
                body = text.format(question=question.format(asked), gpu=gpu)
                label = f"{name} {machine} {form}".replace(" ", "_")
                yield label, _HEAD.format(option=option) + body + _TAIL
