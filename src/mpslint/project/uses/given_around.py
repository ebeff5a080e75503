"""What the other files of a project give a function of one file, in each world.

Who gives a flag or a device says so in his own file: `Trainer(net, torch.cuda.is_available())`. The
files that call are run in all worlds as a check of them would; what was handed over there is kept,
and not the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.project.uses.calls_beside import calls_beside
from mpslint.semantics.destinations.sure_devices import is_text, surely_device
from mpslint.semantics.elsewhere.elsewhere import Given
from mpslint.semantics.operands.left_on_host import lies_on_host
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.worlds.handed import Handed

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.near import Near
    from mpslint.project.uses.mentions import Mentions


class GivenAround:
    def __init__(self, mentions: Mentions, modules: Modules, elsewhere: Near) -> None:
        self._mentions = mentions
        self._modules = modules
        self._elsewhere = elsewhere

    def calls(
        self, path: str, name: str, kept: frozenset[str], is_asked: bool
    ) -> tuple[list[Handed] | None, tuple[str, ...]]:
        """All calls of the function or class `name` of the file at the absolute `path` by others;
        None where one of them is not seen, or sets an attribute that keeps what is given (`kept`)
        on the object itself; and the files that this rests on. Who installs the project is not
        seen, but says himself what each call `is_asked` for, as those do who are."""
        if not self._mentions.may_run(path):
            return None, ()
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

    def are_on_host(self, path: str, given: Given) -> tuple[bool, tuple[str, ...]]:
        """Whether other files call the function of the file at the absolute `path`, and all of them
        give an array, or a tensor that was left on the CPU, for the parameter; and the files that
        this rests on. Who installs the project is not seen, and what tests give is made up."""
        if not given.name.startswith("_"):
            published, told = self._mentions.is_published(path)
            if published:
                return False, told
        found, files = self._mentions.calls(path, given, self._elsewhere)
        others = [
            (context, call)
            for context, call in found or ()
            if context.source.path != path and not is_test_file(context)
        ]
        for context, call in others:
            files = (*files, *self._elsewhere.rests_on(context.source.path))
            value = given.of(call)
            if value is None or not lies_on_host(context, value, call):
                return False, files
        return bool(others), files

    def texts(self, path: str, given: Given) -> tuple[bool | None, tuple[str, ...]]:
        """Whether somebody calls what is asked about with a text for the parameter; None where that
        is not known of each call; and the files that this rests on. Of a project whose head is not
        known the modules of the folder, and of the one above, are asked."""
        calls, files = self._mentions.calls(path, given, self._elsewhere)
        is_known = calls is not None
        if calls is None:
            calls, looked = calls_beside(self._modules, self._elsewhere, path, given.name)
            files = (*files, *looked)
        for context, call in calls:
            value = given.of(call)
            if value is None:
                is_known = is_known and given.left_out_by(call)
            elif is_text(context, value):
                return True, files
            elif not surely_device(context, value):
                is_known = False
        return False if is_known else None, files
