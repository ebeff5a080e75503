"""Batches that a data set makes float64: what `__getitem__` hands out that is a number of Python's
with a point, or an array of NumPy's own dtype, is a float64 tensor once a loader has put it into a
batch, and no move takes that to MPS.

Where nobody knows what is handed out it may be such a number, unless the program shows that it is
none: what it gives to a network, or to a loss that takes whole numbers, runs nowhere in float64.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.facts import batches
from mpslint.halfway.batch_moves import ALL, EVERY, PARTS, Known, Move, Turn, is_cast
from mpslint.halfway.unread_arrays import NOT_MOVED
from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.wide.sample_values import ANY, PLAIN, WIDE

if TYPE_CHECKING:
    from mpslint.semantics.wide.class_parts import Function
    from mpslint.semantics.wide.sample_kinds import Key

_WIDE = f"is float64 as {{}} hands it out, which {NOT_MOVED}"
_DOUBTFUL = f"may be float64 as {{}} hands it out, which {NOT_MOVED}"
KINDS: frozenset[type[ast.AST]] = frozenset({ast.For})
"""The kinds of nodes that are asked for."""
_FOREIGN = ("torch", "torchvision", "torchaudio", "numpy", "tqdm", "itertools", "datasets")
_STEPS = 12
"""So many names are followed to a data set."""

Wide = dict[str, dict["Key", str]]
"""The data sets by name, with the parts that may be float64."""


def may_hand_out(text: bytes) -> bool:
    """Whether a text may define such a data set."""
    return b"class " in text and (b"__getitem__" in text or b"__iter__" in text)


def may_take(text: bytes) -> bool:
    """Whether a text may move what a loader gives."""
    return b"for " in text and (b".to(" in text or b".cuda(" in text)


def collates(text: bytes) -> bool:
    """Whether batches may be put together by the program itself, which is not followed."""
    return b"collate_fn" in text


def handed_out(tree: ast.Module) -> Wide:
    """The data sets of a file."""
    from mpslint.semantics.wide.sample_kinds import SampleKinds

    return SampleKinds(tree).handed_out()


class Loops:
    """The loops of a file over batches."""

    def __init__(
        self,
        tree: ast.Module,
        loops: Iterable[ast.AST],
        wide: Wide,
        functions_of: Callable[[str], list[Function]],
        is_loss: Callable[[str], bool],
        has_casts: Callable[[], bool],
    ) -> None:
        """`functions_of` gives the functions and methods of a name, `is_loss` tells whether a name
        is that of a loss whose target is no float64, and `has_casts` whether a network of the
        program casts what it is given."""
        self._tree = tree
        self._wide = wide
        self._loops = [one for one in loops if isinstance(one, ast.For)]
        self._given = _given(tree)
        self._functions_of = functions_of
        self._has_casts = has_casts
        known = Known(self._functions, is_loss, networks(tree))
        self._turns = [(one, self._turn(one, known)) for one in self._loops]

    def exact(self) -> set[Key]:
        """The parts that are no float64, since what takes them would raise."""
        return set().union(*(turn.exact for _, turn in self._turns))

    def fed(self) -> set[Key]:
        """The parts that a network is given."""
        return set().union(*(turn.fed for _, turn in self._turns))

    def taken(self, *, is_collated: bool) -> Iterator[tuple[Move, str, bool, str]]:
        """The moves in a loop of what may be float64, with the reason, whether that is no
        more than a doubt, and the data set; `is_collated`: by the program itself, where nothing
        else is known."""
        exact, fed = self.exact(), self.fed()
        for loop, turn in self._turns:
            moves = {(one.row, one.text): one for one in turn.moves}.values()
            named = self._data_sets(loop.iter) if moves else None
            if named is None and is_collated:
                continue
            for move in moves:
                for name, parts in self._wide.items():
                    if named is not None and name not in named:
                        continue
                    for key, kind in parts.items():
                        if not _is_meant(move, key) or _is_known(key, exact):
                            continue
                        is_fed = kind == ANY and _is_known(key, fed) and not self._has_casts()
                        if kind == ANY and not is_fed:
                            yield move, f"{move.text} {_DOUBTFUL.format(name)}", True, name
                        elif kind in (PLAIN, WIDE):
                            yield move, f"{move.text} {_WIDE.format(name)}", False, name

    def _turn(self, loop: ast.For, known: Known) -> Turn:
        turn = Turn(known, dict(_named(loop)))
        turn.follow(loop.body)
        return turn

    def _functions(self, function: ast.expr) -> list[Function]:
        name = last_name(function) or ""
        found = self._functions_of(name) if name else []
        return found if len(found) == 1 else []

    def _data_sets(self, over: ast.expr) -> set[str] | None:
        """The data sets whose batches a loop goes over; None: nobody knows."""
        found: set[str] = set()
        seen: set[str] = set()
        todo = [over]
        while todo:
            node = todo.pop()
            for name in _names_in(node):
                if name in self._wide:
                    found.add(name)
                elif name not in seen:
                    seen.add(name)
                    given = self._given.get(name)
                    if given is None or len(seen) > _STEPS:
                        return None
                    todo += given
            for call in walk(node):
                if isinstance(call, ast.Call) and any(
                    one.arg == "collate_fn" for one in call.keywords
                ):
                    return set()
        return found


def _is_meant(move: Move, key: Key) -> bool:
    if move.key == EVERY or (move.key == PARTS and not isinstance(key, str)):
        return True
    if isinstance(key, str) or isinstance(move.key, str):
        return move.key == key
    return move.key[1] == key[1] and move.key[0] in (0, key[0])


def _is_known(key: Key, among: set[Key]) -> bool:
    return key in among or (not isinstance(key, str) and (0, key[1]) in among)


def _named(loop: ast.For) -> Iterator[tuple[str, Key]]:
    """The names that a loop gives the parts of a batch, also below a number of the turn, and of
    several loaders at once."""
    target = loop.target
    calls = names_in(loop.iter)
    if isinstance(target, ast.Tuple) and len(target.elts) == 2:
        if "enumerate" in calls or (isinstance(target.elts[1], ast.Tuple) and "zip" not in calls):
            target = target.elts[1]
    elif "enumerate" in calls:
        return
    is_several = "zip" in calls and isinstance(target, ast.Tuple)
    for batch in target.elts if is_several and isinstance(target, ast.Tuple) else [target]:
        if isinstance(batch, ast.Name):
            yield batch.id, ALL
        elif isinstance(batch, ast.Tuple | ast.List):
            for at, item in enumerate(batch.elts):
                if isinstance(item, ast.Name):
                    yield item.id, (len(batch.elts), at)


def _names_in(node: ast.expr) -> Iterator[str]:
    """The names in an expression, an attribute as it is spelled."""
    todo: list[ast.AST] = [node]
    while todo:
        one = todo.pop()
        if isinstance(one, ast.Call):
            if isinstance(one.func, ast.Attribute):
                todo.append(one.func.value)
            else:
                todo.append(one.func)
            todo += [part for part in one.args if not isinstance(part, ast.Constant)]
            # An option says nothing of the data.
            todo += [part.value for part in one.keywords if part.arg in (None, "dataset")]
        elif isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            spelled = ast.unparse(one)
            yield spelled if spelled.startswith("self.") else spelled.partition(".")[0]
        elif isinstance(one, ast.Subscript):
            todo.append(one.value)
        elif isinstance(one, ast.expr | ast.comprehension):
            todo += list(ast.iter_child_nodes(one))


def _given(tree: ast.Module) -> dict[str, list[ast.expr]]:
    """What the names of a file may stand for, wherever they are given it; those of packages and of
    Python's own stand for nothing that is asked about. What is missing is unknown."""
    found: dict[str, list[ast.expr]] = {
        name: []
        for name in ("enumerate", "iter", "len", "list", "zip", "range", "reversed", "next")
    }
    unknown: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if isinstance(one, ast.Name | ast.Attribute):
                        found.setdefault(ast.unparse(one), []).append(node.value)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in _FOREIGN:
                    found.setdefault((alias.asname or alias.name).partition(".")[0], [])
        elif isinstance(node, ast.ImportFrom) and not node.level:
            if (node.module or "").partition(".")[0] in _FOREIGN:
                for alias in node.names:
                    found.setdefault(alias.asname or alias.name, [])
        elif isinstance(node, ast.arguments):
            unknown |= {one.arg for one in explicit_parameters(node)}
    return {name: given for name, given in found.items() if name not in unknown}


