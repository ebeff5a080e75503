"""Training: what runs at each step, on which tensors, and what it is given and hands back."""
