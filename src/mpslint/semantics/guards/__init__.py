"""What is known to be true where code runs, by tests, early exits and callers."""
