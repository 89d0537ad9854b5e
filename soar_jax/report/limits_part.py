"""When not to trust the page: what follows from the figures themselves, then what the author adds."""

from __future__ import annotations

from soar_jax.report.content import AuditEntry, Basis, Limit, Sampled, StateEntry
from soar_jax.report.measured import Measured
from soar_jax.report.numbers import LEAST_ROWS, LEAST_SHARED, listed
from soar_jax.report.states_part import answers, constant_answer
from soar_jax.report.subject import Subject
from soar_jax.report.trust_part import unchecked_states
from soar_jax.report.words import Words

MANY_RULES = 20


def limits(
    subject: Subject,
    measured: Measured,
    basis: Basis,
    states: tuple[StateEntry, ...],
    audits: tuple[AuditEntry, ...],
    sampled: Sampled | None,
    words: Words,
    num_examples: int,
) -> tuple[Limit, ...]:
    """List the limits, those that matter most first."""
    found = [*_about_rows(basis, words), *_about_worth(subject, measured, words)]
    found += [*_about_answers(subject, measured, words), *_about_unchecked(subject, states, basis)]
    found.append(
        Limit(
            f"For {words.rows} unlike these.",
            "The rules describe where and when the table was made. Another place, another year or another way of "
            "measuring needs a test of its own.",
        )
    )
    found.append(
        Limit(
            "As advice on what to change.",
            "“What would have to be different” describes the rules. It does not say that changing it changes the "
            "outcome.",
        )
    )
    found += _about_groups(audits)
    found += _about_the_pair(subject, sampled)
    found.append(
        Limit(
            "For small groups.",
            f"A share of fewer than {LEAST_SHARED} {words.rows} is left out, and a group of fewer than {LEAST_ROWS} is "
            "not counted, here or hidden in this file. The share of a larger group does tell how many of it were on "
            f"either side. {_rows_in_file(num_examples)}",
        )
    )
    return (*found, *(Limit("From the author.", note) for note in words.notes))


def _rows_in_file(num_examples: int) -> str:
    if not num_examples:
        return "No row of any table is in it."
    return f"Of the tested table it holds {num_examples} rows, the examples that the author chose to show."


def _about_rows(basis: Basis, words: Words) -> list[Limit]:
    if basis.is_fresh is False:
        return [
            Limit(
                "As it stands.",
                f"The figures come from {words.rows} that the rules were learned from. On others they will be worse; "
                "by how much, only a test on others can say.",
            )
        ]
    if basis.is_fresh is None:
        return [
            Limit(
                f"If the rules had seen these {words.rows}.",
                f"The page cannot know whether the rules were learned from any of the tested {words.rows}. If so, its "
                "figures flatter. Ask the author.",
            )
        ]
    return []


def _about_worth(subject: Subject, measured: Measured, words: Words) -> list[Limit]:
    found = constant_answer(subject, measured) if measured.num_rows else None
    if found is None or not found[1]:
        return []
    return [
        Limit(
            "For the sake of accuracy.",
            f"Among the {words.rows} that get an answer, the same answer to all would be right as often or more.",
        )
    ]


def _about_unchecked(subject: Subject, states: tuple[StateEntry, ...], basis: Basis) -> list[Limit]:
    names = [f"“{state.say}”" for state in unchecked_states(subject, states)]
    if not names or not subject.model.rules:
        return []
    return [
        Limit(
            "Where too few were tested.",
            f"Fewer than {LEAST_SHARED} {basis.noun} got {listed(names, 'or')}: how often that is right was not "
            "checked.",
        )
    ]


def _about_answers(subject: Subject, measured: Measured, words: Words) -> list[Limit]:
    if not subject.model.rules:
        return [Limit("At all.", f"There is no rule: every {words.row} gets the same chance, whatever is known of it.")]
    if subject.model.single:
        return [
            Limit(
                "As two opinions.",
                "There is one set of rules. Where none applies, that alone speaks for the other outcome; nothing was "
                "learned for it.",
            )
        ]
    return [
        Limit(
            "Where the rules disagree or are silent.",
            f"That is the answer for {answers(subject, measured)[1]} of 100 {words.rows}: decide in another way. The "
            "chance shown there is that of all such cases together.",
        )
    ]


def _about_groups(audits: tuple[AuditEntry, ...]) -> list[Limit]:
    if not audits:
        return [
            Limit(
                "As fair.",
                "No groups were compared on this page. A rule can name sex, age or origin, or stand in for "
                "them without naming them.",
            )
        ]
    read = [a.label for a in audits if not a.notes[0].startswith("No rule")]
    said = f"Rules read {listed(read)}. " if read else ""
    return [
        Limit(
            "As fair to groups that were not compared.",
            f"Groups were compared by {listed([a.label for a in audits])} only. A rule can name another group, or "
            "stand in for one without naming it.",
        ),
        Limit(
            "Where the law forbids a reason.",
            f"{said}The audit shows differences between groups. It does not say which of them are unjust, nor whether "
            "a rule may be used for the purpose at hand.",
        ),
    ]


def _about_the_pair(subject: Subject, sampled: Sampled | None) -> list[Limit]:
    found = []
    if subject.model.rules and sampled is None:
        found.append(
            Limit(
                "As the only possible rules.",
                "These are the best rules found. Others may fit nearly as well; how sure each is was not worked out.",
            )
        )
    elif sampled is not None and not sampled.is_trusted:
        found.append(
            Limit("For how sure each rule is.", "The draws behind these figures do not agree. Do not use them yet.")
        )
    if len(subject.model.rules) > MANY_RULES:
        found.append(
            Limit("As simple.", f"There are {len(subject.model.rules)} rules. Few readers will hold them all in mind.")
        )
    if subject.edits:
        found.append(Limit("As learned.", "Rules were changed by hand; the log on this page says which, when and why."))
    return found
