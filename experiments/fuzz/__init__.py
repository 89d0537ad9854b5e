"""Coverage-guided fuzzing of everything that reads files; needs the extra ``fuzz`` (atheris)."""
