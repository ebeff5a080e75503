"""What says by itself that something lies on the host: annotations, functions of Python's."""

from __future__ import annotations

import ast
from collections.abc import Container

from mpslint.facts.priors import names_device
from mpslint.semantics.syntax.expressions import last_name, root_name
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.terms.facts_known import backend_word

PLAIN_BUILTINS = frozenset(
    {"len", "int", "float", "bool", "str", "print", "range", "repr", "open", "hasattr", "format"}
    | {"bytes", "id", "type", "callable", "input", "ord", "chr", "hash"}
)
"""Builtins that give back what lies on the host, whatever they are given."""
PASSING_BUILTINS = frozenset(
    {"list", "tuple", "dict", "set", "sorted", "min", "max", "sum", "abs", "round", "zip", "next"}
    | {"enumerate", "reversed", "iter", "vars", "getattr", "frozenset", "any", "all"}
)
"""Builtins that give back what they are given, or of its kind."""
PLAIN_MODULES = frozenset(
    {"os", "sys", "json", "math", "time", "datetime", "random", "re", "pathlib", "glob", "shutil"}
    | {"tempfile", "argparse", "logging", "csv", "io", "string", "platform", "warnings", "uuid"}
    | {"socket", "subprocess", "textwrap", "hashlib", "base64", "urllib", "configparser", "yaml"}
)
"""Modules whose functions give back what lies on the host, whatever they are given."""
TO_HOST = frozenset(
    {"cpu", "numpy", "item", "tolist", "size", "dim", "shape", "ndim", "numel", "__name__"}
)
"""Members that lie on the host, whatever they are of."""
OF_MODULES = frozenset(
    {"to", "cuda", "half", "float", "double", "bfloat16", "eval", "train", "parameters", "modules"}
    | {"named_parameters", "state_dict", "load_state_dict", "forward", "requires_grad_", "apply"}
    | {"children", "compile", "step", "zero_grad", "backward", "share_memory", "register_buffer"}
)
"""Methods of what holds tensors, or moves them."""
TAKING = frozenset(
    {"tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "Tensor", "load"}
)
"""Functions of torch that make a tensor of what lies on the host, or read a file."""
MAKING = frozenset({"list", "dict", "set", "defaultdict", "OrderedDict", "deque", "Counter"})
"""Functions that make something that holds nothing yet, or what they are given."""
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Constant)
_TYPES = frozenset(
    {"str", "int", "float", "bool", "bytes", "Path", "ndarray", "None", "List", "list", "Optional"}
    | {"Union", "Dict", "dict", "Tuple", "tuple", "Sequence", "Iterable", "Literal", "np", "numpy"}
    | {"pathlib", "os", "PathLike", "typing", "NDArray", "npt", "Namespace", "argparse"}
)
"""The names that an annotation of what lies on the host is made of."""
_ITEMS = frozenset({"str", "int", "float", "bool", "bytes", "Path", "ndarray"})
"""Those that say what lies there, where others only say that it is many."""


def is_plain_type(annotation: ast.expr) -> bool:
    """`str | None`, `Path`, `np.ndarray`"""
    for node in walk(annotation):
        if isinstance(node, ast.Name) and node.id not in _TYPES:
            return False
        if isinstance(node, ast.Attribute) and node.attr not in _TYPES:
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if node.value not in _TYPES:
                return False
    return True


def is_plain_item(annotation: ast.expr) -> bool:
    """`list[str]`, `Path`: what it is of lies on the host, and so does each part."""
    words = (getattr(one, "id", getattr(one, "attr", "")) for one in walk(annotation))
    return is_plain_type(annotation) and not _ITEMS.isdisjoint(words)


def is_plain(default: ast.expr | None) -> bool:
    return isinstance(default, ast.Constant) and default.value is not None


def names_place(given: ast.expr) -> bool:
    """Whether something says, or holds by its name, where tensors go."""
    if isinstance(given, ast.Constant):
        return backend_word(given) in ("cuda", "mps")
    name = last_name(given)
    return names_device(name)


def is_made_here(given: ast.AST | None, hosts: Container[str]) -> bool:
    """Whether nobody else has what is given: `[]`, `dict()`, `np.zeros(3)`."""
    if not isinstance(given, ast.Call):
        return isinstance(given, _DISPLAYS)
    last = last_name(given.func)
    return last in MAKING or root_name(given.func, ast.Attribute) in hosts
