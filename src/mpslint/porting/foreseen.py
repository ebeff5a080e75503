"""What a fix would bring about, as far as the text says that it is to be made for.

The analysis runs a file also as it will be once its choices ask for MPS. What raises there, and is
not mended by a fix of its own, speaks against the fixes that let MPS in.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.complex_numbers import is_complex
from mpslint.facts.torch_releases import FIRST_AUTOCAST_ON_MPS, FIRST_WITH_DEVICES, FIRST_WITH_MPS
from mpslint.model import Applicability, Severity
from mpslint.patterns.default_device import REASON
from mpslint.patterns.loading import stays_on_host
from mpslint.porting.bringing import OPENING, brings
from mpslint.porting.in_the_way import keeps_out, weighs
from mpslint.porting.known_harm import leave_known_harm
from mpslint.project.compiled.kernel_calls import missing_name
from mpslint.project.runs.left_behind import DEFAULTS, LASTING, STAYING, lacks_kernel, places
from mpslint.semantics.destinations.destinations import device_argument
from mpslint.semantics.packages.cuda_packages import computes_without_mps
from mpslint.semantics.packages.versions import module_before_mps
from mpslint.semantics.syntax.expressions import is_path, keyword
from mpslint.semantics.wide.wide_companions import companion
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.harm import Harm, harms
from mpslint.semantics.worlds.machines import MACS
from mpslint.sources.opening import is_notebook, spoken_line
from mpslint.sources.screening import names_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Finding
    from mpslint.semantics.context import Context

_LACKING = "which has neither torch.device nor .to(), and no devices by name"
_WITHOUT_ITEM = "whose tensors have no item()"
_AUTOCAST_SINCE, _SCALER_SINCE = (1, 10), (2, 3)
"""The first torch with `torch.autocast`, and with `torch.amp.GradScaler`."""
_WRITING_AUTOCAST = ("MPS207", "MPS208")
"""The codes whose fixes write these, for those of `torch.cuda.amp` and those for CUDA."""
_OF_TENSORS = frozenset({b"torch", b"nn", b"cuda", b"device"})
"""Words of code that makes tensors or modules, or places some."""
_WRITING_DEVICES = (OPENING, "MPS413")
"""Codes whose fixes write one of these."""
_WIDE, _COMPLEX = "MPS401", "MPS404"
"""The codes whose fixes write float32 where a call asks for float64 on a device, and complex64 for
complex128."""
_ON_HOST = "stays on the CPU of a Mac, and is given what goes to MPS"
_REFUSING = "MPS118"
"""The code whose fixes let MPS into what refuses to run without CUDA."""
_NARROWING = "MPS4"
"""Codes of the rules about dtypes that MPS lacks."""
_WRITING_ITEM = "MPS415"
"""The code whose fix writes `.item()`, which came with the same torch."""


def cast_doubt(context: Context, findings: Sequence[Finding]) -> None:
    """Lets fixes be unsafe that the analysis, where it was made, foresees harm of."""
    _doubt_under_torch_without_devices(context, findings)
    _doubt_under_torch_without_autocast(context, findings)
    _doubt_what_needs_an_older_torch(context, findings)
    _doubt_beside_cells_that_were_not_read(context, findings)
    _doubt_what_is_for_kernels(context, findings)
    _doubt_what_goes_to_compiled_modules(context, findings)
    _keep_refusals_that_hold(context, findings)
    _leave_what_has_no_way(context, findings)
    if not context.worlds.is_asked:
        return
    leave_known_harm(context, findings)
    _doubt_what_is_held_back(context, findings)
    _doubt_what_leaves_behind(context, findings)
    opening = [
        one
        for one in findings
        if one.severity is Severity.IGNORES and one.applicability is Applicability.SAFE
    ]
    if not opening:
        return
    for harm in harms(context.worlds):
        if not harm.only_once_ported or is_mended(context, harm):
            continue
        rows = {test.lineno for test in harm.tests if test in context.index.parents}
        reason = harm.sentence(context.source, context.line(harm.node))
        for finding in opening:
            if finding.applicability is Applicability.SAFE and any(
                _speaks_of(finding, row) for row in rows
            ):
                finding.doubt(reason)


def _doubt_under_torch_without_devices(context: Context, findings: Sequence[Finding]) -> None:
    """Code of before torch 0.4 may run on nothing newer, and what fixes write needs that."""
    settings = context.settings
    if settings.oldest_started >= FIRST_WITH_DEVICES:
        return
    place = settings.told or settings.pin
    by = "min-torch" if place is None else place.place
    told = f"{by} tells of torch {_spelled(settings.oldest_started)}"
    for one in findings:
        if one.applicability is Applicability.SAFE:
            if one.code.startswith(_WRITING_DEVICES):
                one.doubt(f"{told}, {_LACKING}")
            elif one.code == _WRITING_ITEM:
                one.doubt(f"{told}, {_WITHOUT_ITEM}")


def _doubt_under_torch_without_autocast(context: Context, findings: Sequence[Finding]) -> None:
    """A README that names an older torch than has what is written for `torch.cuda.amp`: who follows
    it has CUDA, and would have nothing that runs; or a Mac, where the old one only warned."""
    told = context.settings.told
    if told is None or not told.is_said:
        return
    lacking = "without torch.autocast" if told.oldest < _AUTOCAST_SINCE else ""
    has_scaler = bool(context.index.calls.get("GradScaler"))
    if not lacking and has_scaler and told.oldest < _SCALER_SINCE:
        lacking = "without torch.amp.GradScaler"
    if not lacking and FIRST_WITH_MPS <= told.oldest < FIRST_AUTOCAST_ON_MPS:
        lacking = "whose autocast raises on MPS"
    for one in findings if lacking else ():
        if one.code in _WRITING_AUTOCAST and one.applicability is Applicability.SAFE:
            one.doubt(f"{told.place} tells of torch {_spelled(told.oldest)}, {lacking}")


def _doubt_what_needs_an_older_torch(context: Context, findings: Sequence[Finding]) -> None:
    """A file that such a module is imported by runs on no Mac's GPU, and what it moves to CUDA may
    have nothing else to be moved by."""
    name, statement = module_before_mps(context)
    if statement is None:
        return
    for one in findings:
        if brings(one.code) and one.applicability is Applicability.SAFE:
            one.doubt(f"{context.line(statement)}: no torch that has MPS has {name}")


def _doubt_beside_cells_that_were_not_read(context: Context, findings: Sequence[Finding]) -> None:
    """What a cell does that does not parse nobody knows: a blank of an exercise, say, beside a line
    that leaves its tensor on the CPU."""
    source = context.source
    if not is_notebook(source.path):
        return
    from mpslint.sources.notebook.source import NotebookSource

    if not isinstance(source, NotebookSource):
        return
    for number, text in source.unread_texts.items():
        named = [word for word in names_in(text.encode()) if word in _OF_TENSORS]
        for one in findings if named else ():
            if brings(one.code) and one.applicability is Applicability.SAFE:
                one.doubt(f"cell {number} does not parse, and names {min(named).decode()}")


def _doubt_what_is_for_kernels(context: Context, findings: Sequence[Finding]) -> None:
    """A function that goes on to what ends on each Mac, a test of kernels say, needs its CUDA."""
    opening = [
        one for one in findings if brings(one.code) and one.applicability is Applicability.SAFE
    ]
    calls: dict[ast.AST | None, list[ast.Call]] = {}
    for call in context.index.of(ast.Call) if opening else ():
        calls.setdefault(context.index.function(call), []).append(call)
    for function in context.index.functions() if opening else ():
        last = function.end_lineno or function.lineno
        inside = [one for one in opening if function.lineno <= one.row <= last]
        for call in calls.get(function, ()) if inside else ():
            name = missing_name(context, call)
            if name and context.worlds.reach(call) & MACS:
                told = f"{context.line(call)}: `{ast.unparse(call.func)}` needs `{name}`"
                for one in inside:
                    one.doubt(f"{told}, which no Mac has")
                break


def _doubt_what_goes_to_compiled_modules(context: Context, findings: Sequence[Finding]) -> None:
    """A function that imports for itself what takes no tensors of MPS gets none, whatever dtype a
    fix would give them."""
    elsewhere = context.elsewhere
    doubted = [one for one in findings if one.applicability is Applicability.SAFE]
    for item in context.index.of(ast.ImportFrom) if doubted and elsewhere is not None else ():
        function = context.index.function(item)
        if function is None or elsewhere is None:
            continue
        last = function.end_lineno or function.lineno
        inside = [
            one
            for one in doubted
            if function.lineno <= one.row <= last
            and (brings(one.code) or one.code.startswith(_NARROWING))
        ]
        module = "." * item.level + (item.module or "")
        made_of = elsewhere.compiled_from(context.source.path, module) if inside else ""
        told = f"{context.line(item)}: {made_of}, which this is compiled from, knows no MPS"
        for one in inside if made_of else ():
            one.doubt(told)


def _keep_refusals_that_hold(context: Context, findings: Sequence[Finding]) -> None:
    """A function that refuses to run without CUDA, and asks below that what nothing but CUDA can
    answer, keeps to it: who was let in would end there, behind rows that had been written for him.
    So do the rows between, and there is no fix of either."""
    closed = [one for one in findings if one.code == _REFUSING and one.applicability is not None]
    for refusal in closed:
        around = _function_at(context, refusal)
        if around is None:
            continue
        last = around.end_lineno or around.lineno
        below = [one for one in findings if refusal.row < one.row <= last]
        held = next((one for one in below if keeps_out(one) and one.applicability is None), None)
        if held is None or held.severity is not Severity.BREAKS:
            continue
        why = f"{spoken_line(context.source, context.source.starts[held.row - 1])}: {held.fact}"
        for one in (refusal, *below):
            if one.severity >= Severity.IGNORES and one.applicability is not None:
                one.drop_fix(why)


def _leave_what_has_no_way(context: Context, findings: Sequence[Finding]) -> None:
    """A module whose graphs have no way to MPS takes its models nowhere but to CUDA and the CPU."""
    for one in findings if computes_without_mps(context) else ():
        if brings(one.code) and not one.follows and one.applicability is not None:
            one.drop_fix("a package that this needs keeps its data on CUDA or the CPU")


def _function_at(
    context: Context, finding: Finding
) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function in which a finding is."""
    around = [
        one
        for one in context.index.functions()
        if one.lineno <= finding.row <= (one.end_lineno or one.lineno)
    ]
    return max(around, key=lambda one: one.lineno, default=None)


