"""What steps of training in other files of the project give a function: then it is as hot as what
stands in a step itself, and works on the device of what it is given."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.reads.reading_callees import is_on_device
from mpslint.semantics.steps.converting_methods import OTHERS
from mpslint.semantics.steps.given_in_steps import Arguments
from mpslint.semantics.steps.steps import TRAINING_WORDS, training, trains_itself

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.uses.called_around import CalledAround
    from mpslint.semantics.context import Context

_OF_GPUS = (b"cuda", b"mps", b"accelerat")
_PARAMETERS = ("parameters", "named_parameters")


class Stepping:
    def __init__(self, projects: Projects, modules: Modules, called: CalledAround) -> None:
        self._projects = projects
        self._modules = modules
        self._called = called
        self._training: dict[str, Whole] = {}
        """Of each project, by its head, the modules that may train: few of many."""

    def gives(self, path: str, name: str) -> tuple[Arguments, tuple[str, ...]]:
        """The arguments for which a step of training in another file gives the function `name` of
        the file at the absolute `path` a tensor of a device, and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return frozenset(), ()
        training_of = self._that_may_train(whole)
        klass, _, method = name.rpartition(".")
        sites = (
            self._called.sites_of_method(training_of, path, klass, method, TRAINING_WORDS)
            if klass
            else self._called.sites(training_of, path, name, TRAINING_WORDS)
        )
        for other, context, call in sites:
            if is_test_file(context) or not trains_itself(context):
                continue
            given = _on_device(context, call, first=1 if klass else 0)
            if given and training(context, call) is not None:
                return given, (other,)
        return frozenset(), whole.files

    def names_devices(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a module of the project, but for that at the absolute `path`, speaks of a GPU,
        and the files that this rests on."""
        whole = self._projects.of(path)
        for other in whole.modules if whole is not None else ():
            text = self._modules.text(other) or b""
            if other != path and any(word in text for word in _OF_GPUS):
                return True, (other,)
        return False, whole.files if whole is not None else ()

    def _that_may_train(self, whole: Whole) -> Whole:
        if whole.head not in self._training:
            self._training[whole.head] = whole._replace(
                modules=tuple(other for other in whole.modules if self._may_train(other))
            )
        return self._training[whole.head]

    def _may_train(self, path: str) -> bool:
        text = self._modules.text(path) or b""
        return all(any(word in text for word in group) for group in TRAINING_WORDS)


def _on_device(context: Context, call: ast.Call, first: int) -> Arguments:
    """The places, counted from `first`, and names of the arguments that lie on a device."""
    found: set[int | str] = set()
    for place, item in enumerate(call.args, first):
        if isinstance(item, ast.Starred):
            break  # What comes after it has no place that can be told.
        if _lies_there(context, item):
            found.add(place)
    found |= {item.arg or OTHERS for item in call.keywords if _lies_there(context, item.value)}
    return frozenset(found)


def _lies_there(context: Context, item: ast.expr) -> bool:
    """Whether an argument lies on a device: a tensor does so, or the parameters of what is trained,
    with their gradients (`norm_of(model.parameters())`)."""
    return is_on_device(context, item) or (
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr in _PARAMETERS
        and not item.args
        and context.placement.program_uses_devices
        and not context.values.of(item.func.value).on_cpu
    )
