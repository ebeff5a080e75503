"""What a file does on several machines at once: one forward abstract interpretation.

`machines` says which machines and switches there are; `values` what a value is on each of them;
`interpreter` (with `statements`, `expressions`, `conditions`, `calls`, `torch_calls`, `methods`
and `options`) runs a file; `events` is what it tells of, and what rules read; `file` is the way in.
"""
