"""Ways to write a program differently that change nothing for it.

Each is a function of a parsed module and gives the text of the same program in other words, or
None where it does not apply.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import count

from mpslint.facts import priors

Transformation = Callable[[ast.Module], "str | None"]

_PRIORS = re.compile(
    "|".join(
        f"(?:{expression.pattern})"
        for section in (
            "device-names",
            "process-names",
            "definitions",
            "decorators",
        )
        for expression in priors.expressions(section)
    ),
    re.I,
)
_SPOKEN_OF = frozenset(row.match for row in priors.rows("helpers", "flags"))
_DEVICE = re.compile(r"dev|cuda|gpu|mps|cpu|accel|nccl|(^|_)rank", re.I)
NEUTRAL = re.compile(r"\bneutral_(\w+?)_x\b")
"""A neutral name carries the old one, so that findings can be compared."""


# names


_NAMED = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.ExceptHandler,
    ast.MatchAs,
    ast.MatchStar,
)


def _bound(tree: ast.Module) -> set[str]:
    """Names that the file binds, other than by an import."""
    found: set[str | None] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, _NAMED):
            found.add(node.name)
    return {name for name in found if name}


def _kept(tree: ast.Module) -> set[str]:
    """Names that others know: attributes, keywords, imports, texts, fields, methods."""
    found: set[str] = {"self", "cls", "pytestmark", "main", "forward", "_"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            found.add(node.arg)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(re.findall(r"\w+", node.value))
        elif isinstance(node, ast.ClassDef):
            for item in node.body:
                found |= {name for name in _names_of(item) if name}
    return found


def _names_of(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name):
                    yield node.id


def _is_spoken_of(name: str) -> bool:
    return (
        name in _SPOKEN_OF
        or name.startswith(("__", "test", "Test", "neutral_"))
        or (name.startswith("is_") and name.endswith("_available"))
        or bool(_PRIORS.search(name) or _DEVICE.search(name))
    )


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        self.generic_visit(node)
        return node

    def _named(self, node: ast.AST) -> ast.AST:
        name = getattr(node, "name", None)
        if name is not None:
            node.name = self.names.get(name, name)  # type: ignore[attr-defined]
        self.generic_visit(node)
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _named
    visit_ExceptHandler = visit_MatchAs = visit_MatchStar = _named

    def _declared(self, node: ast.Global | ast.Nonlocal) -> ast.AST:
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    visit_Global = visit_Nonlocal = _declared


def renamed(tree: ast.Module) -> str | None:
    """Local names, functions and classes have neutral names."""
    names = {
        name: f"neutral_{name}_x"
        for name in sorted(_bound(tree) - _kept(tree))
        if not _is_spoken_of(name)
    }
    if not names:
        return None
    return ast.unparse(_Rename(names).visit(tree))


def renamed_blankly(tree: ast.Module) -> str | None:
    """As `renamed`, to `n1`, `n2`: nothing of the old name is left."""
    names = {
        name: f"n{at}"
        for at, name in enumerate(sorted(_bound(tree) - _kept(tree)))
        if not _is_spoken_of(name)
    }
    return ast.unparse(_Rename(names).visit(tree)) if names else None


# branches


class _Turn(ast.NodeTransformer):
    def __init__(self) -> None:
        self.changed = False

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        if _is_main(node.test):
            return node
        self.changed = True
        node.test = ast.UnaryOp(ast.Not(), node.test)
        node.body, node.orelse = node.orelse or [ast.Pass()], node.body
        return node


def _is_main(test: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id in ("__name__", "TYPE_CHECKING")
        for node in ast.walk(test)
    )


def turned(tree: ast.Module) -> str | None:
    """`if a: X else: Y` reads `if not a: Y else: X`."""
    turn = _Turn()
    text = ast.unparse(ast.fix_missing_locations(turn.visit(tree)))
    return text if turn.changed else None


class _Lists(ast.NodeTransformer):
    """Replaces statements in the lists that they stand in."""

    def __init__(self) -> None:
        self.changed = False
        self.numbers = count()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                setattr(node, field, [new for old in body for new in self.replaced(old)])
        return node

    def replaced(self, node: ast.stmt) -> list[ast.stmt]:
        raise NotImplementedError

    def fresh(self) -> str:
        self.changed = True
        return f"asked_{next(self.numbers)}"


class _NameConditions(_Lists):
    def replaced(self, node: ast.stmt) -> list[ast.stmt]:
        if not isinstance(node, ast.If) or _is_main(node.test):
            return [node]
        if any(isinstance(part, ast.NamedExpr | ast.Await) for part in ast.walk(node.test)):
            return [node]
        name = self.fresh()
        named = ast.Assign([ast.Name(name, ast.Store())], node.test)
        node.test = ast.Name(name, ast.Load())
        return [named, node]


def conditions_named(tree: ast.Module) -> str | None:
    """`if cond:` reads `asked = cond` and `if asked:`."""
    name = _NameConditions()
    text = ast.unparse(ast.fix_missing_locations(name.visit(tree)))
    return text if name.changed else None


class _Untern(_Lists):
    def replaced(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Assign | ast.Return) and isinstance(node.value, ast.IfExp):
            self.changed = True
            chosen = node.value
            arms: list[list[ast.stmt]] = []
            for value in (chosen.body, chosen.orelse):
                new: ast.stmt = (
                    ast.Return(value)
                    if isinstance(node, ast.Return)
                    else ast.Assign([*node.targets], value)
                )
                arms.append(self.replaced(new))
            return [ast.If(chosen.test, *arms)]
        return [node]


def ternaries_written_out(tree: ast.Module) -> str | None:
    """`x = a if c else b` reads `if c: x = a` `else: x = b`, and likewise a `return`."""
    spell = _Untern()
    text = ast.unparse(ast.fix_missing_locations(spell.visit(tree)))
    return text if spell.changed else None


class _Tern(_Lists):
    def replaced(self, node: ast.stmt) -> list[ast.stmt]:
        if (
            isinstance(node, ast.If)
            and len(node.body) == len(node.orelse) == 1
            and isinstance(yes := node.body[0], ast.Assign)
            and isinstance(no := node.orelse[0], ast.Assign)
            and len(yes.targets) == len(no.targets) == 1
            and isinstance(yes.targets[0], ast.Name)
            and ast.dump(yes.targets[0]) == ast.dump(no.targets[0])
        ):
            self.changed = True
            return [ast.Assign(yes.targets, ast.IfExp(node.test, yes.value, no.value))]
        return [node]


def ternaries_made(tree: ast.Module) -> str | None:
    """`if c: x = a` `else: x = b` reads `x = a if c else b`."""
    make = _Tern()
    text = ast.unparse(ast.fix_missing_locations(make.visit(tree)))
    return text if make.changed else None


# imports


def torch_aliased(tree: ast.Module) -> str | None:
    """`import torch` reads `import torch as th`."""
    plain = [
        alias
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.asname is None and alias.name.partition(".")[0] == "torch"
    ]
    if not plain or any(alias.name != "torch" for alias in plain):
        return None
    for alias in plain:
        alias.asname = "th"
    return ast.unparse(_Rename({"torch": "th"}).visit(tree))


class _Shorten(ast.NodeTransformer):
    def __init__(self, member: str) -> None:
        self.member = member
        self.changed = False

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if (
            isinstance(node.value, ast.Name)
            and node.value.id == "torch"
            and node.attr == self.member
            and isinstance(node.ctx, ast.Load)
        ):
            self.changed = True
            return ast.Name(self.member, ast.Load())
        self.generic_visit(node)
        return node


def _member_imported(member: str, tree: ast.Module) -> str | None:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | _bound(tree)
    imports = [
        (at, node)
        for at, node in enumerate(tree.body)
        if isinstance(node, ast.Import)
        and any(alias.name == "torch" and alias.asname is None for alias in node.names)
    ]
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    if not imports or member in names | imported:
        return None
    shorten = _Shorten(member)
    tree = shorten.visit(tree)
    if not shorten.changed:
        return None
    new = ast.ImportFrom("torch", [ast.alias(member)], 0)
    tree.body.insert(imports[0][0] + 1, new)
    return ast.unparse(ast.fix_missing_locations(tree))


def cuda_imported(tree: ast.Module) -> str | None:
    """`from torch import cuda`, and `torch.cuda.x` reads `cuda.x`."""
    return _member_imported("cuda", tree)


def nn_imported(tree: ast.Module) -> str | None:
    """`from torch import nn`, and `torch.nn.x` reads `nn.x`."""
    return _member_imported("nn", tree)


def backends_imported(tree: ast.Module) -> str | None:
    """`from torch import backends`, and `torch.backends.x` reads `backends.x`."""
    return _member_imported("backends", tree)


# exits


class _Elses(ast.NodeTransformer):
    def __init__(self) -> None:
        self.changed = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(node, ast.FunctionDef) and isinstance(body, list):
            node.body = self._moved(body)
        return node

    def _moved(self, body: list[ast.stmt]) -> list[ast.stmt]:
        for at, item in enumerate(body[:-1]):
            if (
                isinstance(item, ast.If)
                and not item.orelse
                and isinstance(item.body[-1], ast.Return | ast.Raise)
            ):
                self.changed = True
                item.orelse = self._moved(body[at + 1 :])
                return body[: at + 1]
        return body


def dead_ends_written_out(tree: ast.Module) -> str | None:
    """What follows a branch that leaves stands in its `else`."""
    move = _Elses()
    text = ast.unparse(ast.fix_missing_locations(move.visit(tree)))
    return text if move.changed else None


# what is beside it


def _appended(text: str) -> Transformation:
    def append(tree: ast.Module) -> str:
        return ast.unparse(tree) + "\n\n" + text

    return append


_UNRELATED = {
    "code": "def sum_of_both(left, right):\n    return left + right\n\n\n"
    "class Unrelated:\n    accelerator = 1\n\n"
    "    def area(self):\n        return self.accelerator * 2\n",
    "a comment": "# timestamps, damps and clamps; cuda, mps\n",
    "a text": 'TITLE = "the mps and the cuda of it"\n',
    "frameworks of tests": "import unittest\nimport pytest\n",
    "an accelerator": "print(unrelated.accelerator)\n",
}
APPENDED = {f"{what} is appended": _appended(text) for what, text in _UNRELATED.items()}
"""Each of these alone; most files are tried with all of them together."""
WRITTEN: dict[str, Transformation] = {
    "names are neutral": renamed,
    "names say nothing": renamed_blankly,
    "branches are turned": turned,
    "conditions are named first": conditions_named,
    "ternaries are statements": ternaries_written_out,
    "statements are ternaries": ternaries_made,
    "what follows an exit is its else": dead_ends_written_out,
    "torch has another name": torch_aliased,
    "cuda is imported from torch": cuda_imported,
    "nn is imported from torch": nn_imported,
    "backends is imported from torch": backends_imported,
    "what is unrelated is appended": _appended("\n\n".join(_UNRELATED.values())),
}
