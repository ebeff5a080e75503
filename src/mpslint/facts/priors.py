"""What is only likely: what the name of a package, a function, a variable or a file means.

`priors.json` holds the rows, in sections: a section says what it looks at (`looks_at`), how a row
becomes a regular expression (`pattern`; without one a row is the very name), how far what follows
reaches (`scope`: a test, a value, a call, a block, a function, a file, a module, a project), and
why (`reason`). A row may say its own scope and reason, and what it means where the section knows
several answers (`says`). With a `source` it is a fact about a library; without, a guess. A guess
carries what it was worth when it was last switched off by itself (`measured`): the number of
repositories with another finding, how many findings it held back, and how many it made.

Nothing of the kind stands in code, where a test looks for it: what `semantics`, `rules` and
`patterns` match by a regular expression is text of Python's, torch's or another library's making.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from typing import Any

from mpslint.facts.data import read_file, read_section
from mpslint.facts.machines import ANSWERS, MAYBE_ON_CUDA, Answer
from mpslint.facts.without_torch import is_without_torch, reads_arrays
from mpslint.records import NamedTuple

FILE = "priors.json"
_SHARE = "share"


class Prior(NamedTuple):
    """One row."""

    section: str
    match: str
    says: str
    """What it means, where its section knows several answers: `cuda`, the name of a question."""
    scope: str
    reason: str
    source: str
    """Where it is written down; empty: nowhere, it is a guess."""

    def __str__(self) -> str:
        return f"{self.section}/{self.match}"


class _Patterns:
    """The expressions of a section. Most names are matched by no row, so one of all rows is asked
    first, and those of single rows are compiled where it matches."""

    def __init__(self, spelled: dict[str, Prior], flags: re.RegexFlag) -> None:
        self._spelled = spelled
        self._flags = flags
        alone = len(spelled) == 1
        self.any = re.compile("|".join(x if alone else f"(?:{x})" for x in spelled), flags)

    @cached_property
    def each(self) -> tuple[tuple[re.Pattern[str], Prior], ...]:
        return tuple((re.compile(text, self._flags), row) for text, row in self._spelled.items())


_rows: dict[str, dict[str, Prior]] = {}
_patterns: dict[str, _Patterns | None] = {}


def _of(section: str) -> dict[str, Prior]:
    known = _rows.get(section)
    if known is None:
        table = read_section(FILE, section)
        said = {key: table.get(key, "") for key in ("says", "scope", "reason", "source")}
        known = _rows[section] = {
            match: _prior(section, match, {**said, **row}) for match, row in table["rows"].items()
        }
    return known


def _prior(section: str, match: str, row: dict[str, Any]) -> Prior:
    return Prior(section, match, row["says"], row["scope"], row["reason"], row["source"])


def _compiled(section: str) -> _Patterns | None:
    """None for a section whose rows are the very names."""
    if section not in _patterns:
        table, rows = read_section(FILE, section), _of(section)
        made = None
        if "pattern" in table and rows:
            flags = re.IGNORECASE if table["ignore_case"] else re.RegexFlag(0)
            spelled = {table["pattern"].replace("{}", match): rows[match] for match in rows}
            made = _Patterns(spelled, flags)
        _patterns[section] = made
    return _patterns[section]


@lru_cache(65536)
def _matching(section: str, name: str) -> tuple[Prior, ...]:
    patterns = _compiled(section)
    if patterns is None:
        row = _of(section).get(name)
        return (row,) if row is not None else ()
    if patterns.any.search(name) is None:
        return ()
    return tuple(row for pattern, row in patterns.each if pattern.search(name))


_hearing: set[Prior] | None = None


def find(section: str, name: str) -> Prior | None:
    """The first row of a section that matches a name."""
    found = _matching(section, name)
    if not found:
        return None
    if _hearing is not None and (len(found) == 1 or found[1].says != found[0].says):
        _hearing.add(found[0])  # Without it the answer would be another.
    return found[0]


def matches(section: str, name: str | None) -> bool:
    """Whether a row of a section matches a name; no name is matched by none."""
    return name is not None and find(section, name) is not None


def rows(*sections: str) -> list[Prior]:
    """The rows of these sections, or all."""
    names = sections or tuple(name for name in read_file(FILE) if name != "measured")
    return [row for name in names for row in _of(name).values()]


def expressions(section: str) -> list[re.Pattern[str]]:
    """What a section's rows are looked for with."""
    patterns = _compiled(section)
    return [pattern for pattern, _ in patterns.each] if patterns is not None else []


# rows by themselves


