"""Libraries that take a device and know nothing of MPS, and the values that come to them.

`WhisperModel(path, device=device)` of faster-whisper takes `"cpu"` and `"cuda"`: a selection that
is widened to MPS raises there, on a Mac that was well served by the CPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import defaults_of, positional_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

WITHOUT_MPS = frozenset(
    {"ctranslate2", "faster_whisper", "whisperx", "whisper_s2t", "onnxruntime", "onnxruntime_genai"}
    | {"tensorrt", "tensorrt_llm", "torch_tensorrt", "vllm", "lmdeploy", "sglang", "sherpa_onnx"}
    | {"paddle", "paddleocr", "paddlenlp", "cupy", "cudf", "cuml", "cugraph", "numba", "pycuda"}
    | {"jax", "jaxlib", "flax", "tensorflow", "mxnet", "dgl", "xgboost", "lightgbm", "openvino"}
    | {"deepspeed", "flash_attn", "xformers", "apex", "triton", "bitsandbytes", "auto_gptq"}
    | {"faiss", "k2", "kaldifeat", "nvidia"}
)
"""Top-level modules whose devices are the CPU and CUDA (or none of torch's)."""
_DEPTH = 8
_CONVERSIONS = ("torch.device", "str")


def foreign_consumer(context: Context, node: ast.expr) -> str | None:
    """The library without MPS that the value of `node` is handed to in this file, as far as it
    can be followed: through variables, attributes, options, parameters and what is returned."""
    return next(_consumers(context, node, _DEPTH, set()), None)


def _consumers(context: Context, node: ast.AST, depth: int, seen: set[ast.AST]) -> Iterator[str]:
    if depth == 0 or node in seen:
        return
    seen.add(node)
    child, parent = node, context.index.parents.get(node)
    while parent is not None and _passes_on(context, parent, child):
        child, parent = parent, context.index.parents.get(parent)
    if isinstance(parent, ast.keyword):
        child, parent = parent, context.index.parents[parent]
    if isinstance(parent, ast.Call) and child is not parent.func:
        library = _library(context, parent)
        if library is not None:
            yield library
            return
    for place in _next_places(context, child, parent):
        yield from _consumers(context, place, depth - 1, seen)


def _passes_on(context: Context, parent: ast.AST, child: ast.AST) -> bool:
    """Whether `parent` is the same device in another form, or a table that holds it."""
    if isinstance(parent, ast.IfExp):
        return child is not parent.test
    if isinstance(parent, ast.Call):
        return child in parent.args and context.resolve(parent.func) in _CONVERSIONS
    if isinstance(parent, ast.Attribute):
        return parent.attr == "type"
    return isinstance(
        parent, ast.BoolOp | ast.NamedExpr | ast.Dict | ast.FormattedValue | ast.JoinedStr
    )


def _library(context: Context, call: ast.Call) -> str | None:
    top = (context.resolve(call.func) or "").split(".")[0]
    return top if top in WITHOUT_MPS else None


def _next_places(context: Context, child: ast.AST, parent: ast.AST | None) -> Iterator[ast.AST]:
    """The places where the value of `child` is read next."""
    if isinstance(parent, ast.Assign):
        for target in parent.targets:
            yield from reads(context, target)
    elif isinstance(parent, ast.AnnAssign):
        yield from reads(context, parent.target)
    elif isinstance(parent, ast.Return):
        function = context.index.function(parent)
        if function is not None:
            yield from context.index.calls.get(function.name, ())
    elif isinstance(parent, ast.arguments):
        yield from _default_reads(context, parent, child)
    elif isinstance(parent, ast.Call):
        yield from given_to(context, parent, child)[1]
        yield from _option_reads(context, parent)


def reads_of(context: Context, target: ast.Name) -> Iterator[ast.Name]:
    """Where the value that an assignment gives to a name may be read."""
    statement = context.index.statement(target)
    for use in context.index.names.get(target.id, ()):
        if isinstance(use.ctx, ast.Load) and any(
            binding.node is statement for binding in context.flow.reaching(use)
        ):
            yield use


def reads(context: Context, target: ast.expr) -> Iterator[ast.expr]:
    """Where the value that an assignment gives to `target` may be read."""
    if isinstance(target, ast.Name):
        yield from reads_of(context, target)
    elif isinstance(target, ast.Attribute):
        spelled = ast.unparse(target)
        for read in context.index.attributes.get(target.attr, ()):
            if isinstance(read.ctx, ast.Load) and ast.unparse(read) == spelled:
                yield read


def _parameter_reads(context: Context, function: FunctionNode, name: str) -> Iterator[ast.expr]:
    scope = context.names.own_scope(function)
    for use in context.index.names.get(name, ()):
        if isinstance(use.ctx, ast.Load) and context.names.owner(name, use) is scope:
            yield use


def _default_reads(
    context: Context, arguments: ast.arguments, default: ast.AST
) -> Iterator[ast.AST]:
    function = context.index.parents[arguments]
    if not isinstance(function, FUNCTIONS):
        return
    for argument, value in defaults_of(arguments):
        if value is default:
            yield from _parameter_reads(context, function, argument.arg)


def given_to(
    context: Context, call: ast.Call, given: ast.AST
) -> tuple[FunctionNode | None, list[ast.expr]]:
    """The function of this file that gets `given` (an argument of `call`, or its keyword), and
    the reads of the parameter in it; None for the function where it is out of sight."""
    function, skip = _called(context, call)
    if function is None:
        return None, []
    if isinstance(given, ast.keyword):
        name = given.arg
    else:
        positional = positional_parameters(function.args)[skip:]
        starred = any(isinstance(item, ast.Starred) for item in call.args)
        position = call.args.index(given) if given in call.args else len(positional)
        known = position < len(positional) and not starred
        name = positional[position].arg if known else None
    if name is None:
        return None, []
    return function, list(_parameter_reads(context, function, name))


def _called(context: Context, call: ast.Call) -> tuple[FunctionNode | None, int]:
    """The function of this file that `call` calls, and how many parameters it does not give."""
    func = call.func
    if isinstance(func, ast.Name):
        bindings = context.names.bindings(func.id, func)
        found = bindings[0].node if len(bindings) == 1 else None
        if isinstance(found, ast.ClassDef):
            return method_of(found, "__init__"), 1
        return (found, 0) if isinstance(found, FUNCTIONS) else (None, 0)
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
        klass = context.index.enclosing(call, ast.ClassDef)
        if func.value.id == "self" and klass is not None:
            return method_of(klass, func.attr), 1
    return None, 0


def _option_reads(context: Context, call: ast.Call) -> Iterator[ast.AST]:
    """`parser.add_argument("--device", default=...)` is read as `args.device`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in (
        "add_argument",
        "add_option",
    ):
        return
    for given in call.args:
        if isinstance(given, ast.Constant) and isinstance(given.value, str):
            name = given.value.lstrip("-").replace("-", "_")
            for read in context.index.attributes.get(name, ()):
                if isinstance(read.ctx, ast.Load):
                    yield read
