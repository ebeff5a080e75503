"""The project around a file, read and never imported: what it says of names, and against MPS."""
