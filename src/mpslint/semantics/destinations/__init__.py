"""Which device a program means: selected, kept by an object, handed on; and where data goes."""
