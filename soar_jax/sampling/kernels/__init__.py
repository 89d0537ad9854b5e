"""The Metropolis kernels, one per file."""
