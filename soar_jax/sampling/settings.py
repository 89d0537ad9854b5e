"""Defaults of a sampling run, each in one place; nothing heavy is imported here, so that ``--help`` can show them."""

NUM_DRAWS = 1000
"""Draws per chain."""
NUM_CHAINS = 4
NUM_TEMPERATURES = 20
"""Length of the ladder from the prior to the posterior."""
