"""A trace as one self-contained HTML page: no script, no font, no picture from anywhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from mpslint.verify import timeline, trace_svg
from mpslint.verify.report import SIMULATED

if TYPE_CHECKING:
    from mpslint.verify.tracing import Line, Trace

_STYLE = """
:root { color-scheme: light dark; --ground: #fbfbfa; --card: #fff; --ink: #1c2024; --soft: #60646c;
  --rule: #e2e2df; --queue: #8fb6dc; --op: #3f9b6c; --copy: #8a63c9; --wait: #d9480f;
  --fallback: #b3123b; --wash: rgba(217, 72, 15, .09); --code: #f2f2ef; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181b; --card: #1e2125; --ink: #e8e9ea;
  --soft: #9ba1a8; --rule: #33373d; --queue: #4d7299; --op: #55b485; --copy: #a585dd;
  --wait: #ff7a3d; --fallback: #ff5277; --wash: rgba(255, 122, 61, .13); --code: #272b30; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 22px; margin: 0; } h2 { font-size: 16px; margin: 36px 0 10px; }
p { margin: 4px 0; } .soft { color: var(--soft); font-size: 13px; }
code, .code { font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px;
  margin: 20px 0 0; }
.tile { background: var(--card); border: 1px solid var(--rule); border-radius: 8px;
  padding: 12px 14px; }
.tile b { display: block; font-size: 24px; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tile.bad b { color: var(--wait); }
.card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.scroll { overflow-x: auto; padding: 12px 0 4px; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 10px 16px; font-size: 13px;
  border-top: 1px solid var(--rule); color: var(--soft); }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 6px; vertical-align: -1px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: 12.5px; }
th, td { padding: 8px 14px; border-top: 1px solid var(--rule); vertical-align: top; }
tr:first-child th { border-top: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td .code { display: block; background: var(--code); border-radius: 5px; padding: 3px 8px;
  overflow-wrap: anywhere; margin: 0 0 4px; }
.where { white-space: nowrap; font-weight: 600; }
.bar { height: 6px; border-radius: 3px; background: var(--wait); margin-top: 8px; min-width: 2px; }
.advice { margin: 4px 0 0; padding-left: 12px; border-left: 3px solid var(--op);
  font-size: 13.5px; }
.steps tr.this { background: var(--wash); }
svg text { fill: var(--ink); font: 12px system-ui, -apple-system, sans-serif; }
svg .soft { fill: var(--soft); } svg .lane { fill: var(--code); }
svg .queue { fill: var(--queue); } svg .op { fill: var(--op); } svg .copy { fill: var(--copy); }
svg .wait { fill: var(--wait); } svg .fallback { fill: var(--fallback); }
svg .wash { fill: var(--wash); } svg .rule { stroke: var(--rule); }
svg .lead { stroke: var(--soft); stroke-width: .75; } svg .pin { fill: var(--card);
  stroke: var(--soft); }
svg .pin.hot { stroke: var(--wait); } svg .pin.cold { stroke: var(--copy); }
svg .num { font-size: 11px; text-anchor: middle; font-variant-numeric: tabular-nums; }
"""

_LEGEND = (
    ("queue", "the host hands an operation over"),
    ("wait", "the host waits for the device"),
    ("op", "the device works"),
    ("copy", "copy between host and device"),
    ("fallback", "no kernel: runs on the CPU"),
)
_MOST_LINES = 25


def render(trace: Trace) -> str:
    body = "\n".join(_body(trace))
    title = escape(f"{os.path.basename(trace.script)} on {trace.name}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main>\n{body}\n"
        "</main></body></html>\n"
    )


def _body(trace: Trace) -> Iterator[str]:
    yield f"<h1>{escape(os.path.basename(trace.script))} on {escape(trace.name)}</h1>"
    yield f'<p class="soft">{escape(trace.step.title)} &middot; {escape(trace.script)}</p>'
    if not trace.ok:
        yield f'<p><b style="color:var(--fallback)">Did not run:</b> {escape(trace.reason)}</p>'
    spans = timeline.lay_out(trace.step.events)
    yield _tiles(trace, timeline.shares(spans))
    if spans:
        yield f"<h2>Timeline</h2>{_timeline(trace, spans)}"
    costly = [line for line in trace.lines if line.costs]
    yield "<h2>Lines that cost most in this step</h2>"
    yield _lines(costly) if costly else "<p>No wait, copy or fallback in this step.</p>"
    if trace.steps:
        yield f"<h2>Counts per step</h2>{_steps(trace)}"
    yield "<h2>What this does and does not say</h2>"
    yield from (f'<p class="soft">{escape(note)}</p>' for note in _notes(trace))


def _notes(trace: Trace) -> Iterator[str]:
    yield (
        "Order, counts and places are what happened. The lengths of the bars come from a model: "
        f"{timeline.QUEUE:.0f} microseconds to queue an operation, a round trip of "
        f"{timeline.ROUND_TRIP:.0f} for a wait; they show where the queue runs dry, not how long "
        "it takes."
    )
    if trace.kind == "simulated":
        yield SIMULATED[0].upper() + SIMULATED[1:] + "."
    yield from trace.notes
    yield from (f"Not isolated: {text}" for text in trace.isolation.missing)


def _tiles(trace: Trace, shares: timeline.Shares) -> str:
    from mpslint.verify.tracing import size

    lines = trace.lines
    tiles = [
        ("waits of the host", str(sum(line.waits for line in lines)), True),
        ("copies", str(sum(line.copies for line in lines)), False),
        ("copied", size(sum(line.bytes for line in lines)), False),
        ("CPU fallbacks", str(sum(line.fallbacks for line in lines)), True),
        ("device operations", f"{_operations(trace):.0f}", False),
        ("device idle, by the model", f"{shares.device_idle:.0%}", False),
    ]
    cells = []
    for label, value, matters in tiles:
        bad = " bad" if matters and value != "0" else ""
        cells.append(
            f'<div class="tile{bad}"><b>{value}</b><span class="soft">{label}</span></div>'
        )
    return f'<div class="tiles">{"".join(cells)}</div>'


def _operations(trace: Trace) -> float:
    return float(trace.steps[-1].get("device_ops", 0)) if trace.steps else 0.0


def _timeline(trace: Trace, spans: list[timeline.Span]) -> str:
    legend = "".join(
        f'<span><i style="background:var(--{kind})"></i>{escape(text)}</span>'
        for kind, text in _LEGEND
    )
    drawing = trace_svg.draw(spans, trace.name)
    return (
        f'<div class="card"><div class="scroll">{drawing}</div>'
        f'<div class="legend">{legend}</div></div>'
    )


def _lines(lines: list[Line]) -> str:
    most = max(line.weight for line in lines)
    rows = [
        '<tr><th>Line</th><th>What happens there</th><th class="n">Waits</th>'
        '<th class="n">Copies</th><th class="n">Bytes</th><th class="n">Fallbacks</th></tr>'
    ]
    rows += [_row(line, most) for line in lines[:_MOST_LINES]]
    return f'<div class="card"><table>{"".join(rows)}</table></div>'


def _row(line: Line, most: int) -> str:
    from mpslint.verify.tracing import size

    share = line.weight / most
    advice = "".join(f'<div class="advice">{escape(text)}</div>' for text in line.advice)
    where = f"{os.path.basename(line.file)}:{line.line}"
    return (
        f'<tr><td class="where" title="{escape(line.file)}">{escape(where)}'
        f'<div class="bar" style="width:{share * 90:.0f}px"></div></td>'
        f'<td><span class="code">{escape(line.source) or "&nbsp;"}</span>'
        f'<span class="soft">{escape("; ".join(line.what))}</span>{advice}</td>'
        f'<td class="n">{line.waits or ""}</td><td class="n">{line.copies or ""}</td>'
        f'<td class="n">{size(line.bytes) if line.bytes else ""}</td>'
        f'<td class="n">{line.fallbacks or ""}</td></tr>'
    )


_STEP_COLUMNS = (
    ("Step", "step"),
    ("Device operations", "device_ops"),
    ("Waits", "syncs"),
    ("Copies to the device", "h2d"),
    ("Copies to the host", "d2h"),
    ("Bytes", "bytes"),
    ("Fallbacks", "fallbacks"),
    ("Switches", "switches"),
)


def _steps(trace: Trace) -> str:
    from mpslint.verify.tracing import size

    rows = ["<tr>" + "".join(f'<th class="n">{t}</th>' for t, _ in _STEP_COLUMNS) + "</tr>"]
    for row in trace.steps:
        cells = []
        for _, key in _STEP_COLUMNS:
            value = row.get(key, 0)
            cells.append(f'<td class="n">{size(value) if key == "bytes" else f"{value:.0f}"}</td>')
        mark = ' class="this"' if row is trace.steps[-1] else ""
        rows.append(f"<tr{mark}>{''.join(cells)}</tr>")
    return f'<div class="card"><table class="steps">{"".join(rows)}</table></div>'
