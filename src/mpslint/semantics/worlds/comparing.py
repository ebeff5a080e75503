"""What `==`, `in` and `<` say of two values, in each world."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.launched import are_several_or_not
from mpslint.semantics.worlds.machines import ALL, CPU, MAC, MACS, NVIDIA, PORTED
from mpslint.semantics.worlds.values import (
    ARRAY,
    CLASS,
    CONST,
    DEVICE,
    FUNCTION,
    HOST,
    INSTANCE,
    MAPPING,
    MODULE,
    NAME,
    NUMBERED,
    PLATFORM,
    SEQUENCE,
    SOME,
    TENSOR,
    UNKNOWN,
    AsIs,
    Atom,
    Value,
    cases_of,
    text_of,
)

Answer = list[tuple[int, bool | None]]
"""Worlds, each with what a comparison says there."""

_SOMETHING = frozenset(
    {TENSOR, MODULE, SOME, FUNCTION, CLASS, INSTANCE, SEQUENCE, MAPPING, DEVICE, ARRAY, HOST}
)
"""Kinds that are never None."""


def compare(operator: ast.cmpop, a: Atom, b: Atom, worlds: int) -> Answer:
    if isinstance(operator, ast.Eq | ast.Is):
        return equal(a, b, worlds)
    if isinstance(operator, ast.NotEq | ast.IsNot):
        return _negated(equal(a, b, worlds))
    if isinstance(operator, ast.In):
        return _member(a, b, worlds)
    if isinstance(operator, ast.NotIn):
        return _negated(_member(a, b, worlds))
    return [(worlds, _ordered(operator, a, b))]


def _negated(answers: Answer) -> Answer:
    return [(worlds, None if said is None else not said) for worlds, said in answers]


def _member(a: Atom, b: Atom, worlds: int) -> Answer:
    if b.kind == SEQUENCE:
        found: dict[int, list[bool | None]] = {}
        for item in b.v:
            for mask, atom in cases_of(item, worlds):
                for part, said in equal(a, atom, mask):
                    found.setdefault(part, []).append(said)
        if len(found) == 1:
            ((part, said_all),) = found.items()
            return [(part, _any(said_all))]
        return _any_by_part(found, worlds)
    if a.kind == DEVICE:
        # `"cuda" in str(device)`, `"cuda" in device`
        return equal(a, b, worlds)
    if is_strategy(a) and b.kind == UNKNOWN:
        return equal(a, b, worlds)  # `"deepspeed" in args.strategy`
    return [(worlds, None)]


def _any(said: list[bool | None]) -> bool | None:
    return True if True in said else None if None in said or not said else False


def _any_by_part(found: dict[int, list[bool | None]], worlds: int) -> Answer:
    """As `_any`, where the parts of the worlds overlap."""
    answers: Answer = []
    rest = worlds
    for cut in (NVIDIA, MACS, ALL & ~(NVIDIA | MACS)):
        part = rest & cut
        if part:
            said = [one for mask, all_said in found.items() if mask & part for one in all_said]
            answers.append((part, _any(said)))
    return answers or [(worlds, None)]


def _ordered(operator: ast.cmpop, a: Atom, b: Atom) -> bool | None:
    """`device_count() > 1`"""
    for asked in (a, b):
        if asked.kind == UNKNOWN and asked.v is not None:  # It is one of these constants.
            each = [Atom(CONST, item) for item in asked.v]
            pairs = [(one, b) if asked is a else (a, one) for one in each]
            said = {_ordered(operator, *pair) for pair in pairs}
            return said.pop() if len(said) == 1 else None
    left = _number(a)
    right = _number(b)
    if left is None or right is None:
        return None
    if a.kind == SOME and b.kind == CONST:
        if isinstance(operator, ast.Gt):
            return True if right < left else None
        if isinstance(operator, ast.GtE):
            return True if right <= left else None
        if isinstance(operator, ast.Lt):
            return False if right <= left else None
        return False if right < left else None
    if a.kind == SOME or b.kind == SOME:
        return None
    if isinstance(operator, ast.Gt):
        return left > right
    if isinstance(operator, ast.GtE):
        return left >= right
    if isinstance(operator, ast.Lt):
        return left < right
    return left <= right


def _number(atom: Atom) -> float | None:
    if atom.kind == SOME:
        return int(atom.v or 1)
    if atom.kind == CONST and not atom.maybe and isinstance(atom.v, int | float):
        return atom.v
    return None


def equal(a: Atom, b: Atom, worlds: int) -> Answer:
    """Whether two atoms are equal, in these worlds."""
    if b.kind == DEVICE and a.kind != DEVICE:
        a, b = b, a
    if a.kind == PLATFORM or b.kind == PLATFORM:
        return _on_platform(b if a.kind == PLATFORM else a, worlds)
    if a.kind == DEVICE:
        return _device_is(a, b, worlds)
    if a.kind == SEQUENCE or b.kind == SEQUENCE:
        return [(worlds, None)]
    if is_of_nvidia(a) or is_of_nvidia(b):
        other = a if is_of_nvidia(b) and (a.maybe or not is_of_nvidia(a)) else b
        if other.kind not in (CONST, NAME) or other.maybe:
            return [(worlds & NVIDIA, None), (worlds & ~NVIDIA, False)]
        if other.kind == CONST and not is_of_nvidia(other):
            return [(worlds, False)]  # `"gloo" == Backend.NCCL`
    for version, other in ((a, b), (b, a)):
        if version.kind == NAME and version.v == "torch.__version__" and text_of(other):
            return [(worlds, None if text_of(other)[0].isdigit() else False)]
    if is_cuda_type(a) != is_cuda_type(b):
        other = b if is_cuda_type(a) else a
        if other.kind != CONST or other.maybe:
            return [(worlds & NVIDIA, None), (worlds & ~NVIDIA, False)]
    if a.kind == CONST and b.kind == CONST:
        return [(worlds, None if a.maybe or b.maybe else a.v == b.v)]
    if b.kind != CONST:
        a, b = b, a
    if b.kind == CONST and not b.maybe:
        if a.kind == UNKNOWN and a.v is not None:
            return [(worlds, None if b.v in a.v else False)]
        if b.v is None and a.kind in _SOMETHING:
            return [(worlds, False)]
        if a.kind == SOME and isinstance(b.v, int) and b.v < (a.v or 1):
            return [(worlds, False)]
    return [(worlds, None)]


def is_of_nvidia(atom: Atom) -> bool:
    """The name of a backend, or of a strategy, that takes CUDA's devices alone."""
    return is_nccl(atom) or is_strategy(atom)


