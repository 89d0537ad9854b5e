"""Reasons: why a row got its state, what would change it, which rules clash."""
