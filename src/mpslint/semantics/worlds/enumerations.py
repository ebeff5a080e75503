"""Members of enumerations: what one of them is compared with is the same member, or another."""

from __future__ import annotations

from mpslint.records import NamedTuple
from mpslint.semantics.worlds.state import Class
from mpslint.semantics.worlds.values import CONST, UNKNOWN, Atom, cases_of

# Fact: Python's library reference, the module `enum`. Members of the others equal plain numbers.
_BASES = frozenset({"enum.Enum"})
_ENUMERATIONS = _BASES | {"enum.StrEnum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"}


class Member(NamedTuple):
    """A member of an enumeration. Nothing can bind its name anew, and it equals itself alone."""

    enumeration: str
    name: str


def member_of(cls: Class, name: str) -> Atom | None:
    """What `State.READY` is; None where the class is no enumeration of plain values: a member whose
    value is a device is taken for that device."""
    if not cls.parents and not _BASES.isdisjoint(cls.bases) and len(cls.node.bases) == 1:
        sites = cls.sites.get(name, {})
        if set(sites) == {0} and all(
            atom.kind in (CONST, UNKNOWN) for _, atom in cases_of(sites[0])
        ):
            return Atom(CONST, Member(cls.node.name, name))
    return None


def is_enumeration(cls: Class) -> bool:
    """Whether its attributes are members, each with the value that it was given for good."""
    return not _ENUMERATIONS.isdisjoint(cls.bases)
