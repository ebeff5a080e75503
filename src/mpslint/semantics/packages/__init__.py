"""Packages, frameworks and tools that know CUDA alone, versions of torch, and the environment."""
