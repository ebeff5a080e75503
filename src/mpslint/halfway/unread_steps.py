"""Steps of a program that nothing in its text explains: what they do once tensors are on MPS is
anybody's guess, and each of them has ended a program there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence

from mpslint.basics.brief import brief
from mpslint.facts.priors import names_device
from mpslint.halfway.unread_arrays import NOT_MOVED, TENSORS, Arrays, is_narrow
from mpslint.halfway.unread_parts import is_device, moved_parts
from mpslint.semantics.syntax.expressions import keyword, last_name, root_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.saying import SAYING
from mpslint.sources.screening import moves_something

_LATE = f"comes before the dtype is chosen: what is float64 {NOT_MOVED}"
_WIDE = f"may be given float64, which {NOT_MOVED}"
_ONLY_CUDA = "is done only where the device is CUDA"
_TOLD = "is told whether the device is CUDA, and does for MPS what it does for the CPU"
_UNHEARD = frozenset({*SAYING, "bool", "str", "int", "repr", "format", "all", "any"})
"""Functions that do nothing with a device when they are told which it is."""
_PINS = ("pin_memory", "non_blocking")
_CHOSEN = "imports what the text does not say"
_CONFIGURED = "makes what a configuration names"
_BY_FILE = frozenset({"SourceFileLoader", "spec_from_file_location", "load_source", "run_path"})
# Fact: release notes of torch 1.8: these functions went, and `torch.fft` is a module since.
_GONE = frozenset({"rfft", "irfft", "fft", "ifft"})
_OLD = "is a function in no torch that has MPS"
_NO_OBJECT = "raises where there is no CUDA, whether a rule tells of it there or not"
# Fact: torch/cuda/__init__.py, streams.py and graphs.py: stand-ins that raise where torch was
# built without CUDA.
OF_CUDA = frozenset({"Event", "Stream", "ExternalStream", "CUDAGraph", "current_stream"})
_MAX_TEXT = 60
_OF_DTYPES = ("float", "double", "half", "dtype", "precision")
_DTYPE_WORDS = tuple(word.encode() for word in _OF_DTYPES)
# Fact: Python's grammar, a tensor that is made of what a function of NumPy gives.
_ARRAYS = r"from_numpy|tensor\(\s*(?:np|numpy)\."
_MAKES_OF_ARRAYS = re.compile(_ARRAYS.encode())
_CALLED = re.compile(
    "|".join(
        (*sorted(_GONE), "import_module", "__import__", *sorted(_BY_FILE), "instantiate", _ARRAYS)
    ).encode()
)
"""The names of the calls that are in doubt."""


class Steps:
    """What the words of a text let its tree hold: most files have none of these, and no tree is
    looked at for what cannot be there."""

    def __init__(self, text: bytes) -> None:
        moves = moves_something(text)
        words = text.lower() if moves else text
        self._calls = b"torch" in text and _CALLED.search(text) is not None
        self._arrays = self._calls and _MAKES_OF_ARRAYS.search(text) is not None
        self._batches = moves and any(name.encode() + b"(" in text for name in TENSORS)
        self._tests = b"is_cuda" in text or (b"type" in text and b"cuda" in text)
        self._classes = moves and b"device" in text and (b"np" in text or b"numpy" in text)
        self._dtypes = moves and any(word in words for word in _DTYPE_WORDS)

    @property
    def kinds(self) -> frozenset[type[ast.AST]]:
        """The kinds of nodes that are asked for."""
        wanted: set[type[ast.AST]] = set()
        if self._calls:
            wanted.add(ast.Call)
        if self._arrays or self._batches:
            wanted |= {*FUNCTIONS, ast.Assign, ast.Module}
        if self._tests:
            wanted |= {ast.Assign, ast.If, ast.Compare, ast.Call}
        if self._classes:
            wanted |= {ast.ClassDef, ast.Call}
        if self._dtypes:
            wanted |= {*FUNCTIONS, ast.Module}
        return frozenset(wanted)

    def rows(self, text: bytes, nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
        """The rows of such steps, with what is in doubt; `nodes`: those of these kinds."""
        tests = self._tests and (b"is_cuda" in text or any(map(_compares_type, nodes)))
        given = [
            (name, one.value)
            for one in (nodes if tests else ())
            if isinstance(one, ast.Assign) and (name := last_name(one.targets[0]))
        ]
        asking = {name for name, value in given if _asks_type(value, frozenset())}
        flags = {name for name, value in given if last_name(value) == "is_cuda"}
        calls = (one for one in nodes if isinstance(one, ast.Call)) if self._classes else ()
        moves = [one.lineno for one in calls if _moved_alone(one)]
        arrays = Arrays(nodes if self._arrays else ())
        defined = {one.name for one in nodes if isinstance(one, FUNCTIONS)}
        for node in nodes:
            if self._batches and isinstance(node, (*FUNCTIONS, ast.Module)):
                for call in moved_parts(node, defined):
                    yield call.lineno, f"{_text(call)} {_WIDE}"
            if isinstance(node, ast.Call):
                why = _of_call(node, arrays) if self._calls else ""
                if not why and tests and _hands_on(node, flags):
                    why = _TOLD
                if why:
                    yield node.lineno, f"{_text(node)} {why}"
            elif isinstance(node, ast.If):
                for inner in _kept_for_cuda(node, asking) if tests else ():
                    yield inner.lineno, f"{_text(inner)} {_ONLY_CUDA}"
            elif isinstance(node, ast.ClassDef):
                last = node.end_lineno or node.lineno
                if any(node.lineno <= row <= last for row in moves):
                    yield from _registered(node)
            elif self._dtypes and isinstance(node, (*FUNCTIONS, ast.Module)):
                yield from _moved_before_the_dtype(node)


def cuda_objects(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The rows in which a stream, an event or a graph of CUDA's is made, with no test for CUDA
    around: no rule that is on tells of these, and each of them raises without CUDA."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.IfExp | ast.Try):
            if isinstance(node, ast.Try) or _asks_machine(node.test):
                continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in OF_CUDA and ast.unparse(node.func.value) == "torch.cuda":
                yield node.lineno, f"{_text(node)} {_NO_OBJECT}"
        waiting += ast.iter_child_nodes(node)


def _asks_machine(test: ast.expr) -> bool:
    text = ast.unparse(test).lower()
    return "cuda" in text or "backends.mps" in text


def _text(node: ast.AST) -> str:
    return brief(ast.unparse(node), _MAX_TEXT)


def _of_call(call: ast.Call, arrays: Arrays) -> str:
    """What is in doubt of a call."""
    function = call.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        if isinstance(owner, ast.Name) and owner.id == "torch" and function.attr in _GONE:
            return _OLD
        if function.attr == "import_module" and is_open(call):
            return _CHOSEN
        if function.attr in _BY_FILE:
            return _CHOSEN
        if function.attr == "instantiate":
            return _CONFIGURED
        if _says_no_dtype(call):
            return _WIDE if arrays.is_unread(owner) else ""
    elif isinstance(function, ast.Name):
        if function.id in ("import_module", "__import__") and is_open(call):
            return _CHOSEN
        if function.id in _BY_FILE:
            return _CHOSEN
        if function.id == "instantiate":
            return _CONFIGURED
    return ""


def _says_no_dtype(call: ast.Call) -> bool:
    """Whether a call moves to a device, and leaves the dtype as it is."""
    name = last_name(call.func)
    told = len(call.args) + sum(one.arg == "device" for one in call.keywords)
    moved = name == "cuda" or (name == "to" and is_device(call) and told == 1)
    return moved and keyword(call, "dtype") is None


def is_open(call: ast.Call) -> bool:
    """Whether an import by a call says nothing of what is imported: no text, and none it begins
    with. The module that something was defined in has been imported."""
    if call.args and last_name(call.args[0]) in ("__module__", "__name__", "__package__"):
        return False
    return bool(call.args) and not beginning(call.args[0])


def beginning(node: ast.expr) -> str:
    """The text that the name of a module is, or begins with."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.BinOp):
        text = beginning(node.left)
        return text.partition("%")[0] if isinstance(node.op, ast.Mod) else text
    if isinstance(node, ast.JoinedStr):
        return beginning(node.values[0]) if node.values else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            return beginning(node.func.value).partition("{")[0]
    return ""


