"""Let ``python -m soar_jax`` be the ``soar`` command."""

import sys

from .cli import main

sys.exit(main())
