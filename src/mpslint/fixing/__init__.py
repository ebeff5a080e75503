"""The fixes of one file, made to a fixed point in memory."""
