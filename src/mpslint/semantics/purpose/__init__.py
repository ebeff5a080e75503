"""What code is there for: tests, stand-ins, trials, and what is there to fail."""
