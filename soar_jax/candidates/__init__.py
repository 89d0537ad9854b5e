"""From literals to the patterns that a rule set may hold."""
