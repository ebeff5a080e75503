"""Findings that nobody on a Mac ever meets, by what the file is there for.

Tests of a project's code for CUDA run where CUDA is, and its other tests elsewhere; so do functions
that go on to kernels which no Mac has, programs that ask NVIDIA's driver what they have used, and
scripts that install kernels for CUDA alone. What a module defines is used where its package can be
imported, which Python does first.
DGL's graphs lie on the CPU or on CUDA, and a model goes where its graphs are. Without CUDA that is
the CPU: nothing waits there, nothing is queued, no dtype and no operator is missing, and a choice
of the CPU is right. So it is with models that a framework moves which never chooses MPS (fairseq),
with objects that import operators for the CPU and CUDA as they are made, with what multiplies
float8 matrices, with programs whose tensors are float64 by default, and with functions that all who
call them tell to compute on the CPU.
What raises for want of CUDA raises there all the same.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from typing import TYPE_CHECKING, cast

from mpslint.model import Severity
from mpslint.project.compiled.kernel_calls import goes_on_to_kernels
from mpslint.semantics.destinations.given_the_cpu import stays_on_the_cpu
from mpslint.semantics.gpus.collectives import is_made_for_ranks
from mpslint.semantics.packages.cuda_memory_measures import measures_cudas_memory
from mpslint.semantics.packages.cuda_packages import computes_without_mps, made_without_mps
from mpslint.semantics.packages.given_graphs import is_given_without_mps
from mpslint.semantics.packages.kernel_setups import installs_kernels_alone
from mpslint.semantics.packages.nvidia_tools import is_about_nvidia
from mpslint.semantics.purpose.purpose import speaks_of_mps
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.paths import is_test_of_cuda
from mpslint.semantics.uses.unused import is_program
from mpslint.semantics.wide.float8_products import multiplies_float8
from mpslint.semantics.wide.wide_default import has_float64_rows
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.model import Finding
    from mpslint.semantics.context import Context

_ON_ANY_DEVICE = "MPS8"
"""Rules about what goes wrong on every GPU, be it CUDA's."""

_OF_MPS = ("MPS401", "MPS402", "MPS403", "MPS404", "MPS5")
"""Rules about dtypes and operators that MPS lacks, and the CPU has."""

_OF_WORK = ("MPS3", *_OF_MPS)
"""And those about waits, for what a device computes."""

_PACKAGES = (".", "..", "...")
"""The packages that a module lies in: Python imports the outer ones first."""


def is_moot(context: Context, finding: Finding) -> bool:
    """Whether a finding stands in a test of CUDA, in a tool for NVIDIA's GPUs, in a script that
    installs kernels of CUDA's alone, or in a line that
    makes a tensor for other processes; or in what is used with CUDA alone; or is of what only
    happens on MPS, in a module that cannot do without data that have no way there, or in what such
    a module does off the CPU. Whoever names MPS means MPS as well, in such tests and with such
    data."""
    names_mps = b"mps" in context.source.data and speaks_of_mps(context)
    if not names_mps and (is_test_of_cuda(context.source.path) or is_about_nvidia(context)):
        return True
    if not names_mps and installs_kernels_alone(context):
        return True
    if finding.code.startswith(_ON_ANY_DEVICE):
        return False
    if not names_mps and measures_cudas_memory(context, finding.row):
        return True
    if not names_mps and is_made_for_ranks(context, finding.row):
        return True
    if not names_mps and goes_on_to_kernels(context, finding.row):
        return True
    if _only_happens_on_mps(finding) and multiplies_float8(context, finding.row):
        return True
    if not names_mps and _only_happens_on_mps(finding):
        if _data_stay_off_mps(context) or _is_of_object_off_mps(context, finding.row):
            return True
        if is_given_without_mps(context, finding.row):
            return True
        if finding.severity < Severity.BREAKS and has_float64_rows(context, finding.row):
            return True
    # What goes through all tests of the file is asked last.
    if not names_mps and (
        _data_stay_off_mps(context) or is_given_without_mps(context, finding.row)
    ):
        if _is_off_the_host(context, finding.row):
            return True
    return _is_defined(context, finding.row) and _package_needs_cuda(context)


def is_about_the_cpu(context: Context, finding: Finding) -> bool:
    """Whether a finding is of what a device computes, in a function that all who call it tell to
    compute on the CPU. It is asked while it is known what each call gives."""
    return finding.code.startswith(_OF_WORK) and stays_on_the_cpu(context, finding.row)


def _is_off_the_host(context: Context, row: int) -> bool:
    """Whether a line runs only where a device is not the CPU: `if self.device.type != "cpu":`."""
    return any(
        isinstance(statement.test, ast.Compare)
        and isinstance(statement.test.ops[0], ast.NotEq)
        and isinstance(statement.test.comparators[0], ast.Constant)
        and statement.test.comparators[0].value == "cpu"
        and statement.body[0].lineno <= row <= (statement.body[-1].end_lineno or 0)
        for statement in context.index.of(ast.If)
    )


def _only_happens_on_mps(finding: Finding) -> bool:
    """Whether a Mac that computes on its CPU does not meet this."""
    return finding.severity < Severity.BREAKS or finding.code.startswith(_OF_MPS)


def _data_stay_off_mps(context: Context) -> bool:
    known = context.memo.get("without a way to MPS")
    if known is None:
        elsewhere, path = context.elsewhere, context.source.path
        known = context.memo["without a way to MPS"] = computes_without_mps(context) or (
            elsewhere is not None and elsewhere.is_driven(path)
        )
    return bool(known)


def _is_of_object_off_mps(context: Context, row: int) -> bool:
    """Whether a line belongs to a class whose objects compute with operators that MPS lacks."""
    return any(
        cls.lineno <= row <= (cls.end_lineno or 0) and made_without_mps(cls)
        for cls in context.index.of(ast.ClassDef)
    )


def _is_defined(context: Context, row: int) -> bool:
    """Whether a line belongs to a function or class: others run with the module, and a module that
    does its work then is a program, which is started by its path."""
    rows = _defined(context)
    before = bisect_right(rows, row, key=_first)
    return before > 0 and row <= rows[before - 1][1]


def _defined(context: Context) -> list[tuple[int, int]]:
    """The first and last rows of functions and classes of the module, in order."""
    if "rows of definitions" not in context.memo:
        context.memo["rows of definitions"] = [
            (min(part.lineno for part in (item, *item.decorator_list)), item.end_lineno or 0)
            for item in context.tree.body
            if isinstance(item, (*FUNCTIONS, ast.ClassDef))
        ]
    return cast("list[tuple[int, int]]", context.memo["rows of definitions"])


def _first(rows: tuple[int, int]) -> int:
    return rows[0]


def _package_needs_cuda(context: Context) -> bool:
    """Whether no Mac can import a package that a module lies in, for the kernels it needs."""
    if context.elsewhere is None or is_program(context):
        return False
    known = context.memo.get("package for CUDA")
    if known is None:
        elsewhere, path = context.elsewhere, context.source.path
        known = any(not elsewhere.imports_on(path, package) & MACS for package in _PACKAGES)
        context.memo["package for CUDA"] = known
    return bool(known)
