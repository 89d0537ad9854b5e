"""Studies and results; every figure comes from a run of these scripts."""
