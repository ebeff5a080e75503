"""What the analysis tells of: events with their worlds, which rules read."""

from __future__ import annotations

import ast
import enum

from mpslint.semantics.worlds.machines import CPU, CUDA, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.values import NO_TESTS, UNK, Tests, Value, is_bare


class Kind(enum.Enum):
    """What happened. A device, tensor or test is `Event.value`; an API is `Event.name`."""

    PLACED = "a device decides where something goes"
    KEPT = "a device goes where it cannot be followed: an attribute, a result, a module's name"
    CALLED = "a function of torch is called"
    MOVED = "`.cuda()` of a tensor or a module"
    TYPED = "a legacy CUDA tensor type is made or asked for"
    EFFECT = "the device is waited for, seeded, its memory released: what MPS has a twin of"
    CHOSEN = "a function with such an effect is chosen in a conditional, to be called later"
    AUTOCAST = "mixed precision for a type of device"
    UNCAST = "mixed precision is switched off for a type of device"
    SCALED = "a gradient scaler for a type of device"
    REFUSED = "worlds end here in an error or an exit"
    LOADED = "a checkpoint is loaded without a place for it"
    COUNTED = "something is made of the number of CUDA's devices"
    WIDE = "a tensor has a dtype that MPS lacks"
    SENT = "float64 follows a tensor of which it is not known where it is"
    MIXED = "tensors of the Apple GPU and of the CPU meet in one operator"
    FOREIGN = "an operator that is not built for MPS is given a tensor there"
    READ = "NumPy asks for the memory of a tensor"
    HANDED = "a tensor is given to what reads it as an array"
    PINNED = "memory is pinned"
    OPERATOR = "an operator or a module of torch runs on tensors"
    UNWRAPPED = "the module inside a wrapper is asked for, of one that only CUDA wraps"
    NAMED = "a device, or a dtype of 16 bits, is written out"
    OVERWRITTEN = "a device that was chosen is replaced before anything is placed with it"
    BACKEND = "a process group is given its backend"
    DECIDED = "a test of the machine decides what a Mac is left out of"


DIVIDES = "something is divided by it"
SIZES_BATCHES = "the size of a loader's batches"
SETS_RATE = "the rate at which an optimizer learns"
"""Names of what is `COUNTED`: what the number is used as, where a 0 does harm."""

HANDED_ON = "handed on"
"""The name of what is `PLACED` by what cannot be followed, where it is: it got a device."""

RAISING = frozenset({Kind.WIDE, Kind.MIXED, Kind.FOREIGN})
"""What raises on a Mac whose tensors are on its GPU."""


class Event:
    """One thing that a file does."""

    __slots__ = (
        "arm",
        "asked",
        "caught",
        "function",
        "gate",
        "kind",
        "likely",
        "name",
        "node",
        "passed",
        "refused",
        "tests",
        "use",
        "value",
        "worlds",
    )

    def __init__(
        self,
        kind: Kind,
        node: ast.AST,
        worlds: int,
        tests: Tests = NO_TESTS,
        name: str = "",
        value: Value = UNK,
        use: ast.AST | None = None,
        caught: bool = False,
        function: object = None,
        arm: int = 0,
        passed: bool = False,
        gate: ast.expr | None = None,
        refused: int = 0,
        likely: bool = False,
        asked: bool = False,
    ) -> None:
        self.kind = kind
        self.node = node
        """Where it stands: the call, the literal, the test."""
        self.worlds = worlds
        """Where control comes here."""
        self.tests = tests
        """The tests that keep the other worlds away."""
        self.name = name
        """The qualified name of the API, or of the effect."""
        self.value = value
        self.use = use
        """What uses the value that stands at `node`."""
        self.caught = caught
        """Whether an exception raised here is dealt with in the same function."""
        self.function = function
        """The function that runs, None at the top of the file."""
        self.arm = arm
        """The outermost conditional around it that tells worlds apart; 0: none."""
        self.passed = passed
        """Some way leaves the function behind it, before what only CUDA has."""
        self.gate = gate
        """The condition, as it is written, that keeps a Mac away."""
        self.refused = refused
        """Worlds that end in an error or an exit, here or before."""
        self.likely = likely
        """Somebody outside of this file may have chosen otherwise, or its use was not seen."""
        self.asked = asked
        """In an arm of a test for CUDA, whoever comes to that."""

    @property
    def call(self) -> ast.Call:
        """The call that it is; for kinds that stand at one."""
        assert isinstance(self.node, ast.Call)
        return self.node

    @property
    def moves_nothing(self) -> bool:
        """A `.cuda()` that finds no tensor: it raises nowhere."""
        return self.kind is Kind.MOVED and is_bare(self.value)

    @property
    def on_mac(self) -> bool:
        """A Mac comes here today."""
        return bool(self.worlds & MAC)

    @property
    def once_ported(self) -> bool:
        """A Mac comes here once the choices before ask for MPS."""
        return bool(self.worlds & PORTED)

    @property
    def cuda_alone(self) -> bool:
        """No Mac ever comes here."""
        return not self.worlds & MACS

    @property
    def on_cuda(self) -> bool:
        return bool(self.worlds & CUDA)

    @property
    def several_alone(self) -> bool:
        """Only a machine with several GPUs comes here."""
        return not self.worlds & ~(NVIDIA & ~CUDA)

    @property
    def on_cpu(self) -> bool:
        return bool(self.worlds & CPU)
