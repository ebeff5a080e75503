"""Run one command so that it can hurt neither the user's files nor the machine.

The parent side (`process`) starts `launch` in a child of mpslint's own Python; the child takes
away what the system lets it take away (namespaces, Landlock, seccomp, resource limits), *measures*
what is really gone, starts the command, watches it, and ends every process that it left behind.
"""
