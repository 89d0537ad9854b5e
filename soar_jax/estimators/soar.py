"""`SOARClassifier`: two rule sets, one per class."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np

from soar_jax._base import InputError
from soar_jax.estimators.base import RuleSetClassifier
from soar_jax.score.priors import Bound, ErrorRatio, Opinion, StatePriors, both, from_bounds, from_opinions

DEFAULT_CONSENSUS = ErrorRatio(0.5)
PAPER_AMBIGUOUS = Opinion(0.5, share=0.5)
"""What goes with ``consensus=Opinion(...)`` when nothing else is said: ambiguous is a coin flip."""


class SOARClassifier(RuleSetClassifier):
    """Two rule sets, one for each class, found as the maximum a posteriori pair.

    Parameters
    ----------
    max_length : int, optional
        Most literals in a mined pattern, and in a rule. None means that patterns of up to 3 literals are mined (fewer
        when the table has too many to count; a warning says so), and longer rules may be grown.
    min_support : float or int
        Least share (float) or number (int) of training rows a pattern must cover.
    min_class_support : float or int, optional
        A pattern that covers at least this share or number of the rows of one class is a candidate
        too, so that a rare class gets rules. None: the same as ``min_support``.
    max_patterns : int
        Candidates per side, at most, that are kept around the fitted pair and the other readings of the table: those
        that `sample_posterior` moves among and ``pools_`` shows. 200 or 400 where these leave next to nothing out.
        With ``search="annealing"`` these are also all that is searched.
    screen : {"entropy", "gini"}
        Impurity by which first candidates are chosen, and ``pools_`` is ordered.
    pools : {"directed", "shared"}
        Directed: a side's candidates must speak for its class more than the base rate does.
        Shared: both sides choose from the same patterns, as in the paper.
    miner : {"packed", "fpgrowth"}
        Packed bit sets (fast), or mlxtend's FP-growth. Both find the same patterns.
    max_bins : int
        Most bins of a numeric or datetime column.
    cuts : {"supervised", "quantile"}
        Cut numbers where the labels change most, or at equal shares of the rows.
    negations : bool
        Also offer literals "column is not level".
    missing_literals : bool
        Also offer literals "column is missing".
    consensus : ErrorRatio, Precision, Opinion or pair of them, optional
        When may a side speak alone? ``ErrorRatio(0.5)``, the default: where it is wrong at most half as often as
        the base rate would be. ``Precision(0.8)``: where it is right at least 80 % of the time. Stricter bounds usually
        leave more rows ambiguous. ``Opinion(rate, share=...)`` is the paper's Beta prior. A pair sets the positive and
        the negative side apart.
    ambiguous : Opinion or pair of Opinion, optional
        Only beside ``consensus=Opinion(...)``: rate of the positive label in active and of the negative label in
        passive rows. With bounds, ambiguous rows are those between them.
    rule_prior : SearchedRules, RulePrior, ExpectedRules or pair of them, optional
        Prior on the number and length of rules, over all patterns that were searched. ``SearchedRules(strictness)``,
        the default, asks for as much evidence as the best of so many patterns shows in noise, and more.
    power : "auto" or float
        To which the likelihood is raised when pairs are compared, in (0, 1]: each row counts as this part of a row in
        the choice of the rules, and wholly in every rate. "auto": 1 for tables of up to 4,000 effective rows
        (4 n+ n- / n); larger ones count as that many. With 1 evidence grows with the rows without end: on large tables
        the rules then depend on the seed.
    honest : bool
        Cut, mine and screen on one half of the rows and score on the other: the rows that vouch for a rule then had no
        say in which rules there were to choose from. ``rules_`` and the rates are those of the scoring half.
    holdout : float
        Share of the rows (lines, whatever their weight) to keep out of the fit and measure its rules and states on:
        ``rules_`` then has
        ``fresh_precision`` with a 90 % interval, and ``fresh_states_`` what each state claims beside what fresh rows
        say.
    search : {"full", "annealing"}
        Full: every mined pattern is a candidate, and the certificate speaks of all of them. Annealing: Algorithm 1 of
        the paper among the ``max_patterns`` best by impurity, then descents.
    grow_to : int, optional
        Most literals of rules that are grown beyond what is mined, with a prior that counts all conjunctions of that
        length (``search="full"`` with `SearchedRules` only). None: 6 when ``max_length`` is not given, else none.
    n_rounds : int, optional
        Rounds without a better pair after which a search ends, and a third of all rounds that it may take. Searches
        follow one another until two have found the best reading of the table, or four have ended. None: 4 to 24, fewer
        for large tables.
    n_iter : int
        Annealing steps of each restart.
    n_restarts : int
        Annealing runs side by side; the best pair after a descent is kept.
    temperature : float
        T0 of the cooling schedule T0 / log(1 + t), in nats of the score.
    random_share : float
        Probability of proposing a random neighbour instead of the best one.
    row_choice : {"current", "best"}
        Which pair says that a row is wrongly predicted. The paper prints "best".
    time_budget : float, optional
        Seconds for the whole fit; the best pair so far is kept when they are over.
    progress : bool
        Show a progress bar.
    positive : label, optional
        The positive class; the larger label in sorting order when not given.
    class_weight : None, "balanced" or dict, optional
        Multiplies ``sample_weight`` by class: ``{label: number}`` (labels left out have 1), or "balanced", which
        raises the rarer class by the nearest whole ratio of the classes. Fractions that are whole multiples of the
        smallest are taken as whole numbers, others as relative weights; see ``fit``. The weights shift the base rate,
        and so every ``predict_proba``, and count as rows that were seen, and so as evidence. Where errors of one kind
        cost more, deciding by cost (``predict(X, abstain=Costs(...))``) is usually the better tool: it leaves the
        probabilities as they are.
    forbid : list, optional
        What no rule may have: a column (its name), two columns together (a pair of names), a single literal (text such
        as ``"sex = F"``, a triple ``("sex", "==", "F")`` or a `Literal`). It is not searched, and not charged for.
    require : dict, optional
        Rules that must be in, for ``"positive"`` and ``"negative"`` or by class label: lists of texts such as
        ``"age > 30 and sex = F"``, of `Rule` or of literals. They cost nothing, whatever the rows say of them, and the
        other rules are found around them. Cut points and levels that only they use are offered to no other rule.
    directions : dict, optional
        ``{"income": "+"}``: rules for the positive class may ask only that it is above a cut point, those for the
        negative class only that it is not; ``"-"`` is the reverse. For numbers and dates; of a column of two numbers
        the higher (lower) value stands for the positive (negative) class.
    max_rules : int or pair of int, optional
        Rules of each side at most, required ones included; a pair for the positive and the negative side.
    max_columns : int, optional
        Columns that both rule sets together may read. They are chosen first: one by one, the column whose absence costs
        least is left out and the rest searched again. Certificate and posterior are given the columns chosen.
    kinds : dict, optional
        What columns are, where their values do not say it: ``{"zip": "text", "when": "date %d/%m/%Y", "dose":
        "number"}``. With "strict" behind it, or alone, cells that cannot be read are refused, not treated as missing;
        ``{"*": "strict"}`` asks so of all columns.
    random_state : int, RandomState or None
        Same seed, same result.

    Attributes
    ----------
    positive_rules_, negative_rules_ : RuleSet
    rules_ : DataFrame
        One line per rule. ``support``: training rows covered; ``precision``: share of them in the
        rule's class; ``coverage``: share of the class covered; ``unique_coverage``: share of the
        class that no other rule of the set covers; ``aliases``: other patterns that cover exactly
        the same training rows.
    score_ : float
        Minus the log joint of the pair, at the fit's power: lower is better. It is no accuracy.
    gain_ : float
        By how many nats the rows, at that power, favour the pair over no rules at all, or over the required ones alone.
    power_ : float
        The power as a number.
    held_out_ : array
        With ``holdout``: positions of the rows that were set aside.
    fresh_states_ : DataFrame
        With ``holdout``: rows, claimed rate and fresh rate of each state, with a 90 % interval.
    certificate_ : Certificate
        Whether no single addition, removal or exchange of a rule improves the score, and among how many patterns.
    is_local_optimum_ : bool
        Whether it holds.
    history_ : DataFrame
        Every round of the full search; or every annealing step of every restart (``looked_up``: all neighbours were
        scored for it).
    restart_scores_ : array
        Best score of each reading of the table that the full search kept, or of each annealing run.
    stage_seconds_ : dict
        Where the time went.
    pools_ : DataFrame
        The candidates around the pair.
    priors_ : dict
        Every alpha and beta as plain numbers.
    training_taxonomy_ : Series
        The eight counts on the training rows.
    features_used_ : list of str
        The columns that the rules read; all that prediction needs.
    columns_ : DataFrame
        What each column was read as, and what of it; ``contract_`` is the same as plain data.
    seed_ : int
        Drawn once from ``random_state``: rows that are set aside, and all searches, follow from it. It is saved.
    classes_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from soar_jax import SOARClassifier, datasets
    >>> X, y = datasets.load_synthetic(seed=0)
    >>> clf = SOARClassifier().fit(X, y)
    >>> clf.is_local_optimum_
    True
    """

    def __init__(
        self,
        *,
        max_length: int | None = None,
        min_support: float | int = 0.03,
        min_class_support: float | int | None = None,
        max_patterns: int = 1000,
        screen: str = "entropy",
        pools: str = "directed",
        miner: str = "packed",
        max_bins: int = 6,
        cuts: str = "supervised",
        negations: bool = False,
        missing_literals: bool = False,
        consensus: Any = None,
        ambiguous: Any = None,
        rule_prior: Any = None,
        power: Any = "auto",
        honest: bool = False,
        holdout: float = 0.0,
        search: str = "full",
        grow_to: int | None = None,
        n_rounds: int | None = None,
        n_iter: int = 500,
        n_restarts: int = 4,
        temperature: float = 3.0,
        random_share: float = 0.5,
        row_choice: str = "current",
        time_budget: float | None = None,
        progress: bool = False,
        positive: Any = None,
        class_weight: Any = None,
        forbid: Any = None,
        require: Any = None,
        directions: Any = None,
        max_rules: Any = None,
        max_columns: int | None = None,
        kinds: Any = None,
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            max_length=max_length,
            min_support=min_support,
            min_class_support=min_class_support,
            max_patterns=max_patterns,
            screen=screen,
            pools=pools,
            miner=miner,
            max_bins=max_bins,
            cuts=cuts,
            negations=negations,
            missing_literals=missing_literals,
            consensus=consensus,
            rule_prior=rule_prior,
            power=power,
            honest=honest,
            holdout=holdout,
            search=search,
            grow_to=grow_to,
            n_rounds=n_rounds,
            n_iter=n_iter,
            n_restarts=n_restarts,
            temperature=temperature,
            random_share=random_share,
            row_choice=row_choice,
            time_budget=time_budget,
            progress=progress,
            positive=positive,
            class_weight=class_weight,
            forbid=forbid,
            require=require,
            directions=directions,
            max_rules=max_rules,
            max_columns=max_columns,
            kinds=kinds,
            random_state=random_state,
        )
        self.ambiguous = ambiguous

    def _state_priors(self, num_positives: int, num_negatives: int) -> StatePriors:
        consensus = DEFAULT_CONSENSUS if self.consensus is None else self.consensus
        positive, negative = both("consensus", consensus, (*get_args(Bound), Opinion))
        num_rows = num_positives + num_negatives
        if isinstance(positive, Opinion) != isinstance(negative, Opinion):
            raise InputError("consensus mixes an Opinion with a bound; give both sides the same form.")
        if isinstance(positive, Opinion):
            ambiguous = PAPER_AMBIGUOUS if self.ambiguous is None else self.ambiguous
            return from_opinions((positive, negative), ambiguous, num_rows)  # type: ignore[arg-type]
        if self.ambiguous is not None:
            raise InputError(
                "ambiguous is an opinion of its own only beside consensus=Opinion(...); with bounds, ambiguous rows "
                "are those between them."
            )
        return from_bounds(positive, negative, num_positives / num_rows)  # type: ignore[arg-type]

    def predict_forced(self, X: Any) -> np.ndarray:
        """Resolve active rows by the paper's rule; None where the row stays ambiguous.

        The side with the longest firing rule wins. Equal lengths, and rows where no rule fires, stay
        ambiguous.
        """
        frame = self._frame(X)
        positive = self.positive_rules_.longest_firing(frame)
        negative = self.negative_rules_.longest_firing(frame)
        forced = np.full(len(frame), None, dtype=object)
        forced[positive > negative] = self._label(0)
        forced[negative > positive] = self._label(1)
        return forced
