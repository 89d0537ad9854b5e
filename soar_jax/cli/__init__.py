"""The ``soar`` command."""
