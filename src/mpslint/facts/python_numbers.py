"""Functions of Python's standard library that give numbers, or items of what they are given.

Source: the library's reference of Python 3.13 (`random`, `math`, `time`).
"""

from __future__ import annotations


def _of(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


FRACTIONS = (
    _of(
        "random",
        """
        random uniform triangular gauss normalvariate lognormvariate expovariate betavariate
        gammavariate vonmisesvariate paretovariate weibullvariate
        """,
    )
    | _of(
        "math",
        """
        sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2
        log10 log1p sqrt cbrt pow hypot dist degrees radians erf erfc gamma lgamma fsum fabs fmod
        """,
    )
    | _of("time", "time perf_counter monotonic process_time")
)
"""What gives a number with a point, whatever it is given."""
WHOLE = _of("random", "randint randrange getrandbits") | _of("math", "floor ceil trunc gcd comb")
PICKING = frozenset({"random.choice"})
"""What gives one item of what it is given first."""
SAMPLING = frozenset({"random.sample", "random.choices"})
"""What gives a list of these."""
GENERATORS = frozenset({"random.Random", "random.SystemRandom"})
"""What makes an object that draws as the functions of `random` do."""
CONSTANTS = frozenset({"math.pi", "math.e", "math.tau", "math.inf", "numpy.pi", "numpy.e"})
"""Names of numbers with a point."""
MODULES = frozenset({"random", "math", "time"})
