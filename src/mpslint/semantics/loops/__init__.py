"""What runs again and again: loops, their tests, steps that they call, and forward passes."""
