"""A script that stops because packages do not fit each other is no script that lacks data."""

from __future__ import annotations

import pytest

from mpslint.verify.outcome import Way, classify

from .conftest import launch, raised


@pytest.mark.parametrize(
    ("kind", "message", "way_out"),
    [
        (
            "RuntimeError",
            "operator torchvision::nms does not exist",
            "`pip install --upgrade torch torchvision`",
        ),
        (
            "AttributeError",
            "partially initialized module 'torchvision' has no attribute 'extension' (most likely "
            "due to a circular import)",
            "`pip install --upgrade torch torchvision`",
        ),
        (
            "RuntimeError",
            "Detected that PyTorch and torchvision were compiled with different CUDA major "
            "versions.",
            "`pip install --upgrade torch torchvision`",
        ),
        (
            "RuntimeError",
            "Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision "
            "versions are incompatible",
            "`pip install --upgrade torch torchvision`",
        ),
        ("RuntimeError", "operator roialign::forward does not exist", "build it anew"),
        (
            "ImportError",
            "/env/torch_scatter/_scatter_cpu.so: undefined symbol: _ZN3c106detail14torchCheckFail",
            "install that package anew for the torch that is there",
        ),
        (
            "OSError",
            "dlopen(/env/torchaudio/_torchaudio.so, 0x0006): Symbol not found: __ZN2at4_ops",
            "install that package anew for the torch that is there",
        ),
        ("ImportError", "numpy.core.multiarray failed to import", "`pip install 'numpy<2'`"),
        (
            "ImportError",
            "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.0",
            "`pip install 'numpy<2'`",
        ),
        (
            "ValueError",
            "numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C "
            "header, got 88 from PyObject",
            "`pip install 'numpy<2'`",
        ),
        ("RuntimeError", "Numpy is not available", "`pip install 'numpy<2'`"),
        (
            "OSError",
            "libcudart.so.11.0: cannot open shared object file: No such file or directory",
            "install that package anew for this Python and torch",
        ),
        (
            "ImportError",
            "DLL load failed while importing _C: The specified module could not be found.",
            "install that package anew for this Python and torch",
        ),
        (
            "ImportError",
            "/lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by x.so)",
            "install that package anew for this Python and torch",
        ),
    ],
    ids=lambda value: value[:40],
)
def test_what_does_not_fit_is_told_with_the_way_out(kind: str, message: str, way_out: str) -> None:
    outcome = classify(launch("mps", **raised(kind, message)))
    assert outcome.way is Way.ENVIRONMENT
    assert outcome.said.startswith("the installation does not fit")
    assert way_out in outcome.said


@pytest.mark.parametrize(
    ("kind", "message", "said"),
    [
        ("FileNotFoundError", "[Errno 2] No such file or directory: 'x.csv'", "data is missing"),
        ("RuntimeError", "the folder data does not exist", "data is missing"),
        ("ModuleNotFoundError", "No module named 'torchvision'", "cannot import what it needs"),
    ],
)
def test_what_is_missing_is_told_as_before(kind: str, message: str, said: str) -> None:
    assert classify(launch("mps", **raised(kind, message))).said.startswith(said)
