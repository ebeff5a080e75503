"""The files of a project fixed together, and what `check` promises of such fixes."""
