"""The number of a GPU, several GPUs, and none."""
