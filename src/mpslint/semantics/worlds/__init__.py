"""What a file does on several machines at once: one forward abstract interpretation.

`machines` says which machines and switches there are, `values` what a value is on each of them,
`joining` what it is where two ways meet. The interpreter is one object, put together from parts
that build on each other, one way:

- what all parts share: `core`, `state`; where values go: `placing`;
- tests: `conditions`, what they compare: `comparing`, and what they leave of the names in them:
  `refining`;
- expressions: `names`, `operators`, `expressions`;
- statements: `assignments`, `branches`, `control_flow` (with `probes`), `import_statements`,
  `definitions` (with
  what tests are given: `parametrized`), and what runs them: `statements`;
- calls: `calls` (those that do not fit: `misfits`), of builtins `builtin_calls`, of torch
  `torch_calls` and `makers`, of methods `methods`, `arrays`, `filled` and `program_options`; what
  is made of `numbers`, and `records`;
- functions: `parameters`, `summaries`, and which machines tests are `collected` on;
- a file and its functions, in order: `interpreter`, and what it may leave out: `relevance`.

`project` is what comes from the other files of the project. `events` is what the interpreter tells
of, and what rules read, by themselves or by way of `choices`, `refused` and `twins`; `file` is the
way in.
"""
