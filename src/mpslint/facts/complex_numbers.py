"""What is complex of what is not, and the other way round: as wide in each of its parts.

Source: torch 2.13 (`c10::toComplexType`, `torch.fft`, `torch.polar`, `torch.view_as_complex`), the
reference of NumPy 1.26 and 2.x. A complex tensor that is cast to a float loses its imaginary part.
"""

from __future__ import annotations

from mpslint.basics.words import words

COMPLEX = "a complex number"
"""A number of Python's, in place of a dtype."""
_OF_FLOATS = {"float64": "complex128", "float32": "complex64", "float16": "complex32"}
_OF_COMPLEX = {complex_: real for real, complex_ in _OF_FLOATS.items()}
_MAKING_COMPLEX = words(
    """
    polar complex view_as_complex fft.fft fft.ifft fft.fft2 fft.ifft2 fft.fftn fft.ifftn fft.rfft
    fft.rfft2 fft.rfftn fft.ihfft linalg.eig linalg.eigvals
    """
)
"""Functions of torch, whatever floats they are given."""
_MAKING_REAL = words(
    """
    view_as_real real imag abs absolute angle norm std var fft.irfft fft.irfft2 fft.irfftn fft.hfft
    linalg.norm linalg.vector_norm linalg.matrix_norm linalg.svdvals linalg.eigvalsh
    """
)
"""Functions of torch and NumPy, and methods and attributes of what they make."""
_OPEN = words("stft istft")
"""What is complex or not as it is told."""
_REAL_OF_ARRAYS = _MAKING_REAL | words("nanstd nanvar ptp")


def complex_of(dtype: str | None) -> str | None:
    return _OF_FLOATS.get(dtype or "", dtype)


def real_of(dtype: str | None) -> str | None:
    return _OF_COMPLEX.get(dtype or "", dtype)


def made_by_torch(function: str, dtype: str | None) -> str | None:
    """The dtype of what a function or a method of torch makes of a tensor of this dtype, as far as
    it is complex or not; the same, where the function leaves that."""
    if function in _OPEN:
        return None
    if function in _MAKING_COMPLEX:
        return complex_of(dtype) if dtype in _OF_FLOATS or dtype in _OF_COMPLEX else None
    return real_of(dtype) if function in _MAKING_REAL else dtype


def tells_complex(function: str) -> bool:
    """Whether it is known of a function of torch that what it makes is complex, or is not."""
    return function in _MAKING_COMPLEX or function in _MAKING_REAL


def made_by_numpy(function: str, dtype: str | None) -> str | None:
    """The same of NumPy's functions that keep what they are given."""
    return real_of(dtype) if function in _REAL_OF_ARRAYS else dtype


def met_by_number(dtype: str | None) -> str | None:
    """The dtype of an array, or a tensor, with a complex number of Python's."""
    if dtype in _OF_FLOATS or dtype in _OF_COMPLEX:
        return complex_of(dtype)
    return None


def is_complex(dtype: str | None) -> bool:
    return dtype == COMPLEX or dtype in _OF_COMPLEX
