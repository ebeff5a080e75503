"""Where an expression stands that is asked for its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from mpslint.semantics.wide.bound_names import Bindings
    from mpslint.semantics.wide.class_parts import Function
    from mpslint.semantics.wide.sample_values import Value


class Scope:
    """A function of a class, with what it is given."""

    __slots__ = ("_around", "bindings", "function", "given", "klass", "known", "local")

    def __init__(
        self,
        function: Function | ast.Module | ast.ClassDef,
        klass: ast.ClassDef | None,
        bindings: Bindings,
        given: dict[str, Value | None],
    ) -> None:
        self.function, self.klass, self.bindings = function, klass, bindings
        self.given = given
        self.local: dict[str, Value | None] = {}
        """The names of comprehensions, which stand in `outer`."""
        self._around: Scope | None = None
        self.known: dict[tuple[str, int], Value | None] = {}

    def within(self, local: dict[str, Value | None]) -> Scope:
        """The same, in a comprehension."""
        inner = Scope(self.function, self.klass, self.bindings, self.given)
        inner.local = {**self.local, **local}
        inner._around = self.outer
        return inner

    @property
    def outer(self) -> Scope:
        """The function itself."""
        return self if self._around is None else self._around
