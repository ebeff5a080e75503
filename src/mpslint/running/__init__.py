"""A run over many files: from the cache, here, in other processes or on a cluster."""
