"""Of which dtype NumPy's arrays are that functions, methods and operators make of others.

Source: the reference of NumPy 1.26 and 2.x (functions, promotion by NEP 50), scikit-learn 1.5.
"""

from __future__ import annotations

from collections.abc import Callable

from mpslint.basics.words import words
from mpslint.facts.complex_numbers import COMPLEX, is_complex, made_by_numpy, met_by_number

INTEGERS = words("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64")
_NARROW = {
    **dict.fromkeys(("bool", "int8", "uint8"), "float16"),
    **dict.fromkeys(("int16", "uint16"), "float32"),
}
"""What a function of each element makes of integers of few bits."""
FLOATS = words("float16 float32 float64")
INTEGER, REAL, NUMBER = "an integer", "a real", "a number"
"""Numbers of Python's, in place of a dtype: the last one is either of the others."""
_NUMBERS = frozenset({INTEGER, REAL, NUMBER})
_OF_ONE = {INTEGER: "int64", REAL: "float64", NUMBER: None, COMPLEX: "complex128"}
"""The dtype of the number that a function of NumPy makes of one of Python's."""

MEANS = words("mean std var median average nanmean nanstd nanvar nanmedian percentile quantile")
"""What is float64 of integers, and keeps the dtype of floats: functions, some of them methods."""
TOTALS = words("sum prod cumsum cumprod nansum trace")
"""What keeps the dtype of what is added or multiplied."""
EXTREMES = words("max min amax amin nanmax nanmin ptp")
"""What picks some of the items."""
_OF_SEVERAL = words("cumsum cumprod")
"""Of these what gives several numbers."""
_KEPT_BY_METHOD = words(
    """
    copy reshape transpose flatten ravel squeeze repeat clip take swapaxes round diagonal dot conj
    """
)
"""More methods that keep the dtype of their array."""
_OF_EACH = words(
    """
    sin cos tan arcsin arccos arctan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt
    """
)
"""What computes a number with a point of each element, as wide as the element is."""
_OF_MATRICES = words(
    """
    linalg.norm linalg.inv linalg.pinv linalg.solve linalg.cholesky linalg.det linalg.lstsq
    """
)
"""What is float64 of integers as well."""
_KEPT = words(
    """
    abs square sort copy clip round tile repeat roll flip pad diff append reshape transpose
    expand_dims squeeze ascontiguousarray cumsum cumprod zeros_like ones_like empty_like
    random.permutation
    """
)
"""Functions whose array has the dtype of the one that they are given first."""
_ALWAYS_WIDE = words("cov corrcoef interp polyfit")
MADE_WIDE = words(
    """
    linspace logspace geomspace zeros ones empty eye identity hanning hamming blackman kaiser
    bartlett loadtxt genfromtxt random.dirichlet
    """
)
"""Functions that make float64 of nothing, or of numbers, unless a dtype is given."""
READ_WIDE = words("frombuffer fromfile")
"""Functions that take bytes for float64 unless a dtype is given."""
DTYPE_AT = {
    **dict.fromkeys(("zeros", "ones", "empty", "array", "asarray", "asanyarray"), 1),
    **dict.fromkeys(("ascontiguousarray", "identity", "frombuffer", "fromiter", "fromfile"), 1),
    **dict.fromkeys(("zeros_like", "ones_like", "empty_like", "loadtxt", "genfromtxt"), 1),
    **dict.fromkeys(("full", "full_like"), 2),
    "eye": 3,
    "geomspace": 4,
    **dict.fromkeys(("linspace", "logspace"), 5),
}
"""Functions by where a dtype may be given without its name."""
_SIZE_AT = {
    "rand": 0,
    "randn": 0,
    "random": 0,
    "random_sample": 0,
    "standard_normal": 0,
    "exponential": 1,
    "beta": 2,
    "gamma": 2,
    "gumbel": 2,
    "laplace": 2,
    "logistic": 2,
    "lognormal": 2,
    "normal": 2,
    "uniform": 2,
}
GENERATORS = words("random.RandomState random.default_rng random.Generator")
"""What makes an object that draws as the functions of `numpy.random` do."""
_COUNTS = words(
    """
    argsort argmax argmin digitize searchsorted count_nonzero nonzero flatnonzero random.randint
    """
)
"""What numbers the items of an array."""
_TRUTHS = words(
    """
    logical_and logical_or logical_xor logical_not isnan isinf isfinite isin isclose equal not_equal
    greater greater_equal less less_equal
    """
)
"""What tells of each item whether something holds."""
_OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mult",
    "divide": "Div",
    "true_divide": "Div",
    "power": "Pow",
    "maximum": "Add",
    "minimum": "Add",
    "dot": "MatMult",
    "matmul": "MatMult",
    "outer": "Mult",
}
SKLEARN_WEIGHTS = words("compute_class_weight compute_sample_weight")
"""Functions of `sklearn.utils.class_weight`, which compute in float64 whatever they are given."""
SCALERS = words("StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer")
"""Classes of `sklearn.preprocessing` that keep floats as they are, and make float64 of integers."""


def size_at(drawing: str) -> int | None:
    """Where a function of `numpy.random`, by its last name, or a method of a generator is told how
    many numbers to draw; None: it draws none with a point. Without it they draw a number of
    Python's, which torch takes for float32."""
    return _SIZE_AT.get(drawing)


def as_float(dtype: str | None) -> str | None:
    """What a mean and its like make of an array."""
    if dtype == COMPLEX:
        return "complex128"
    return "float64" if dtype in INTEGERS or dtype in _NUMBERS else dtype


