"""`x = [item.cuda() for item in x]`: what holds tensors, each of them moved."""

from __future__ import annotations

import ast

from mpslint.patterns.calls import is_cuda_move


def moves_items(target: ast.expr, value: ast.expr) -> bool:
    """Whether an assignment of `value` to `target` moves what `target` holds, and does nothing
    else: a list, a tuple, or a dictionary."""
    if isinstance(value, ast.Call):
        made = isinstance(value.func, ast.Name) and value.func.id in ("list", "tuple")
        if not made or len(value.args) != 1 or value.keywords:
            return False
        value = value.args[0]
    if not isinstance(value, ast.ListComp | ast.GeneratorExp | ast.DictComp):
        return False
    if len(value.generators) != 1:
        return False
    (loop,) = value.generators
    if loop.ifs or loop.is_async:
        return False
    if isinstance(value, ast.DictComp):
        pair = loop.target
        return (
            isinstance(pair, ast.Tuple)
            and len(pair.elts) == 2
            and ast.dump(value.key) == _loaded(pair.elts[0])
            and _moves(value.value, pair.elts[1])
            and ast.unparse(loop.iter) == f"{ast.unparse(target)}.items()"
        )
    return _moves(value.elt, loop.target) and ast.unparse(loop.iter) == ast.unparse(target)


def _moves(node: ast.expr, item: ast.expr) -> bool:
    if not is_cuda_move(node):
        return False
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Attribute)
    return ast.dump(node.func.value) == _loaded(item)


def _loaded(name: ast.expr) -> str:
    """A name of a loop, as it is read."""
    return ast.dump(ast.Name(name.id, ast.Load())) if isinstance(name, ast.Name) else ""