def is_strategy(atom: Atom) -> bool:
    return atom.kind == CONST and text_of(atom).startswith(facts.CUDA_STRATEGY)


def is_nccl(atom: Atom) -> bool:
    return (atom.kind == CONST and atom.v == "nccl") or (
        atom.kind == NAME and str(atom.v).endswith(".NCCL")
    )


def is_cuda_type(atom: Atom) -> bool:
    """`"torch.cuda.HalfTensor"`, as `x.type()` says of a tensor on CUDA; the class itself."""
    holder, _, last = text_of(atom).rpartition(".")
    return atom.kind in (CONST, NAME) and holder == "torch.cuda" and last in facts.TYPES


def _on_platform(other: Atom, worlds: int) -> Answer:
    if other.kind != CONST or not isinstance(other.v, str):
        return [(worlds, None)]
    name = other.v.lower()
    if name in ("darwin", "macos"):
        return [(worlds & MACS, True), (worlds & ~MACS, False)]
    if name in facts.MAC_SYSTEMS:
        return [(worlds & MACS, True), (worlds & ~MACS, None)]
    return [(worlds & MACS, False), (worlds & ~MACS, None)]


def _device_is(a: Atom, b: Atom, worlds: int) -> Answer:
    if b.kind == DEVICE:
        for known, other in ((a, b), (b, a)):
            if other.v == "?":
                return _unknown_is(known.v, worlds, device=True)
            if other.maybe:
                return _unknown_is(known.v, worlds)
        if a.v == b.v == "cuda":
            if a.made and b.made and {_is_numbered(a), _is_numbered(b)} == {True, False}:
                # Fact: torch.device("cuda:0") == torch.device("cuda") is False.
                return [(worlds, False)]
            if isinstance(a.node, AsIs) or isinstance(b.node, AsIs):
                return [(worlds, True)]
            # Off CUDA a literal "cuda" counts as repaired: it has been told of.
            return [(worlds & NVIDIA, True), (worlds & ~NVIDIA, False)]
        return [(worlds, bool(a.v == b.v))]
    if b.kind in (UNKNOWN, NAME, HOST):
        return [(worlds, None)] if a.maybe else _unknown_is(a.v, worlds, device=True)
    if b.kind == CONST:
        if b.v is None and not a.maybe:
            return [(worlds, False)]
        return [(worlds, None if a.maybe or a.v == "?" else False)]
    return [(worlds, None)]


