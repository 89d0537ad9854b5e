"""What ``soar show`` prints: all that a model file says, for a person."""

from __future__ import annotations

from typing import Any

from soar_jax._names import list_names, short_name
from soar_jax.cli import screen
from soar_jax.cli.answers import answers_in_words, where_text
from soar_jax.cli.model_view import counts_of_fresh_states, rules_view, states_view, trust_text
from soar_jax.states import counts_from_taxonomy

SHOWN_OF_A_COMMITTEE = 20
_EMPTY = ("", "0", "0.0")
"""What says nothing where all columns of a table have it."""


def show_model(model: Any, path: str, written: dict[str, Any]) -> None:
    """Print an estimator."""
    is_fresh = hasattr(model, "fresh_states_")
    counts = counts_of_fresh_states(model.fresh_states_) if is_fresh else counts_from_taxonomy(model.training_taxonomy_)
    num_rows = int(sum(side.sum() for side in counts))
    head = (
        f"{short_name(path)}: a {type(model).__name__}, written by soar-jax {written['soar_jax_version']} (format "
        f"{written['format_version']}). Learned from {screen.plural(int(model.training_taxonomy_.sum()), 'row')}. "
        f"Positive means {screen.label_of(model, 0)}."
    )
    parts = [screen.paragraph(head)]
    if len(model.rules_):
        where = where_text(num_rows, is_fresh)
        parts += [screen.paragraph(said) for said in answers_in_words(model, *counts, is_fresh)]
        parts += rules_view(model)
        parts.append(screen.heading(f"What the rules say of {where}"))
        parts += states_view(model, *counts, is_fresh)
    parts.append(screen.heading("How far to trust the search"))
    parts.append(screen.paragraph(trust_text(model.conclude(), str(getattr(model, "certificate_", "")), model.score_)))
    if model.power_ < 1:
        parts.append(screen.paragraph(model._power_in_words()))
    parts += [screen.heading("Priors"), _priors_view(model)]
    if model._edits:
        parts += [screen.heading("Changed by hand"), *edits_view(model)]
    parts.append(screen.heading(f"Columns: {len(model._column_names)} in the table, {len(model.features_used_)} read"))
    parts.append(_columns_view(model))
    screen.show(*parts)


def _priors_view(model: Any) -> Any:
    rows = []
    for name, prior in model.priors_["states"].items():
        bounds = f"{float(prior['low']):.3g} to {float(prior['high']):.3g}"
        rows.append((name, bounds, f"Beta({float(prior['alpha']):.3g}, {float(prior['beta']):.3g})"))
    return screen.table([("state", "left"), ("its rate lies in", "left"), ("prior within", "left")], rows)


def edits_view(model: Any) -> list[Any]:
    """Show the changes made by hand, with reason and price."""
    rows = []
    for edit in model.edits_.to_dict(orient="records"):
        change = " ".join(f"{sign} {edit[name]}" for sign, name in (("-", "removed"), ("+", "added")) if edit.get(name))
        price = edit.get("log_joint_change")
        rows.append((str(edit.get("time", ""))[:10], change, str(edit.get("reason", "")), f"{price:+.1f}"))
    columns = [("day", "left"), ("change", "wrap"), ("reason", "wrap"), ("log joint", "right")]
    return [screen.table(columns, rows)]


def _columns_view(model: Any) -> Any:
    contract = getattr(model, "columns_", None)
    read = set(model.features_used_)
    if contract is None:
        unread = [name for name in model._column_names if name not in read]
        text = f"read: {list_names(model.features_used_, 60)}." if read else "none is read."
        return screen.paragraph(text + (f" Not read: {list_names(unread, 30)}." if unread else ""))
    frame = contract.reset_index() if contract.index.name else contract
    frame = frame[[name for name in frame.columns if not frame[name].astype(str).isin(_EMPTY).all()]]
    rows = [[short_name(_cell(cell), 30) for cell in row] for row in frame.itertuples(index=False)]
    columns = [(str(name).replace("_", " "), "wrap" if i else "left") for i, name in enumerate(frame.columns)]
    return screen.table(columns, rows)


def _cell(value: Any) -> str:
    """Write a figure of a column: whether rules read it, which share of it is missing."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return screen.percent(value) if value else ""
    return str(value)


def show_committee(model: Any, path: str, written: dict[str, Any], verdict: str) -> None:
    """Print a committee."""
    positive = model.classes_[model.positive_index]
    head = (
        f"{short_name(path)}: a committee of {screen.plural(len(model.weights), 'pair')} of rule sets, written by "
        f"soar-jax {written['soar_jax_version']}. Positive means {short_name(positive)}."
    )
    parts = [screen.paragraph(head), screen.heading("Can it be trusted?"), *screen.lines(verdict.splitlines())]
    rules = model.rules_
    for side in dict.fromkeys(rules["side"]):
        mine = rules[rules["side"] == side]
        shown = mine.head(SHOWN_OF_A_COMMITTEE)
        parts.append(screen.heading(f"Rules for {short_name(mine['class'].iloc[0])}, by the share of pairs with them"))
        # a sum of many weights may miss 1 by a hair
        rows = [(screen.percent(round(row["share"], 9)), str(row["rule"])) for row in shown.to_dict(orient="records")]
        parts.append(screen.table([("share", "right"), ("rule", "wrap")], rows))
        if len(mine) > len(shown):
            parts.append(screen.paragraph(f"and {len(mine) - len(shown):,} more; --json lists them", style="dim"))
    parts.append(screen.heading(f"Columns: {len(model.columns)} in the table, {len(model.features_used_)} read"))
    parts.append(screen.paragraph(f"read: {list_names(model.features_used_, 60)}."))
    screen.show(*parts)
