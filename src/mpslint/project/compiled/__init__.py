"""What a project compiles: extensions, kernels, operators; what of them is for CUDA alone."""