@contextmanager
def heard() -> Iterator[set[Prior]]:
    """The rows that decide something inside: without one of them an answer would be another."""
    global _hearing
    before, _hearing = _hearing, set()
    try:
        yield _hearing
    finally:
        _hearing = before


@contextmanager
def without(*left_out: Prior) -> Iterator[None]:
    """The rows are not there, in this process."""
    tables = {
        section: read_section(FILE, section)["rows"]
        for section in sorted({row.section for row in left_out})
    }
    kept = {section: dict(table) for section, table in tables.items()}
    for row in left_out:
        del tables[row.section][row.match]
    _forget(*tables)
    try:
        yield
    finally:
        for section, table in tables.items():
            table.clear()
            table.update(kept[section])
        _forget(*tables)


def _forget(*sections: str) -> None:
    """Empties what was made of the rows of these sections."""
    for section in sections:
        _rows.pop(section, None)
        _patterns.pop(section, None)
    _matching.cache_clear()
    _known_worlds.cache_clear()
    package_names.cache_clear()
    called_packages.cache_clear()


# questions


def package_worlds(module: str) -> str | None:
    """The machines that can have a package: `cuda`; None: any."""
    # Who hears which rows decide has to be told of them each time.
    return _known_worlds(module) if _hearing is None else _package_worlds(module)


def _package_worlds(module: str) -> str | None:
    if module.startswith("."):
        last = module.rpartition(".")[2]  # `from ._ext import f`, `from . import _C`
        row = find("own-kernels", last) if last.startswith("_") else None
    else:
        first, _, rest = module.partition(".")
        second = f"{first}.{rest.partition('.')[0]}" if rest else first
        last = rest.rpartition(".")[2]
        row = find("packages", module) if rest else None  # a part of torch that is gone
        for name in (first, second):
            row = row or find("packages", name) or find("own-kernels", name)
        if last.startswith("_"):
            row = row or find("own-kernels", last)  # `importlib.import_module("mmcv._ext")`
    return row.says if row is not None else None


_known_worlds = lru_cache(4096)(_package_worlds)


@cache
def package_names() -> tuple[bytes, ...]:
    """The names of these packages, as they stand in a text."""
    return tuple(row.match.encode() for row in rows("packages", "own-kernels"))


def least_share() -> float | None:
    """From which share of its programs on that need CUDA a project is for CUDA alone."""
    row = find("cuda-projects", _SHARE)
    return float(row.says) if row is not None else None


def decorator_worlds(name: str, keywords: tuple[str, ...] = ()) -> str | None:
    """The machines that a decorator of this name, with these keywords, leaves a function."""
    for word in (name, *keywords):
        row = find("decorators", word)
        if row is not None:
            return row.says
    return None


def helper_answer(name: str) -> Answer | None:
    """What a helper of a well-known library that asks the machine says, by its last name."""
    row = find("helpers", name)
    if row is not None:
        return ANSWERS[row.says]
    if name.startswith("is_") and name.endswith("_available"):
        # `is_xformers_available()`: as the package.
        if package_worlds(name[3:-10]) is not None:
            return MAYBE_ON_CUDA
    return None


def answer_by_text(name: str, text: str) -> Answer | None:
    """What a function that is given one text says, where it asks by it whether something is there:
    CUDA (`is_backend_available("cuda")`), what is for CUDA by its name, a package."""
    if not matches("questions", name):
        return None
    if text == "cuda":
        return ANSWERS["torch.cuda.is_available"]
    if package_worlds(text) is not None or definition_worlds(text) == "cuda":
        return MAYBE_ON_CUDA
    return None


def asks(section: str, name: str) -> str | None:
    """The question of torch's that a helper or a flag stands for, by its last name."""
    row = find(section, name)
    return row.says if row is not None else None


def names_device(name: str | None) -> bool:
    """Whether a name (of a variable, a parameter, a key, a function) is that of a device."""
    return matches("device-names", name)


def names_process(name: str) -> bool:
    """Whether a name is that of the number of a process, one for each GPU."""
    return matches("process-names", name)


def places_elsewhere(name: str) -> bool:
    """Whether what is called belongs to a library that has devices of its own, and no MPS."""
    return matches("other-devices", name.lstrip(".").partition(".")[0])


def is_set_by_libraries(name: str) -> bool:
    """Whether a library looks for modules that have an attribute of this name, and sets it."""
    return matches("attributes-set-by-libraries", name)