def _is_numbered(atom: Atom) -> bool | None:
    """Whether a device of CUDA is written with the number of a GPU; None: that is worked out."""
    if atom.unread == NUMBERED:
        return True
    text = atom.node.value if isinstance(atom.node, ast.Constant) else None
    return ":" in text if isinstance(text, str) else None


def _unknown_is(backend: str, worlds: int, *, device: bool = False) -> Answer:
    """What is not known is a CUDA device only where there is CUDA. A `device` that somebody else
    chose is MPS where every choice asks for that."""
    if device and backend in ("mps", "cpu") and worlds & (PORTED | CPU):
        known: Answer = [(worlds & PORTED, backend == "mps"), (worlds & CPU, backend == "cpu")]
        rest = worlds & ~(PORTED | CPU)
        return [item for item in (*known, *_unknown_is(backend, rest)) if item[0]]
    if backend == "cuda":
        return [(worlds & NVIDIA, None), (worlds & ~NVIDIA, False)]
    if backend == "mps":
        return [(worlds & MACS, None), (worlds & ~MACS, False)]
    if backend in ("cpu", "?", "meta"):
        return [(worlds, None)]
    return [(worlds & MACS, False), (worlds & ~MACS, None)]


def asks_for_more_than_one(
    node: ast.Compare, operator: ast.cmpop, left: Value, right: Value
) -> bool | None:
    """Whether a test holds where there are several GPUs (`n_devices > 1`), or where there are not
    (`world_size == 1`), by the name of what is compared, of which nothing else is known but what it
    is where nobody says it; None for other tests."""
    if left.__class__ is not Atom or left.tests or len(node.ops) > 1:
        return None
    if left.kind != UNKNOWN and not (left.kind == CONST and left.maybe):
        return None
    if right.__class__ is not Atom or right.kind != CONST or right.v.__class__ is not int:
        return None
    asked = node.left.func if isinstance(node.left, ast.Call) else node.left
    if not matches("gpu-numbers", last_name(asked) or ""):
        return None
    return are_several_or_not(operator, right.v)


def has_no_such_gpu(node: ast.Compare, operator: ast.cmpop, left: Value, right: Value) -> bool:
    """Whether a test asks for the GPU of a number that is not known, which no Mac has:
    `torch.cuda.device_count() >= i + 1`. Whoever numbers GPUs begins with 0."""
    if len(node.ops) > 1 or not isinstance(operator, ast.GtE):
        return False
    count = [atom for _, atom in cases_of(left, MAC)]
    if not all(atom.kind == CONST and type(atom.v) is int and atom.v == 0 for atom in count):
        return False
    if not count or not all(atom.tests for atom in count):
        return False
    asked = node.comparators[0]
    if not isinstance(asked, ast.BinOp) or not isinstance(asked.op, ast.Add):
        return False
    one_more = isinstance(asked.right, ast.Constant) and asked.right.value == 1
    return one_more and all(atom.kind in (UNKNOWN, HOST) for _, atom in cases_of(right, MAC))
