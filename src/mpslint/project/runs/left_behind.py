"""What stays on the CPU, or raises, once tensors are on a Mac's GPU: in the modules that a file
leads to, as far as something of it is named on the way.

A selection that is opened for MPS lets tensors come to code that was never asked for it: a move
that is made only where `is_cuda` holds, an array of float64 that follows the device of a tensor.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from mpslint.basics.brief import brief
from mpslint.model import Applicability, Severity
from mpslint.patterns.default_device import has_counterpart, makes_cuda_default
from mpslint.patterns.moves import move_level
from mpslint.patterns.read_to import is_read_to
from mpslint.project.layout.modules import is_foreign
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.closed_names import closed_names
from mpslint.semantics.destinations.copied_on_cuda import copied_on_cuda
from mpslint.semantics.destinations.followed_on_cuda import followed_on_cuda
from mpslint.semantics.operands.kernels_by_name import kernels_by_name
from mpslint.semantics.operands.lacking_kernels import lacking_kernels
from mpslint.semantics.operands.uneven_pools import SPEAKING_OF_POOLS, uneven_pools
from mpslint.semantics.syntax.expressions import asked_for_type, is_main_block, root_name
from mpslint.semantics.syntax.index import FUNCTIONS, below, walk
from mpslint.semantics.syntax.parameters import required_parameters
from mpslint.semantics.wide.typed_by_name import SPEAKING_OF_TYPES, raising_types, typed_by_name
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.harm import harms
from mpslint.semantics.worlds.machines import MACS
from mpslint.sources.files import spoken_path

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from mpslint.model import Finding
    from mpslint.semantics.context import Context

KERNELS = "MPS5"
"""Codes of the rules about operators that MPS has no kernel for."""
MOST_MODULES = 200
"""So many modules are looked at for one file, which are nearly all that programs lead to: with 48,
33 of 39 safe fixes in one library rested on what stood in the others."""
SPEAKING = (
    b"cuda",
    b"float64",
    b"double",
    b"from_numpy",
    b"as_tensor",
    *SPEAKING_OF_POOLS,
    *SPEAKING_OF_TYPES,
)
"""Words without which a module leaves nothing behind, beside those of what is wide by itself."""
MADE_OF_NUMBERS = (b"numpy", b".tensor(")
"""Words of a module in which NumPy's numbers, which are float64, may become tensors."""
STAYS = "is moved only where CUDA is"
DEFAULTS = "is the default only where CUDA is"
LASTING = "is the default only where CUDA is, and no fix sets one for MPS"
STAYING = frozenset({STAYS, DEFAULTS, LASTING})
"""What keeps on the CPU what would go to CUDA."""
UNEVEN = "raises on MPS unless the size of what it is given is a multiple"
WIDE = "would be float64 on MPS"
BY_NAME = "asks for a type by its name, which raises on MPS"
CLOSED, OPEN = "fails for a device named mps", "has no arm for a device named mps"
COPIED = "is copied to the CPU only where CUDA is"
KERNEL = "has no MPS kernel in a torch that is supported"
DEFAULT = "makes every float float64"
_RUN_BY_OTHERS = frozenset(
    {"forward", "training_step", "validation_step", "test_step", "predict_step"}
    # Fact: torch_geometric/data/dataset.py and nn/conv/message_passing.py call these of a class.
    | {"process", "message", "aggregate", "message_and_aggregate"}
)
"""Methods that somebody else calls for an object of the class."""
_MAX_TEXT = 60
_FEW = 4
"""From so many arguments on calls are not told apart."""


def lacks_kernel(finding: Finding) -> bool:
    """Whether a finding says that an operator raises for what is on MPS."""
    return finding.code.startswith(KERNELS) and finding.severity is Severity.BREAKS


class Place(NamedTuple):
    """Where something stays on the CPU, or raises, beside tensors on MPS."""

    path: str
    """As messages name it."""
    row: int
    line: str
    """The row as people read it; in a notebook with its cell."""
    text: str
    why: str
    is_mended: bool = False
    """A safe fix of that file will mend it, where it is fixed as well."""
    is_sent: bool = False
    """It goes where a tensor is of which nothing more is known."""

    @property
    def reason(self) -> str:
        return f"{self.path}, {self.line}: {self.text} {self.why}"


