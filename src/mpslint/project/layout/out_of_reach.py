"""Who answers for the rest of a project where it cannot be seen, or is not to be asked further."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.project.layout.definition_texts import MACHINE_WORDS
from mpslint.project.layout.modules import is_foreign
from mpslint.semantics.elsewhere.elsewhere import implied_by_import
from mpslint.semantics.terms.facts_known import NONE
from mpslint.semantics.terms.sought import PLAIN, Sought
from mpslint.semantics.worlds.machines import ALL

if TYPE_CHECKING:
    import ast

    from mpslint.facts.machines import Answer
    from mpslint.findings.results import Consulted
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Definition, Elsewhere, ForCuda, Given, Outcome
    from mpslint.semantics.steps.given_in_steps import Arguments
    from mpslint.semantics.syntax.fitting import Signature
    from mpslint.semantics.terms.facts_known import Facts
    from mpslint.semantics.terms.value import Value
    from mpslint.semantics.uses.config_keys import Key
    from mpslint.semantics.worlds.handed import Handed
    from mpslint.semantics.worlds.interpreter import Interpreter
    from mpslint.semantics.worlds.said import Said
    from mpslint.semantics.worlds.values import Value as WorldValue
    from mpslint.sources.source import SourceFile


class NotLookedAt:
    """Answers for who has not looked at the files of a run together."""

    def is_imported(self, path: str, *, is_module: bool = False) -> bool:
        return False

    def asks_cuda_first(self, path: str) -> bool:
        return False

    def sees_gpus_late(self, path: str) -> str:
        return ""

    def holds_back(self, path: str) -> str:
        return ""

    def helper_import(self, context: Context) -> str | None:
        return None


class OutOfReach(NotLookedAt):
    """Stands for neighbours that this machine cannot see, and notes whether anybody asked."""

    def __init__(self) -> None:
        self.asked = False

    is_full = False

    def renewed(self) -> OutOfReach:
        return self

    def release(self) -> None:
        """It knows nothing that would have to be let go of."""

    def consulted(self) -> tuple[Consulted, ...]:
        return ()

    def _note(self, qualified: str) -> None:
        self.asked = self.asked or not is_foreign(qualified)

    def tree(self, source: SourceFile) -> ast.Module:
        return source.parse()

    def definition(
        self, path: str, qualified: str, words: tuple[bytes, ...] = ()
    ) -> Definition | None:
        self._note(qualified)
        return None

    def place(self, path: str) -> str:
        self.asked = True
        return ""

    def offers(self, path: str, qualified: str) -> bool:
        self._note(qualified)
        return False

    def brings(self, path: str, module: str, package: str) -> bool:
        self._note(module)
        return False

    def signature(self, path: str, qualified: str, *, certain: bool) -> Signature | None:
        self._note(qualified)
        return None

    def imports_on(self, path: str, module: str) -> int:
        self._note(module)
        return ALL

    def held(self, path: str, qualified: str, sought: Sought = PLAIN) -> WorldValue | None:
        self._note(qualified)
        return None

    def may_hold(self, path: str, qualified: str) -> bool:
        self._note(qualified)
        return False

    def may_end(self, path: str, qualified: str) -> bool:
        self._note(qualified)
        return False

    def joins_group(self, path: str, qualified: str, said: Said) -> bool:
        self._note(qualified)
        return False

    def device(self, path: str, qualified: str, *, called: bool) -> Value | None:
        if may_be_device(qualified):
            self._note(qualified)
        return None

    def settled(self, path: str, qualified: str) -> Facts:
        self._note(qualified)
        return NONE

    def implied(self, path: str, qualified: str, outcome: bool, *, called: bool) -> Facts:
        self._note(qualified)
        return NONE

    def inherited(self, path: str, qualified: str, attribute: str, outcome: bool) -> Facts:
        self._note(qualified)
        return NONE

    def inherited_device(self, path: str, qualified: str, attribute: str) -> Value | None:
        if may_be_device(attribute):
            self._note(qualified)
        return None

    def entered(self, path: str, name: str) -> Facts:
        self.asked = True
        return NONE

    def makes_none(self, path: str, qualified: str) -> bool:
        self._note(qualified)
        return False

    def gives_text(self, path: str, given: Given) -> bool | None:
        self.asked = True
        return None

    def given(
        self, path: str, name: str, kept: frozenset[str], is_asked: bool
    ) -> list[Handed] | None:
        self.asked = True
        return None

    def calls(self, path: str, name: str) -> tuple[ast.Call | None, ...]:
        self.asked = True
        return ()

    def is_overridden(self, path: str, name: str, method: str, *, is_made: bool) -> bool:
        self.asked = True
        return False

    def uses(self, path: str, name: str, *, method: bool, alive: bool = False) -> bool:
        self.asked = True
        return True

    def why_unreached(self, path: str) -> str:
        self.asked = True
        return ""

    def for_cuda_alone(self, path: str) -> ForCuda | None:
        self.asked = True
        return None

    def is_driven(self, path: str) -> bool:
        self.asked = True
        return False

    def runs_in_forward(self, path: str, name: str) -> bool:
        self.asked = True
        return False

    def names_devices(self, path: str) -> bool:
        self.asked = True
        return False

    def learns(self, path: str, names: frozenset[str], *, by_import: bool) -> bool:
        self.asked = True
        return False

    def given_in_steps(self, path: str, name: str) -> Arguments:
        self.asked = True
        return frozenset()

    def compiled_from(self, path: str, module: str) -> str:
        self._note(module)
        return ""

    def takes(self, path: str, name: str) -> bool:
        self.asked = True
        return True

    def refuses(self, path: str, given: Given, outcome: Outcome, kept: str) -> bool:
        self.asked = True
        return False

    def reads_key(self, path: str, key: Key) -> bool:
        self.asked = True
        return not key.nested

    def gives_from_host(self, path: str, given: Given) -> bool:
        self.asked = True
        return False

    def answer_kept(self, path: str, attribute: str) -> Answer | None:
        self.asked = True
        return None

    def gives_numbers(self, path: str, asked: str | Given) -> bool:
        self.asked = True
        return False

    def changes_objects(self, path: str, name: str, attributes: frozenset[str]) -> bool:
        self.asked = True
        return True

    def shared_by_tests(self, path: str) -> list[Interpreter]:
        self.asked = True
        return []

    def gives(self, path: str, given: Given) -> bool:
        self.asked = True
        return False

    def serves_cuda_alone(self, path: str, modules: Iterable[str]) -> bool:
        for module in modules:
            self._note(module)
        return False

    def saves_from_cpu(self, path: str, file_name: str) -> bool:
        self.asked = True
        return False

    def saves_models(self, context: Context) -> bool:
        self.asked = True
        return False

    def saves_under(self, context: Context, keys: frozenset[str]) -> bool:
        self.asked = True
        return False

    def has_checkpoints_kept(self, context: Context) -> bool:
        self.asked = True
        return False

    def casts_around(self, path: str) -> bool:
        self.asked = True
        return False

    def develops(self, path: str, package: str) -> bool:
        self.asked = True
        return False

    def is_optional(self, path: str) -> bool:
        self.asked = True
        return False

    def left_behind(self, context: Context, *, alone: bool) -> str | None:
        return None


def may_be_device(qualified: str) -> bool:
    """Whether a name is that of a device, or of a function that selects one."""
    return matches("device-words", qualified.rpartition(".")[2])


class Distant(NotLookedAt):
    """What a neighbour is told of its own neighbours: devices, but not what else they make sure
    of, which would make an answer hang on the order of the questions."""

    def __init__(self, neighbours: Elsewhere) -> None:
        self._neighbours = neighbours

    def tree(self, source: SourceFile) -> ast.Module:
        return self._neighbours.tree(source)

    def definition(
        self, path: str, qualified: str, words: tuple[bytes, ...] = ()
    ) -> Definition | None:
        return self._neighbours.definition(path, qualified, words)

    def place(self, path: str) -> str:
        return self._neighbours.place(path)

    def offers(self, path: str, qualified: str) -> bool:
        return self._neighbours.offers(path, qualified)

    def brings(self, path: str, module: str, package: str) -> bool:
        return self._neighbours.brings(path, module, package)

    def signature(self, path: str, qualified: str, *, certain: bool) -> Signature | None:
        return None

    def imports_on(self, path: str, module: str) -> int:
        return ALL

    def held(self, path: str, qualified: str, sought: Sought = PLAIN) -> WorldValue | None:
        return None

    def may_hold(self, path: str, qualified: str) -> bool:
        return False

    def may_end(self, path: str, qualified: str) -> bool:
        return False

    def joins_group(self, path: str, qualified: str, said: Said) -> bool:
        return False

    def device(self, path: str, qualified: str, *, called: bool) -> Value | None:
        return self._neighbours.device(path, qualified, called=called)

    def settled(self, path: str, qualified: str) -> Facts:
        return NONE

    def implied(self, path: str, qualified: str, outcome: bool, *, called: bool) -> Facts:
        return NONE

    def inherited(self, path: str, qualified: str, attribute: str, outcome: bool) -> Facts:
        return NONE

    def inherited_device(self, path: str, qualified: str, attribute: str) -> Value | None:
        return None

    def entered(self, path: str, name: str) -> Facts:
        return NONE

    def makes_none(self, path: str, qualified: str) -> bool:
        return False

    def gives_text(self, path: str, given: Given) -> bool | None:
        return None

    def given(
        self, path: str, name: str, kept: frozenset[str], is_asked: bool
    ) -> list[Handed] | None:
        return None

    def calls(self, path: str, name: str) -> tuple[ast.Call | None, ...]:
        return ()

    def is_overridden(self, path: str, name: str, method: str, *, is_made: bool) -> bool:
        return False

    def uses(self, path: str, name: str, *, method: bool, alive: bool = False) -> bool:
        return True

    def why_unreached(self, path: str) -> str:
        return ""

    def for_cuda_alone(self, path: str) -> ForCuda | None:
        return None

    def is_driven(self, path: str) -> bool:
        return False

    def runs_in_forward(self, path: str, name: str) -> bool:
        return False

    def names_devices(self, path: str) -> bool:
        return False

    def learns(self, path: str, names: frozenset[str], *, by_import: bool) -> bool:
        return False

    def given_in_steps(self, path: str, name: str) -> Arguments:
        return frozenset()

    def compiled_from(self, path: str, module: str) -> str:
        return ""

    def takes(self, path: str, name: str) -> bool:
        return True

    def refuses(self, path: str, given: Given, outcome: Outcome, kept: str) -> bool:
        return False

    def reads_key(self, path: str, key: Key) -> bool:
        return not key.nested

    def gives_from_host(self, path: str, given: Given) -> bool:
        return False

    def answer_kept(self, path: str, attribute: str) -> Answer | None:
        return None

    def gives_numbers(self, path: str, asked: str | Given) -> bool:
        return False

    def changes_objects(self, path: str, name: str, attributes: frozenset[str]) -> bool:
        return True

    def shared_by_tests(self, path: str) -> list[Interpreter]:
        return []

    def gives(self, path: str, given: Given) -> bool:
        return False

    def serves_cuda_alone(self, path: str, modules: Iterable[str]) -> bool:
        return False

    def saves_from_cpu(self, path: str, file_name: str) -> bool:
        return False

    def saves_models(self, context: Context) -> bool:
        return False

    def saves_under(self, context: Context, keys: frozenset[str]) -> bool:
        return False

    def has_checkpoints_kept(self, context: Context) -> bool:
        return False

    def casts_around(self, path: str) -> bool:
        return False

    def develops(self, path: str, package: str) -> bool:
        return False

    def is_optional(self, path: str) -> bool:
        return False

    def left_behind(self, context: Context, *, alone: bool) -> str | None:
        return None


class OneFurther(Distant):
    """What a neighbour is told where an answer has to know as well what the flags say that it
    imports. Whoever defines these hears of devices alone."""

    def implied(self, path: str, qualified: str, outcome: bool, *, called: bool) -> Facts:
        found = self._neighbours.definition(path, qualified, MACHINE_WORDS)
        return implied_by_import(found, outcome, called=called) if found is not None else NONE
