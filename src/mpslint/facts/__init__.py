"""What torch is, by version: which ops have an MPS kernel, what `torch.cuda.*` does without CUDA.

The facts were read out of the macOS wheels of torch 2.0 to 2.15: op names from
`native_functions.yaml` and from the registrations in `libtorch_cpu.dylib`, which agree; the
behaviour of `torch.cuda.*` by calling it on a build of torch 2.13 without CUDA. Nothing here
imports torch.
"""
