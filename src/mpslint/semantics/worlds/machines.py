"""The worlds that a file is run in, all at once. A set of worlds is an int, a bit a world.

A world is a machine times an answer to each of a few switches of the user's (`args.cuda`):

- `CUDA`: one NVIDIA GPU; `GPUS`: several of them;
- `MAC`: an Apple GPU and a torch without CUDA, the program as it is written;
- `PORTED`: the Mac once every choice of a device that only lacks MPS asks for it;
- `CPU`: neither. In a part of these worlds (`HOLLOW`) torch still knows MPS: it is built for it,
  on a Mac whose macOS is too old. What only asks torch for its build comes through there.

`PORTED` is the shadow of `CUDA`: a test of `torch.cuda.is_available()` lets it through, since a
port widens that test, and what is on cuda in `CUDA` and not in `MAC` is on mps in it. A test that
names the device (`device.type == "cuda"`, `x.is_cuda`) does not let it through, nor does what only
CUDA has (NCCL, a package of kernels, a second GPU). So three sets say it all:

- `MAC` is here: the line runs on a Mac today, and what raises breaks;
- `PORTED` is here and `MAC` is not: a choice keeps the Mac out, and ignores its GPU;
- neither: the line is CUDA's own.
"""

from __future__ import annotations

SWITCHES = 3
"""How many switches of the user's are told apart: 2 ** 3 * 6 worlds are 48 bits, below the 60 up
to which an int of Python stays one digit or two; a fourth found no case in 70 repositories."""
_MACHINES = 6
_STATES = 1 << SWITCHES


def _machine(index: int) -> int:
    return sum(1 << (index + _MACHINES * state) for state in range(_STATES))


CUDA, GPUS, MAC, PORTED, PLAIN, HOLLOW = (_machine(index) for index in range(_MACHINES))
CPU = PLAIN | HOLLOW
MACHINES = (CUDA, GPUS, MAC, PORTED, CPU)
PARTS = (CUDA, GPUS, MAC, PORTED, PLAIN, HOLLOW)
NVIDIA = CUDA | GPUS
MACS = MAC | PORTED
ALL = NVIDIA | MACS | CPU
SWITCH = tuple(
    sum(((1 << _MACHINES) - 1) << (_MACHINES * state) for state in range(_STATES) if state >> k & 1)
    for k in range(SWITCHES)
)
"""The worlds in which each switch is on."""

_NAMES = ("CUDA", "GPUS", "MAC", "PORTED", "CPU")


def mac_of_cuda(worlds: int) -> int:
    """The Mac's worlds with the same switches as the one-GPU worlds in `worlds`."""
    return (worlds & CUDA) << 2


def ported_of_cuda(worlds: int) -> int:
    """The ported Mac's worlds with the same switches as the one-GPU worlds in `worlds`."""
    return (worlds & CUDA) << 3


def ported_of_mac(worlds: int) -> int:
    """The ported Mac's worlds with the same switches as the Mac's in `worlds`."""
    return (worlds & MAC) << 1


def mac_of_ported(worlds: int) -> int:
    """The Mac's worlds with the same switches as the ported Mac's in `worlds`."""
    return (worlds & PORTED) >> 1


def sent_away(before: int, after: int) -> bool:
    """Whether a Mac is sent away between the two, or one of the machines with neither is that the
    other is not: a test did that which a message can name."""
    lost = before & ~after
    return bool(lost & MACS) or (lost & HOLLOW) >> 1 != lost & PLAIN


def spell(worlds: int) -> str:
    """For people who debug the analysis: the machines that are in a set of worlds."""
    parts = [
        name if worlds & machine == machine else f"{name}?"
        for name, machine in zip(_NAMES, MACHINES, strict=True)
        if worlds & machine
    ]
    return "|".join(parts) or "none"
