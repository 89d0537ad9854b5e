"""One class per SQL dialect, listed in `soar_jax.export.sql.DIALECTS`."""
