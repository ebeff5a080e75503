"""What stands in the texts of a project, or in a file that is no module, and may name something."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE, SETTINGS, speaks_freely
from mpslint.semantics.uses.defined import is_handed_on

if TYPE_CHECKING:
    import ast

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole
    from mpslint.project.uses.taken_by_text import TakenByText
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Given


def names_in(data: bytes, word: bytes, *, prose: bool) -> bool:
    """Whether a text that is no module names something; one for people, as code is written."""
    if word not in data:
        return False
    pattern = rb"(?:\.|::?|import )%s\b|\b%s\(" if prose else rb"\b%s\b"
    escaped = re.escape(word)
    return re.search(pattern % ((escaped, escaped) if prose else escaped), data) is not None


def has_text(
    context: Context,
    name: str,
    is_other: Callable[[str], bool],
    *,
    listed: bool = True,
    is_held: Callable[[], bool] | None = None,
) -> bool:
    """Whether a string of a file ends in a name, by which somebody may look that up; one in the
    list of what the module hands on where that is `listed` for somebody. What is nothing but the
    name says nothing where nobody has the module to look in (`is_held`)."""
    return any(
        (text.value == name and _may_be_looked_up(context, text, listed, is_held))
        or (
            text.value.endswith((f".{name}", f":{name}"))
            and not is_other(text.value[: -len(name) - 1])
        )
        for text in context.index.ending(name)
        if isinstance(text.value, str)
    )


def _may_be_looked_up(
    context: Context, text: ast.Constant, listed: bool, is_held: Callable[[], bool] | None
) -> bool:
    if is_handed_on(context, text):
        return listed
    return is_held is None or is_held()


class Texts:
    """The texts of projects, as they name what a module defines."""

    def __init__(self, modules: Modules, taken: TakenByText) -> None:
        self._modules = modules
        self._taken = taken
        self._by_name: dict[tuple[str, ...], dict[str, list[str]]] = {}

    def other_owner(self, whole: Whole, path: str, name: str) -> Callable[[str], bool]:
        """Asks of what stands before a name in a text (`main`, of `"main.Net"`) whether that is
        another module of the project, which defines what has the same name."""
        own = path.removeprefix(whole.head).removesuffix(".py").split(os.sep)
        word = word_of(name)

        def is_other(owner: str) -> bool:
            stem = re.split(r"[./:]", owner.strip("./:"))[-1]
            if stem in own:
                return False
            others = self._called(whole).get(f"{stem}.py", ())
            defines = rb"^(?:class|def)[ \t]+%s\b" % re.escape(word)
            return any(
                word in data and re.search(defines, data, re.M) is not None
                for data in (self._modules.text(other) or b"" for other in others)
            )

        return is_other

    def _called(self, whole: Whole) -> dict[str, list[str]]:
        """The modules of a project by the names of their files."""
        known = self._by_name.get(whole.modules)
        if known is None:
            known = self._by_name[whole.modules] = {}
            for other in whole.modules:
                known.setdefault(os.path.basename(other), []).append(other)
        return known

    def tell(self, whole: Whole, other: str, path: str, name: str) -> bool:
        """Whether a text that is no module names something."""
        data, word = self._modules.text(other) or b"", word_of(name)
        if not names_in(data, word, prose=speaks_freely(other)):
            return False
        is_other = self.other_owner(whole, path, name)
        # A line of a script or of a cell may import it, which settings do not.
        is_free = other.endswith(SETTINGS) and not self._taken.is_held(whole.modules, path)
        return not all(
            is_free if match[1] is None else is_other(match[1].decode("utf-8", "replace"))
            for match in re.finditer(rb"(?:([\w./-]+)[.:])?(?<!\w)%s\b" % re.escape(word), data)
        )

    def gives(self, other: str, given: Given) -> bool:
        """Whether prose shows calls of something, each of which names the parameter."""
        text = (self._modules.text(other) or b"").decode("utf-8", "replace")
        calls = [
            _arguments(text, match.end())
            for match in re.finditer(rf"(?<!\w){re.escape(given.name)}\(", text)
        ]
        named = re.compile(rf"\b{re.escape(given.parameter)}\s*=")
        return other.endswith(PROSE) and bool(calls) and all(map(named.search, calls))

    def is_quoted(self, whole: Whole, other: str, path: str, name: str, *, is_open: bool) -> bool:
        """Whether a module that imports nothing names something in a text of its own. What is
        nothing but the name counts where somebody may have the module to look in (`is_open`)."""
        said = re.findall(
            rb"([\"'.:])%s[\"']" % re.escape(word_of(name)), self._modules.text(other) or b""
        )
        return bool(said) and (
            is_open or b"." in said or b":" in said or self._taken.is_held(whole.modules, path)
        )


def _arguments(text: str, start: int) -> str:
    """What stands between the brackets of a call of which the first ends at `start`."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return text[start:end]


def word_of(text: str) -> bytes:
    """A name as it stands in the bytes of a file."""
    return text.encode("utf-8", "replace")
