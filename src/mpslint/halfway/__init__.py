"""Ports that would stop half-way: what still keeps a Mac's GPU out of the programs of a run."""