def holds_without_mps(name: str) -> bool:
    """Whether the data of an imported package, or of what is imported of it, has no way to MPS."""
    *packages, last = name.split(".")
    # A package hands on what those inside it define: each of them has it under the same name.
    around = (".".join((*packages[:size], last)) for size in range(len(packages), 0, -1))
    return matches("data-without-mps", (packages or [last])[0]) or any(
        matches("data-without-mps", one) for one in around
    )


@cache
def attributes_without_mps() -> dict[str, bool]:
    """The attributes of data that have no way to MPS; whether nothing else has such a one."""
    return {row.match: row.says == "alone" for row in rows("attributes-of-data-without-mps")}


@cache
def makers_without_mps(*, whole: bool) -> tuple[str, ...]:
    """What makes data that have no way to MPS, by the qualified name of what is called: all that a
    data set gives (`whole`), or one thing, which may stay where it is."""
    return tuple(row.match for row in rows("makers-without-mps") if (row.says == "whole") == whole)


def falls_back(name: str) -> bool:
    """Whether what is called takes the CPU by itself where it is given a device that is not
    there."""
    return matches("falling-back", name)


@cache
def frameworks_without_mps() -> tuple[str, ...]:
    """The packages that run models on a device that they choose, which is never MPS."""
    return tuple(row.match for row in rows("frameworks-without-mps"))


def makes_config(name: str | None) -> bool:
    """Whether what is called makes an object whose attributes are the items that it is given."""
    return matches("config-makers", name)


def understood(package: str) -> bool:
    """Whether it is known what a package does with tensors on MPS."""
    return (
        matches("understood-packages", package)
        or package_worlds(package) is not None
        or is_without_torch(package)
    )


def understood_part(name: str) -> str | None:
    """What is known of a part of a package that as a whole is not understood, by its qualified
    name: `keeps`, `any`; None: nothing. The longest of the names that fit decides. Between a
    package and what it holds there may be modules of its own: `torch_geometric.nn.conv.gcn_norm`
    is `torch_geometric.nn.gcn_norm`. All that a module has (`*`) is known where no part of it is
    known to be otherwise."""
    if name.endswith(".*"):
        module = name.removesuffix("*")
        beside = [row.match for row in rows("understood-parts") if row.says != "any"]
        if any(match.startswith(module) for match in beside):
            return None
        name = module.removesuffix(".")
    parts = name.split(".")
    for end in range(len(parts), 1, -1):
        for inner in range(end - 1, 0, -1):
            row = find("understood-parts", ".".join((*parts[:inner], parts[end - 1])))
            if row is not None:
                return None if row.says == "doubt" else row.says
    return None


def computes_on_host(package: str) -> bool:
    """Whether the functions of a package raise for a tensor that is not on the CPU."""
    row = find("understood-packages", package)
    if row is not None:
        return row.says == "host"
    return package_worlds(package) is None and reads_arrays(package)


def names_request(name: str) -> bool:
    """Whether a switch of this name, or this word, asks for CUDA."""
    return matches("requests", name)


def is_environment(name: str) -> bool:
    """Whether a call makes an environment that gives rewards by NumPy."""
    return matches("environments", name)


def wide_of(name: str) -> str | None:
    """What comes of a call as float64, though nobody says so: a `dtype`, or all that an `object`
    computes."""
    row = find("wide", name)
    return row.says if row is not None else None


@cache
def wide_words() -> tuple[bytes, ...]:
    """Words without which no file calls any of these."""
    names = [row.match.removesuffix(".value").rpartition(".")[2] for row in rows("wide")]
    return tuple(name.encode() for name in dict.fromkeys(names))


def kernels_of(name: str) -> str | None:
    """The machines for which the operators of a package are built, by the name of what is called:
    `cuda`, or `any` for the CPU as well; None: nothing is known against MPS."""
    while name:
        row = find("kernels", name)
        if row is not None:
            return row.says
        name = name.rpartition(".")[0]
    return None


@cache
def extension_operators() -> frozenset[str]:
    """Functions of packages that have kernels for the CPU and for CUDA alone."""
    return frozenset(row.match for row in rows("extension-operators"))


def definition_worlds(name: str) -> str | None:
    """The machines that a function or class is for, as its name says."""
    row = find("definitions", name)
    return row.says if row is not None else None


def call_worlds(name: str) -> str | None:
    """The machines on which a call makes sense: `cuda`; None: any."""
    row = find("calls", name)
    return row.says if row is not None else None


@cache
def called_packages() -> frozenset[str]:
    """The packages, other than torch, of which some calls make sense on some machines alone."""
    return frozenset(row.match.partition(".")[0] for row in rows("calls")) - {"torch"}
