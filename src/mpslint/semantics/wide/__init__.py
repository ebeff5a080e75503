"""Dtypes that MPS lacks, and what meets them."""
