"""Steps of a program that nothing in its text explains: what they do once tensors are on MPS is
anybody's guess, and each of them has ended a program there.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator

from mpslint.facts.priors import names_device
from mpslint.semantics.index import FUNCTIONS

_LATE = "comes before the dtype is chosen: what is float64 cannot be moved to MPS"
_WIDE = "may be given float64, which cannot be moved to MPS"
_ONLY_CUDA = "is done only where the device is CUDA"
_CHOSEN = "imports what the text does not say"
_CONFIGURED = "makes what a configuration names"
_BY_FILE = frozenset({"SourceFileLoader", "spec_from_file_location", "load_source", "run_path"})
# Fact: release notes of torch 1.8: these functions went, and `torch.fft` is a module since.
_GONE = frozenset({"rfft", "irfft", "fft", "ifft"})
_OLD = "is a function in no torch that has MPS"
_NO_OBJECT = "raises where there is no CUDA"
# Fact: torch/cuda/__init__.py, streams.py and graphs.py: stand-ins that raise where torch was
# built without CUDA.
_OF_CUDA = frozenset({"Event", "Stream", "ExternalStream", "CUDAGraph", "current_stream"})
_MAX_TEXT = 60
_SENT = frozenset({"from_numpy"})
_NARROW = frozenset(
    {"float", "float32", "half", "long", "int", "int64", "int32", "uint8", "bool", "FloatTensor"}
    | {"single", "float16", "bfloat16", "int8", "int16", "type", "LongTensor", "IntTensor"}
    | {"randint", "permutation", "argsort", "argmax", "argmin", "searchsorted", "bincount"}
)
_OF_DTYPES = ("float", "double", "half", "dtype", "precision")


def unread_steps(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The rows of such steps, with what is in doubt."""
    asking = {
        _last(one.targets[0])
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and _asks_type(one.value, frozenset())
    } - {""}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            why = _of_call(node)
            if why:
                yield node.lineno, f"{_text(node)} {why}"
        elif isinstance(node, ast.If):
            for inner in _kept_for_cuda(node, asking):
                yield inner.lineno, f"{_text(inner)} {_ONLY_CUDA}"
        elif isinstance(node, ast.ClassDef):
            yield from _registered(node)
        if isinstance(node, (*FUNCTIONS, ast.Module)):
            yield from _moved_before_the_dtype(node)


def cuda_objects(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The rows in which a stream, an event or a graph of CUDA's is made, with no test for CUDA
    around: no rule that is on tells of these, and each of them raises without CUDA."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.IfExp | ast.Try):
            if isinstance(node, ast.Try) or "cuda" in ast.unparse(node.test).lower():
                continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _OF_CUDA and ast.unparse(node.func.value) == "torch.cuda":
                yield node.lineno, f"{_text(node)} {_NO_OBJECT}"
        waiting += ast.iter_child_nodes(node)


def _text(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0][:_MAX_TEXT]


def _of_call(call: ast.Call) -> str:
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
        if function.attr == "to" and _is_device(call) and len(call.args) == 1:
            says_dtype = any(one.arg == "dtype" for one in call.keywords)
            return _WIDE if not says_dtype and _is_unread_array(owner) else ""
    elif isinstance(function, ast.Name):
        if function.id in ("import_module", "__import__") and is_open(call):
            return _CHOSEN
        if function.id in _BY_FILE:
            return _CHOSEN
        if function.id == "instantiate":
            return _CONFIGURED
    return ""


def is_open(call: ast.Call) -> bool:
    """Whether an import by a call says nothing of what is imported: no text, and none it begins
    with."""
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


def _is_device(call: ast.Call) -> bool:
    every = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "device")]
    return any(names_device(_last(one)) for one in every)


def _last(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_unread_array(node: ast.expr) -> bool:
    """`torch.from_numpy(scores)`, of which nothing says that it is not float64."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _SENT:
            return not _is_narrow(node)
        if node.func.attr in _NARROW:
            return False
        node = node.func.value
    return False


def _is_narrow(node: ast.AST) -> bool:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and one.attr in _NARROW:
            return True
        if isinstance(one, ast.Constant) and one.value in _NARROW:
            return True
        if isinstance(one, ast.keyword) and one.arg == "dtype":
            return True
    return False


def _kept_for_cuda(node: ast.If, asking: Container[str]) -> Iterator[ast.stmt]:
    """The device that a test for CUDA's type alone lets in."""
    if node.orelse or not _asks_type(node.test, asking):
        return
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            if any(names_device(_last(target)) for target in statement.targets):
                yield statement


def _asks_type(test: ast.expr, asking: Container[str]) -> bool:
    for node in ast.walk(test):
        if isinstance(node, ast.Attribute) and node.attr == "is_cuda":
            return True
        if isinstance(node, ast.Name) and node.id in asking:
            return True
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.In):
            words = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
            is_type = any(_last(one) == "type" for one in ast.walk(node))
            if is_type and "cuda" in words and "mps" not in words:
                return True
    return False


def _registered(owner: ast.ClassDef) -> Iterator[tuple[int, str]]:
    """Methods that move whatever they are given, and are given what NumPy may have made."""
    moving: dict[str, tuple[ast.Call, int]] = {}
    for method in owner.body:
        if isinstance(method, FUNCTIONS):
            names = [one.arg for one in method.args.args[1:]]
            for node in ast.walk(method):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    target = node.func.value
                    if node.func.attr == "to" and len(node.args) == 1 and not node.keywords:
                        if isinstance(target, ast.Name) and target.id in names:
                            if "device" in ast.unparse(node.args[0]):
                                moving[method.name] = node, names.index(target.id)
    for node in ast.walk(owner) if moving else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            known = moving.get(node.func.attr)
            if known is not None and len(node.args) > known[1]:
                if _is_of_numpy(node.args[known[1]], owner):
                    yield known[0].lineno, f"{_text(known[0])} {_WIDE}"
                    return


def _is_of_numpy(node: ast.expr, owner: ast.ClassDef) -> bool:
    """Whether NumPy computes a value, or one of several that a call gives back at once."""
    if isinstance(node, ast.Name):
        for one in ast.walk(owner):
            if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Tuple):
                if any(_last(item) == node.id for item in one.targets[0].elts):
                    return isinstance(one.value, ast.Call) and "numpy" in ast.unparse(one.value)
        return False
    if isinstance(node, ast.Call):
        root = node.func
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and root.id in ("np", "numpy") and not _is_narrow(node)
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
        name = ast.unparse(call.func.value)
        if call.func.attr == "to" and _is_device(call) and len(call.args) == 1:
            moved.setdefault(name, call)
        elif call.func.attr == "to" and call.args and _is_dtype(call.args[0]) and name in moved:
            yield moved[name].lineno, f"{_text(moved[name])} {_LATE}"


def _is_dtype(node: ast.expr) -> bool:
    return any(word in _last(node).lower() for word in _OF_DTYPES)


def takes_files(text: bytes) -> bool:
    return any(name.encode() in text for name in _BY_FILE)


def by_file(tree: ast.Module | None) -> Iterator[ast.Call]:
    """The calls that run a file found by its place."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Call) and _last(node.func) in _BY_FILE:
            yield node


def only_defines(tree: ast.Module) -> bool:
    """Whether a file does nothing itself."""
    return not any(
        isinstance(one, ast.For | ast.While | ast.With | ast.If)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
        for one in tree.body
    )