class Part(NamedTuple):
    """Code that runs as a whole, by name: a function, a method, what a class or a module does."""

    owner: str
    """The class; empty: none."""
    name: str
    """The function; empty: none."""
    first: int
    last: int
    names: frozenset[str]
    """All names that it uses; of what is called as an attribute, with up to three arguments,
    `.name` and `name/3`."""
    is_table: bool = False
    """A table of things of which somebody will choose one."""
    needs: int = 0
    """So many arguments a function takes at least; of many it is not told how many."""

    @property
    def called(self) -> tuple[str, ...]:
        """What somebody uses who may run it. An object has a method (`net.train()`); a function is
        a module's, and is not called with fewer arguments than it needs."""
        if self.owner:
            return self.name, f".{self.name}"
        return self.name, *(f"{self.name}/{number}" for number in range(self.needs, _FEW))

    @property
    def is_run_unnamed(self) -> bool:
        """Whether it runs where its class, or its module, does, without anybody who names it."""
        by_python = self.name.startswith("__") or self.name in _RUN_BY_OTHERS
        return not self.name or (bool(self.owner) and by_python)

    def is_run(self, names: set[str]) -> bool:
        """Whether somebody who uses these names may run it."""
        if self.owner and names.isdisjoint((self.owner, f".{self.owner}")):
            return False
        return self.is_run_unnamed or not names.isdisjoint(self.called)


class Seen(NamedTuple):
    """How a module is read."""

    foreign: Container[str] = frozenset({"torch"})
    """Names of packages that no project defines, and of what is theirs."""
    gone: Container[int] = frozenset()
    """The rows in which nothing is moved to CUDA any more."""
    own: Container[str] = frozenset()
    """Names of variables, which stand for nothing that another module defines."""

    @classmethod
    def of(cls, tree: ast.Module, gone: Container[int] = frozenset()) -> Seen:
        foreign, own = _imported_and_own(tree)
        return cls(foreign, gone, own)


TORCH = Seen()
"""For who asks what a module is made of, and not what that uses."""


def places(context: Context) -> Iterator[Place]:
    """What a file leaves behind, and no fix has mended yet."""
    worlds = context.worlds
    for event in worlds.moves_without_twin:
        is_default = makes_cuda_default(context, event.node)
        if (event.arm or is_default) and not event.on_mac and not event.caught:
            call = event.node
            if is_default:
                yield _place(context, call, DEFAULTS if has_counterpart(context, call) else LASTING)
                continue
            if is_read_to(context, call):
                continue
            level = move_level(context, call) if isinstance(call, ast.Call) else None
            yield _place(context, call, STAYS, is_mended=level is Applicability.SAFE)
    for call in followed_on_cuda(context):
        yield _place(context, call, STAYS)
    for harm in harms(worlds, (Kind.WIDE,)):
        yield _place(context, harm.node, WIDE)
    for call in context.calls_of("torch.set_default_dtype", "torch.set_default_tensor_type"):
        if worlds.run.default_dtype == "float64" and worlds.reach(call) & MACS:
            yield _place(context, call, DEFAULT)
    for event in worlds.events(Kind.SENT):
        if not event.caught:
            yield _place(context, event.node, WIDE)._replace(is_sent=True)
    for call in uneven_pools(context):
        if worlds.reach(call) & MACS:
            yield _place(context, call, UNEVEN)._replace(is_sent=True)
    mended = [call for call in raising_types(context) if asked_for_type(call.args[0]) is not None]
    for call in typed_by_name(context):
        if worlds.reach(call) & MACS:
            yield _place(context, call, BY_NAME, is_mended=call in mended)._replace(is_sent=True)
    for node in closed_names(context):
        yield _place(context, node, OPEN if isinstance(node, ast.If) else CLOSED)._replace(
            is_sent=True
        )
    for call in copied_on_cuda(context):
        yield _place(context, call, COPIED)._replace(is_sent=True)
    for call, _ in lacking_kernels(context):
        if worlds.on_mps(call):
            yield _place(context, call, KERNEL)._replace(is_sent=True)
    for node in kernels_by_name(context):
        if worlds.on_mps(node):
            yield _place(context, node, KERNEL)._replace(is_sent=True)


