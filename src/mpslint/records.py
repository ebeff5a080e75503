"""`NamedTuple` as `typing` has it, made in a tenth of the time.

`typing` compiles the annotation of each field, though it is text that nobody evaluates (as it is
below `from __future__ import annotations`), and `collections` compiles what makes an object, for
each class anew. A check imports more than a hundred such classes: an eighth of what it costs to
look at one script.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter

    _makers = {}
    """By the number of fields: what makes an object of so many, whatever their names are."""

    class _Record(tuple):
        """What all named tuples can do."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}  # noqa: RUF012 - as `collections.namedtuple` has it

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **named):
            made = self._make(map(named.pop, self._fields, self))
            if named:
                raise ValueError(f"Got unexpected field names: {list(named)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            fields = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({fields})"

        def __getnewargs__(self):
            return tuple(self)

    def _maker(fields, defaults):
        """The `__new__` of a class with these fields: one that was compiled for so many, with the
        names of these."""
        known = _makers.get(len(fields))
        if known is None:
            names = ", ".join(f"_{number}" for number in range(len(fields)))
            given = f"lambda _cls{names and ', '}{names}"
            code = f"{given}: _new(_cls, ({names}{',' if len(fields) == 1 else ''}))"
            known = _makers[len(fields)] = eval(code, {"_new": tuple.__new__})
        code = known.__code__.replace(co_name="__new__", co_varnames=("_cls", *fields))
        return FunctionType(code, known.__globals__, "__new__", defaults)

    class _Maker(type):
        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            annotations = body.get("__annotations__", {})
            fields = tuple(annotations)
            defaults = {field: body[field] for field in fields if field in body}
            made = {
                "__doc__": f"{name}({', '.join(fields)})",
                **{key: value for key, value in body.items() if key not in defaults},
                "__slots__": (),
                "__match_args__": fields,
                "_fields": fields,
                "_field_defaults": defaults,
                "__new__": _maker(fields, tuple(defaults.values())),
            }
            for at, field in enumerate(fields):
                made[field] = _tuplegetter(at, f"Alias for field number {at}")
            return type(name, (_Record,), made)

    class NamedTuple(metaclass=_Maker):
        """A class below this is a named tuple of the fields that it annotates."""
