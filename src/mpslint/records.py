"""`NamedTuple` as `typing` has it, made in a third of the time.

`typing` compiles the annotation of each field, though it is text that nobody evaluates (as it is
below `from __future__ import annotations`). A check imports a hundred such classes: an eighth of
what it costs to look at one script.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    _MADE = {"__annotations__", "__module__", "__qualname__"}

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body[field] for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            made.__annotations__ = fields
            made.__qualname__ = body["__qualname__"]
            for key, value in body.items():
                if key not in _MADE and key not in fields:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """A class below this is a named tuple of the fields that it annotates."""
