"""Of which dtype NumPy's arrays are that functions, methods and operators make of others.

Source: the reference of NumPy 1.26 and 2.x (functions, promotion by NEP 50), scikit-learn 1.5.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INTEGERS = _words("bool int8 int16 int32 int64 uint8 uint16 uint32 uint64")
_WORDS_OF_64 = _words("int32 int64 uint32 uint64")
"""With these a number with a point makes float64, with the narrower ones older versions less."""
_FLOATS = _words("float16 float32 float64")
INTEGER, REAL, NUMBER = "an integer", "a real", "a number"
"""Numbers of Python's, in place of a dtype: the last one is either of the others."""
_NUMBERS = frozenset({INTEGER, REAL, NUMBER})

MEANS = _words("mean std var median average nanmean nanstd nanvar nanmedian percentile quantile")
"""What is float64 of integers, and keeps the dtype of floats: functions, some of them methods."""
TOTALS = _words("sum prod cumsum cumprod nansum trace")
"""What keeps the dtype of what is added or multiplied."""
EXTREMES = _words("max min amax amin nanmax nanmin ptp unique")
"""What picks some of the items."""
KEPT_BY_METHOD = _words("take swapaxes round diagonal dot conj")
"""More methods that keep the dtype of their array."""
OF_FLOATS = _words(
    """
    sin cos tan arcsin arccos arctan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt cbrt
    linalg.norm linalg.inv linalg.pinv linalg.solve linalg.cholesky linalg.det linalg.lstsq
    """
)
"""What is float64 of integers as well."""
ALWAYS_WIDE = _words("cov corrcoef interp polyfit polyval")
COUNTS = _words(
    """
    argsort argmax argmin digitize searchsorted count_nonzero nonzero flatnonzero random.randint
    """
)
"""What numbers the items of an array."""
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
SKLEARN_WEIGHTS = _words("compute_class_weight compute_sample_weight")
"""Functions of `sklearn.utils.class_weight`, which compute in float64 whatever they are given."""
SCALERS = _words("StandardScaler MinMaxScaler MaxAbsScaler RobustScaler Normalizer")
"""Classes of `sklearn.preprocessing` that keep floats as they are, and make float64 of integers."""


def operator_of(function: str) -> str | None:
    """The operator that a function of NumPy applies, by the name of its node."""
    return _OPERATORS.get(function)


def as_float(dtype: str | None) -> str | None:
    """What a function with a fractional result makes of an array."""
    return "float64" if dtype in _INTEGERS else dtype


def combined(operator: str, left: str | None, right: str | None) -> str | None:
    """The dtype of `left operator right`, each a dtype or one of the kinds of numbers of which at
    least one is a dtype; None: not certain."""
    if left is None or right is None or (left in _NUMBERS and right in _NUMBERS):
        return None
    if operator == "Div" and {left, right} <= _INTEGERS | {INTEGER, NUMBER}:
        known = left if right in _NUMBERS else right
        return None if known not in _WORDS_OF_64 and NUMBER in (left, right) else "float64"
    if left == right:
        return left
    array, other = (right, left) if left in _NUMBERS else (left, right)
    if other in _NUMBERS:
        if array in _FLOATS:
            return array
        if other == REAL and array in _WORDS_OF_64:
            return "float64"
        return array if other == INTEGER and array == "int64" else None
    return "float64" if "float64" in (left, right) and {left, right} & _INTEGERS else None


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
    "matplotlib.pyplot": _words(
        """
        plot scatter bar barh hist hist2d imshow matshow fill_between step semilogx semilogy loglog
        contour contourf pcolormesh boxplot errorbar stem
        """
    ),
    "pandas": _words("DataFrame Series"),
    "numpy": _words("stack concatenate vstack hstack column_stack save savetxt"),
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
