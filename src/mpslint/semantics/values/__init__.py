"""What an expression is, which dtype it has, and where it lives."""
