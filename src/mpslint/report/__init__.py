"""Can this project run on a Mac? What `mpslint check` finds in it, put together for somebody who
has to decide: by area, by cause, by what fixes settle, with what runs have shown.

Nothing here runs the project's code; verdicts and traces come from files that `mpslint verify`
and `mpslint trace` wrote.
"""
