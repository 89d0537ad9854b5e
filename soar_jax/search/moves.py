"""The four ways to change a pair by one rule."""

MOVES = ("add to positive", "add to negative", "remove from positive", "remove from negative")
