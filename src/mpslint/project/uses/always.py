"""What a parameter of a function is in all calls of a project, where each of them gives a constant,
leaves it to its default, or hands on a parameter of its own of which the same is true."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.uses.defined import asked_for

if TYPE_CHECKING:
    from mpslint.project.uses.mentions import Mentions
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere, Given, Outcome

_MOST_STEPS = 3
"""So many functions hand a parameter on from one to the next."""


class Always:
    def __init__(self, mentions: Mentions, elsewhere: Elsewhere) -> None:
        self._mentions = mentions
        self._elsewhere = elsewhere
        mentions.alive.ask_calls(self.refuse)

    def refuse(
        self, path: str, given: Given, outcome: Outcome, kept: str, steps: int = _MOST_STEPS
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether somebody in the project calls what is asked about, and a test of the parameter
        comes out otherwise for all who do; and the files that this rests on. Who installs the
        project may give it something else, and who sets the attribute that keeps it (`kept`) gives
        it as well."""
        if not given.name.startswith("_"):
            published, told = self._mentions.is_published(path)
            if published:
                return False, told
        setter = self._mentions.setter(path, frozenset({kept} if kept else ()))
        if setter is not None:
            return False, (setter,)
        calls, files = self._mentions.calls(path, given, self._elsewhere)
        for context, call in calls or ():
            refused, told = self._is_refused_by(context, call, given, outcome, steps)
            files = (*files, *told)
            if not refused:
                return False, files
        return bool(calls), files

    def _is_refused_by(
        self, context: Context, call: ast.Call, given: Given, outcome: Outcome, steps: int
    ) -> tuple[bool, tuple[str, ...]]:
        if given.left_out_by(call) or self._is_never_named(context, call, given):
            # One of several ways of doing something is there to be chosen, if by nobody yet.
            is_switch = not any(isinstance(item, str) for item in outcome.compared)
            return is_switch and bool(given.default) and outcome.refuses(given.default[0]), ()
        value = given.of(call) if given.by(call) else None
        if isinstance(value, ast.Constant):
            return outcome.refuses(value.value), ()
        if not isinstance(value, ast.Name) or steps == 0:
            return False, ()
        bindings = context.names.bindings(value.id, value)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return False, ()
        parameter, default = bindings[0].node, bindings[0].value
        function = context.index.function(parameter)
        if not isinstance(function, FUNCTIONS) or not isinstance(parameter, ast.arg):
            return False, ()
        handed = asked_for(context, function, parameter)
        if handed is None or not (default is None or isinstance(default, ast.Constant)):
            return False, ()
        if default is not None:
            handed = handed._replace(default=(default.value,))
        return self.refuse(context.source.path, handed, outcome, "", steps - 1)

    def _is_never_named(self, context: Context, call: ast.Call, given: Given) -> bool:
        """Whether a call hands on what others name (`**kwargs`), and nobody in the project names
        the parameter."""
        named = {keyword.arg for keyword in call.keywords}
        if None not in named or given.parameter in named:
            return False
        if any(isinstance(item, ast.Starred) for item in call.args):
            return False
        if given.place is not None and len(call.args) > given.place:
            return False
        return not self._mentions.is_named(context.source.path, given.parameter)
