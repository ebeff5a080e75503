"""Who uses what a file defines, what its parameters and options are then, and what nobody uses."""