def _doubt_what_is_held_back(context: Context, findings: Sequence[Finding]) -> None:
    """Where a project holds MPS back its fixes say so; there, what a rule says of their level is
    not enough: whether one chooses MPS is known once it is built."""
    moving = [one for one in findings if _opens(one) and _is_safe(one)]
    reason = context.held_back if moving else ""
    for one in moving if reason else ():
        if one.fix is not None and one.fix.applicability is not Applicability.SAFE:
            one.doubt(reason)


def _doubt_what_leaves_behind(context: Context, findings: Sequence[Finding]) -> None:
    """Fixes that let tensors come to MPS are safe together, or none of them is: neither where a
    move of the file stays CUDA's own, nor where a module that it leads to cannot have them."""
    moving = [one for one in findings if _opens(one) and _is_safe(one)]
    if "mps" not in context.settings.device_order or _left_out(context, findings) or not moving:
        return
    widening = [one for one in moving if one.severity is Severity.IGNORES]
    for one in findings:
        if lacks_kernel(one) and weighs(one) and one.applicability is not Applicability.SAFE:
            line = spoken_line(context.source, context.source.starts[one.row - 1])
            for wide in widening:
                wide.doubt(f"{line}: {one.fact}")
            break
    for call in context.calls_of("torch.load", "torch.jit.load") if widening else ():
        met = stays_on_host(context, call)
        if met is not None:
            for wide in widening:
                wide.doubt(
                    f"{context.line(met)}: what is loaded on {context.line(call)} {_ON_HOST}"
                )
            return
    for place in places(context):
        doubted = moving if place.why in STAYING else widening if place.is_sent else []
        if doubted and not place.is_mended:
            why = f"{place.line}: {place.text} {place.why}"
            for one in doubted:
                one.doubt(REASON if place.why == DEFAULTS else why)
            return
    if widening and context.elsewhere is not None:
        left = context.elsewhere.left_behind(context, alone=False)
        for one in widening if left is not None else ():
            one.doubt(str(left))


