"""The same annealing algorithm in plain NumPy, as rivals: dense as published, packed, and packed with a memory."""

from __future__ import annotations

import numpy as np
from scipy.special import betaln, gammaln

GAIN_FREE = np.array([[1, 0, 0, -1], [0, 1, 0, -1]])
GAIN_OTHER = np.array([[0, -1, 1, 0], [-1, 0, 1, 0]])


class _Rival:
    """Algorithm 1 over some way of scoring neighbours; the pools, priors and settings are the model's own."""

    def __init__(self, model, seed=0):
        target = model.fitted_pair_.target
        self.layout, self.pools, self.hyper = target.layout, target.pools, target.hyper
        self.lengths = [pool.length for pool in self.pools]
        self.rng = np.random.default_rng(seed)
        self.included = [np.zeros(len(pool), bool) for pool in self.pools]
        self.value = None
        self.time = 0

    def log_joint(self, counts, sizes):
        """counts: (..., 4, 2) positives and negatives by state; sizes: (2, max_length)."""
        hits = np.stack([counts[..., 0, 0], counts[..., 1, 1], counts[..., 2, 0], counts[..., 3, 1]], -1)
        misses = np.stack([counts[..., 0, 1], counts[..., 1, 0], counts[..., 2, 1], counts[..., 3, 0]], -1)
        h = self.hyper
        likelihood = (betaln(hits + h.alpha, misses + h.beta) - betaln(h.alpha, h.beta)).sum(-1)
        return likelihood + self.log_prior(sizes)

    def log_prior(self, sizes):
        h = self.hyper
        inside, outside = sizes + h.rule_alpha, h.pool_size - sizes + h.rule_beta
        return (gammaln(inside) + gammaln(outside) - gammaln(inside + outside)).sum()

    def sizes(self, included):
        longest = self.hyper.pool_size.shape[1]
        return np.stack(
            [np.bincount(n[z], minlength=longest + 1)[1:] for n, z in zip(self.lengths, included, strict=True)]
        )

    def choose_move(self, counts):
        (_, cfp), (cfn, _), (aap, aan), (pap, pan) = counts
        weights = np.array([pap + cfn / 2, pan + cfp / 2, aan + cfp / 2, aap + cfn / 2])
        weights = weights if weights.sum() else np.ones(4)
        move = self.rng.choice(4, p=weights / weights.sum())
        side, removal = move % 2, move >= 2
        if removal and not self.included[side].any():
            removal = False
        return side, removal

    def step(self, temperature=3.0, random_share=0.3):
        self.time += 1
        if self.value is None:
            self.value = float(self.score_pair(self.included))
        counts = self.current_counts()
        side, removal = self.choose_move(counts)
        eligible = np.flatnonzero(self.included[side] == removal)
        if self.rng.random() < random_share:
            index = self.rng.choice(eligible)
        else:
            index = self.best_flip(side, removal, eligible, counts)
        proposal = [z.copy() for z in self.included]
        proposal[side][index] ^= True
        value = float(self.score_pair(proposal))
        if np.log(self.rng.random()) < (value - self.value) / (temperature / np.log1p(self.time)):
            self.included, self.value = proposal, value
            self.moved(side, index)

    def current_counts(self):
        return self.state_counts(self.included)

    def best_flip(self, side, removal, eligible, counts):
        return eligible[np.argmax(self.score_neighbours(side, removal, eligible, counts))]

    def moved(self, side, index):
        """Take note of an accepted flip."""

    def score_pair(self, included):
        return self.log_joint(self.state_counts(included), self.sizes(included))


