"""What the other files of a project give a function of one file, in each world.

Who gives a flag or a device says so in his own file: `Trainer(net, torch.cuda.is_available())`. The
files that call are run in all worlds as a check of them would; what was handed over there is kept,
and not the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.semantics.elsewhere import Given
from mpslint.semantics.worlds.handed import Handed

if TYPE_CHECKING:
    from mpslint.mentions import Mentions
    from mpslint.near import Near


class GivenAround:
    def __init__(self, mentions: Mentions, elsewhere: Near) -> None:
        self._mentions = mentions
        self._elsewhere = elsewhere

    def calls(
        self, path: str, name: str, kept: frozenset[str], *, is_asked: bool
    ) -> tuple[list[Handed] | None, tuple[str, ...]]:
        """All calls of the function or class `name` of the file at the absolute `path` by others;
        None where one of them is not seen, or sets an attribute that keeps what is given (`kept`)
        on the object itself; and the files that this rests on. Who installs the project is not
        seen, but says himself what each call `is_asked` for, as those do who are."""
        if not name.startswith("_") and not is_asked:
            published, told = self._mentions.is_published(path)
            if published:
                return None, told
        setter = self._mentions.setter(path, kept)
        if setter is not None:
            return None, (setter,)
        asked = Given(name, "", None, method=False)
        found, files = self._mentions.calls(path, asked, self._elsewhere)
        calls: list[Handed] = []
        for context, call in found or ():
            other = context.source.path
            if other == path:
                continue
            handed = context.worlds.run.handed.get(call)
            files = (*files, *self._elsewhere.rests_on(other))
            if handed is None:
                return None, files  # Nobody comes there, or it is not known what is called.
            calls.append(Handed(call, *handed).away())
        return (calls if found is not None else None), files
