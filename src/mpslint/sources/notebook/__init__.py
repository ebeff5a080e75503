"""Jupyter notebooks: all Python cells of one notebook as one program, in order.

The rest of mpslint sees a `SourceFile`; edits come back as splices of the JSON strings that
hold the cells, and nothing else of the file changes by a byte.
"""
