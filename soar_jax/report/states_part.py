"""The states of the rows, the verdict above everything, and what a guess would score."""

from __future__ import annotations

from soar_jax._hundred import HUNDRED, share_in_two
from soar_jax.report.content import Basis, StateEntry
from soar_jax.report.measured import Measured
from soar_jax.report.numbers import LEAST_ROWS, Share, coarse, count, is_few, of_hundred, per_hundred, share_of
from soar_jax.report.phrases import StateWords
from soar_jax.report.subject import Subject, Tested
from soar_jax.report.words import Words
from soar_jax.states import ACTIVE, NEGATIVE, PASSIVE, POSITIVE, STATES, counts_from_taxonomy

_A_FEW = LEAST_ROWS // 2
Verdict = tuple[tuple[str, bool], ...]


def answered_states(*, is_single: bool) -> tuple[int, int]:
    """States in which the rules give an answer."""
    return (POSITIVE, PASSIVE) if is_single else (POSITIVE, NEGATIVE)


def shown_states(*, is_single: bool) -> tuple[int, ...]:
    """States that a row can have."""
    return (POSITIVE, PASSIVE) if is_single else (POSITIVE, NEGATIVE, ACTIVE, PASSIVE)


def find_basis(subject: Subject, measured: Measured, tested: Tested | None, words: Words) -> Basis:
    """Say which rows the figures come from."""
    many = f"{count(measured.num_rows)} {words.rows if measured.num_rows != 1 else words.row}"
    if measured.kind == "training":
        sentence = f"Measured on the {many} that the rules were learned from, so that every figure here flatters"
        return Basis("training", measured.num_rows, sentence, f"training {words.rows}", False)
    if measured.kind == "kept":
        sentence = f"Measured on {many} that were kept out of the fit"
        return Basis("kept", measured.num_rows, sentence, f"tested {words.rows}", True)
    is_fresh = None if tested is None else tested.is_fresh
    positives, negatives = counts_from_taxonomy(subject.training)
    is_same = bool((positives == measured.state_positives).all() and (negatives == measured.state_negatives).all())
    if is_same and measured.num_rows and is_fresh is None:
        sentence = (
            f"Measured on {many} whose counts are exactly those of the {words.rows} that the rules were learned from: "
            "take every figure here as flattering"
        )
        return Basis("given", measured.num_rows, sentence, f"tested {words.rows}", False)
    said = {
        True: f"Measured on {many} that the rules had never seen",
        None: f"Measured on {many} given for this test",
        False: f"Measured on {many} that the rules were learned from, at least in part: every figure here flatters",
    }
    return Basis("given", measured.num_rows, said[is_fresh], f"tested {words.rows}", is_fresh)


def state_entries(subject: Subject, measured: Measured, said: tuple[StateWords, ...]) -> tuple[StateEntry, ...]:
    """Describe the four states on the rows."""
    positives, negatives, rows = measured.state_positives, measured.state_negatives, measured.states
    shares, parts = state_shares(measured), state_parts(measured, is_single=subject.model.single)
    # the last of four counts follows from the others and their sum: where one is not given, none is exact
    rounded = coarse if has_few(measured) else _exact
    answers = dict.fromkeys(answered_states(is_single=subject.model.single))
    entries = []
    for k, words in enumerate(said):
        right = {POSITIVE: positives, NEGATIVE: negatives, PASSIVE: negatives}.get(k)
        entries.append(
            StateEntry(
                STATES[k],
                words.say,
                words.short,
                words.why,
                words.technical,
                None if is_few(rows[k]) else rounded(Share(int(rows[k]))).rows,
                round(float(shares[k]), 3),
                said_part(shares[k], parts[k], is_rough=is_rough(measured)),
                _dots(parts[k], share_of(positives[k], rows[k])),
                rounded(share_of(positives[k], rows[k])),
                rounded(share_of(right[k], rows[k])) if k in answers and right is not None else None,
                float(subject.model.rates[k]),
            )
        )
    return tuple(entries)


def has_few(measured: Measured) -> bool:
    """Whether some state has so few rows that the counts of the others are rounded."""
    return any(is_few(rows) for rows in measured.states)


def is_rough(measured: Measured) -> bool:
    """Whether hundredths of all rows would tell how many a state has whose rows are too few to count."""
    return has_few(measured) and measured.num_rows < HUNDRED * LEAST_ROWS


def _state_rows(measured: Measured) -> list[int]:
    """Rows of each state; a few rows, however many, are `_A_FEW`: never none, and never their number."""
    return [_A_FEW if is_few(n) else int(n) for n in measured.states]


def state_shares(measured: Measured) -> list[float]:
    """Share of each state."""
    rows = _state_rows(measured)
    return [n / max(sum(rows) if is_rough(measured) else measured.num_rows, 1) for n in rows]


def state_parts(measured: Measured, *, is_single: bool) -> list[int]:
    """Whole hundredths of the states, which sum to a hundred: the dots, and the numbers beside them."""
    rows, parts = _state_rows(measured) if is_rough(measured) else measured.states, [0, 0, 0, 0]
    answered = list(answered_states(is_single=is_single))
    others = [k for k in range(4) if k not in answered]
    shared = share_in_two([rows[k] for k in answered], [rows[k] for k in others])
    for states, mine in zip((answered, others), shared, strict=True):
        for k, part in zip(states, mine, strict=True):
            parts[k] = part
    return parts


def said_part(share: float, part: int, *, is_rough: bool) -> str:
    """Say the part of a state, or of several: whole, unless there would be none or nothing else."""
    text = per_hundred(share)
    return f"{'about ' if is_rough and 0 < share < 1 else ''}{part if text.isdigit() else text}"