def _kept_for_cuda(node: ast.If, asking: Container[str]) -> Iterator[ast.stmt]:
    """The device that a test for CUDA's type alone lets in."""
    if node.orelse or not _asks_type(node.test, asking):
        return
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            if any(names_device(last_name(target)) for target in statement.targets):
                yield statement


def _asks_type(test: ast.expr, asking: Container[str]) -> bool:
    for node in walk(test):
        if isinstance(node, ast.Attribute) and node.attr == "is_cuda":
            return True
        if isinstance(node, ast.Name) and node.id in asking:
            return True
        if _compares_type(node):
            return True
    return False


def _compares_type(node: ast.AST) -> bool:
    """`device.type == "cuda"`"""
    if not isinstance(node, ast.Compare) or not isinstance(node.ops[0], ast.Eq | ast.In):
        return False
    words = [one.value for one in walk(node) if isinstance(one, ast.Constant)]
    if "cuda" not in words or "mps" in words:
        return False
    return any(last_name(one) == "type" for one in walk(node))


def _hands_on(call: ast.Call, flags: Container[str]) -> bool:
    """`to_tensor(x, cuda)` behind `cuda = net.weight.is_cuda`: what is done there on any other
    device than CUDA is what was done on the CPU."""
    given = [*call.args, *(one.value for one in call.keywords if one.arg not in _PINS)]
    if not any(last_name(one) == "is_cuda" or last_name(one) in flags for one in given):
        return False
    name = last_name(call.func) or ""
    is_unheard = name in _UNHEARD or name.startswith("assert")
    return not is_unheard and not ast.unparse(call.func).startswith("torch.")