def _left_out(context: Context, findings: Sequence[Finding]) -> bool:
    """Takes away, at whatever level, what would bring to MPS a program that ran on the CPU, where
    all that it makes stays there: its first step would end it. Whether there is such a fix."""
    widening = [
        one
        for one in findings
        if one.severity is Severity.IGNORES and _opens(one) and one.applicability is not None
    ]
    lasting = (one for one in (places(context) if widening else ()) if one.why == LASTING)
    told = next((f"{one.line}: {one.text} {LASTING}" for one in lasting), "")
    if not told and widening and context.elsewhere is not None:
        told = context.elsewhere.left_behind(context, alone=False) or ""
    if not told.endswith(LASTING):
        return False
    for one in widening:
        one.drop_fix(told)
    return True


def _spelled(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))


def _opens(finding: Finding) -> bool:
    """Whether a fix may bring something to MPS."""
    return brings(finding.code) and not finding.follows


def _is_safe(finding: Finding) -> bool:
    return finding.severity >= Severity.IGNORES and finding.applicability is Applicability.SAFE


def _speaks_of(finding: Finding, row: int) -> bool:
    if finding.row <= row <= finding.end_row:
        return True
    return any(label.row == row for label in finding.labels)


def is_mended(context: Context, harm: Harm) -> bool:
    """Whether the fix of float64-on-device will mend it in the same run."""
    settings = context.settings
    code = _COMPLEX if is_complex(harm.dtype) else _WIDE
    if code not in settings.enabled(context.source.path) or not settings.may_fix(code):
        return False
    if harm.kind is not Kind.WIDE or harm.is_default or harm.is_one:
        return False
    if not isinstance(harm.node, ast.Call):
        return False
    if harm.is_module and not _is_cast_where_moved(harm.node):
        return False
    device = device_argument(context, harm.node)
    if device is None or keyword(harm.node, "dtype") is not None or len(harm.node.args) > 1:
        return False
    return is_path(device) and not stays_beside_wide(context, harm.node)


def stays_beside_wide(context: Context, move: ast.Call) -> bool:
    """Whether what is moved is used together with something that stays float64: casting the one
    alone helps nobody."""
    beside = wide_moves(context)
    return companion(context, move, beside, "float64") is not None


def wide_moves(context: Context) -> list[ast.Call]:
    """The moves of what says itself that it is float64, be it a tensor or a model of whatever
    class: `Net().double().to(device)`, which one call can say."""
    return [
        call
        for call in context.index.calls.get("to", ())
        if _is_cast_where_moved(call)
        and (device := device_argument(context, call)) is not None
        and is_path(device)
    ]


def _is_cast_where_moved(move: ast.Call) -> bool:
    """`Net().double().to(device)`"""
    made = move.func.value if isinstance(move.func, ast.Attribute) else None
    return (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr == "double"
        and not made.args
        and not made.keywords
    )
