"""The order of a cast and a copy to the CPU: `x.double().cpu()` becomes `x.cpu().double()`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.text import holds_comment, insert, replace_span
from mpslint.semantics.destinations.destinations import device_argument
from mpslint.semantics.syntax.expressions import is_path

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MESSAGE = "Copy first, cast on the CPU"


def cast_on_host(
    context: Context, cast: ast.Call, host: ast.Call, dtype: ast.expr | None
) -> Fix | None:
    """Put `cast` behind `host`, the copy to the CPU; they are the same call in `.to("cpu", dtype)`.

    None where comments or odd layout stand between.
    """
    source = context.source
    if not isinstance(cast.func, ast.Attribute) or not isinstance(host.func, ast.Attribute):
        return None
    base_end = source.span(cast.func.value)[1]
    cast_end, host_end = source.span(cast)[1], source.span(host)[1]
    if holds_comment(source, base_end, host_end):
        return None
    if cast is host:
        if dtype is None or len(cast.args) + len(cast.keywords) != 2:
            return None
        device = device_argument(context, cast)
        # A name of the device says where the rest goes as well.
        named = device is not None and is_path(device)
        copied = f".to({source.segment(device)})" if device is not None and named else ".cpu()"
        text = f"{copied}.to({source.segment(dtype)})"
        edits: tuple[Edit, ...] = (replace_span(source, base_end, cast_end, text),)
        return Fix(_MESSAGE, edits, Applicability.SAFE)
    first = context.name_token(cast.func)[0]
    if host.func.value is cast:
        second = context.name_token(host.func)[0]
        edits = (
            replace_span(source, first, cast_end, source.text[second:host_end]),
            replace_span(source, second, host_end, source.text[first:cast_end]),
        )
        return Fix(_MESSAGE, edits, Applicability.SAFE)
    if "\n" in source.text[base_end:host_end]:
        return None
    edits = (
        replace_span(source, base_end, cast_end, ""),
        insert(host_end, source.text[base_end:cast_end]),
    )
    return Fix(_MESSAGE, edits, Applicability.SAFE)