def _dots(part: int, positive: Share) -> tuple[int, int, int]:
    """Dots of a state that are positive, negative, and not known, where the state has too few rows for a share."""
    if positive.value is None:
        return 0, 0, part
    hits = round(part * positive.value)
    return hits, part - hits, 0


def _exact(share: Share) -> Share:
    return share


def answers(subject: Subject, measured: Measured) -> tuple[str, str, Share]:
    """Of a hundred rows, how many get an answer and how many get none; and how often the answer is right."""
    rows = measured.states
    first, second = answered_states(is_single=subject.model.single)
    answered = int(rows[first] + rows[second])
    right = int(measured.state_positives[first] + measured.state_negatives[second])
    share = share_of(right, answered)
    parts, shown = state_parts(measured, is_single=subject.model.single), _state_rows(measured)
    with_answer, rough = (shown[first] + shown[second]) / max(sum(shown), 1), is_rough(measured)
    return (
        said_part(with_answer, parts[first] + parts[second], is_rough=rough),
        said_part(1 - with_answer, HUNDRED - parts[first] - parts[second], is_rough=rough),
        coarse(share) if has_few(measured) else share,
    )


def verdict(subject: Subject, measured: Measured, words: Words, yes: str, no: str) -> Verdict:
    """Say in a few sentences how often there is an answer and how often it is right."""
    unit, model = words.rows, subject.model
    if not model.rules:
        return _without_rules(subject, unit, yes)
    if not measured.num_rows:
        return (("There are no ", False), (unit, False), (" to measure the rules on.", False))
    said = [_said_state(k, subject, measured, unit) for k in range(4)]
    answered, _, right = answers(subject, measured)
    if model.single:
        on = share_of(measured.state_positives[POSITIVE], measured.states[POSITIVE])
        off = share_of(measured.state_negatives[PASSIVE], measured.states[PASSIVE])
        return (
            ("For ", False), (said[POSITIVE], True), (f" {unit} a rule for {yes} applies", False),
            *_right(on), ("; for the other ", False), (said[PASSIVE].removesuffix(" of 100"), True),
            (f" none does, which speaks for {no}", False), *_right(off), (".", False),
        )  # fmt: skip
    parts: list[tuple[str, bool]] = [
        ("For ", False), (f"{answered} of 100", True), (f" {unit} the rules give an answer", False)
    ]  # fmt: skip
    if right.value is not None:
        parts += [(", and it is right ", False), (_times(right), True)]
    parts.append((". ", False))
    if measured.states[ACTIVE] > 0:
        parts += [(said[ACTIVE][:1].upper() + said[ACTIVE][1:], True), (" get “the rules disagree”; for ", False)]
        parts += [(said[PASSIVE], True), (" no rule speaks.", False)]
    else:
        parts += [
            ("They never disagree; for ", False),
            (said[PASSIVE], True),
            (" no rule speaks.", False),
        ]
    return tuple(parts)


def _said_state(k: int, subject: Subject, measured: Measured, unit: str) -> str:
    """Say how many rows a state has, of a hundred where that is not too few to say."""
    if is_few(measured.states[k]):
        return f"fewer than {LEAST_ROWS} of the {count(measured.num_rows)} {unit}"
    part = state_parts(measured, is_single=subject.model.single)[k]
    return f"{said_part(state_shares(measured)[k], part, is_rough=is_rough(measured))} of 100"


def _without_rules(subject: Subject, unit: str, yes: str) -> Verdict:
    said = "Nothing here beats the base rate: no rule is worth what it costs among all that were searched."
    if subject.edits:
        said = "Every rule was taken out by hand."
    elif subject.conclusion.startswith(("The search was stopped", "The search was interrupted")):
        said = subject.conclusion
    chance = of_hundred(float(subject.model.rates[PASSIVE]))
    return ((f"{said} All {unit} get the same chance of {yes}: ", False), (chance, True), (".", False))


def _right(share: Share) -> tuple[tuple[str, bool], ...]:
    return () if share.value is None else ((", right ", False), (_times(share), True))


def _times(share: Share) -> str:
    """Say how often an answer is right."""
    return "every time" if share.value == 1 else f"{per_hundred(share.value or 0.0)} times in 100"


def baseline(subject: Subject, measured: Measured, yes: str, no: str) -> str:
    """Say what the same answer to everyone would score, on all rows and on those that get an answer."""
    if not measured.num_rows:
        return ""
    share = measured.num_positives / measured.num_rows
    name = yes if share > 0.5 else no  # noqa: PLR2004
    text = f"For comparison: “{name}” said to all would be right {per_hundred(max(share, 1 - share))} times in 100"
    among = constant_answer(subject, measured)
    if among is None or among[0].rows == measured.num_rows:
        return f"{text}."
    constant, is_as_good = among
    text += f", and {per_hundred(constant.value or 0.0)} among those with an answer"
    return f"{text}: as often as the rules or more, so that they add no accuracy here." if is_as_good else f"{text}."


def constant_answer(subject: Subject, measured: Measured) -> tuple[Share, bool] | None:
    """How often the commoner outcome is right among the rows with an answer, and whether the rules do no better."""
    states = list(answered_states(is_single=subject.model.single))
    positives, rows = (int(counts[states].sum()) for counts in (measured.state_positives, measured.states))
    *_, right = answers(subject, measured)
    is_yes = 2 * measured.num_positives > measured.num_rows
    constant = share_of(positives if is_yes else rows - positives, rows)
    if constant.value is None or right.value is None or not subject.model.rules:
        return None
    return constant, constant.value >= right.value
