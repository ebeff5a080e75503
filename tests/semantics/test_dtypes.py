"""Dtypes of arrays and tensors are known where they are certain, and nowhere else."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import numpy as np\nimport torch\nfrom torch import double\n"


def ask(text: str) -> tuple[Context, ast.expr]:
    """The context of `text` and its last expression."""
    source = SourceFile.from_text(HEAD + text)
    tree = source.parse()
    last = tree.body[-1]
    assert isinstance(last, ast.Expr)
    return Context(source, tree, Settings()), last.value


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("torch.float64", "float64"),
        ("double", "float64"),
        ("float", "float64"),
        ("complex", "complex128"),
        ("torch.half", "float16"),
        ("torch.DoubleTensor", "float64"),
        ("wide = torch.double\nwide", "float64"),
        ("np.float64", None),
        ("float = torch.float32\nfloat", "float32"),
        ("torch.nn.Linear", None),
    ],
)
def test_a_dtype_is_read_under_its_usual_name(text: str, dtype: str | None) -> None:
    context, node = ask(text)
    assert context.dtypes.torch_dtype(node) == dtype


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("np.zeros(3)", "float64"),
        ("np.zeros(3, np.float32)", "float32"),
        ("np.ones(3, dtype='f8')", "float64"),
        ("np.random.rand(3)", "float64"),
        ("np.random.rand()", None),
        ("np.random.uniform(0, 1)", None),
        ("np.random.uniform(0, 1, 3)", "float64"),
        ("rng = np.random.default_rng(0)\nrng.normal(size=3)", "float64"),
        ("rng = object()\nrng.normal(size=3)", None),
        ("np.sqrt(np.zeros(3, dtype=np.uint8))", "float16"),
        ("np.zeros(3, dtype=np.uint8) / 255.0", "float64"),
        ("np.zeros(3, dtype=np.int8) * 0.5", "float64"),
        ("np.zeros(3, dtype=bool) / 3", "float64"),
        ("np.log(np.zeros(3, dtype=np.int16))", "float32"),
        ("np.sqrt(np.zeros(3, dtype=np.int32))", "float64"),
        ("np.mean(np.zeros(3, dtype=np.uint8))", "float64"),
        ("np.zeros(3, dtype=np.uint8).mean(axis=0)", "float64"),
        ("np.random.permutation(np.zeros(3, dtype=np.float32))", "float32"),
        ("np.random.permutation(9)", "int64"),
        ("np.polyval(np.zeros(3, dtype=np.float32), x)", None),
        ("np.arange(3)", "int64"),
        ("np.arange(n)", None),
        ("np.arange(0.0, 1.0)", "float64"),
        ("np.array([1, 2.5])", "float64"),
        ("np.array([1, 2])", "int64"),
        ("np.array([x])", None),
        ("np.array([1.0, 2.5], np.float32)", "float32"),
        ("np.zeros(3).astype(np.float32)", "float32"),
        ("np.zeros(3).reshape(3, 1).T", "float64"),
        ("np.zeros(3)[None, :2]", "float64"),
        ("np.zeros(3)[0]", "float64"),
        ("np.zeros(3)[rows]", "float64"),
        ("np.zeros(3)['field']", None),
        ("1.0 / np.array([10, 20])", "float64"),
        ("np.array([10, 20]) / 3", "float64"),
        ("np.array([10, 20]) // 3", "int64"),
        ("np.array([10, 20]) * 0.5", "float64"),
        ("np.array([10, 20], np.float32) / 3", "float32"),
        ("1.0 / np.array([10, 20], np.float32)", "float32"),
        ("1.0 / np.array(counts)", None),
        ("counts = [10, 20]\n1.0 / np.array(counts)", "float64"),
        ("counts = [10, 20]\ncounts.append(x)\n1.0 / np.array(counts)", None),
        ("1.0 / np.bincount(y)", "float64"),
        ("np.bincount(y)", "int64"),
        ("len(y) / (3 * np.bincount(y))", "float64"),
        ("w = 1.0 / np.bincount(y)\nw / w.sum()", "float64"),
        ("_, n = np.unique(y, return_counts=True)\n1 / n", "float64"),
        ("a, b = np.zeros(3), np.zeros(3, np.float32)\na", "float64"),
        ("a, b = np.zeros(3), np.zeros(3, np.float32)\nb", "float32"),
        ("np.mean(np.random.rand(3, 2), axis=0)", "float64"),
        ("np.random.rand(3, 2).mean(0)", "float64"),
        ("np.arange(6).mean(0)", "float64"),
        ("np.arange(6).sum(0)", "int64"),
        ("np.zeros(3, np.float32).mean(0)", "float32"),
        ("np.zeros(3).mean(0, dtype=np.float32)", "float32"),
        ("x.mean(0)", None),
        ("np.where(c, 0.5, 1.5)", "float64"),
        ("np.where(c, 0, 1)", "int64"),
        ("np.where(c, np.zeros(3, np.float32), 0.5)", "float32"),
        ("np.where(c, x, 0.5)", None),
        ("np.sqrt(np.arange(3))", "float64"),
        ("2 * np.pi * np.arange(3)", "float64"),
        ("np.add(np.zeros(3), 1)", "float64"),
        ("2 * np.linspace(0, 1, 3) ** 2", "float64"),
        ("np.zeros(3) * unknown", None),
        ("np.stack([np.zeros(3) for _ in range(2)])", "float64"),
        ("np.stack([np.zeros(3), unknown])", None),
        ("np.cos(np.ones(3))", "float64"),
        (
            "from sklearn.preprocessing import StandardScaler as S\n"
            "S().fit_transform(np.random.rand(3, 2))",
            "float64",
        ),
        (
            "from sklearn.preprocessing import StandardScaler as S\n"
            "S().fit_transform(np.ones((3, 2), np.float32))",
            "float32",
        ),
        ("from sklearn.preprocessing import StandardScaler as S\nS().fit_transform(x)", None),
        (
            "from sklearn.utils import class_weight as c\nc.compute_class_weight('balanced', y=y)",
            "float64",
        ),
        ("np.load('x.npy')", None),
        ("np.exp(1j * np.linspace(0, 1, 3))", "complex128"),
        ("2 * 1j * np.arange(3)", "complex128"),
        ("np.ones(3, np.float32) * 1j", "complex64"),
        ("np.abs(np.exp(1j * np.zeros(3)))", "float64"),
        ("a = np.zeros(3)\nif x:\n    a = np.zeros(3, np.float32)\na", None),
    ],
)
def test_the_dtype_of_an_array(text: str, dtype: str | None) -> None:
    context, node = ask(text)
    assert context.dtypes.array(node) == dtype


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("torch.zeros(3)", None),
        ("torch.zeros(3, dtype=torch.float64)", "float64"),
        ("torch.from_numpy(np.zeros(3))", "float64"),
        ("torch.tensor([1.0])", None),
        ("torch.tensor(np.zeros(3)).float()", "float32"),
        ("torch.ones(3).double().unsqueeze(0)", "float64"),
        ("torch.ones(3, dtype=double).to('cpu')", "float64"),
        ("torch.ones(3, dtype=double).to(torch.float32)", "float32"),
        ("torch.ones(3, dtype=double).to(other)", None),
        ("torch.ones(3, dtype=double) / 3", "float64"),
        ("torch.ones(3, dtype=double) * other", None),
        ("torch.DoubleTensor([1])", "float64"),
        ("x = torch.ones(3).double()\ntorch.polar(x, x)", "complex128"),
        ("torch.fft.fft(torch.ones(3).float())", "complex64"),
        ("torch.fft.fft(torch.ones(3).double()).abs()", "float64"),
        ("torch.ones(3).double() * 1j", "complex128"),
        ("x = torch.ones(3).double()\nx = x[1:]\nx", "float64"),
    ],
)
def test_the_dtype_of_a_tensor(text: str, dtype: str | None) -> None:
    context, node = ask(text)
    assert context.dtypes.tensor(node) == dtype
