"""Extensions that a setup script has made by a function of its own (`make_ext(name=...)`).

The function asks for CUDA, and makes the extension of C++ alone where there is none. That does not
help where its plain sources name a `.cu` file: PyTorch compiles those by nvcc whoever the maker
is, and a build that stops at one extension installs none of the script's.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import last_name

_KERNELS = ".cu"
_MOST = 200
"""So long a name may get: no module's is longer, and a script may put itself into it."""


class _Helper(NamedTuple):
    parameters: tuple[str, ...]
    name: ast.expr
    """What it gives the extension for a name."""
    sources: frozenset[str]
    """The names in what it gives the extension for its sources, whatever it asks before."""


def names_by_helpers(tree: ast.Module, makers: tuple[str, ...]) -> Iterator[str]:
    """The whole names of the extensions that are made by functions of the script, if one of them
    has CUDA kernels among the sources that it is built from everywhere."""
    helpers = {
        item.name: helper
        for item in tree.body
        if isinstance(item, ast.FunctionDef) and (helper := _helper(item, makers)) is not None
    }
    if not helpers:
        return
    made = [
        (helpers[node.func.id], node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in helpers
    ]
    if any(_needs_nvcc(helper, _given(helper, call)) for helper, call in made):
        for helper, call in made:
            name = _text(helper.name, _given(helper, call))
            if name:
                yield name


def _helper(function: ast.FunctionDef, makers: tuple[str, ...]) -> _Helper | None:
    """What is known of a function that gives back the extension that it makes."""
    chosen = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and last_name(node.value) in makers
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        made = _made(function, node.value) if isinstance(node, ast.Return) else None
        if made is None or last_name(made.func) not in {*makers, *chosen}:
            continue
        given = dict(zip(("name", "sources"), made.args, strict=False))
        given.update({item.arg: item.value for item in made.keywords if item.arg})
        if "name" in given and "sources" in given:
            parts = ast.walk(given["sources"])
            named = frozenset(part.id for part in parts if isinstance(part, ast.Name))
            return _Helper(tuple(one.arg for one in function.args.args), given["name"], named)
    return None


def _made(function: ast.FunctionDef, value: ast.expr | None) -> ast.Call | None:
    """The call whose value a function gives back, also by a name that it binds once."""
    if isinstance(value, ast.Name):
        held = [
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            and any(isinstance(t, ast.Name) and t.id == value.id for t in node.targets)
        ]
        value = held[0].value if len(held) == 1 else None
    return value if isinstance(value, ast.Call) else None


def _given(helper: _Helper, call: ast.Call) -> dict[str, ast.expr]:
    given = dict(zip(helper.parameters, call.args, strict=False))
    given.update({item.arg: item.value for item in call.keywords if item.arg})
    return given


def _needs_nvcc(helper: _Helper, given: dict[str, ast.expr]) -> bool:
    return any(
        isinstance(part, ast.Constant) and str(part.value).endswith(_KERNELS)
        for name in helper.sources & given.keys()
        if isinstance(given[name], ast.List | ast.Tuple)
        for part in ast.iter_child_nodes(given[name])
    )


def _text(node: ast.expr, given: dict[str, ast.expr]) -> str:
    """A text that is put together from what a function is given; empty where it is not known."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.Name):
        value = given.get(node.id)
        return _text(value, {}) if value is not None else ""
    if isinstance(node, ast.JoinedStr):
        return _joined([_text(part, given) for part in node.values])
    if isinstance(node, ast.FormattedValue):
        return _text(node.value, given)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined([_text(node.left, given), _text(node.right, given)])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return _filled(_text(node.func.value, given), "{}", node.args, given)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        parts = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return _filled(_text(node.left, given), "%s", parts, given)
    return ""


def _filled(form: str, place: str, parts: list[ast.expr], given: dict[str, ast.expr]) -> str:
    texts = [_text(part, given) for part in parts]
    if form.count(place) != len(texts) or not _joined(texts):
        return ""
    for text in texts:
        form = form.replace(place, text, 1)
    return form[:_MOST]


def _joined(parts: list[str]) -> str:
    return "".join(parts)[:_MOST] if all(parts) else ""