class DenseRival(_Rival):
    """Dense 0/1 matrix; every neighbour's rule set is applied to every row, one neighbour at a time."""

    def __init__(self, model, seed=0):
        super().__init__(model, seed)
        bit_rows = np.flatnonzero(self.layout.source >= 0)
        weights = 1 << (self.layout.shift[bit_rows // 64] % np.uint64(32)).astype(np.int64)
        self.y = np.repeat(self.layout.shift[bit_rows // 64] < 32, weights)
        self.matrix = [
            np.repeat(
                np.unpackbits(pool.bits.view(np.uint8), axis=1, bitorder="little")[:, bit_rows], weights, axis=1
            ).T
            for pool in self.pools
        ]

    def state_counts(self, included):
        plus, minus = (m[:, z].sum(axis=1) > 0 for m, z in zip(self.matrix, included, strict=True))
        return self._count(plus, minus)

    def _count(self, plus, minus):
        states = (plus & ~minus, minus & ~plus, plus & minus, ~plus & ~minus)
        return np.array([[(s & self.y).sum(), (s & ~self.y).sum()] for s in states])

    def score_neighbours(self, side, removal, eligible, counts):
        del removal, counts
        other = self.matrix[1 - side][:, self.included[1 - side]].sum(axis=1) > 0
        scores = np.empty(len(eligible))
        for k, index in enumerate(eligible):
            included = [z.copy() for z in self.included]
            included[side][index] ^= True
            own = self.matrix[side][:, included[side]].sum(axis=1) > 0
            pair = (own, other) if side == 0 else (other, own)
            scores[k] = self.log_joint(self._count(*pair), self.sizes(included))
        return scores


class PackedRival(_Rival):
    """Bit sets, popcounts and vectorised log-gamma."""

    def _cover(self, side, included):
        rows = self.pools[side].bits[included]
        once = np.zeros(self.layout.num_words, np.uint64)
        twice = np.zeros(self.layout.num_words, np.uint64)
        for row in rows:
            twice |= once & row
            once |= row
        return once, twice

    def state_counts(self, included):
        plus, minus = self._cover(0, included[0])[0], self._cover(1, included[1])[0]
        p, n = self.layout.counts(np.stack([plus & ~minus, minus & ~plus, plus & minus]))
        rest = (self.layout.num_positives - p.sum(), self.layout.num_negatives - n.sum())
        return np.array([*zip(p, n, strict=True), rest])

    def score_neighbours(self, side, removal, eligible, counts):
        once, twice = self._cover(side, self.included[side])
        other, _ = self._cover(1 - side, self.included[1 - side])
        movable = ~(twice if removal else once)
        bits = self.pools[side].bits if len(eligible) > 200 else self.pools[side].bits[eligible]
        free = np.stack(self.layout.counts(bits & (movable & ~other)), -1)
        shared = np.stack(self.layout.counts(bits & (movable & other)), -1)
        if len(eligible) > 200:
            free, shared = free[eligible], shared[eligible]
        sign = -1 if removal else 1
        moved = free[:, None] * GAIN_FREE[side][:, None] + shared[:, None] * GAIN_OTHER[side][:, None]
        sizes = self.sizes(self.included)
        change = np.zeros(self.hyper.pool_size.shape[1])
        for length in range(1, len(change) + 1):
            changed = sizes.copy()
            changed[side, length - 1] += sign
            if 0 <= changed[side, length - 1] <= self.hyper.pool_size[side, length - 1]:
                change[length - 1] = self.log_prior(changed) - self.log_prior(sizes)
        return self.log_joint(counts + sign * moved, sizes) + change[self.lengths[side][eligible] - 1]


class RememberingRival(PackedRival):
    """The packed rival, which also remembers what soar_jax does: counts, and the best flips of the last two pairs."""

    def __init__(self, model, seed=0):
        super().__init__(model, seed)
        self.counts, self.here, self.before, self.way = None, {}, {}, None

    def current_counts(self):
        if self.counts is None:
            self.counts = self.state_counts(self.included)
        return self.counts

    def best_flip(self, side, removal, eligible, counts):
        if (side, removal) not in self.here:
            self.here[side, removal] = super().best_flip(side, removal, eligible, counts)
        return self.here[side, removal]

    def moved(self, side, index):
        went_back = self.way == (side, index)
        self.here, self.before = (self.before if went_back else {}), self.here
        self.counts, self.way = None, (side, index)
