"""Let ``python -m soar_jax`` be the ``soar`` command."""

import sys

from soar_jax.cli.main import main

sys.exit(main())
