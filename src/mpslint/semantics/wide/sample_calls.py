"""What calls give, of functions of packages and of methods of tensors, arrays and texts."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from mpslint.facts import arrays, batches
from mpslint.facts.python_numbers import FRACTIONS, PICKING, SAMPLING
from mpslint.facts.python_numbers import WHOLE as WHOLE_FUNCTIONS
from mpslint.semantics.wide.sample_values import (
    ANY,
    GENERATOR,
    INTEGERS,
    NARROW,
    PICTURE,
    PLAIN,
    UNREAD,
    WHOLE,
    WIDE,
    WORST,
    Many,
    Row,
    Table,
    Value,
    all_together,
    array_of,
    computed,
    each,
    together,
    worst,
)

_Of = Callable[[ast.expr], Value | None]
_DOUBLE = ("float64", "double", "Double")
_KEEPING = frozenset({"list", "tuple", "sorted", "set", "reversed", "iter", "deque", "next"})
_FROM_ARRAYS = frozenset({"from_numpy", "as_tensor", "tensor", "asarray", "FloatTensor", "Tensor"})
_NARROW_NUMBERS = frozenset({"float32", "float16", "half", "single"})
_WIDE_NUMBERS = frozenset({"float64", "double", "float_", "longdouble"})


def call_of_builtin(name: str, node: ast.Call, of: _Of) -> Value | None:
    values = [of(one) for one in node.args if not isinstance(one, ast.Starred)]
    first = values[0] if values else None
    if name in batches.COUNTING_BUILTINS:
        return WHOLE
    if name == "float":
        return PLAIN
    if name == "round":
        return WHOLE if len(values) == 1 else first
    if name == "abs":
        return first
    if name in ("min", "max", "sum"):
        return all_together(values) if len(values) > 1 and name != "sum" else each(first)
    if name == "dict":
        if values:
            return first
        return Table({one.arg: of(one.value) or NARROW for one in node.keywords if one.arg})
    if name == "next":
        return each(first)
    if name in _KEEPING:
        return first if values else Many(None)
    if name == "range":
        return Many(WHOLE)
    if name == "enumerate":
        return Many(Row((WHOLE, each(first) or NARROW)))
    if name == "zip" and len(node.args) == 1 and isinstance(node.args[0], ast.Starred):
        rows = each(of(node.args[0].value))  # `xs, ys = zip(*rows)`
        return Row(tuple(map(Many, rows.parts))) if isinstance(rows, Row) else ANY
    if name == "zip":
        return Many(Row(tuple(each(one) or NARROW for one in values)))
    if name == "map" and len(node.args) == 2:
        return Many(_mapped(node.args[0], of))
    return each(values[1]) if name == "filter" and len(values) == 2 else ANY


def called(maker: Value | None, given: Iterable[Value | None]) -> Value | None:
    """What an object gives that is called: one of torch's, or what is made of a picture, which no
    batch can be made of, is a tensor."""
    kinds = {worst(one) for one in given}
    if maker in (NARROW, UNREAD) or PICTURE in kinds:
        return WIDE if WIDE in kinds else NARROW
    return ANY


def _mapped(function: ast.expr, of: _Of) -> Value | None:
    call = ast.Call(function, [ast.Constant(0)], [])
    return of(ast.copy_location(call, function)) if isinstance(function, ast.Name) else ANY


def imported(name: str, node: ast.Call, of: _Of) -> Value | None:
    """What a function of a package gives, by its qualified name."""
    package, _, function = name.partition(".")
    last = name.rpartition(".")[2]
    if name in batches.RESHAPING and node.args:
        made = of(node.args[0])
        return INTEGERS if made in (None, ANY, UNREAD) else made
    if name in batches.PICTURES:
        return INTEGERS
    if name.startswith("PIL."):
        return PICTURE
    if package in batches.TORCH:
        return _of_torch(last, node, of)
    if package == "numpy":
        return _of_numpy(function, node, of)
    if name in FRACTIONS:
        return PLAIN
    if name in WHOLE_FUNCTIONS or name.startswith("os.path."):
        return WHOLE
    if name in PICKING:
        return each(of(node.args[0])) if node.args else ANY
    if name in SAMPLING or name == "copy.deepcopy" or name == "collections.deque":
        return of(node.args[0]) if node.args else Many(None)
    return called(None, map(of, node.args))


def _row(node: ast.Call, of: _Of) -> Value:
    if any(isinstance(one, ast.Starred) for one in node.args):
        return Many(all_together(map(of, node.args)))
    return Row(tuple(of(one) or NARROW for one in node.args))


def _of_torch(last: str, node: ast.Call, of: _Of) -> Value:
    if last == "TensorDataset":
        return Many(_row(node, of))
    if last == "DataLoader":
        data = of(node.args[0]) if node.args else None
        return data if isinstance(data, Many) else NARROW
    dtype = _dtype(node)
    if dtype is not None:
        return WIDE if _is_wide(dtype) else NARROW
    if last == "DoubleTensor":
        return WIDE
    if last in _FROM_ARRAYS and last.islower() and node.args:
        kind = worst(of(node.args[0]))
        return UNREAD if kind == ANY and last == "from_numpy" else _tensor(kind)
    if last in ("stack", "cat") and node.args:
        return _tensor(worst(of(node.args[0])))
    return NARROW


def _dtype(node: ast.Call) -> str | None:
    return next((ast.unparse(one.value) for one in node.keywords if one.arg == "dtype"), None)


def _is_wide(dtype: str) -> bool:
    """Whether a dtype of torch, as it is spelled, is float64 where the machine has MPS, as `float`
    of Python is."""
    is_double = any(word in dtype for word in _DOUBLE) and "mps" not in dtype
    return is_double or dtype == "float"


def of_dtype(text: str) -> str:
    """The array of a dtype as it is spelled."""
    module, _, last = text.strip("'\"").rpartition(".")
    is_pythons = last in ("float", "d", "f8", "<f8") and module != "torch"
    if is_pythons or any(word in last for word in _DOUBLE):
        return WIDE
    if last.lower().startswith(("int", "uint", "long", "bool", "short", "byte")):
        return INTEGERS if module != "torch" else NARROW
    return NARROW if last.lower().startswith(("f", "half", "bfloat", "single")) else ANY


def _of_numpy(function: str, node: ast.Call, of: _Of) -> Value:
    dtype = _dtype(node)
    if dtype is not None:
        return of_dtype(dtype)
    values = [of(one) for one in node.args if not isinstance(one, ast.Starred)]
    last = function.rpartition(".")[2]
    if last in _NARROW_NUMBERS:
        return NARROW
    if last in _WIDE_NUMBERS:
        return WIDE
    if last.startswith(("int", "uint", "bool")):
        return INTEGERS
    at = arrays.DTYPE_AT.get(last)
    if at is not None and len(node.args) > at:
        return of_dtype(ast.unparse(node.args[at]))
    if function in arrays.MADE_WIDE:
        return WIDE
    if function in arrays.GENERATORS:
        return GENERATOR
    if function.startswith("random."):
        if last in ("choice", "permutation"):
            return array_of(values[0]) if values else ANY
        if last in ("randint", "integers", "binomial"):
            return INTEGERS
        sized = arrays.size_at(last)
        is_one = sized is not None and len(node.args) <= sized and not _is_sized_by_name(node)
        return PLAIN if is_one else WIDE
    kinds = [array_of(one) for one in values]
    if not kinds:
        return ANY
    if last in batches.COUNTING or last in ("searchsorted", "digitize", "unique", "flatnonzero"):
        return INTEGERS if last != "unique" else kinds[0]
    if last == "arange":
        return WIDE if WIDE in kinds else ANY if ANY in kinds else INTEGERS
    if last == "full":
        return kinds[1] if len(kinds) > 1 else ANY
    if function in arrays.MEANS or last in ("sqrt", "exp", "log", "log1p", "sin", "cos", "log10"):
        return {INTEGERS: WIDE}.get(kinds[0], kinds[0])
    if last in ("where", "maximum", "minimum", "add", "subtract", "multiply", "dot", "matmul"):
        pair = kinds[-2:]
        return computed(ast.Add(), pair[0], pair[-1])
    if last in ("divide", "true_divide"):
        return computed(ast.Div(), kinds[0], kinds[-1])
    if last == "einsum":  # The first one says what is done with the others.
        return min(kinds[1:], key=WORST.index, default=ANY)
    if last in arrays.READ_WIDE:
        return WIDE
    if last in ("loads", "load", "memmap", "fromiter"):
        return ANY
    return kinds[0]


def _is_sized_by_name(node: ast.Call) -> bool:
    return any(one.arg in ("size", None) for one in node.keywords)


def call_of_method(name: str, owner: Value | None, node: ast.Call, of: _Of) -> Value | None:
    """What a method gives of a value."""
    kind = worst(owner)
    if kind == PICTURE:
        return PICTURE
    if kind == GENERATOR:
        return _of_numpy(f"random.{name}", node, of)
    if name == "double":
        return WIDE
    if name in batches.CASTING:
        return _cast(name, node, kind)
    if name == "to":
        told = " ".join(ast.unparse(one) for one in (*node.args, *node.keywords))
        return WIDE if _is_wide(told) else _tensor(kind)
    if name in ("item", "tolist"):
        return {WIDE: PLAIN, NARROW: ANY, UNREAD: ANY, INTEGERS: WHOLE}.get(kind, kind)
    if name in batches.COUNTING:
        return INTEGERS if name.startswith(("arg", "nonzero")) else WHOLE
    if name in batches.SPELLING:
        return WHOLE
    if name in ("split", "rsplit", "splitlines"):
        is_text = not node.args or all(isinstance(one, ast.Constant) for one in node.args)
        return Many(WHOLE) if is_text and kind in (ANY, WHOLE) else owner
    if name in batches.TENSORS_ALONE or (name == "view" and _is_sized(node)):
        return _tensor(kind)
    if name == "keys":
        return Many(WHOLE)
    if name == "items":
        return Many(Row((ANY, each(owner) or NARROW)))
    if name == "values":
        return Many(each(owner))
    if name in ("get", "pop") and (isinstance(owner, Table | Many | Row) or node.args):
        return _looked_up(owner, node, of)
    if name in arrays.MEANS:
        return {INTEGERS: WIDE}.get(kind, kind)
    return owner if name in batches.ARRAY_SHAPING else ANY


def _is_sized(node: ast.Call) -> bool:
    """`view(-1, 1)`, which is a dtype's place in a method of NumPy's."""
    return any(isinstance(one, ast.Constant | ast.UnaryOp) for one in node.args)


def _tensor(kind: str) -> str:
    return kind if kind in (WIDE, UNREAD) else NARROW


def _cast(name: str, node: ast.Call, kind: str) -> str:
    if name in ("astype", "type", "type_as"):
        told = [ast.unparse(one) for one in node.args]
        told += [ast.unparse(one.value) for one in node.keywords if one.arg == "dtype"]
        return of_dtype(told[0]) if told and name != "type_as" else NARROW
    return NARROW


def _looked_up(owner: Value | None, node: ast.Call, of: _Of) -> Value | None:
    key = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    default = of(node.args[1]) if len(node.args) > 1 else None
    if isinstance(owner, Table) and isinstance(key, str):
        return together(owner.keys.get(key, ANY), default)
    return together(each(owner), default)
