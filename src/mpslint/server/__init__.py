"""The editor server (`mpslint server`): the Language Server Protocol over stdio.

It gives the findings of `mpslint check` for what stands in the editor, while it is typed. Only
this package knows the protocol; pygls and lsprotocol come with `mpslint[server]`.
"""
