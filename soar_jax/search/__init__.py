"""The search for the pair of highest posterior probability."""
