"""Put a report together: every part once, in the order in which it is read."""

from __future__ import annotations

from dataclasses import replace

from soar_jax.report.audit_part import audit_entry
from soar_jax.report.content import Content
from soar_jax.report.engine_data import engine_data, plain_data
from soar_jax.report.examples_part import example_rows
from soar_jax.report.facts_part import edit_log, facts
from soar_jax.report.limits_part import limits
from soar_jax.report.measured import Measured, measure, measured_by_model
from soar_jax.report.numbers import is_few, share_of
from soar_jax.report.phrases import outcome_names, state_words
from soar_jax.report.rules_part import dispute_lead, disputes, rule_entries
from soar_jax.report.sampled_part import sampled_part
from soar_jax.report.states_part import answers, baseline, find_basis, state_entries, verdict
from soar_jax.report.subject import Subject, Tested, Wishes
from soar_jax.report.trust_part import calibration, cost_of_answers
from soar_jax.report.words import Words, read_words
from soar_jax.states import ACTIVE, taxonomy_from_counts


def build(subject: Subject, tested: Tested | None, wishes: Wishes) -> Content:
    """Make the content of a report.

    Parameters
    ----------
    subject : Subject
        The fitted pair.
    tested : Tested, optional
        Rows to judge it on; without them the figures are those that the model keeps.
    wishes : Wishes
        The author's words and wishes.
    """
    words = _words(subject, wishes)
    model = subject.model
    if tested is not None and len(tested.frame):
        measured = measure(model, tested.frame, tested.is_true)
    else:
        tested = None
        measured = measured_by_model(model, subject.rules, subject.training, subject.fresh_states, subject.disputes)
    yes, no = outcome_names(words, [model.label(0), model.label(1)], None if tested is None else tested.target)
    basis = find_basis(subject, measured, tested, words)
    states = state_entries(subject, measured, state_words(yes, no, is_single=model.single))
    answered, unanswered, right = answers(subject, measured)
    audits = tuple(
        audit_entry(audit, words, yes, is_single=model.single) for audit in (tested.audits if tested else ())
    )
    sampled = sampled_part(subject.posterior)
    examples = example_rows(subject, tested, words, wishes.examples, (yes, no))
    points, points_note = calibration(subject, states, basis)
    cost, cost_note = cost_of_answers(subject, measured, states, words)
    question = words.question or (f"Is {yes}?" if " = " in yes else f"Is it {yes}?")
    return Content(
        title=question,
        kicker=". ".join(part for part in ("Rule report", words.data) if part),
        question=question,
        verdict=verdict(subject, measured, words, yes, no),
        under=f"{basis.sentence}. {baseline(subject, measured, yes, no)}".strip(),
        yes=yes,
        no=no,
        unit=words.rows,
        one=words.row,
        is_single=model.single,
        basis=basis,
        base_rate=share_of(measured.num_positives, measured.num_rows),
        answered=answered,
        unanswered=unanswered,
        right=right,
        states=states,
        rules=rule_entries(subject, measured, words, (yes, no)),
        disputes=disputes(subject, measured),
        dispute_lead=dispute_lead(subject, measured, words, yes),
        num_disputed=states[ACTIVE].rows,
        calibration=points,
        calibration_note=points_note,
        cost=cost,
        cost_note=cost_note,
        examples=examples,
        audits=audits,
        sampled=sampled,
        edits=edit_log(subject.edits, words),
        limits=limits(subject, measured, basis, states, audits, sampled, words, len(examples)),
        contact=words.contact,
        facts=facts(subject, basis, words, yes, no, _cases(measured)),
        engine=plain_data(engine_data(subject, words, states, measured, tested)),
    )


def _words(subject: Subject, wishes: Wishes) -> Words:
    """Take the words file, then what was said beside it."""
    words = read_words(wishes.words, subject.model.columns)
    return replace(
        words,
        question=wishes.question or words.question,
        contact=wishes.contact or words.contact,
        notes=(*words.notes, *wishes.notes),
    )


def _cases(measured: Measured) -> dict[str, int] | None:
    """Count the eight cases; -1 stands for a count that is not given."""
    if measured.kind == "training":
        return None
    counts = taxonomy_from_counts(measured.state_positives, measured.state_negatives)
    is_small = any(map(is_few, counts))
    return {str(name): -1 if is_few(n) else round(int(n), -1) if is_small else int(n) for name, n in counts.items()}