def _place(context: Context, node: ast.AST, why: str, *, is_mended: bool = False) -> Place:
    text = brief(context.source.segment(node), _MAX_TEXT)
    row = context.source.position(context.source.span(node)[0])[0]
    path = spoken_path(context.source.path, context.settings.root)
    return Place(path, row, context.line(node), text, why, is_mended)


def parts(tree: ast.Module, seen: Seen = TORCH) -> list[Part]:
    """What a module is made of, but for what it does as a program."""
    found: list[Part] = []
    loose: list[ast.stmt] = []
    for statement in tree.body:
        if isinstance(statement, FUNCTIONS):
            found.append(_part("", statement.name, statement, [statement], seen))
        elif isinstance(statement, ast.ClassDef):
            rest: list[ast.AST] = [*statement.bases, *statement.decorator_list]
            for item in statement.body:
                if isinstance(item, FUNCTIONS):
                    found.append(_part(statement.name, item.name, item, [item], seen))
                else:
                    rest.append(item)
                    found.append(_part(statement.name, "", item, [item], seen))
            first, last = _head(statement)
            found.append(Part(statement.name, "", first, last, used(rest, seen)))
        elif not is_main_block(statement):
            loose.append(statement)
    return [*found, *(_loose(one, seen) for one in loose)]


def _head(statement: ast.ClassDef) -> tuple[int, int]:
    """The rows of what a class is derived from and marked with, which only its users come to."""
    return _top(statement), max(statement.lineno, _top(statement.body[0]) - 1)


def _loose(statement: ast.stmt, seen: Seen) -> Part:
    """What an import does; what only gives something a name, alone or in a table, matters to those
    who use that name."""
    name, is_table = "", False
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        value = statement.value
        if not any(isinstance(node, ast.Call) for node in below(value)):
            name = statement.targets[0].id
            is_table = isinstance(value, ast.Dict | ast.List | ast.Tuple | ast.Set)
    last = statement.end_lineno or statement.lineno
    return Part("", name, statement.lineno, last, used([statement], seen), is_table)


def programs(tree: ast.Module, seen: Seen = TORCH) -> list[Part]:
    """What a file does when it is run by itself: below its test of `__name__`, else by calls that
    stand at its top; empty for one that only defines things."""
    main = [one for one in tree.body if is_main_block(one)]
    loose = [one for one in tree.body if not isinstance(one, (*FUNCTIONS, ast.ClassDef))]
    if not main and not any(_runs(one) for one in loose):
        return []
    return [_loose(one, seen) for one in loose]


def _runs(statement: ast.stmt) -> bool:
    """A loop, a `with`, or a call of which nobody wants the result: no module that is imported
    does much of that."""
    if isinstance(statement, ast.For | ast.While | ast.With):
        return True
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _part(owner: str, name: str, node: ast.stmt, body: Sequence[ast.AST], seen: Seen) -> Part:
    last = node.end_lineno or node.lineno
    return Part(owner, name, _top(node), last, used(body, seen), needs=_needs(node))


def _needs(node: ast.stmt) -> int:
    """How many arguments a function has to be given; what marks it may take others."""
    if not isinstance(node, FUNCTIONS) or node.decorator_list:
        return 0
    return len(required_parameters(node.args))


def _top(node: ast.stmt) -> int:
    """The first row of a statement, of one with decorators that of the first of these."""
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min((node.lineno, *(one.lineno for one in marks)))


_WITHOUT_NAMES: frozenset[type] = frozenset(
    {ast.Load, ast.Store, ast.Del, int, str, bytes, float, bool, type(None)}
)
"""What fields of nodes hold that uses no name, as far as there is much of it."""


_DEVICES = frozenset({"cuda", "cpu"})
"""Methods that are called as devices are: a text that says one names a device, unless something is
looked up by a text that does not stand there."""
_LOOKING_METHODS = frozenset({"attrgetter", "methodcaller", "__getattribute__"})
_LOOKING = _LOOKING_METHODS | {"getattr", "vars", "globals", "locals", "eval", "exec"}
_MOVE = "cuda"
_NAMED = frozenset({*FUNCTIONS, ast.ClassDef})


