"""Tables as users have them, and the literals their columns give rise to."""
