"""What the modules of a project say of the names that a file imports from them.

Answers are kept; parsed modules only for a while. What an answer rests on is told with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mpslint.findings.results import Consulted
from mpslint.project.compiled.built_extensions import BuiltExtensions
from mpslint.project.compiled.compiled_modules import compiled_from
from mpslint.project.compiled.cuda_modules import serve_cuda_alone
from mpslint.project.cuda_projects import CudaProjects
from mpslint.project.layout.definition_texts import DEVICE_WORDS, MACHINE_WORDS, held_words
from mpslint.project.layout.import_texts import apart
from mpslint.project.layout.modules import Modules
from mpslint.project.layout.near import Near
from mpslint.project.layout.out_of_reach import Distant, NotLookedAt, may_be_device
from mpslint.project.layout.stars import Stars
from mpslint.project.layout.whole import Projects
from mpslint.project.runs.imported_runs import ImportedRuns
from mpslint.project.runs.joined_groups import JoinedGroups
from mpslint.project.runs.objects_made import ObjectsMade
from mpslint.project.runs.optional_modules import OptionalModules
from mpslint.project.runs.reached import Reached
from mpslint.project.runs.shared_by_tests import SharedByTests
from mpslint.project.runs.users import Users
from mpslint.project.uses.always import Always
from mpslint.project.uses.called_around import CalledAround
from mpslint.project.uses.callees import Callees
from mpslint.project.uses.calls_elsewhere import CallsElsewhere
from mpslint.project.uses.cast_around import CastAround
from mpslint.project.uses.driven import Driven
from mpslint.project.uses.forwards import Forwards
from mpslint.project.uses.given_around import GivenAround
from mpslint.project.uses.kept_answers import KeptAnswers
from mpslint.project.uses.keys_read import KeysRead
from mpslint.project.uses.mentions import Mentions
from mpslint.project.uses.numbers_around import NumbersAround
from mpslint.project.uses.objects_around import ObjectsAround
from mpslint.project.uses.saved_around import SavedAround
from mpslint.project.uses.stepping import Stepping
from mpslint.project.uses.tried_around import TriedAround
from mpslint.semantics.elsewhere.elsewhere import (
    Definition,
    ForCuda,
    Given,
    Outcome,
    device_of_base,
    exported_device,
    implied_by_base,
    implied_by_import,
    settled_by_import,
)
from mpslint.semantics.terms.facts_known import NONE
from mpslint.semantics.terms.sought import CLASSES, PLAIN, Sought
from mpslint.semantics.worlds.registering import registers
from mpslint.semantics.worlds.values import NAME, Atom

if TYPE_CHECKING:
    import ast

    from mpslint.facts.machines import Answer
    from mpslint.semantics.context import Context
    from mpslint.semantics.steps.given_in_steps import Arguments
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.terms.facts_known import Facts
    from mpslint.semantics.terms.value import Value
    from mpslint.semantics.uses.config_keys import Key
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.values import Value as WorldValue
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

_DEPTH = 4
"""So many re-exports are followed."""
_MOST_LOOKED_AT = 20_000
"""So many files were looked at, or for: what is known of them takes some thirty megabytes."""
_Answer = TypeVar("_Answer")


class Neighbours(NotLookedAt):
    """Implements `semantics.elsewhere.Elsewhere` for files on disk."""

    asked = False  # What cannot be answered here: never.

    def __init__(self, settings: Settings, modules: Modules | None = None) -> None:
        self._settings = settings
        self.modules = modules or Modules(settings)
        self._projects = projects = Projects(settings)
        self.place = projects.place
        self._runs = ImportedRuns(self.modules, BuiltExtensions(self.modules, projects), projects)
        self._distant = Distant(self)
        self._reached = Reached(self.modules, self._runs, self._distant, self.overheard)
        near = Near(self)
        self._objects = ObjectsMade(projects, self.modules, self._runs, near, self.definition)
        self._users = Users(self.modules, self._runs, near)
        self._joined = JoinedGroups(self.modules, self._runs, self.definition, self._hear)
        self._mentions = Mentions(projects, self.modules, self._distant)
        self._driven = Driven(projects, self.modules, self._mentions, self.context)
        self._callees = Callees(projects, self.modules)
        self._always = Always(self._mentions, self._distant)
        self._given_around = GivenAround(self._mentions, self.modules, near)
        self._calls = CallsElsewhere(projects, self.modules, self._distant)
        called = CalledAround(self.modules, self._distant)
        self._forwards = Forwards(projects, called)
        self._stepping = Stepping(projects, self.modules, called)
        self._keys_read = KeysRead(projects, self.modules, self._distant)
        self._saved = SavedAround(self.modules, projects, self.context, self.overheard, self._hear)
        self._stars = Stars(self.modules, self.context, self._note)
        self._optional = OptionalModules(self.modules, self._runs, projects)
        self._kept_answers = KeptAnswers(projects, self.modules, self._distant)
        self._numbers = NumbersAround(projects, self.modules, self._mentions, self._distant)
        self._tried = TriedAround(projects, self.modules, self._distant)
        self._objects_around = ObjectsAround(projects, self.modules, self._mentions, self._distant)
        self._cast_around = CastAround(projects, self.modules, self._distant)
        self._shared = SharedByTests(settings, self.modules, self._runs, self._note, self._hear)
        self._cuda_projects = CudaProjects(projects, settings)
        self._answers: dict[tuple[object, ...], tuple[object, int]] = {}
        """With the files that they rest on: sets of files are numbers here, as in `FileSets`."""
        self._heard = [0]
        self._signed: dict[str, Consulted] = {}
        self._last = ("", "")

    def take_over(self, known: Neighbours, changed: frozenset[str]) -> None:
        """Takes over what another one knows of the same files, of which those that are `changed`
        have another text there: all that rests on none of these."""
        if self.modules.made_up != known.modules.made_up:
            return  # A name may be found in another place.
        self.modules.take_over(known.modules, changed)
        self._projects.take_over(known._projects)
        self._runs.take_over(known._runs, changed)
        self._reached.take_over(known._reached, changed)
        self._mentions.take_over(known._mentions, changed)
        others = self.modules.file_sets.of(changed)
        for key, (answer, files) in known._answers.items():
            # What is asked of a function names its file.
            if not others & files and key[3] not in changed:
                self._answers[key] = answer, files

    def consulted(self) -> tuple[Consulted, ...]:
        """What the answers since the last call rest on: the files, as they were then."""
        paths = sorted(self.files_of(self._heard[0]))
        self._heard = [0]
        self._runs.trim()
        for path in paths:
            if path not in self._signed:
                self._signed[path] = Consulted(path, *self.modules.sign(path))
        return tuple([self._signed[path] for path in paths])

    @property
    def is_full(self) -> bool:
        """Whether so much is known that a run over many projects had better begin anew."""
        return self.modules.looked_at > _MOST_LOOKED_AT

    def renewed(self) -> Neighbours:
        """One that knows nothing but what took a look through a whole project."""
        new = Neighbours(self._settings)
        new._cuda_projects.take_over(self._cuda_projects)
        return new

    def release(self) -> None:
        """Lets go of all that is known, for which the collector of cycles need not look then."""
        self._runs.release()
        vars(self).clear()

    def context(self, path: str) -> Context | None:
        """The meaning of the file at the absolute `path`; None where it cannot be read."""
        return self.modules.context(path, self._distant)

    # semantics.elsewhere.Elsewhere

    def tree(self, source: SourceFile) -> ast.Module:
        return self.modules.trees.of(source)

    def definition(
        self, path: str, qualified: str, words: tuple[bytes, ...] = ()
    ) -> Definition | None:
        path = self._absolute(path)
        for _ in range(_DEPTH):
            found, name = self._source_of(path, qualified)
            if found is None or found == path:
                return None
            starred = self._stars.given(found, name)
            if starred is not None:
                path, qualified = found, starred
                continue
            if words and not self.modules.may_say(found, name, words):
                return None
            context = self.context(found)
            bindings = context.names.module.bindings.get(name, []) if context is not None else []
            if context is None or not bindings:
                return None
            if len(bindings) > 1 or bindings[0].kind != "import" or not bindings[0].qualified:
                return Definition(context, tuple(bindings))
            path, qualified = found, bindings[0].qualified
        return None

    def offers(self, path: str, qualified: str) -> bool:
        ask = self._stars.offers
        return self._answer(path, ("offers", qualified), lambda at: ask(at, qualified), False)

    def brings(self, path: str, module: str, package: str) -> bool:
        asked = "brings", module, package
        return self._answer(path, asked, lambda path: self._stars.brings(path, *asked[1:]), False)

    def imports_on(self, path: str, module: str) -> int:
        return self._heard_of(self._runs.imports_on(self._absolute(path), module))

    def compiled_from(self, path: str, module: str) -> str:
        return self._noted(compiled_from(self.modules, self._absolute(path), module))

    def held(self, path: str, qualified: str, sought: Sought = PLAIN) -> WorldValue | None:
        path = self._absolute(path)
        for _ in range(_DEPTH):
            found, name = self._source_of(path, qualified)
            if found is None or found == path or not name:
                return None
            starred = self._stars.given(found, name)
            if starred is not None:
                path, qualified = found, starred
                continue
            if not self._may_say(found, name, sought):
                return None
            interpreter = self._runs.settled(found)
            self._hear(self._runs.rests_on(found))
            value = interpreter.frame.env.get(name) if interpreter is not None else None
            if value.__class__ is not Atom or value.kind != NAME or registers(value):
                return self._runs.as_used(found, value)
            path, qualified = found, str(value.v)
        return None

    def may_hold(self, path: str, qualified: str) -> bool:
        path = self._absolute(path)
        if self._noted(self.modules.find(path, qualified)) is not None:
            return True
        found, name = self._source_of(path, qualified)
        if found is None or found == path or not name:
            return False
        starred = self._stars.given(found, name)
        return self.may_hold(found, starred) if starred is not None else self._may_say(found, name)

    def _may_say(self, path: str, name: str, sought: Sought = CLASSES) -> bool:
        words = held_words(moving=sought.moving, empty=sought.empty)
        said = self.modules.may_say(path, name, words, classes=sought.classes)
        said = said or self._heard_of(self._runs.may_lack(path, name))
        return said or self._heard_of(self._runs.may_end(path))

    def may_end(self, path: str, qualified: str) -> bool:
        found = self._noted(self.modules.find(path := self._absolute(path), qualified))
        found = found or self._source_of(path, qualified)[0]
        may = found not in (None, path) and self._heard_of(self._runs.may_end(str(found)))
        return may or self._noted(self._users.may_start_groups(path, qualified))

    def joins_group(self, path: str, qualified: str, said: Said) -> bool:
        asked = "joins", qualified, said
        return self._answer(path, asked, lambda path: self._joined.joins(path, *asked[1:]), False)

    def device(self, path: str, qualified: str, *, called: bool) -> Value | None:
        if not may_be_device(qualified):
            return None
        question, say = ("device", qualified, called), partial(exported_device, called=called)
        return self._said_by_definition(path, question, DEVICE_WORDS, say, None)

    def settled(self, path: str, qualified: str) -> Facts:
        question, say = ("settled", qualified), settled_by_import
        return self._said_by_definition(path, question, MACHINE_WORDS, say, NONE)

    def implied(self, path: str, qualified: str, outcome: bool, *, called: bool) -> Facts:
        question = "implied", qualified, outcome, called
        say = partial(implied_by_import, outcome=outcome, called=called)
        return self._said_by_definition(path, question, MACHINE_WORDS, say, NONE)

    def inherited(self, path: str, qualified: str, attribute: str, outcome: bool) -> Facts:
        question = "inherited", qualified, attribute, outcome
        say = partial(implied_by_base, attribute=attribute, outcome=outcome)
        return self._said_by_definition(path, question, (), say, NONE)

    def inherited_device(self, path: str, qualified: str, attribute: str) -> Value | None:
        if not may_be_device(attribute):
            return None
        question, say = ("inherited device", qualified, attribute), device_of_base
        return self._said_by_definition(path, question, (), partial(say, attribute=attribute), None)

    def entered(self, path: str, name: str) -> Facts:
        return self._about("entered", path, self._users.entered, NONE, name)

    def signature(self, path: str, qualified: str, *, certain: bool) -> Signature | None:
        path = self._absolute(path)
        question, ask = ("signature", path, qualified, certain), self._callees.signature
        return self._told(question, lambda: ask(path, qualified, certain=certain), None)

    def makes_none(self, path: str, qualified: str) -> bool:
        return self._about("made", path, self._objects.none, False, qualified)

    def is_overridden(self, path: str, name: str, method: str, *, is_made: bool) -> bool:
        path = os.path.abspath(path)
        question, ask = ("overridden", path, name, method, is_made), self._mentions.overrides
        return self._told(question, lambda: ask(path, name, method, is_made=is_made), False)

    def uses(self, path: str, name: str, *, method: bool, alive: bool = False) -> bool:
        path, ask = os.path.abspath(path), self._mentions.uses
        question = "uses", path, name, method, alive
        return self._told(question, lambda: ask(path, name, method=method, alive=alive), True)

    def why_unreached(self, path: str) -> str:
        return self._about("unreached", path, self._mentions.nowhere.why, "")

    def for_cuda_alone(self, path: str) -> ForCuda | None:
        return self._about("for cuda alone", path, self._cuda_projects.include, None)

    def is_driven(self, path: str) -> bool:
        return self._about("driven", path, self._driven.includes, False)

    def runs_in_forward(self, path: str, name: str) -> bool:
        return self._about("forward", path, self._forwards.run, False, name)

    def names_devices(self, path: str) -> bool:
        return self._noted(self._stepping.names_devices(self._absolute(path)))

    def learns(self, path: str, names: frozenset[str], *, by_import: bool) -> bool:
        path = os.path.abspath(path)
        question, ask = ("learns", path, names, by_import), self._tried.learns
        return self._told(question, lambda: ask(path, names, by_import=by_import), False)

    def given_in_steps(self, path: str, name: str) -> Arguments:
        return self._about("steps", path, self._stepping.gives, frozenset(), name)

    def takes(self, path: str, name: str) -> bool:
        return self._about("takes", path, self._mentions.takes, True, name)

    def given(
        self, path: str, name: str, kept: frozenset[str], is_asked: bool
    ) -> list[Handed] | None:
        return self._about("given", path, self._given_around.calls, None, name, kept, is_asked)

    def calls(self, path: str, name: str) -> tuple[ast.Call | None, ...]:
        return self._about("calls", path, self._calls.of, (), name)

    def gives_text(self, path: str, given: Given) -> bool | None:
        return self._about("text", path, self._given_around.texts, None, given)

    def gives_from_host(self, path: str, given: Given) -> bool:
        return self._about("host", path, self._given_around.are_on_host, False, given)

    def answer_kept(self, path: str, attribute: str) -> Answer | None:
        return self._about("answer kept", path, self._kept_answers.answer, None, attribute)

    def gives_numbers(self, path: str, asked: str | Given) -> bool:
        return self._about("numbers", path, self._numbers.are, False, asked)

    def changes_objects(self, path: str, name: str, attributes: frozenset[str]) -> bool:
        return self._about("objects", path, self._objects_around.change, True, name, attributes)

    def shared_by_tests(self, path: str) -> list[Interpreter]:
        return self._shared.around(os.path.abspath(path))

    def gives(self, path: str, given: Given) -> bool:
        return self._about("gives", path, self._mentions.gives, False, given)

    def refuses(self, path: str, given: Given, outcome: Outcome, kept: str) -> bool:
        return self._about("refuses", path, self._always.refuse, False, given, outcome, kept)

    def reads_key(self, path: str, key: Key) -> bool:
        return self._about("reads key", path, self._keys_read.reads, True, key)

    def serves_cuda_alone(self, path: str, modules: Iterable[str]) -> bool:
        return self._noted(serve_cuda_alone(self.modules, self._absolute(path), modules))

    def saves_from_cpu(self, path: str, file_name: str) -> bool:
        return self._noted(self._saved.from_cpu(self._absolute(path), file_name))

    def saves_models(self, context: Context) -> bool:
        return self._noted(self._saved.models(context))

    def saves_under(self, context: Context, keys: frozenset[str]) -> bool:
        return self._noted(self._saved.under(context, keys))

    def has_checkpoints_kept(self, context: Context) -> bool:
        return self._noted(self._saved.by_lightning(context))

    def casts_around(self, path: str) -> bool:
        return self._about("casts", path, self._cast_around.includes, False)

    def develops(self, path: str, package: str) -> bool:
        return self._noted(self.modules.made_around(self._absolute(path), package))

    def is_optional(self, path: str) -> bool:
        return self._noted(self._optional.includes(self._absolute(path)))

    def left_behind(self, context: Context, *, alone: bool) -> str | None:
        return self._heard_of(self._reached.left_behind(context, alone=alone))

    def overheard(self, ask: Callable[[], _Answer]) -> tuple[_Answer, int]:
        """An answer, and the set of the files that it rests on."""
        self._heard.append(0)
        try:
            answer = ask()
        finally:
            heard = self._heard.pop()
            self._hear(heard)
        return answer, heard

    def files_of(self, files: int) -> list[str]:
        return self.modules.file_sets.paths(files)

    def _absolute(self, path: str) -> str:
        """A path from the root; a file asks for many names, one after another."""
        if path != self._last[0]:
            self._last = path, os.path.abspath(path)
        return self._last[1]

    def _answer(
        self,
        path: str,
        question: tuple[object, ...],
        ask: Callable[[str], _Answer],
        nothing: _Answer,
    ) -> _Answer:
        """What `ask` says of a file in this folder, which says the same of all others there, but
        for those that import as a program does."""
        path = self._absolute(path)
        key = (os.path.dirname(path), self.modules.is_script_of_package(path), *question)
        known = self._answers.get(key)
        if known is None:
            self._heard.append(0)
            try:
                answer = ask(path)
            except RecursionError:
                # A neighbour's depth is not the fault of the file that asks: nothing is known.
                answer = nothing
            finally:
                heard = self._heard.pop()
            known = self._answers[key] = (answer, heard)
        self._hear(known[1])
        return known[0]  # type: ignore[return-value]  # what `ask` gave for this key

    def _said_by_definition(
        self,
        path: str,
        question: tuple[object, ...],
        words: tuple[bytes, ...],
        say: Callable[[Definition], _Answer],
        nothing: _Answer,
    ) -> _Answer:
        """What the definition of the name that the question is about says."""

        def ask(path: str) -> _Answer:
            found = self.definition(path, str(question[1]), words)
            return say(found) if found is not None else nothing

        return self._answer(path, question, ask, nothing)

    def _told(
        self,
        question: tuple[object, ...],
        look: Callable[[], tuple[_Answer, Iterable[str]]],
        nothing: _Answer,
    ) -> _Answer:
        """What a look gives that says itself which files it rests on; the question names its own
        file behind what is asked."""
        return self._answer(str(question[1]), question, lambda _: self._noted(look()), nothing)

    def _about(
        self,
        kind: str,
        path: str,
        look: Callable[..., tuple[_Answer, Iterable[str]]],
        nothing: _Answer,
        *asked: object,
    ) -> _Answer:
        """What a look gives that is told the absolute path of the file, and what is asked of it."""
        path = os.path.abspath(path)
        return self._told((kind, path, *asked), lambda: look(path, *asked), nothing)

    def _note(self, paths: Iterable[str]) -> None:
        self._hear(self.modules.file_sets.of(paths))

    def _noted(self, told: tuple[_Answer, Iterable[str]]) -> _Answer:
        """An answer with the files that it rests on."""
        self._note(told[1])
        return told[0]

    def _heard_of(self, told: tuple[_Answer, int]) -> _Answer:
        self._hear(told[1])
        return told[0]

    def _hear(self, files: int) -> None:
        self._heard[-1] |= files

    def _source_of(self, path: str, qualified: str) -> tuple[str | None, str]:
        """The file of the module that a name comes from, and what it is called there."""
        module, name = apart(qualified)
        return self._noted(self.modules.find(path, module)), name
