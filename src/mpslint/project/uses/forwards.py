"""Whether a forward pass of another file of the project runs a function: then it is as hot as what
stands in a `forward` itself, wherever it is defined."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.project.layout.whole import Projects
    from mpslint.project.uses.called_around import CalledAround

_PASS = ((b"def forward",),)


class Forwards:
    def __init__(self, projects: Projects, called: CalledAround) -> None:
        self._projects = projects
        self._called = called

    def run(self, path: str, name: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a forward pass of another file calls the function `name` of the file at the
        absolute `path`, and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return False, ()
        for other, context, call in self._called.sites(whole, path, name, _PASS):
            if context.passes.around(call) is not None:
                return True, (other,)
        return False, whole.files
