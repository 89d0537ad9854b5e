"""Draws of pairs from the posterior, by replica exchange."""
