"""What a name stands for, and which assignments reach it."""
