"""What a pickle says, read without executing any of it.

The operations are followed on a stack of plain values. What would import or call something becomes
a `Made`, which holds the name and the arguments: nothing is imported, nothing is called, and no
memory is taken that the file itself does not fill.
"""

from __future__ import annotations

import pickletools
from typing import Any, NamedTuple

_MOST_OPERATIONS = 2_000_000


class NotRead(ValueError):
    """No pickle, or one that is not followed to its end."""


class Name(NamedTuple):
    """Something importable: `module name`."""

    text: str

    @property
    def last(self) -> str:
        return self.text.replace(".", " ").rpartition(" ")[2]


class Table(list[Any]):
    """A dictionary: key, value, key, value ..."""


class Made:
    """What a call would have made: its function, arguments, state and items."""

    __slots__ = ("arguments", "function", "items", "state")

    def __init__(self, function: Any, arguments: Any) -> None:
        self.function, self.arguments = function, arguments
        self.state: Any = None
        self.items = Table()

    @property
    def name(self) -> str:
        return self.function.last if isinstance(self.function, Name) else ""


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = {
    "INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE",
    "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8",
}  # fmt: skip
_EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": list, "EMPTY_DICT": Table, "EMPTY_SET": list}
_COLLECTED = {"LIST": list, "TUPLE": list, "DICT": Table, "FROZENSET": list}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_ADDED = {"APPEND": 1, "SETITEM": 2}
_PUTS = {"PUT", "BINPUT", "LONG_BINPUT"}
_GETS = {"GET", "BINGET", "LONG_BINGET"}
_NOTHING = {"PROTO", "FRAME", "READONLY_BUFFER"}


def read(data: bytes) -> Any:
    """The value that a pickle describes. Raises `NotRead`."""
    try:
        return _Machine().run(data)
    except (ValueError, IndexError, KeyError, AttributeError, TypeError, OverflowError) as error:
        raise NotRead(str(error)) from None


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[Any, Any] = {}

    def run(self, data: bytes) -> Any:
        for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
            if count > _MOST_OPERATIONS:
                raise NotRead("too long")
            if operation.name == "STOP":
                return self.stack[-1]
            self._do(operation.name, argument)
        raise NotRead("no end")

    def _marked(self) -> list[Any]:
        start = self.marks.pop()
        found = self.stack[start:]
        del self.stack[start:]
        return found

    def _taken(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise NotRead("not enough on the stack")
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def _do(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _VALUES:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name == "MARK":
            self.marks.append(len(stack))
        elif name in _COLLECTED:
            stack.append(_COLLECTED[name](self._marked()))
        elif name in _TUPLES:
            stack.append(self._taken(_TUPLES[name]))
        elif name in ("APPENDS", "ADDITEMS", "SETITEMS"):
            self._add(self._marked())
        elif name in _ADDED:
            self._add(self._taken(_ADDED[name]))
        elif name in _PUTS:
            self.memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in _GETS:
            stack.append(self.memo[argument])
        elif name not in _NOTHING:
            self._make(name, argument)

    def _add(self, values: list[Any]) -> None:
        target = self.stack[-1]
        (target.items if isinstance(target, Made) else target).extend(values)

    def _make(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name == "GLOBAL":
            stack.append(Name(str(argument)))
        elif name == "STACK_GLOBAL":
            stack.append(Name(" ".join(map(str, self._taken(2)))))
        elif name in ("REDUCE", "NEWOBJ"):
            stack.append(Made(*self._taken(2)))
        elif name == "NEWOBJ_EX":
            function, arguments, _ = self._taken(3)
            stack.append(Made(function, arguments))
        elif name in ("INST", "OBJ"):
            values = self._marked()
            function = Name(str(argument)) if name == "INST" else values.pop(0)
            stack.append(Made(function, values))
        elif name == "BUILD":
            (state,) = self._taken(1)
            if isinstance(stack[-1], Made):
                stack[-1].state = state
        elif name == "BINPERSID":
            stack.append(Made(Name("persistent"), self._taken(1)[0]))
        elif name == "POP":
            self._taken(1)
        elif name == "POP_MARK":
            self._marked()
        elif name == "DUP":
            stack.append(stack[-1])
        else:
            raise NotRead(f"holds {name}")