def _moved_alone(node: ast.Call) -> str:
    """The name in `x.to(device)`, which is given nothing else; empty: it is another call."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return ""
    if len(node.args) != 1 or node.keywords:
        return ""
    return node.func.value.id if isinstance(node.func.value, ast.Name) else ""


def _registered(owner: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Methods that move whatever they are given, and are given what NumPy may have made."""
    moving: dict[str, tuple[ast.Call, int]] = {}
    for method in owner.body:
        if isinstance(method, FUNCTIONS):
            names = [one.arg for one in method.args.args[1:]]
            for node in walk(method):
                if isinstance(node, ast.Call):
                    name = _moved_alone(node)
                    if name in names and "device" in ast.unparse(node.args[0]):
                        moving[method.name] = node, names.index(name)
    for node in walk(owner) if moving else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            known = moving.get(node.func.attr)
            if known is not None and len(node.args) > known[1]:
                if _is_of_numpy(node.args[known[1]], owner):
                    yield known[0].lineno, f"{_text(known[0])} {_WIDE}"
                    return


def _is_of_numpy(node: ast.expr, owner: ast.ClassDef) -> bool:
    """Whether NumPy computes a value, or one of several that a call gives back at once."""
    if isinstance(node, ast.Name):
        for one in walk(owner):
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Tuple):
                if any(last_name(item) == node.id for item in one.targets[0].elts):
                    return isinstance(one.value, ast.Call) and "numpy" in ast.unparse(one.value)
        return False
    if isinstance(node, ast.Call):
        return root_name(node.func, ast.Attribute) in ("np", "numpy") and not is_narrow(node)
    if isinstance(node, ast.BinOp):
        return _is_of_numpy(node.left, owner) or _is_of_numpy(node.right, owner)
    return False


def _moved_before_the_dtype(scope: ast.AST) -> Iterator[tuple[int, str]]:
    """`x.to(device)` in front of `x.to(dtype)`."""
    moved: dict[str, ast.Call] = {}
    for statement in getattr(scope, "body", []):
        call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        if call.func.attr != "to":
            continue
        if is_device(call) and len(call.args) == 1:
            moved.setdefault(ast.unparse(call.func.value), call)
        elif moved and call.args and _is_dtype(call.args[0]):
            name = ast.unparse(call.func.value)
            if name in moved:
                yield moved[name].lineno, f"{_text(moved[name])} {_LATE}"


def _is_dtype(node: ast.expr) -> bool:
    return any(word in (last_name(node) or "").lower() for word in _OF_DTYPES)


def takes_files(text: bytes) -> bool:
    return any(name.encode() in text for name in _BY_FILE)


def by_file(tree: ast.Module | None) -> Iterator[ast.Call]:
    """The calls that run a file found by its place."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and last_name(node.func) in _BY_FILE:
            yield node
