"""What the code means: names, guards, values, loops and timed spans of one file.

Everything is computed on the stdlib tree, lazily and at most once per file; rules ask
through `mpslint.semantics.context.Context`.
"""
