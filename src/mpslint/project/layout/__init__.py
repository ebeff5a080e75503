"""Where the modules of a project lie, what their texts import, and who answers where it ends."""
