"""What is computed with what, and so has to be on one device; and operators that MPS lacks."""