def networks(tree: ast.Module) -> frozenset[str]:
    """What a file treats as a network: it asks for its parameters, or trains it."""
    found: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in batches.MODULES_ALONE:
            if isinstance(node.value, ast.Name | ast.Attribute):
                found.add(ast.unparse(node.value))
    return frozenset(found)


def losses_of(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names that a file gives a loss whose target is no float64, and those that it gives
    something else."""
    sure: set[str] = set()
    other: set[str] = set()
    for node in walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        made = node.value
        while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
            if not isinstance(made.func.value, ast.Call):
                break
            made = made.func.value  # `nn.NLLLoss().to(device)`
        function = made.func if isinstance(made, ast.Call) else made
        name = last_name(function) or ""
        for target in node.targets:
            if isinstance(target, ast.Name | ast.Attribute):
                spelled = target.attr if isinstance(target, ast.Attribute) else target.id
                if name in batches.TARGETS:
                    sure.add(spelled)
                elif isinstance(made, ast.Call):
                    other.add(spelled)
    return sure, other


def has_casts(tree: ast.Module) -> bool:
    """Whether a network of a file casts what it is given first: `def forward(self, x): x.float()`;
    the others are masks mostly."""
    for node in walk(tree):
        if isinstance(node, FUNCTIONS) and node.name == "forward":
            names = {one.arg for one in node.args.args[1:2]}
            for one in walk(node):
                if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
                    owner = one.func.value
                    if isinstance(owner, ast.Name) and owner.id in names and is_cast(one):
                        return True
    return False


def functions_in(tree: ast.Module) -> dict[str, list[Function]]:
    """The functions and the methods of a file by name."""
    found: dict[str, list[Function]] = {}
    for node in walk(tree):
        if isinstance(node, FUNCTIONS):
            found.setdefault(node.name, []).append(node)
    return found
