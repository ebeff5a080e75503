"""What the text that defines a name says, at a glance: before its module is parsed and run."""

from __future__ import annotations

import re

from mpslint.sources.screening import holds_one

MACHINE_WORDS = (b"cuda", b"nccl", b"mps", b"accelerator", b"nvidia", b"nvcc")
DEVICE_WORDS = (b"cuda", b"mps", b"cpu", b"device")
HELD_WORDS = (
    *(*MACHINE_WORDS, b"torch.ops", b"torch.library", b"is_initialized", b"double", b"float64"),
    *(b"import_module", b"__import__", b"exit(", b"Dataset", b"DataLoader"),
)
"""One of these stands in the text of what is, or tells, something of machines or dtypes; a dataset
says by the numbers that it gives of which dtype batches are."""
_MOVING_WORDS = (b".to(", b"device")
"""One of these stands in the text of what moves what it is given, wherever that is told."""
_CLASSES = (b"class ",)
_LAYERS = (
    *(b"Conv", b"Linear", b"Norm", b"Embedding", b"Sequential", b"Attention", b"Encoder"),
    *(b"Parameter", b"ModuleList", b"ModuleDict", b"register_"),
)
"""One of these stands in the text of most classes whose objects hold something to move: their
modules are not read to find that out."""
_KEEPING = (b"Parameter(", b"register_buffer(")
_OF_NUMPY = (b"np.", b"numpy.")
"""A class that keeps what NumPy reckons is float64 without a word of it."""
_FAR = 80
_HEADS = (b"def ", b"class ", b"async def ")
_NEXT = re.compile(rb"\n(?=[^\s#)])")
"""A line that starts with something, but for comments and the end of parameters."""
# Fact: Python's grammar, functions at the top of a module, and names.
_FUNCTION = re.compile(rb"^(?:async )?def[ \t]+(\w+)", re.M)
_NAME = re.compile(rb"\b[^\W\d]\w*\b")
_GROUPS = b"nccl"
_LOOKING = (b"import", b"find_spec")
"""Words of a function that looks for a package itself."""
_CALLS = 3
"""So many calls away from a function, in its module, a group of processes may be started."""


def held_words(*, moving: bool, empty: bool) -> tuple[bytes, ...]:
    """The words for what tells something of machines or dtypes, or, for `moving`, moves things; or,
    for `empty`, that of classes alone, as `may_say` takes it."""
    if empty:
        return _CLASSES
    return (*HELD_WORDS, *_MOVING_WORDS) if moving else HELD_WORDS


def may_say(data: bytes, name: str, words: tuple[bytes, ...]) -> bool:
    """Whether a module of this text, or one that it takes `name` from, can say of `name` what takes
    one of `words` to say."""
    said = definition_of(data, name) if name.encode("utf-8", "replace") in data else b""
    if words is _CLASSES:
        return said is None or (said.startswith(_CLASSES) and not holds_one(said, _LAYERS))
    if said is None or any(word in said for word in words):
        return True
    if said.startswith(_CLASSES) and holds_one(said, _KEEPING) and holds_one(said, _OF_NUMPY):
        return True
    return _GROUPS in words and _GROUPS in data and _leads_to_groups(data, said)


def may_lack(data: bytes, name: str, packages: tuple[bytes, ...], *, imports_kernels: bool) -> bool:
    """Whether a module of this text may have `name` on some machines alone, or a flag of this name:
    its definition names one of these packages, or it stands in for what could not be imported."""
    if name.encode("utf-8", "replace") not in data:
        return False
    said = definition_of(data, name)
    if said is None or said.startswith(b"class "):
        return False
    if said.startswith(b"def ") and not holds_one(said, _LOOKING):
        return False  # `def is_there(): return _is_there` says no more than its name.
    if holds_one(said, packages):
        return True
    return said is data and imports_kernels and b"except" in data


def _leads_to_groups(data: bytes, said: bytes) -> bool:
    """Whether the block of a function names another one of its module that names NCCL, itself or by
    way of others: `run_on` spawns `_joined`, which joins the group."""
    functions = {match[1] for match in _FUNCTION.finditer(data)}
    seen: set[bytes] = set()
    for _ in range(_CALLS):
        new = {match[0] for match in _NAME.finditer(said)} & (functions - seen)
        said = b"\n".join(definition_of(data, name.decode()) or b"" for name in sorted(new))
        if _GROUPS in said:
            return True
        seen |= new
    return False


def definition_of(data: bytes, name: str) -> bytes | None:
    """The text that defines `name` in a module, at a glance: of a function or class its block; of
    anything else that is assigned the whole module. None where it comes from another module."""
    word = name.encode("utf-8", "replace")
    assigned = False
    at = data.find(word)
    while at >= 0:
        start, end = data.rfind(b"\n", 0, at) + 1, at + len(word)
        # Far into a line nothing is defined, and to copy its beginning each time would take long.
        head = data[start:at] if at - start < _FAR else b"x"
        behind = data[end : end + 8].lstrip(b" \t")[:1]
        if head in _HEADS and behind in (b"(", b":", b"["):
            following = _NEXT.search(data, end)
            return data[start : following.start() if following else None]
        assigned = assigned or (not head.strip() and behind in (b":", b"="))
        at = data.find(word, end)
    return data if assigned else None
