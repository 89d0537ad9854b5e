"""The report: what a fitted pair is, for readers who do not run Python, as one page or one model card."""