def of_each(dtype: str | None) -> str | None:
    """What `np.sqrt` and its like make of an array: uint8 becomes float16."""
    return _NARROW[dtype] if dtype in _NARROW else as_float(dtype)


def made_of(
    function: str, count: int, side: Callable[[int], str | None], *, weighed: bool
) -> str | None:
    """The dtype that a function of NumPy makes of `count` arguments, of each of which `side` tells
    the dtype or which kind of number it is; None: not certain. `weighed`: it is given weights."""
    if function in _ALWAYS_WIDE:
        return "float64"
    if function in _COUNTS:
        return "int64"
    if function in _TRUTHS:
        return "bool"
    if function == "bincount":
        return "float64" if weighed else "int64"
    if function == "arange":
        kinds = {side(at) for at in range(count)}
        if REAL in kinds:
            return "float64"
        return "int64" if kinds == {INTEGER} else None
    if function == "full":
        return "float64" if count > 1 and side(1) == REAL else None
    if function == "where":
        return together(side(1), side(2)) if count == 3 else None
    if not count:
        return None  # What it is given has names: `np.mean(a=x)`.
    if function in _OPERATORS:
        return combined(_OPERATORS[function], side(0), side(1)) if count > 1 else None
    if function in MEANS or function in _OF_MATRICES:
        return made_by_numpy(function, as_float(side(0)))
    if function in _OF_EACH:
        return of_each(side(0))
    if function == "random.permutation" and count and side(0) in (INTEGER, NUMBER):
        return "int64"
    kept = function in _KEPT or function in TOTALS or function in EXTREMES
    dtype = made_by_numpy(function, side(0)) if kept else None
    if function in TOTALS and dtype == "bool":
        return "int64"  # So many of them.
    return _OF_ONE.get(dtype, dtype) if dtype is not None else None


def number_of(dtype: str | None) -> str:
    """Which kind of number a single one of this dtype is."""
    if is_complex(dtype):
        return COMPLEX
    return REAL if dtype in FLOATS else INTEGER if dtype in INTEGERS else NUMBER


def made_by_method(method: str, dtype: str | None) -> str | None:
    """The dtype of what a method of an array gives; None: not certain."""
    if method in MEANS:
        return made_by_numpy(method, as_float(dtype))
    if method in TOTALS and dtype == "bool":
        return "int64"
    return dtype if method in _KEPT_BY_METHOD | TOTALS | EXTREMES else None


def is_one_number(function: str, count: int) -> bool:
    """Whether a function of `count` arguments, one of them the array, gives a single number: it is
    told no axis."""
    return count < 2 and function in (MEANS | TOTALS | EXTREMES) - _OF_SEVERAL


def combined(operator: str, left: str | None, right: str | None) -> str | None:
    """The dtype of `left operator right`, each a dtype or one of the kinds of numbers of which at
    least one is a dtype; None: not certain."""
    numbers = _NUMBERS | {COMPLEX}
    if left is None or right is None or (left in numbers and right in numbers):
        return None
    if COMPLEX in (left, right):
        return combined_with_complex(right if left == COMPLEX else left)
    if operator == "Div" and {left, right} <= INTEGERS | _NUMBERS:
        return "float64"
    if left == right:
        return left
    array, other = (right, left) if left in _NUMBERS else (left, right)
    if other in _NUMBERS:
        if array in FLOATS:
            return array
        if other == REAL and array in INTEGERS and (array != "bool" or operator != "Pow"):
            return "float64"
        return array if other == INTEGER and array == "int64" else None
    return "float64" if "float64" in (left, right) and {left, right} & INTEGERS else None


def combined_with_complex(other: str | None) -> str | None:
    """The dtype of an array that meets a complex number of Python's."""
    if other in INTEGERS:
        return "complex128"
    return met_by_number(other)


def together(left: str | None, right: str | None) -> str | None:
    """The dtype of an array of which some items are of the one and some of the other."""
    if left in _NUMBERS and right in _NUMBERS:
        if REAL in (left, right):
            return "float64"
        return "int64" if left == right == INTEGER else None
    return combined("Add", left, right)


# Source: these libraries take what they are given by `numpy.asarray`, which asks a tensor for an
# array of its memory: matplotlib 3.9 (`cbook._unpack_to_numpy`, `_check_1d`), pandas 2.2
# (`DataFrame.__init__`), seaborn 0.13, scikit-learn 1.5 (`check_array`), SciPy 1.13, NumPy
# (`stack` and its like ask each part).
_READING: dict[str, frozenset[str] | None] = {
    "matplotlib.pyplot": words(
        """
        plot scatter bar barh hist hist2d imshow matshow fill_between step semilogx semilogy loglog
        contour contourf pcolormesh boxplot errorbar stem
        """
    ),
    "pandas": words("DataFrame Series"),
    "numpy": words("stack concatenate vstack hstack column_stack save savetxt"),
    **dict.fromkeys(
        (
            *("seaborn", "sklearn.metrics", "scipy.ndimage", "scipy.signal", "scipy.stats"),
            *("scipy.linalg", "scipy.interpolate", "scipy.spatial.distance"),
        )
    ),
}
"""By module the functions that read their arguments as arrays; None: all of them do."""
READING_PACKAGES = frozenset(name.partition(".")[0] for name in _READING)


def reads_arrays(name: str) -> bool:
    """Whether a function, by its qualified name, reads tensors that it is given as arrays."""
    module, _, last = name.rpartition(".")
    if module not in _READING:
        return False
    names = _READING[module]
    return last in names if names is not None else last.islower()
