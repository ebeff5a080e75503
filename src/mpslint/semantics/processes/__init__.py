"""Processes that a program starts, workers of its loaders, and models spread by a wrapper."""
