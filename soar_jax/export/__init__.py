"""Fitted models in other languages: SQL, Python source and PMML that say what `predict` says."""