def _imported_and_own(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """The names that an import gives what is no project's, and nothing else in the module; and
    those of variables of its functions alone."""
    found, others, local = {"torch"}, set[str](), set[str]()
    defined: set[str] = set()
    node: Any
    for node in walk(tree):
        kind = node.__class__
        if kind is ast.Name:
            if node.ctx.__class__ is not ast.Load:
                local.add(node.id)
        elif kind is ast.Import:
            for one in node.names:
                name = one.asname or one.name.partition(".")[0]
                (found if is_foreign(one.name) else others).add(name)
        elif kind is ast.ImportFrom:
            names = found if not node.level and is_foreign(node.module or "") else others
            names |= {one.asname or one.name for one in node.names}
        elif kind is ast.arg:
            local.add(node.arg)
        elif kind in _NAMED:
            others.add(node.name)
        elif kind is ast.Global:
            defined.update(node.names)
    waiting: list[ast.AST] = [*tree.body]
    for node in waiting:  # It grows meanwhile, but for what is inside of functions.
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            defined.add(node.id)
        if not isinstance(node, (*FUNCTIONS, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    if "*" in others | found:
        defined |= local  # What it brings may have any name.
    return frozenset(found - others - local), frozenset(local - others - found - defined)


def used(nodes: Iterable[ast.AST], seen: Seen = TORCH) -> frozenset[str]:
    """The names that code uses; also those in strings, by which others are looked up. What is found
    in a package that no project defines (`torch.cuda`, `np.load`) is none of them."""
    found: set[str] = set()
    foreign, gone, own = seen
    waiting: list[Any] = list(nodes)
    push, add = waiting.append, found.add
    for node in waiting:  # It grows meanwhile.
        kind = node.__class__
        if kind is ast.Name:
            if node.id not in own:
                add(node.id)
        elif kind is ast.Attribute:
            if not _is_of(node, foreign) and (node.attr != _MOVE or node.lineno not in gone):
                add(node.attr)
            push(node.value)
        elif kind is ast.Constant:
            text = node.value
            if text.__class__ is str and text.isidentifier() and text not in _DEVICES:
                add(text)
        # Calls are most of what is left, and are spelled out.
        elif kind is ast.Call:
            number = _number(node)
            function = node.func
            if number < _FEW and function.__class__ is ast.Attribute:
                if not _is_of(function, foreign) and (
                    function.attr != _MOVE or function.lineno not in gone
                ):
                    add(f".{function.attr}")
                    add(f"{function.attr}/{number}")
                push(function.value)
            else:
                push(function)
            if _looks_up(node.func):
                found |= _looked_up(node)
            waiting += node.args
            for keyword in node.keywords:
                push(keyword.value)
        elif kind is ast.Import or kind is ast.ImportFrom:
            found |= {one.name.rpartition(".")[2] for one in node.names if one.asname is not None}
        elif kind not in _WITHOUT_NAMES:
            for child in node.__dict__.values():
                inner = child.__class__
                if inner is list:
                    waiting += child  # Some hold texts, or nothing for a missing node.
                elif inner not in _WITHOUT_NAMES:
                    push(child)
    return frozenset(found)


def _number(call: ast.Call) -> int:
    """How many arguments a call gives, as far as that is known."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return _FEW
    if any(one.arg is None for one in call.keywords):
        return _FEW
    return len(call.args) + len(call.keywords)


def _is_of(node: ast.expr, foreign: Container[str]) -> bool:
    name = root_name(node, ast.Attribute)
    return name is not None and name in foreign


def _looks_up(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr in _LOOKING_METHODS
    return isinstance(function, ast.Name) and function.id in _LOOKING


def _looked_up(call: ast.Call) -> frozenset[str]:
    """What a call finds by a text: the one that stands there, else any."""
    texts = [one.value for one in call.args[:2] if isinstance(one, ast.Constant)]
    return frozenset(one for one in texts if isinstance(one, str)) or _DEVICES


def run_by(start: frozenset[str], modules: dict[str, list[Part]]) -> dict[str, list[Part]]:
    """Of each module the parts that a file which uses these names may run."""
    names = set(start)
    found: dict[str, list[Part]] = {path: [] for path in modules}
    waiting = [(path, part) for path, known in modules.items() for part in known]
    while True:
        left = []
        for path, part in waiting:
            if part.is_run(names):
                found[path].append(part)
                names |= part.names
            else:
                left.append((path, part))
        if len(left) == len(waiting):
            return found
        waiting = left
