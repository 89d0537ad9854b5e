"""Families of rules that cover nearly the same rows: near-copies share the probability of one rule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from soar_jax._base import BoolArray
from soar_jax.candidates.coverage import BitLayout
from soar_jax.candidates.pools import Pool
from soar_jax.posterior.settled import standard_errors
from soar_jax.rules import Rule
from soar_jax.sampling.relatives import jaccard
from soar_jax.states import STATES

FAMILY_SIMILARITY = 0.5
_COLUMNS = ["side", "family", "members", "probability", "spread", "error"]


def family_table(
    pools: tuple[Pool, Pool], members: Sequence[BoolArray], layout: BitLayout, similarity: float = FAMILY_SIMILARITY
) -> pd.DataFrame:
    """Inclusion of families, most included first; see ``Posterior.find_families``."""
    rows = []
    for side, (pool, mine) in enumerate(zip(pools, members, strict=True)):
        share = mine.mean(axis=(0, 1)) if mine.size else np.zeros(len(pool))
        ever = np.argsort(-share, kind="stable")[: int((share > 0).sum())]
        alike = jaccard(pool.bits[ever], layout) if len(ever) else np.zeros((0, 0))
        unassigned = np.ones(len(ever), dtype=bool)
        for head in range(len(ever)):
            if not unassigned[head]:
                continue
            family = np.flatnonzero(unassigned & (alike[head] >= similarity))
            unassigned[family] = False
            is_in: BoolArray = np.asarray(mine[:, :, ever[family]].any(axis=2))
            by_chain = is_in.mean(axis=1)
            rows.append(
                {
                    "side": STATES[side],
                    "family": str(Rule(pool.patterns[ever[head]])),
                    "members": len(family),
                    "probability": float(by_chain.mean()),
                    "spread": float(by_chain.max() - by_chain.min()),
                    "error": float(standard_errors(is_in[:, :, None])[0]),
                }
            )
    table = pd.DataFrame(rows, columns=_COLUMNS)
    return table.sort_values("probability", ascending=False, ignore_index=True, kind="stable")
