"""What draws say, and whether they can be trusted."""
