"""Names that a file can use without giving them a value itself."""

from __future__ import annotations

import builtins

# Source: the documentation of Python, "Built-in Functions", "Built-in Exceptions" and "Constants
# added by the site module", up to 3.15: the answer hangs on no version that reads the file.
_OF_PYTHON_3 = frozenset(dir(builtins)) | frozenset(
    {
        "BaseExceptionGroup", "EncodingWarning", "ExceptionGroup", "PythonFinalizationError",
        "WindowsError", "aiter", "anext", "copyright", "credits", "exit", "frozendict", "license",
        "quit",
    }
)  # fmt: skip
# A project that says these was written for another Python, and is brought to this one first.
_OF_PYTHON_2 = frozenset(
    {
        "apply", "basestring", "buffer", "cmp", "coerce", "execfile", "file", "intern", "long",
        "raw_input", "reduce", "reload", "unichr", "unicode", "xrange",
    }
)  # fmt: skip
# Source: line_profiler, memory_profiler (`profile`), gettext.install (`_`, `ngettext`), IPython,
# Databricks (`dbutils`, `spark`, `sc`, `sqlContext`), Snakemake, PyCharm's and Sage's consoles.
_GIVEN_BY_RUNNERS = frozenset(
    {
        "_", "In", "Out", "dbutils", "display", "displayHTML", "get_ipython", "ngettext",
        "profile", "reveal_locals", "reveal_type", "sc", "snakemake", "spark", "sqlContext",
        "workflow",
    }
)  # fmt: skip
_EVERYWHERE = _OF_PYTHON_3 | _OF_PYTHON_2 | _GIVEN_BY_RUNNERS


def comes_with_python(name: str) -> bool:
    """Whether a file finds a name that nothing in its project binds."""
    return name in _EVERYWHERE or (name.startswith("__") and name.endswith("__"))
