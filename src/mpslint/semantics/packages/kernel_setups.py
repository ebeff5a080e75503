"""Setup scripts of packages that are kernels for CUDA and nothing else.

`setup(packages=[], ext_modules=[CUDAExtension(...)])` installs no Python at all: who has no CUDA
has no use for it, and nobody builds it there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SETUPS = ("setuptools.setup", "distutils.core.setup")
_FOR_CUDA = "torch.utils.cpp_extension.CUDAExtension"
_EXTENSION = "Extension"
# Fact: setuptools/discovery.py, `ConfigDiscovery._explicitly_specified`: what lies beside is
# not looked for where a script names extensions.
_OF_PYTHON = ("packages", "py_modules", "package_dir")


def installs_kernels_alone(context: Context) -> bool:
    """Whether a file is such a script."""
    if _EXTENSION.encode() not in context.source.data or "setup" not in context.index.calls:
        return False
    made = {
        context.resolve(call.func)
        for name, calls in context.index.calls.items()
        if name.endswith(_EXTENSION) and name != "BuildExtension"
        for call in calls
    }
    setups = list(context.calls_of(*_SETUPS))
    return made == {_FOR_CUDA} and bool(setups) and all(map(_names_no_python, setups))


def _names_no_python(call: ast.Call) -> bool:
    if keyword(call, "ext_modules") is None or any(item.arg is None for item in call.keywords):
        return False
    given = [keyword(call, name) for name in _OF_PYTHON]
    return all(
        one is None or (isinstance(one, ast.List | ast.Tuple | ast.Dict) and _is_empty(one))
        for one in given
    )


def _is_empty(node: ast.List | ast.Tuple | ast.Dict) -> bool:
    return not (node.keys if isinstance(node, ast.Dict) else node.elts)
