"""Tables of the rules found and of all candidates, with their figures on the training rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from soar_jax.rules import Rule
from soar_jax.score.target import FittedPair
from soar_jax.states import STATES


def rule_table(fitted: FittedPair) -> pd.DataFrame:
    """List the rules of both sets with their figures on the training rows, widest first."""
    layout = fitted.target.layout
    totals = (layout.num_positives, layout.num_negatives)
    frames = []
    for side, (pool, members) in enumerate(zip(fitted.target.pools, fitted.members, strict=True)):
        support = (pool.positives + pool.negatives)[members]
        order = members[np.argsort(-support, kind="stable")]
        support = np.sort(support)[::-1]
        bits = pool.bits[order]
        own_rows = (pool.negatives if side else pool.positives)[order]
        unique = []
        for i in range(len(order)):
            others = np.bitwise_or.reduce(np.delete(bits, i, axis=0), axis=0)
            unique.append(layout.counts((bits[i] & ~others)[None])[side][0])
        rules = [Rule(pool.patterns[i]) for i in order]
        frames.append(
            pd.DataFrame(
                {
                    "class": [fitted.label(side)] * len(order),
                    "side": [STATES[side]] * len(order),
                    "rule": [str(rule) for rule in rules],
                    "length": np.array([len(rule) for rule in rules], dtype=np.int64),
                    "support": support,
                    "precision": own_rows / np.maximum(support, 1),
                    "coverage": own_rows / max(totals[side], 1),
                    "unique_coverage": np.array(unique, dtype=np.int64) / max(totals[side], 1),
                    "literals": [rule.literals for rule in rules],
                    "aliases": [tuple(str(Rule(a)) for a in pool.aliases[i]) for i in order],
                }
            )
        )
    return _join(frames)


def pool_table(fitted: FittedPair) -> pd.DataFrame:
    """List all candidates of both sides."""
    frames, hyper = [], fitted.target.hyper
    for side, pool in enumerate(fitted.target.pools):
        names = hyper.names(side)
        rules = [Rule(p) for p in pool.patterns]
        frames.append(
            pd.DataFrame(
                {
                    "class": [fitted.label(side)] * len(pool),
                    "side": STATES[side],
                    "rule": [str(r) for r in rules],
                    "length": pool.length,
                    "literals": [r.literals for r in rules],
                    "support": pool.positives + pool.negatives,
                    "precision": (pool.negatives if side else pool.positives)
                    / np.maximum(pool.positives + pool.negatives, 1),
                    "impurity": pool.impurity,
                    "kind": [names[k] if k >= 0 else "required" for k in hyper.kinds_of_pool(side, pool)],
                    "aliases": [tuple(str(Rule(a)) for a in group) for group in pool.aliases],
                }
            )
        )
    return _join(frames)


def _join(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Stack the two sides; an empty one has no types to keep."""
    return pd.concat([frame for frame in frames if len(frame)] or frames, ignore_index=True)
