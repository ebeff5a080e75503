"""What keeps float64 beside something that is made narrower on MPS: `net = Net().double()`, which
nothing moves, and `net(x)` or `train(net, x)`, where `x` is cast as it goes to the device.

On MPS the cast of the one alone gives two dtypes in one operator, on two devices at that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import is_path

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_WIDENING = {"double": "float64", "cdouble": "complex128"}
_CASTING = ("to", "type")


def companion(
    context: Context, request: ast.Call, others: Iterable[ast.Call], wide: str
) -> ast.Call | None:
    """The cast that leaves something `wide` which is used together with what `request` gives;
    `others` are the requests that are mended."""
    mended = {request, *others}
    own = _Holder.of(context, request)
    for cast in _casts(context, wide):
        if _is_mended(context, cast, mended):
            continue
        other = _Holder.of(context, cast)
        if other.text and any(
            own.is_in(context, call) and other.is_in(context, call)
            for call in _calls_of(context, own, other)
        ):
            return cast
    return None


class _Holder:
    """What holds the result of a call: a name or an attribute, or nothing but the call itself."""

    def __init__(self, call: ast.Call, text: str) -> None:
        self.call = call
        self.text = text

    @classmethod
    def of(cls, context: Context, call: ast.Call) -> _Holder:
        top: ast.AST = call
        around = context.index.parents[top]
        while _hands_on(around, top):
            top, around = around, context.index.parents[around]
        if isinstance(around, ast.Assign) and len(around.targets) == 1:
            target = around.targets[0]
            return cls(call, ast.unparse(target) if is_path(target) else "")
        if isinstance(around, ast.Expr) and isinstance(call.func, ast.Attribute):
            base = call.func.value  # `net.double()`, which casts a module where it is
            return cls(call, ast.unparse(base) if is_path(base) else "")
        return cls(call, "")

    def is_in(self, context: Context, call: ast.Call) -> bool:
        """Whether a call is one of it, of a part of it, or is given it as it is."""
        return any(self._is(context, one) for one in (*_owners(call.func), *_given(call)))

    def _is(self, context: Context, node: ast.expr) -> bool:
        if node is self.call:
            return True
        if not self.text or not is_path(node) or ast.unparse(node) != self.text:
            return False
        if not isinstance(node, ast.Name):
            return _same(context, ast.ClassDef, node, self.call)
        statement = context.index.statement(self.call)
        if isinstance(statement, ast.Expr):
            known = context.flow.reaching_name(node.id, self.call)
            return bool(known) and known == context.flow.reaching(node)
        return any(one.node is statement for one in context.flow.reaching(node))


def _hands_on(around: ast.AST, node: ast.AST) -> bool:
    """`Net().double().eval()`: what is called on a result gives it on."""
    if isinstance(around, ast.Attribute):
        return True
    return isinstance(around, ast.Call) and around.func is node


def _same(context: Context, kind: type[ast.AST], one: ast.AST, other: ast.AST) -> bool:
    return context.index.enclosing(one, kind) is context.index.enclosing(other, kind)


def _casts(context: Context, wide: str) -> Iterator[ast.Call]:
    for method, dtype in _WIDENING.items():
        for call in context.index.calls.get(method, ()) if dtype == wide else ():
            if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
                yield call
    for method in _CASTING:
        for call in context.index.calls.get(method, ()):
            if isinstance(call.func, ast.Attribute) and context.resolve(call.func) is None:
                cast = context.dtypes.cast_of_to(call)
                if cast is not None and context.dtypes.torch_dtype(cast) == wide:
                    yield call


def _is_mended(context: Context, cast: ast.Call, mended: set[ast.Call]) -> bool:
    """Whether a cast is part of a request: `Net().double().to(device)`."""
    following: ast.AST | None = cast
    while isinstance(following, ast.Call | ast.Attribute):
        if following in mended:
            return True
        following = context.index.parents.get(following)
    return False


def _calls_of(context: Context, own: _Holder, other: _Holder) -> Iterator[ast.Call]:
    """The calls that both may be part of."""
    function = context.index.function(own.call)
    around = context.index.function(other.call)
    for call in context.index.of(ast.Call):
        if call is own.call or call is other.call:
            continue
        if context.index.function(call) in (function, around):
            yield call


def _owners(function: ast.expr) -> Iterator[ast.expr]:
    """`net` and `net.encoder` of `net.encoder(x)`."""
    while isinstance(function, ast.Attribute | ast.Subscript):
        yield function
        function = function.value
    yield function


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (one.value for one in call.keywords)
